"""Blueprints side by side: a line a field, a column a clip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trace_s2s.schemas import FEATURES, Blueprint, Contour, Failure, Feature

from .contour import Drawing, Frame, draw
from .values import ABSENT, Quantity, number, quantity, words

N_SCORES = 5
WHOLE_CLIP = "audio"
"""The key of a blueprint's failure that holds for all of its groups."""


@dataclass(frozen=True, slots=True)
class Column:
    """One clip of the comparison; ``blueprint`` is None where nothing was measured."""

    name: str  # "instruction", "response 1", "response 2"; also told apart by colour
    blueprint: Blueprint | None

    @property
    def tone(self) -> str:
        """The name as a CSS class."""
        return self.name.replace(" ", "-")

    def feature(self, group: str) -> Feature | None:
        return None if self.blueprint is None else getattr(self.blueprint.features, group)

    def failure(self, group: str) -> Failure | None:
        """Why a group is not there, where that is known."""
        failures = {} if self.blueprint is None else self.blueprint.failures
        return failures.get(group) or failures.get(WHOLE_CLIP)


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of one clip. Just one of its values is there."""

    tone: str
    text: str | None = None
    figure: str | None = None
    scores: tuple[tuple[str, str], ...] = ()
    n_more: int = 0
    drawing: Drawing | None = None
    failure: Failure | None = None
    is_measured: bool = True
    n_lines: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """One field of all clips; a column that lacks the group has its one cell in the group's first line."""

    name: str
    unit: str
    description: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """One feature group of all clips."""

    name: str
    aim: str
    lines: tuple[Line, ...]


def compare(columns: Sequence[Column]) -> tuple[Group, ...]:
    """Every group that at least one of the clips has, or was to have and failed, in the order of ``FEATURES``."""
    return tuple(_group(name, type_, columns) for name, type_ in FEATURES.items() if _is_shown(name, columns))


def _is_shown(group: str, columns: Sequence[Column]) -> bool:
    return any(
        column.feature(group) or (column.blueprint and group in column.blueprint.failures) for column in columns
    )


def _group(name: str, type_: type[Feature], columns: Sequence[Column]) -> Group:
    aim = (type_.__doc__ or "").strip().partition("\n")[0]
    features = {column.tone: column.feature(name) for column in columns}
    if not any(features.values()):
        cells = tuple(_missing(column, name, 1) for column in columns)
        return Group(name, aim, (Line("", "", "", cells),))
    lines = [
        _line(name, field, info.description or "", columns, features, len(type_.model_fields) if first else 0)
        for first, (field, info) in zip(_first(), type_.model_fields.items(), strict=False)
    ]
    return Group(name, aim, tuple(lines))
