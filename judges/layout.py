"""Layouts: how a blueprint is written out for a judge, and the legend that explains it.

``compact`` writes a line a feature group: plain numbers with sensible digits, contours on a coarse grid about their
mean. ``paper`` writes the JSON object of the TRACE paper (Figures 7 and 8), which knows no ``voice`` and no ``turns``.
The legend is made from the schema's own field descriptions, for just the groups that are shown.

What systems under test said is untrusted: it is written as a JSON string, so that no text can leave its quotes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from trace_s2s.schemas import (
    FEATURES,
    Accent,
    Blueprint,
    Contour,
    Emotion,
    Feature,
    Features,
    Layout,
    Loudness,
    Pitch,
    Rate,
    Transcript,
)

COMPACT_POINTS = 12
PAPER_POINTS = 20  # TRACE, Figure 8
TOP_SCORES = 3
RELATIVE_GATE_LU = -10.0  # ITU-R BS.1770-4; the released code's contour holds only the blocks that pass it

COMPACT_FIELDS: Mapping[str, Mapping[str, int]] = {
    "transcript": {"text": 0},
    "quality": {"signal_mos": 2, "background_mos": 2, "overall_mos": 2, "p808_mos": 2},
    "emotion": {"scores": 2},
    "accent": {"scores": 2},
    "pitch": {"mean_hz": 0, "std_hz": 0, "voiced_share": 2, "contour": 0},
    "loudness": {"integrated_lufs": 1, "std_lu": 1, "contour": 0},
    "rate": {"speech_per_min": 0, "articulation_per_min": 0},
    "voice": {
        "jitter_percent": 1,
        "shimmer_percent": 1,
        "hnr_db": 1,
        "cpps_db": 1,
        "spectral_tilt_db": 0,
        "pitch_range_st": 1,
    },
    "turns": {"speech_s": 1, "leading_silence_s": 1, "n_pauses": 0, "longest_pause_s": 1},
}
"""What the compact layout shows of each group, and with how many decimals."""

_COMPACT_CONTOURS: Mapping[str, str] = {
    "pitch": "semitones above or below the mean",
    "loudness": "LU above or below integrated_lufs",
}

PAPER_PROPERTIES: Mapping[str, tuple[str, str]] = {
    "Mean_Pitch_Hz": ("pitch", "mean_hz"),
    "Std_Dev_Pitch_Hz": ("pitch", "std_hz"),
    "Full_Pitch_Contour_Hz": ("pitch", "contour"),
    "Integrated_Loudness_LUFS": ("loudness", "integrated_lufs"),
    "Std_Dev_Loudness_LUFS": ("loudness", "std_lu"),
    "Full_Loudness_Contour_LUFS": ("loudness", "contour"),
    "Speech_Rate_WPM": ("rate", "speech_per_min"),
    "Articulation_Rate_WPM": ("rate", "articulation_per_min"),
}
PAPER_QUALITY: Mapping[str, str] = {
    "DNSMOS_Personalized_Signal_Quality": "signal_mos",
    "DNSMOS_Personalized_Background_Quality": "background_mos",
    "DNSMOS_Personalized_Overall_Quality": "overall_mos",
    "P808_Overall_Quality": "p808_mos",
}
"""The paper's keys (Figure 7), and which of our fields they hold."""


def quoted(value: object) -> str:
    """Untrusted text (or a JSON value that holds some) as JSON on one line.

    Unprintable characters are escaped too: some readers break lines at separators, and tag characters hide text.
    """
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in plain)


def render(blueprint: Blueprint, layout: Layout) -> str:
    """The blueprint's groups as text."""
    if layout is Layout.PAPER:
        return quoted(_paper(blueprint.features))
    shown = {name: _compact(name, feature) for name, feature in blueprint.features.groups().items()}
    missing = {name: f"not measurable ({failure.kind})" for name, failure in blueprint.failures.items()}
    lines = {**missing, **shown}
    return "\n".join(f"{name}: {lines[name]}" for name in FEATURES if name in lines)


def legend(groups: Iterable[str], layout: Layout) -> str:
    """What the fields of these groups mean."""
    wanted = set(groups)
    if layout is Layout.PAPER:
        return "\n".join(_paper_legend(wanted))
    return "\n".join(f"{name}: {_compact_legend(name)}" for name in FEATURES if name in wanted)


def description(group: str, field: str) -> str:
    """The schema's description of a field."""
    return FEATURES[group].model_fields[field].description or field


# compact


def _compact(name: str, feature: Feature) -> str:
    match feature:
        case Transcript(text=text):
            return quoted(text) if text else '"" (nothing was said)'
        case Emotion(scores=scores) | Accent(scores=scores):
            top = sorted(scores.items(), key=lambda entry: -entry[1])[:TOP_SCORES]
            return ", ".join(f"{key} {_number(value, 2)}" for key, value in top)
    values = [
        f"{field} {_compact_value(feature, getattr(feature, field), n_decimals)}"
        for field, n_decimals in COMPACT_FIELDS[name].items()
    ]
    return ", ".join([f"unit {feature.unit}", *values] if isinstance(feature, Rate) else values)


def _compact_value(feature: Feature, value: object, n_decimals: int) -> str:
    if not isinstance(value, Contour):
        return _number(value, n_decimals)
    cells = _cell_means(value.values, COMPACT_POINTS)
    if isinstance(feature, Pitch):
        cells = [None if cell is None else 12 * math.log2(cell / feature.mean_hz) for cell in cells]
    elif isinstance(feature, Loudness):
        cells = [None if cell is None else cell - feature.integrated_lufs for cell in cells]
    return "[" + " ".join("." if cell is None else f"{round(cell):+d}" for cell in cells) + "]"


def _cell_means(values: Sequence[float | None], n_cells: int) -> list[float | None]:
    """The mean of the values that are there, in each of ``n_cells`` equal stretches of time."""
    edges = np.linspace(0, len(values), min(n_cells, len(values)) + 1).round().astype(int)
    cells = [[value for value in values[start:end] if value is not None] for start, end in pairwise(edges)]
    return [sum(cell) / len(cell) if cell else None for cell in cells]


def _compact_legend(name: str) -> str:
    fields = COMPACT_FIELDS[name]
    if name == "transcript":
        return description(name, "text")
    if name in ("emotion", "accent"):
        return f"{description(name, 'scores')}; the {TOP_SCORES} highest"
    parts = [f"{field} = {_compact_description(name, field)}" for field in fields]
    return "; ".join([f"unit = {description(name, 'unit')}", *parts] if name == "rate" else parts)


def _compact_description(name: str, field: str) -> str:
    if field != "contour":
        return description(name, field)
    return f"course over time in {COMPACT_POINTS} equal steps, {_COMPACT_CONTOURS[name]}; '.' where there is none"


def _number(value: object, n_decimals: int) -> str:
    if value is None:
        return "unknown"
    return f"{value:.{n_decimals}f}" if isinstance(value, float) else str(value)


# paper


def _paper(features: Features) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if features.transcript is not None:
        document["agent_response"] = features.transcript.text
    if features.emotion is not None:
        document["agent_emotion"] = {key: round(value, 3) for key, value in features.emotion.scores.items()}
    if features.accent is not None:
        document["agent_accent"] = {key: round(value, 3) for key, value in features.accent.scores.items()}
    if (quality := features.quality) is not None:
        values = {key: getattr(quality, field) for key, field in PAPER_QUALITY.items()}
        document["agent_audio_quality"] = {key: f"{value:.2f} / 5.00" for key, value in values.items()}
    properties = {
        key: _paper_value(feature, field)
        for key, (group, field) in PAPER_PROPERTIES.items()
        if (feature := getattr(features, group)) is not None
    }
    if properties:
        document["agent_audio_properties"] = properties
    return document


def _paper_value(feature: Feature, field: str) -> object:
    value = getattr(feature, field)
    if not isinstance(value, Contour):
        return None if value is None else round(value, 2)
    track = np.array([point for point in value.values if point is not None])
    if isinstance(feature, Loudness) and len(track):
        mean_level = 10 * np.log10(np.mean(10 ** (track / 10)))
        track = track[track > mean_level + RELATIVE_GATE_LU]
    if not len(track):
        return []
    grid = np.linspace(0, len(track) - 1, PAPER_POINTS)
    return [round(float(point), 2) for point in np.interp(grid, np.arange(len(track)), track)]


def _paper_legend(groups: set[str]) -> Iterable[str]:
    for key, group in (("agent_response", "transcript"), ("agent_emotion", "emotion"), ("agent_accent", "accent")):
        if group in groups:
            yield f"{key}: {description(group, 'text' if group == 'transcript' else 'scores')}"
    if "quality" in groups:
        yield from (f"agent_audio_quality.{key}: {description('quality', f)}" for key, f in PAPER_QUALITY.items())
    for key, (group, field) in PAPER_PROPERTIES.items():
        if group in groups:
            meaning = description(group, field)
            points = f", {PAPER_POINTS} points over the voiced or audible parts" if field == "contour" else ""
            yield f"agent_audio_properties.{key}: {meaning}{points}"
