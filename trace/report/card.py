"""What is shown of one item: its players, its ratings, its blueprints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePath
from urllib.parse import quote

from trace_s2s.fusion import DIMENSIONS
from trace_s2s.schemas import OVERALL, Blueprint, FailureKind, HumanLabel, Item, Rating, Record, Response

from .comparison import Column, Group, compare
from .values import agrees, duration

N_HEARD = 240  # characters of a transcript beside its player; it is whole in the blueprint
NO_FILE = (FailureKind.MISSING_FILE, FailureKind.EMPTY_FILE)


@dataclass(frozen=True)
class Row:
    """One item of the run with all that is known of it; ``item`` is None where its manifest line was unusable."""

    record: Record
    item: Item | None
    instruction: Blueprint | None
    responses: tuple[Blueprint, ...]


@dataclass(frozen=True, slots=True)
class Player:
    """One clip of an item, or an instruction that is text only."""

    column: Column
    source: str | None  # relative URL; None where there is nothing to play
    system: str | None
    facts: str
    text: str | None
    origin: str  # where the text comes from


@dataclass(frozen=True, slots=True)
class RatingLine:
    """One dimension, or the overall verdict, as judged and as labelled."""

    name: str
    rating: Rating | None
    acceptable: tuple[bool, bool] | None
    confidence: float | None
    human: HumanLabel | None
    reason: str | None

    @property
    def agrees(self) -> bool | None:
        """Whether judge and human say the same, where both say something."""
        return agrees(self.rating, self.human) if self.rating is not None and self.human is not None else None


@dataclass(frozen=True, slots=True)
class Card:
    """One item as the page shows it."""

    number: int  # in the run, from 1; it names the card in links
    record: Record
    players: tuple[Player, ...]
    lines: tuple[RatingLine, ...]  # a dimension each
    overall: RatingLine
    groups: tuple[Group, ...]
    columns: tuple[Column, ...]

    def line(self, dimension: str) -> RatingLine | None:
        """The line of a dimension, where the item has it."""
        return next((line for line in self.lines if line.name == dimension), None)


def card(number: int, row: Row, audio_root: Path, folder: Path) -> Card:
    """The card of a row; links lead from ``folder`` to the clips."""
    players = _players(row.item, row, audio_root, folder) if row.item else ()
    columns = tuple(player.column for player in players)
    if row.instruction is None:
        columns = tuple(column for column in columns if column.name != "instruction")
    lines = tuple(_rating_line(row.record, dimension) for dimension in dimensions([row.record]))
    groups = compare(columns)
    return Card(number, row.record, players, lines, _overall_line(row.record), groups, columns)


def dimensions(records: Iterable[Record]) -> tuple[str, ...]:
    """Every dimension that is rated or labelled: first those of the pairwise rubric, then others as they come."""
    named: dict[str, None] = {}
    for record in records:
        named |= dict.fromkeys([*(record.ratings or ()), *(record.label or ())])
    known = [name for name in DIMENSIONS if name in named]
    return (*known, *(name for name in named if name not in (*DIMENSIONS, OVERALL)))


def link(path: Path, folder: Path) -> str:
    """The relative URL that leads from ``folder`` to a file."""
    relative = PurePath(os.path.relpath(path, folder)).as_posix()
    return quote(os.fsencode(relative))


def _players(item: Item, row: Row, audio_root: Path, folder: Path) -> tuple[Player, ...]:
    text, origin = _instruction_text(item, row.instruction)
    column = Column("instruction", row.instruction)
    source = _source(item.instruction_path, column, audio_root, folder)
    players = [Player(column, source, None, _facts(row.instruction), text, origin)]
    names = ("response 1", "response 2") if item.is_pairwise else ("response",)
    for name, response, blueprint in zip_longest(names, item.responses, row.responses[: len(names)]):
        players.append(_response_player(Column(name, blueprint), response, audio_root, folder))
    return tuple(players)


def _response_player(column: Column, response: Response, audio_root: Path, folder: Path) -> Player:
    heard = _transcript(column.blueprint)
    if heard is not None and len(heard) > N_HEARD:
        heard = heard[:N_HEARD].rsplit(" ", 1)[0] + " …"
    source = _source(response.audio_path, column, audio_root, folder)
    return Player(column, source, response.model, _facts(column.blueprint), heard, "heard")


def _source(path: str | None, column: Column, audio_root: Path, folder: Path) -> str | None:
    failure = column.whole_failure
    if path is None or (failure and failure.kind in NO_FILE):
        return None
    return link(audio_root / path, folder)


def _instruction_text(item: Item, blueprint: Blueprint | None) -> tuple[str | None, str]:
    if item.instruction_text is not None:
        return item.instruction_text, "given"
    return _transcript(blueprint), "transcript of the clip, no text was given"


def _transcript(blueprint: Blueprint | None) -> str | None:
    transcript = blueprint.features.transcript if blueprint else None
    return transcript.text if transcript else None


def _facts(blueprint: Blueprint | None) -> str:
    if blueprint is None or blueprint.clip.duration_s is None:
        return ""
    rate = blueprint.clip.sample_rate_hz
    return duration(blueprint.clip.duration_s) + (f", {rate / 1000:g} kHz" if rate else "")


def _rating_line(record: Record, name: str) -> RatingLine:
    return RatingLine(
        name,
        rating=(record.ratings or {}).get(name),
        acceptable=(record.acceptable or {}).get(name),
        confidence=_confidences(record).get(name),
        human=(record.label or {}).get(name),
        reason=(record.reasoning or {}).get(name),
    )


def _overall_line(record: Record) -> RatingLine:
    return RatingLine(OVERALL, record.overall, None, record.confidence, (record.label or {}).get(OVERALL), None)


def _confidences(record: Record) -> Mapping[str, float]:
    """By dimension, where one verdict made the ratings; of several, only the record's own confidence is known."""
    return (record.orders[0].verdict.confidence or {}) if len(record.orders) == 1 else {}
