"""Agreement of runs, or of predictions made elsewhere, with human labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from trace_s2s.benchmarks import N_DRAWS, Accuracy, Difference, accuracy, encode, paired_difference
from trace_s2s.fusion import DIMENSIONS, Table, get_policy
from trace_s2s.judges.baselines import random_ratings
from trace_s2s.schemas import OVERALL, Document, Failure, InputError, Label, Manifest

from .manifest import LABELS, raw_lines
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
    manifest = read_run_manifest(run)
    table = get_policy(policy) if policy else None
    items = [
        Labelled(
            record.id,
            record.instruction_id or record.id,
            record.label,
            None if record.ratings is None else {**record.ratings, OVERALL: record.overall},  # type: ignore[dict-item]
            record.baselines,
        )
        for record in read_records(run)
        if record.label
    ]
    if not items:
        raise InputError(f"no item of {str(run)!r} carries a label; give --labels and --predictions")
    signature = manifest.signature + (f" | fused-again:{table.signature()}" if table else "")
    fusing = table or get_policy(manifest.signatures["policy"].name)
    return _report(items, table, fusing, judged_only, seed, signature)


def agree_files(labels: Path, predictions: Path, policy: str | None, judged_only: bool, seed: int) -> AgreementReport:
    """Agreement of predictions in a file with labels in another; both in any of the manifest's containers.

    Raises:
        InputError: a file is unusable, or they have no item in common.
    """
    table = get_policy(policy) if policy else None
    truth = dict(_rated(labels, "label"))
    said = dict(_rated(predictions, "ratings"))
    missing, extra = len(truth.keys() - said.keys()), len(said.keys() - truth.keys())
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
    remarks = [f"{missing} labelled items have no prediction: not judged"] * bool(missing)
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


def _report(
    items: Sequence[Labelled],
    again: Table | None,
    fusing: Table | None,
    judged_only: bool,
    seed: int,
    signature: str,
    remarks: tuple[str, ...] = (),
) -> AgreementReport:
    """``again`` fuses the judge's ratings anew; ``fusing`` is what the baselines' ratings are fused by."""
    kept = [item for item in items if item.predictions is not None] if judged_only else list(items)
    predictions = {item.id: _fused(item.predictions, again) for item in kept}
    compare = _Comparison(kept, seed)
    measured = {name: compare.accuracy(name, predictions) for name in MEASURES}
    baselines = {}
    for name, ratings in _baseline_ratings(kept, fusing, seed).items():
        beside = compare.accuracy(OVERALL, ratings)
        if beside is not None and measured[OVERALL] is not None:
            difference = compare.difference(OVERALL, predictions, ratings)
            baselines[name] = Beside(overall=beside, difference=difference)
    ways = "judged-only | " if judged_only else ""
    return AgreementReport(
        signature=f"{signature} | {ways}ci:cluster-bootstrap-{N_DRAWS} | rs:{seed}",
        n=len(kept),
        n_judged=sum(item.predictions is not None for item in kept),
        baselines=baselines,
        remarks=remarks,
        **measured,
    )


@dataclass(frozen=True)
class _Comparison:
    items: Sequence[Labelled]
    seed: int

    def accuracy(self, measure: str, said: Mapping[str, Mapping[str, str]]) -> Accuracy | None:
        labelled = self._labelled(measure)
        if not labelled or not any(measure in said[item.id] for item in labelled):
            return None
        return accuracy(self._labels(measure), self._codes(measure, said), self._clusters(measure), self.seed)

    def difference(
        self, measure: str, first: Mapping[str, Mapping[str, str]], second: Mapping[str, Mapping[str, str]]
    ) -> Difference:
        return paired_difference(
            self._labels(measure),
            self._codes(measure, first),
            self._codes(measure, second),
            self._clusters(measure),
            self.seed,
        )

    def _labelled(self, measure: str) -> list[Labelled]:
        return [item for item in self.items if measure in item.labels]

    def _labels(self, measure: str) -> Any:
        return encode([item.labels[measure] for item in self._labelled(measure)])

    def _codes(self, measure: str, said: Mapping[str, Mapping[str, str]]) -> Any:
        return encode([said[item.id].get(measure) for item in self._labelled(measure)])

    def _clusters(self, measure: str) -> Any:
        names = [item.cluster for item in self._labelled(measure)]
        return np.unique(names, return_inverse=True)[1]


def _fused(ratings: Mapping[str, str] | None, table: Table | None) -> Mapping[str, str]:
    if ratings is None or table is None:
        return ratings or {}
    rated = {name: ratings[name] for name in table.dimensions if ratings.get(name) in tuple(Label)}
    without = {name: value for name, value in ratings.items() if name != OVERALL}
    if len(rated) < len(table.dimensions):
        return without
    return {**without, OVERALL: table.fuse({name: Label(value) for name, value in rated.items()})}


def _baseline_ratings(
    items: Sequence[Labelled], fusing: Table | None, seed: int
) -> dict[str, dict[str, Mapping[str, str]]]:
    """What each baseline says of each item; items that one cannot rate have an empty mapping."""
    found: dict[str, dict[str, Mapping[str, str]]] = {
        "random": {item.id: random_ratings(f"{seed}\n{item.id}", MEASURES) for item in items}
    }
    if fusing is None:
        return found
    found["random"] = {item.id: _fused(random_ratings(f"{seed}\n{item.id}", DIMENSIONS), fusing) for item in items}
    for name in {name for item in items for name in item.baselines}:
        found[name] = {item.id: _fused(item.baselines.get(name), fusing) for item in items}
    return found


def _rated(path: Path, first_under: str) -> Iterator[tuple[str, tuple[str, Mapping[str, str]]]]:
    """Id, cluster and ratings of every line.

    Ratings are flat, or under ``label`` or ``ratings``; where a line has both (a record of a run), ``first_under``
    says which is meant.

    Raises:
        InputError: the file is unusable, an id comes twice, or a label is unknown.
    """
    if not path.is_file():
        raise InputError(f"{str(path)!r} does not exist")
    seen: set[str] = set()
    for number, raw in raw_lines(path):
        where = f"{path.name} line {number}"
        if isinstance(raw, Failure):
            raise InputError(raw.message)
        name = next((str(raw[key]) for key in ("id", "index") if raw.get(key) is not None), None)
        if name is None or name in seen:
            raise InputError(f"{where}: {'no id' if name is None else f'id {name!r} was there before'}; mend the line")
        seen.add(name)
        yield name, (str(raw.get("instruction_id") or name), _ratings(raw, first_under, where))


def _ratings(raw: Mapping[str, Any], first_under: str, where: str) -> Mapping[str, str]:
    other = "label" if first_under == "ratings" else "ratings"
    nested = raw[first_under] if first_under in raw else raw.get(other)
    if not isinstance(nested, dict):
        nested = {}
    found = {name: value for name in MEASURES if (value := nested.get(name, raw.get(name))) is not None}
    for name, value in found.items():
        if str(value) not in LABELS:
            raise InputError(f"{where}: {name} is {value!r}; it must be one of: {', '.join(LABELS)}")
    return {name: str(value) for name, value in found.items()}


def _named(path: Path) -> str:
    return f"{path.stem}@{hashlib.sha256(path.read_bytes()).hexdigest()[:4]}"
