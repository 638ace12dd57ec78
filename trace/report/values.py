"""How values are worded: units from field names, sensible digits, labels in words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from trace_s2s.schemas import HumanLabel, Label, Rating

UNITS: Mapping[str, tuple[str, int]] = {
    "_per_min": ("/min", 0),
    "_percent": ("%", 2),
    "_lufs": ("LUFS", 1),
    "_mos": ("MOS", 2),
    "_hz": ("Hz", 0),
    "_db": ("dB", 1),
    "_lu": ("LU", 1),
    "_st": ("st", 1),
    "_s": ("s", 2),
}
"""What the end of a field's name says: its unit, and the decimals that mean something in it."""

PLAIN = ("", 2)
COUNT = "n_"
ABSENT = "–"


class Quantity(NamedTuple):
    """What a field is called on the page, its unit, and how many decimals it is given."""

    name: str
    unit: str
    n_decimals: int


@cache
def quantity(field: str) -> Quantity:
    """The quantity that a field's name tells: ``mean_hz`` is "mean" in Hz."""
    suffix = next((suffix for suffix in UNITS if field.endswith(suffix)), "")
    unit, n_decimals = UNITS.get(suffix, PLAIN)
    name = field.removesuffix(suffix)
    if name.startswith(COUNT):
        name = f"number of {name.removeprefix(COUNT)}"
    return Quantity(words(name), unit, n_decimals)


def words(name: str) -> str:
    """A name of the schemas as words: ``voice_quality`` is "voice quality"."""
    return name.replace("_", " ")


def number(value: float, n_decimals: int) -> str:
    """A number with a true minus sign and no "−0.0"; whole numbers as they are."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{n_decimals}f}"
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.") else f"\N{MINUS SIGN}{text[1:]}"
    return text


def rating_words(rating: Rating | HumanLabel) -> str:
    """A label in words, or a score."""
    if isinstance(rating, float):
        return f"{rating:g}"
    return {"1": "response 1", "2": "response 2"}.get(rating, words(rating))


def acceptable_words(acceptable: tuple[bool, bool]) -> str:
    """Which of the two responses are acceptable."""
    words_of = {(True, True): "both", (True, False): "only 1", (False, True): "only 2", (False, False): "neither"}
    return words_of[acceptable]


def agrees(rating: Rating, human: HumanLabel) -> bool | None:
    """Whether a rating is what the human said, an untyped tie agreeing with both ties; None for scores."""
    if isinstance(rating, float):
        return None
    if human == "tie":
        return rating in (Label.BOTH_GOOD, Label.BOTH_BAD)
    return rating == human


def duration(seconds: float) -> str:
    """A length of time: ``0.42 s``, ``38 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
