"""Blueprints side by side: a line a field, a column a clip.

All of it is made from the schemas: a field's line is drawn by the type of its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trace_s2s.schemas import FEATURES, Blueprint, Contour, Failure, Feature

from .contour import Drawing, draw
from .values import ABSENT, Quantity, number, quantity

N_SCORES = 5
WHOLE_CLIP = "audio"  # the key of a blueprint's failure that holds for all of its groups


@dataclass(frozen=True, slots=True)
class Column:
    """One clip of the comparison; ``blueprint`` is None where nothing was measured."""

    name: str  # "instruction", "response 1", "response 2"
    blueprint: Blueprint | None

    @property
    def tone(self) -> str:
        """The name as a CSS class: columns are told apart by colour too."""
        return self.name.replace(" ", "-")

    @property
    def whole_failure(self) -> Failure | None:
        """Why nothing was measured of the clip."""
        return self.blueprint.failures.get(WHOLE_CLIP) if self.blueprint else None

    def feature(self, group: str) -> Feature | None:
        """What was measured of a group."""
        feature: Feature | None = getattr(self.blueprint.features, group) if self.blueprint else None
        return feature

    def failure(self, group: str) -> Failure | None:
        """Why a group was not measured."""
        return self.blueprint.failures.get(group) if self.blueprint else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of one clip."""

    column: Column
    kind: Literal["figure", "text", "scores", "contour", "absent", "unmeasured"]
    text: str = ""
    scores: tuple[tuple[str, str], ...] = ()
    n_more: int = 0
    drawing: Drawing | None = None
    failure: Failure | None = None
    n_lines: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """One field of all clips. A clip without the group has one cell in the group's first line, for all of them."""

    name: str
    unit: str
    description: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """One feature group of all clips; without lines' names where no clip has it."""

    name: str
    aim: str
    lines: tuple[Line, ...]


def compare(columns: Sequence[Column]) -> tuple[Group, ...]:
    """Every group that one of the clips has, or should have had, in the order of ``FEATURES``."""
    return tuple(
        _group(name, columns)
        for name in FEATURES
        if any(column.feature(name) or column.failure(name) for column in columns)
    )


def _group(name: str, columns: Sequence[Column]) -> Group:
    aim = (FEATURES[name].__doc__ or "").partition("\n")[0]
    measured = [column for column in columns if column.feature(name)]
    if not measured:
        return Group(name, aim, (Line("", "", "", tuple(_unmeasured(column, name, 1) for column in columns)),))
    fields = FEATURES[name].model_fields
    lines = []
    for field, info in fields.items():
        values = {column.name: getattr(column.feature(name), field) for column in measured}
        shown = quantity(field)
        if any(isinstance(value, Contour) for value in values.values()):
            shown = _contour_quantity(name, field)
            values = dict(zip(values, draw(values.values(), shown), strict=True))
        cells = [
            _cell(column, values[column.name], shown)
            if column.name in values
            else _unmeasured(column, name, len(fields))
            for column in columns
            if column.name in values or not lines
        ]
        lines.append(Line(shown.name, shown.unit, info.description or "", tuple(cells)))
    return Group(name, aim, tuple(lines))


def _contour_quantity(group: str, field: str) -> Quantity:
    """A contour is in the unit of its group's first field: ``mean_hz``, ``integrated_lufs``."""
    return replace(quantity(next(iter(FEATURES[group].model_fields))), name=quantity(field).name)


def _unmeasured(column: Column, group: str, n_lines: int) -> Cell:
    return Cell(column, "unmeasured", failure=column.failure(group), n_lines=n_lines)


def _cell(column: Column, value: object, shown: Quantity) -> Cell:
    match value:
        case Drawing():
            return Cell(column, "contour", drawing=value)
        case Mapping():
            ranked = sorted(value.items(), key=lambda entry: (-entry[1], entry[0]))
            scores = tuple((name, number(score, shown.n_decimals)) for name, score in ranked[:N_SCORES])
            return Cell(column, "scores", scores=scores, n_more=len(ranked) - len(scores))
        case float() | int():
            return Cell(column, "figure", number(value, shown.n_decimals))
        case str():
            return Cell(column, "text", value)
        case tuple():
            return Cell(column, "figure", str(len(value)))
    return Cell(column, "absent", ABSENT)
