"""Extractors: one clip in, one feature group out.

To add one: its type in ``trace_s2s.schemas.features``, its module here (``loudness.py`` is a short example), one line
in ``EXTRACTORS`` and in the profiles that it belongs to, and its test; the conformance suite picks it up from the
table. Other packages add extractors by an entry point in the group ``trace_s2s.extractors``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import TypeAdapter, ValidationError

from trace_s2s.schemas import GROUP_SETS, InputError

from .base import Extractor, Machine, Measure, Sample, Waveform

EXTRACTORS: Mapping[str, str] = {
    "transcript": "trace_s2s.extractors.transcript:TranscriptExtractor",
    "quality": "trace_s2s.extractors.quality:QualityExtractor",
    "pitch": "trace_s2s.extractors.pitch:PitchExtractor",
    "loudness": "trace_s2s.extractors.loudness:LoudnessExtractor",
    "rate": "trace_s2s.extractors.rate:RateExtractor",
    "voice": "trace_s2s.extractors.voice:VoiceExtractor",
    "turns": "trace_s2s.extractors.turns:TurnsExtractor",
}
"""Every extractor of ours by name, as ``module:Class``; imported when asked for."""

PROFILES: Mapping[str, tuple[str, ...]] = {
    "embedded": ("transcript", "quality", "pitch", "loudness", "rate", "voice", "turns"),
}
"""Which extractors a profile runs."""

_GROUP = "trace_s2s.extractors"

__all__ = [
    "EXTRACTORS",
    "PROFILES",
    "Extractor",
    "Machine",
    "Measure",
    "Sample",
    "Waveform",
    "extractor_class",
    "foreign_extractors",
    "group_names",
    "make_extractor",
]


def extractor_class(name: str) -> type[Extractor[Any]]:
    """The extractor called ``name``, ours or another package's.

    Raises:
        InputError: there is none of that name.
    """
    table = {**foreign_extractors(), **EXTRACTORS}
    if name not in table:
        raise InputError(f"no extractor is called {name!r}; there are: {', '.join(sorted(table))}")
    found: type[Extractor[Any]] = EntryPoint(name, table[name], _GROUP).load()
    return found


def foreign_extractors() -> dict[str, str]:
    """Extractors of other packages by name, as ``module:Class``. One for a group of ``FEATURES`` can be asked for."""
    return {point.name: point.value for point in entry_points(group=_GROUP)}


def make_extractor(name: str, options: Mapping[str, Any]) -> Extractor[Any]:
    """An extractor with these options; a misspelled or ill-typed one is an error.

    Raises:
        InputError: no such extractor, or no such option.
    """
    made = extractor_class(name)
    adapter = TypeAdapter(made)
    try:
        return adapter.validate_python(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        known = ", ".join(field.name for field in fields(made)) or "none"
        reason = f"option {option!r} of extractor {name!r}: {first['msg'].lower()}; its options are: {known}"
        raise InputError(reason) from error


def group_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Group names with set names such as ``properties`` spelled out."""
    return tuple(member for name in names for member in GROUP_SETS.get(name, (name,)))
