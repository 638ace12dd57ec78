"""The program on one screen: manifest in, blueprints measured, judged dimension by dimension, fused, written down.

Each stage maps documents to documents and takes what the stage before it left on disk: a run that was killed, and a
run that is started again, do only what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from trace_s2s.schemas import Case, Failure, FailureKind, Item, Manifest, Record, RunSpec

from .agree import write_agreement
from .extraction import Extraction, Wanted
from .judging import Judging
from .manifest import BadLine, ManifestFile
from .outcome import Clock, run_manifest
from .plan import RunPlan
from .progress import Progress, Silent
from .records import RECORDS, append_record, compact_records, open_for_append, read_records, write_parquet
from .report import Row, write_report
from .store import BlueprintStore, ReplyStore, store_folder


@dataclass(frozen=True)
class RunResult:
    """What a run came to."""

    folder: Path
    manifest: Manifest

    def records(self) -> Iterator[Record]:
        """The records, read from disk."""
        return read_records(self.folder)


def evaluate(spec: RunSpec, progress: Progress | None = None) -> RunResult:
    """Judge every item of a manifest, measuring what is not measured yet, and write the run folder.

    Raises:
        InputError: the run file, the manifest as a whole or the run folder is unusable.
        TraceError: the judge cannot work at all.
    """
    progress = progress or Silent()
    plan = RunPlan.of(spec)
    transport = plan.make_transport()
    source = ManifestFile.open(spec.manifest, spec.audio_root, spec.limit)
    clock = Clock()
    with ExitStack() as stack:
        folder = stack.enter_context(plan.claim_folder(Path(spec.output)))
        store = store_folder(spec.store)
        replies = stack.enter_context(ReplyStore(store))
        measurements = stack.enter_context(BlueprintStore(store))
        extraction = Extraction(plan.extraction, measurements, source.audio_root, spec.audio, plan.machine)
        n_items = measure_items(source, plan, extraction, progress)
        clock.lap("extract")
        judging = plan.judging(transport, replies, past_failures(folder))
        failures = judge_items(source, n_items, plan, extraction, judging, folder, progress)
        clock.lap("judge")
        manifest = run_manifest(plan, extraction, judging, n_items, failures, clock)
        finish(folder, source, plan, extraction, manifest, progress)
    return RunResult(folder, manifest)


def measure_items(source: ManifestFile, plan: RunPlan, extraction: Extraction, progress: Progress) -> int:
    """Stage 1: measure every clip once; gives the number of lines of the manifest."""
    todo: set[int] = set()  # hashes: a clip passed over by a collision is measured when its blueprint is asked for
    n_items = n_groups = 0
    for item in source.items():
        n_items += 1
        for wanted in plan.wanted(item):
            if hash(wanted) not in todo:
                todo.add(hash(wanted))
                n_groups += len(plan.extraction.closure(wanted.groups))

    def clips() -> Iterator[Wanted]:
        for item in source.items():
            for wanted in plan.wanted(item):
                if hash(wanted) in todo:
                    todo.discard(hash(wanted))
                    yield wanted

    with progress.stage("measuring", n_groups) as advance:
        extraction.measure(clips(), advance)
    return n_items


def judge_items(
    source: ManifestFile,
    n_items: int,
    plan: RunPlan,
    extraction: Extraction,
    judging: Judging,
    folder: Path,
    progress: Progress,
) -> Counter[FailureKind]:
    """Stage 2: judge every item, appending its record; gives the failures by kind."""
    failures: Counter[FailureKind] = Counter()
    with open_for_append(folder / RECORDS) as file, progress.stage("judging", n_items) as advance:

        def keep(record: Record) -> None:
            append_record(file, record)
            if record.failure:
                failures[record.failure.kind] += 1
            advance(1)

        cases = (item if isinstance(item, BadLine) else case(item, plan, extraction) for item in source.items())
        judging.judge_all(cases, plan.spec.judge.max_connections, keep)
    return failures


def case(item: Item, plan: RunPlan, extraction: Extraction) -> Case:
    """An item with the blueprints of its clips; of its instruction only where that is in evidence."""
    instruction = plan.instruction(item)
    return Case(
        item=item,
        instruction=extraction.blueprint(instruction) if instruction else None,
        responses=tuple(extraction.blueprint(plan.response(response.audio_path)) for response in item.responses),
    )


def past_failures(folder: Path) -> dict[str, Failure]:
    """How items failed in an earlier start of this run, by id."""
    if not (folder / RECORDS).exists():
        return {}
    return {record.id: record.failure for record in read_records(folder) if record.failure}


def finish(
    folder: Path,
    source: ManifestFile,
    plan: RunPlan,
    extraction: Extraction,
    manifest: Manifest,
    progress: Progress,
) -> None:
    """Write what people and other programs read: compact records, tables, the page."""
    compact_records(folder, (item.id for item in source.items()))
    write_parquet(folder, plan.rubric)
    (folder / "manifest.json").write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    write_agreement(folder, plan.spec.seed)

    def rows() -> Iterator[Row]:
        with progress.stage("writing the report", manifest.n_items) as advance:
            for record, item in zip(read_records(folder), source.items(), strict=False):
                if isinstance(item, BadLine):
                    yield Row(record, None, None, ())
                else:
                    shown = case(item, plan, extraction)
                    yield Row(record, item, shown.instruction, shown.responses)
                advance(1)

    write_report(folder / "report", manifest, rows(), source.audio_root)
