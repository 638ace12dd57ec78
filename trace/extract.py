"""Stage 1 alone: ``blueprints.jsonl``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trace_s2s.schemas import Blueprint, FailureKind, InstructionEvidence, RunSpec

from .extraction import Extraction
from .manifest import BadLine, ManifestFile
from .plan import RunPlan
from .progress import Progress
from .store import BlueprintStore, store_folder


@dataclass(frozen=True)
class Extracted:
    """What was written, and what could not be measured."""

    path: Path
    n_clips: int
    n_measured: int
    n_from_store: int
    failed: tuple[str, ...]
    """A line a clip or manifest line that failed as a whole."""

    def line(self) -> str:
        """One line for people."""
        done = f"{self.n_clips - len(self.failed)} of {self.n_clips} clips"
        return f"wrote {done} to {self.path}: {self.n_measured} groups measured, {self.n_from_store} from the store"


def extract_manifest(spec: RunSpec, progress: Progress) -> Extracted:
    """Measure every clip of a manifest, instructions too, and write one blueprint a line, each clip once.

    Raises:
        InputError: the manifest as a whole, an option or the folder is unusable.
    """
    whole = {**spec.judge.model_dump(), "instruction_evidence": InstructionEvidence.BLUEPRINT}
    plan = RunPlan.of(spec.with_values(judge=whole))
    source = ManifestFile.open(spec.manifest, spec.audio_root, spec.limit)
    folder = Path(spec.output)
    folder.mkdir(parents=True, exist_ok=True)
    path, new = folder / "blueprints.jsonl", folder / "blueprints.jsonl.new"
    failed: list[str] = []
    with BlueprintStore(store_folder(spec.store)) as store, new.open("w", encoding="utf-8") as file:
        extraction = Extraction(plan.extraction, store, source.audio_root, spec.audio, plan.machine)
        seen: dict[str, None] = {}
        for item in source.items():
            if isinstance(item, BadLine):
                failed.append(f"failed: {item.id}: {item.failure.kind}: {item.failure.message}")
            else:
                seen.update(dict.fromkeys(item.audio_paths))
        wanted = [plan.response(name) for name in seen]
        n_groups = len(wanted) * len(plan.extraction.closure(plan.extraction.shown))
        with progress.stage("measuring", n_groups) as advance:
            extraction.measure(wanted, advance)
        for clip in wanted:
            blueprint = extraction.blueprint(clip)
            file.write(blueprint.model_dump_json() + "\n")
            failed.extend(_lines(blueprint))
    new.replace(path)
    n_clips = len(seen) + sum(line.startswith("failed: line") for line in failed)
    return Extracted(path, n_clips, extraction.n_extracted.total(), extraction.n_from_store.total(), tuple(failed))


def _lines(blueprint: Blueprint) -> list[str]:
    name = blueprint.clip.path
    return [
        f"failed: {name}: {group}: {failure.kind}: {failure.message}"
        for group, failure in blueprint.failures.items()
        if group == "audio" or failure.kind is FailureKind.UNAVAILABLE
    ]
