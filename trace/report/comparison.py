"""Blueprints side by side: a line a field, a column a clip.

All of it is made from the schemas: a field's line is drawn by the type of its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

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
        return self.failure(WHOLE_CLIP)

    def feature(self, group: str) -> Feature | None:
        """What was measured of a group."""
        feature: Feature | None = getattr(self.blueprint.features, group) if self.blueprint else None
        return feature

    def failure(self, group: str) -> Failure | None:
        """Why a group was not measured."""
        return self.blueprint.failures.get(group) if self.blueprint else None


class Cell(NamedTuple):
    """What one clip has in one line, where it is more than a figure."""

    column: Column
    kind: Literal["text", "scores", "contour", "unmeasured"]
    text: str = ""
    scores: tuple[tuple[str, str], ...] = ()
    n_more: int = 0
    drawing: Drawing | None = None
    failure: Failure | None = None
    n_lines: int = 1


class Field(NamedTuple):
    """What a line is about."""

    group: str
    key: str
    quantity: Quantity
    description: str


class Line(NamedTuple):
    """One field of all clips; figures are strings, as most cells are and as is drawn fastest.

    A clip without the group has one cell in the group's first line, for all of them.
    """

    field: Field | None  # None: no clip has the group
    cells: tuple[str | Cell, ...]


class Group(NamedTuple):
    """One feature group of all clips."""

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


@cache
def fields(group: str) -> tuple[Field, ...]:
    """The fields of a group. A contour is in the unit of the first of them: ``mean_hz``, ``integrated_lufs``."""
    infos = FEATURES[group].model_fields
    first = quantity(next(iter(infos)))
    made = []
    for key, info in infos.items():
        shown = quantity(key)
        if info.annotation is Contour:
            shown = Quantity(shown.name, first.unit, first.n_decimals)
        made.append(Field(group, key, shown, info.description or ""))
    return tuple(made)


def _group(name: str, columns: Sequence[Column]) -> Group:
    aim = (FEATURES[name].__doc__ or "").partition("\n")[0]
    features = [column.feature(name) for column in columns]
    if not any(features):
        return Group(name, aim, (Line(None, tuple(_unmeasured(column, name, 1) for column in columns)),))
    there = [(column, feature) for column, feature in zip(columns, features, strict=True) if feature]
    lines = [Line(field, _cells(field, there)) for field in fields(name)]
    if len(there) < len(columns):
        measured = iter(lines[0].cells)
        cells = (
            next(measured) if feature else _unmeasured(column, name, len(lines))
            for column, feature in zip(columns, features, strict=True)
        )
        lines[0] = Line(lines[0].field, tuple(cells))
    return Group(name, aim, tuple(lines))


def _unmeasured(column: Column, group: str, n_lines: int) -> Cell:
    return Cell(column, "unmeasured", failure=column.failure(group), n_lines=n_lines)


def _cells(field: Field, there: Sequence[tuple[Column, Feature]]) -> tuple[str | Cell, ...]:
    values = [getattr(feature, field.key) for _, feature in there]
    if isinstance(values[0], Contour):
        values = draw(values, field.quantity)
    return tuple(_cell(column, value, field.quantity) for (column, _), value in zip(there, values, strict=True))


def _cell(column: Column, value: object, shown: Quantity) -> str | Cell:
    match value:
        case float() | int():
            return number(value, shown.n_decimals)
        case str():
            return Cell(column, "text", value)
        case Drawing():
            return Cell(column, "contour", drawing=value)
        case Mapping():
            ranked = sorted(value.items(), key=lambda entry: (-entry[1], entry[0]))
            scores = tuple((name, number(score, shown.n_decimals)) for name, score in ranked[:N_SCORES])
            return Cell(column, "scores", scores=scores, n_more=len(ranked) - len(scores))
        case tuple():
            return str(len(value))
    return ABSENT if value is None else str(value)
