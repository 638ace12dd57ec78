"""Agreement of runs, or of predictions made elsewhere, with human labels."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from trace_s2s.benchmarks import CODE, N_DRAWS, NOT_JUDGED, Accuracy, Codes, Difference, accuracy, paired_difference
from trace_s2s.fusion import DIMENSIONS, Table, get_policy
from trace_s2s.judges.baselines import random_ratings
from trace_s2s.schemas import OVERALL, Document, Failure, InputError, Label, Manifest

from .manifest import LABELS, human_label, line_id, line_instruction_id, raw_lines
from .records import read_records
from .version import __version__

MEASURES = (OVERALL, *DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One item's human labels, with what a judge and the baselines say of it."""

    id: str
    cluster: str
    labels: Mapping[str, str]
    predictions: Mapping[str, str] | None
    """None where the item was not judged."""
    baselines: Mapping[str, Mapping[str, str]]


class Beside(Document):
    """A baseline judge on the same items."""

    overall: Accuracy
    difference: Difference = Field(description="the judge's overall accuracy less the baseline's")


class AgreementReport(Document):
    """Agreement of one judge with the human labels."""

    signature: str
    n: int = Field(description="labelled items")
    n_judged: int
    overall: Accuracy | None
    content: Accuracy | None
    voice_quality: Accuracy | None
    paralinguistics: Accuracy | None
    baselines: Mapping[str, Beside] = {}
    remarks: tuple[str, ...] = ()


def agree_run(run: Path, policy: str | None, judged_only: bool, seed: int) -> AgreementReport:
    """Agreement of a run with the labels of its items.

    Raises:
        InputError: no run folder, or none of its items is labelled.
    """
    report = _run_report(run, policy, judged_only, seed)
    if not report.n:
        raise InputError(f"no item of {str(run)!r} carries a label; give --labels and --predictions")
    return report


def write_agreement(run: Path, seed: int) -> None:
    """Write ``RUN/agreement.json`` where items are labelled."""
    report = _run_report(run, None, judged_only=False, seed=seed)
    path = run / "agreement.json"
    if report.n:
        path.write_text(report.model_dump_json(indent=2) + "\n", "utf-8")
    else:
        path.unlink(missing_ok=True)  # of an earlier start, when there were labels


def _run_report(run: Path, policy: str | None, judged_only: bool, seed: int) -> AgreementReport:
    manifest = read_run_manifest(run)
    table = get_policy(policy) if policy else None
    items = (
        Labelled(
            record.id,
            record.instruction_id or record.id,
            record.label,
            None if record.ratings is None else _texts({**record.ratings, OVERALL: record.overall}),
            record.baselines,
        )
        for record in read_records(run)
        if record.label
    )
    signature = manifest.signature + (f" | fused-again:{table.signature()}" if table else "")
    fusing = table or get_policy(manifest.signatures["policy"].name)
    report = _report(items, table, fusing, judged_only, seed, signature)
    if "quality-only" in report.baselines:
        return report
    return report.with_values(remarks=("quality-only is not shown: the run has no group 'quality'",))


def agree_files(labels: Path, predictions: Path, policy: str | None, judged_only: bool, seed: int) -> AgreementReport:
    """Agreement of predictions in a file with labels in another; both in any of the manifest's containers.

    Raises:
        InputError: a file is unusable, or they have no item in common.
    """
    table = get_policy(policy) if policy else None
    rated = _rated(labels, HUMAN)
    truth = {name: found for name, found in rated.items() if found[1]}
    said = _rated(predictions, JUDGE)
    if table and not any(set(table.dimensions) <= ratings.keys() for _, ratings in said.values()):
        wanted = ", ".join(table.dimensions)
        raise InputError(f"{predictions.name!r} has no line with all of {wanted}, which policy {policy!r} fuses")
    missing, extra = len(truth.keys() - said.keys()), len(said.keys() - rated.keys())
    if not truth.keys() & said.keys():
        raise InputError(
            f"{labels.name!r} and {predictions.name!r} have no id in common; ids come from 'id' or 'index'"
        )
    items = [
        Labelled(name, cluster, values, (said[name][1] or None) if name in said else None, {})
        for name, (cluster, values) in truth.items()
    ]
    signature = [f"labels:{_named(labels)}", f"predictions:{_named(predictions)}"]
    signature += [f"fusion:{table.signature()}"] if table else []
    remarks = [f"{len(rated) - len(truth)} lines of labels have none: left out"] * (len(truth) < len(rated))
    remarks += [f"{missing} labelled items have no prediction: not judged"] * bool(missing)
    remarks += [f"{extra} predictions have no label: left out"] * bool(extra)
    remarks.append("quality-only is not shown: files of predictions hold no measurements")
    return _report(items, table, table, judged_only, seed, " | ".join([*signature, f"v{__version__}"]), tuple(remarks))


def read_run_manifest(run: Path) -> Manifest:
    """A run's ``manifest.json``.

    Raises:
        InputError: there is none, or it is of another version.
    """
    path = run / "manifest.json"
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{str(run)!r} is no finished run folder of this version: {path.name} is unusable") from error


@dataclass
class _Codes:
    """Label codes by measure, a byte an item, so that millions of items fit."""

    by_measure: dict[str, array[int]] = field(default_factory=lambda: {name: array("b") for name in MEASURES})

    def append(self, said: Mapping[str, str]) -> None:
        for measure, codes in self.by_measure.items():
            codes.append(CODE[said.get(measure)])

    def __getitem__(self, measure: str) -> Codes:
        return np.frombuffer(self.by_measure[measure], dtype=np.int8)


def _report(
    items: Iterable[Labelled],
    again: Table | None,
    fusing: Table | None,
    judged_only: bool,
    seed: int,
    signature: str,
    remarks: tuple[str, ...] = (),
) -> AgreementReport:
    """``again`` fuses the judge's ratings anew; ``fusing`` is what the baselines' ratings are fused by."""
    labels, judge, clusters, n_judged = _Codes(), _Codes(), array("q"), 0
    baselines = {"random": _Codes(), "quality-only": _Codes()}
    for item in items:
        if judged_only and item.predictions is None:
            continue
        n_judged += item.predictions is not None
        clusters.append(int.from_bytes(hashlib.blake2b(item.cluster.encode(), digest_size=7).digest()))
        labels.append(item.labels)
        judge.append(_fused(item.predictions, again))
        baselines["random"].append(_random(f"{seed}\n{item.id}", fusing))
        baselines["quality-only"].append(_fused(item.baselines.get("quality-only"), fusing))
    groups = np.frombuffer(clusters, dtype=np.int64)

    def measured(measure: str, said: _Codes) -> Accuracy | None:
        labelled = labels[measure] != NOT_JUDGED
        if not labelled.any() or (said[measure] == NOT_JUDGED).all():
            return None
        return accuracy(labels[measure][labelled], said[measure][labelled], groups[labelled], seed)

    def beside(said: _Codes) -> Beside | None:
        overall = measured(OVERALL, said)
        if overall is None or measured(OVERALL, judge) is None:
            return None
        kept = labels[OVERALL] != NOT_JUDGED
        codes = (labels[OVERALL][kept], judge[OVERALL][kept], said[OVERALL][kept])
        return Beside(overall=overall, difference=paired_difference(*codes, groups[kept], seed))

    ways = "judged-only | " if judged_only else ""
    return AgreementReport(
        signature=f"{signature} | {ways}ci:cluster-bootstrap-{N_DRAWS} | rs:{seed}",
        n=len(groups),
        n_judged=n_judged,
        baselines={name: found for name, said in baselines.items() if (found := beside(said)) is not None},
        remarks=remarks,
        **{measure: measured(measure, judge) for measure in MEASURES},
    )


def _fused(ratings: Mapping[str, str] | None, table: Table | None) -> Mapping[str, str]:
    if ratings is None or table is None:
        return ratings or {}
    rated = {name: ratings[name] for name in table.dimensions if ratings.get(name) in tuple(Label)}
    without = {name: value for name, value in ratings.items() if name != OVERALL}
    if len(rated) < len(table.dimensions):
        return without
    return {**without, OVERALL: table.fuse({name: Label(value) for name, value in rated.items()})}


def _texts(ratings: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in ratings.items()}


def _random(key: str, fusing: Table | None) -> Mapping[str, str]:
    """The random baseline: fused from random dimension labels where there is a policy, else a random overall label."""
    return _fused(random_ratings(key, DIMENSIONS), fusing) if fusing else random_ratings(key, (OVERALL,))


HUMAN, JUDGE = ("label", "", "ratings"), ("ratings", "", "label")
"""Where a file's ratings are looked for ('' is flat), first where they are most likely the human's, or the judge's."""


def _rated(path: Path, places: tuple[str, ...]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Instruction and ratings of every line, by id; lines without ratings have an empty mapping.

    Raises:
        InputError: the file is unusable, an id comes twice, a label is unknown, or nothing is rated.
    """
    if not path.is_file():
        raise InputError(f"{str(path)!r} does not exist")
    lines: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for number, raw in raw_lines(path):
        where = f"{path.name} line {number}"
        if isinstance(raw, Failure):
            raise InputError(raw.message)
        name = line_id(raw)
        if name is None or name in lines:
            raise InputError(f"{where}: {'no id' if name is None else f'id {name!r} was there before'}; mend the line")
        lines[name] = where, raw
    used = {key for _, raw in lines.values() for key in raw}
    place = next((place for place in places if (place in used if place else used & set(MEASURES))), "")
    rated = {
        name: (line_instruction_id(raw, name), _ratings(raw, place, where)) for name, (where, raw) in lines.items()
    }
    if not any(ratings for _, ratings in rated.values()):
        raise InputError(f"{path.name!r} rates nothing; each line needs {', '.join(MEASURES)}, flat or under 'label'")
    return rated


def _ratings(raw: Mapping[str, Any], place: str, where: str) -> Mapping[str, str]:
    given = _mapping(raw, place, where) if place else raw
    if place == "ratings" and OVERALL not in given:
        given = {**given, OVERALL: raw.get(OVERALL)}  # as in a run's records
    rated = {}
    for name in MEASURES:
        if (value := given.get(name)) is None:
            continue
        if (label := human_label(value)) is None:
            raise InputError(f"{where}: {name} is {value!r}; it must be one of: {', '.join(LABELS)}")
        rated[name] = str(label)
    return rated


def _mapping(raw: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = raw.get(key) or {}
    if not isinstance(found, dict):
        raise InputError(f"{where}: {key} is {found!r}; it must be an object with {', '.join(MEASURES)}")
    return found


def _named(path: Path) -> str:
    return f"{path.stem}@{hashlib.sha256(path.read_bytes()).hexdigest()[:4]}"
