"""How fast the speech is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trace_s2s.schemas import Failure, FailureKind, Rate, Turns, Word

from .base import Extractor, Machine, Measure, Sample

SHORTEST_S = 0.05  # a span of speech shorter than a syllable is a fault of the recogniser's times


@dataclass(frozen=True)
class RateExtractor(Extractor[Rate]):
    """Words a minute, from the transcript's word times and the turns' voiced time.

    ``speech_per_min`` counts from the start of the first word to the end of the last, pauses included; Whisper lets
    the first word begin up to half a second before its sound, so what lies outside the first and the last turn is left
    out. ``articulation_per_min`` divides by the time with speech in that span, so it is never less. Where turns could
    not be measured, word times alone count and ``articulation_per_min`` is None. What has no letter or digit is no
    word. Some words have no duration; where all together have none, the clip's whole duration counts. A clip in which
    nothing is said has no rate: the failure ``no_speech``; one without a transcript fails as the transcript did.

    Cost: nothing to speak of.
    """

    name: ClassVar[str] = "rate"
    version: ClassVar[str] = "2"
    needs: ClassVar[tuple[str, ...]] = ("transcript", "turns")

    def load(self, machine: Machine) -> Measure[Rate]:
        return lambda samples: [measure(sample) for sample in samples]


def measure(sample: Sample) -> Rate | Failure:
    """One clip's rate."""
    transcript, turns = sample.features.transcript, sample.features.turns
    if transcript is None:
        why = sample.failures.get("transcript")
        message = f"needs the transcript, which failed: {why.message if why else 'it was not measured'}"
        return Failure(kind=why.kind if why else FailureKind.UNAVAILABLE, message=message)
    words = [word for word in transcript.words if any(map(str.isalnum, word.text))]
    if not words:
        return Failure(kind=FailureKind.NO_SPEECH, message="no words are recognised, so there is no rate")
    start_s, end_s = _span(words, turns, sample.duration_s)
    voiced_s = _voiced_s(turns, start_s, end_s) if turns else 0.0
    return Rate(
        unit="words",
        n_units=len(words),
        speech_per_min=60 * len(words) / (end_s - start_s),
        articulation_per_min=60 * len(words) / voiced_s if voiced_s >= SHORTEST_S else None,
    )


def _span(words: Sequence[Word], turns: Turns | None, duration_s: float) -> tuple[float, float]:
    """Where speaking starts and ends."""
    start_s, end_s = min(word.start_s for word in words), max(word.end_s for word in words)
    if turns:
        start_s, end_s = max(start_s, turns.segments[0].start_s), min(end_s, turns.segments[-1].end_s)
    return (start_s, end_s) if end_s - start_s >= SHORTEST_S else (0.0, max(duration_s, SHORTEST_S))


def _voiced_s(turns: Turns, start_s: float, end_s: float) -> float:
    """Time with speech between two times: never more than lies between them, so that pauses only ever slow speech."""
    inside = (min(segment.end_s, end_s) - max(segment.start_s, start_s) for segment in turns.segments)
    return sum(max(0.0, length_s) for length_s in inside)
