"""Stage 1 alone: ``blueprints.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trace_s2s.schemas import Blueprint, FailureKind, RunSpec

from .extraction import Extraction
from .manifest import BadLine, ManifestFile
from .plan import RunPlan, make_folder
from .progress import Progress
from .store import BlueprintStore, store_folder


@dataclass(frozen=True)
class Extracted:
    """What was written, and what could not be measured."""

    path: Path
    n: int
    """Clips, and lines of the manifest that are no item."""
    n_measured: int
    n_from_store: int
    failures: Mapping[str, tuple[str, ...]]
    """By clip or line that failed as a whole: a line a reason."""

    def line(self) -> str:
        """One line for people."""
        done = f"{self.n - len(self.failures)} of {self.n} clips"
        return f"wrote {done} to {self.path}: {self.n_measured} groups measured, {self.n_from_store} from the store"


def extract_manifest(spec: RunSpec, progress: Progress) -> Extracted:
    """Measure every clip of a manifest, instructions too, and write one blueprint a line, each clip once.

    Raises:
        InputError: the manifest as a whole, an option or the folder is unusable.
    """
    plan = RunPlan.of(spec)
    source = ManifestFile.open(spec.manifest, spec.audio_root, spec.limit)
    paths: dict[str, None] = {}
    failures: dict[str, tuple[str, ...]] = {}
    for item in source.items():
        if isinstance(item, BadLine):
            failures[item.id] = (f"failed: {item.id}: {item.failure.kind}: {item.failure.message}",)
        else:
            paths.update(dict.fromkeys(item.audio_paths))
    n = len(failures) + len(paths)
    wanted = [plan.response(path) for path in paths]
    file_path = make_folder(Path(spec.output)) / "blueprints.jsonl"
    new = file_path.with_suffix(".jsonl.new")
    with BlueprintStore(store_folder(spec.store)) as store, new.open("w", encoding="utf-8") as file:
        extraction = Extraction(plan.extraction, store, source.audio_root, spec.audio, plan.machine)
        n_groups = len(wanted) * len(plan.extraction.closure(plan.extraction.shown))
        with progress.stage("measuring", n_groups) as advance:
            extraction.measure(wanted, advance)
        for clip in wanted:
            blueprint = extraction.blueprint(clip)
            file.write(blueprint.model_dump_json() + "\n")
            if reasons := _reasons(blueprint):
                failures[clip.path] = reasons
    new.replace(file_path)
    return Extracted(file_path, n, extraction.n_extracted.total(), extraction.n_from_store.total(), failures)


def _reasons(blueprint: Blueprint) -> tuple[str, ...]:
    """Why the clip failed as a whole, or lacks a group that was asked for; not what could not be measured of it."""
    return tuple(
        f"failed: {blueprint.clip.path}: {group}: {failure.kind}: {failure.message}"
        for group, failure in blueprint.failures.items()
        if group == "audio" or failure.kind is FailureKind.UNAVAILABLE
    )
