"""Feature groups: what is measured of one clip.

A field's description is its only documentation: the JSON schema, the legend in a judge's prompt and the report's
tooltips are made from it. ``None`` means "not measurable here", never zero.

To add a group: its type here and in ``FEATURES``; then its extractor (see ``trace_s2s.extractors``), its rendering
(see ``trace_s2s.judges.layout``) and its test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from .base import Document, SparseDocument

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
NonNegative = Annotated[float, Field(ge=0.0)]


class Contour(Document):
    """A quantity over time on an even grid."""

    start_s: NonNegative = Field(description="time of the first value in seconds")
    step_s: Annotated[float, Field(gt=0.0)] = Field(description="time between values in seconds")
    values: tuple[float | None, ...] = Field(description="one value a step; null where there is none")


class Word(Document):
    """One recognised word with its times."""

    text: str = Field(description="the word as recognised, with its punctuation")
    start_s: NonNegative = Field(description="start in seconds")
    end_s: NonNegative = Field(description="end in seconds")
    probability: Fraction | None = Field(None, description="the recogniser's probability of the word, 0-1")


class Transcript(Document):
    """What was said, by automatic speech recognition."""

    text: str = Field(description="automatic transcript of the speech; may contain recognition errors")
    language: str | None = Field(description="language of the speech as an ISO 639-1 code; null if not known")
    words: tuple[Word, ...] = Field(description="words with start and end times")
    mean_logprob: float | None = Field(
        description="mean log-probability of the transcript's tokens; below -0.8 the transcript is doubtful"
    )
    no_speech_probability: Fraction | None = Field(description="probability that there is no speech at all, 0-1")


class Quality(Document):
    """How good the sound is, predicted without a reference."""

    signal_mos: float = Field(description="predicted quality of the speech signal (DNSMOS P.835), 1-5")
    background_mos: float = Field(description="predicted absence of background noise (DNSMOS P.835), 1-5")
    overall_mos: float = Field(description="predicted overall quality (DNSMOS P.835), 1-5")
    p808_mos: float = Field(description="predicted overall quality (DNSMOS P.808), 1-5")
    n_windows: int = Field(ge=1, description="number of 9.01 s windows averaged")


class Emotion(Document):
    """How the speech sounds emotionally, as class scores of a classifier."""

    scores: Mapping[str, Fraction] = Field(description="score of each emotion heard in the voice, 0-1")


class Accent(Document):
    """Which English accent the speech resembles."""

    scores: Mapping[str, float] = Field(description="similarity to each English accent; higher is closer")


class Pitch(Document):
    """Fundamental frequency of the voice."""

    mean_hz: float = Field(description="mean pitch over voiced frames in hertz")
    std_hz: NonNegative = Field(description="standard deviation of pitch in hertz")
    median_hz: float = Field(description="median pitch in hertz")
    voiced_share: Fraction = Field(description="share of frames with a pitch, 0-1")
    contour: Contour = Field(description="pitch over time in hertz; null where unvoiced")


class Loudness(Document):
    """Loudness by ITU-R BS.1770."""

    integrated_lufs: float = Field(description="integrated loudness of the clip in LUFS (speech is often near -23)")
    std_lu: NonNegative = Field(description="standard deviation of the loudness of 400 ms blocks in LU")
    contour: Contour = Field(description="loudness of 400 ms blocks over time in LUFS; null where below -70")


class Rate(Document):
    """How fast the speech is."""

    unit: str = Field(description="what is counted: words, characters or syllables")
    n_units: int = Field(ge=0, description="how many were said")
    speech_per_min: NonNegative = Field(description="units a minute from first to last, pauses included")
    articulation_per_min: NonNegative | None = Field(description="units a minute of voiced time, pauses excluded")


class Voice(Document):
    """Steadiness and colour of the voice."""

    jitter_percent: NonNegative | None = Field(description="cycle-to-cycle change of pitch period in percent")
    shimmer_percent: NonNegative | None = Field(description="cycle-to-cycle change of amplitude in percent")
    hnr_db: float | None = Field(description="harmonics-to-noise ratio in dB; higher is cleaner")
    cpps_db: float | None = Field(description="smoothed cepstral peak prominence in dB; low is breathy or hoarse")
    spectral_tilt_db: float | None = Field(
        description="level of 1-5 kHz relative to 0-1 kHz in dB; lower is softer or duller"
    )
    pitch_range_st: NonNegative | None = Field(description="pitch range (5th to 95th percentile) in semitones")


class Segment(Document):
    """A stretch of speech."""

    start_s: NonNegative = Field(description="start in seconds")
    end_s: NonNegative = Field(description="end in seconds")
    speaker: str | None = Field(None, description="speaker, where speakers were told apart")


class Turns(Document):
    """When there is speech, and when there is silence."""

    segments: tuple[Segment, ...] = Field(description="stretches of speech")
    speech_s: NonNegative = Field(description="total time with speech in seconds")
    leading_silence_s: NonNegative = Field(description="silence before the first speech in seconds")
    n_pauses: int = Field(ge=0, description="number of pauses between stretches of speech")
    longest_pause_s: NonNegative | None = Field(description="longest pause in seconds; null if there is none")


Feature = Transcript | Quality | Emotion | Accent | Pitch | Loudness | Rate | Voice | Turns

FEATURES: Mapping[str, type[Feature]] = {
    "transcript": Transcript,
    "quality": Quality,
    "emotion": Emotion,
    "accent": Accent,
    "pitch": Pitch,
    "loudness": Loudness,
    "rate": Rate,
    "voice": Voice,
    "turns": Turns,
}
"""Every feature group by name, in the order in which it is shown."""


class Features(SparseDocument):
    """The measured feature groups of one clip; a group that was not measured is absent."""

    transcript: Transcript | None = None
    quality: Quality | None = None
    emotion: Emotion | None = None
    accent: Accent | None = None
    pitch: Pitch | None = None
    loudness: Loudness | None = None
    rate: Rate | None = None
    voice: Voice | None = None
    turns: Turns | None = None

    def groups(self) -> dict[str, Feature]:
        """The groups that are there, by name, in the order in which they are shown."""
        return {name: feature for name in FEATURES if (feature := getattr(self, name)) is not None}


GROUP_SETS: Mapping[str, tuple[str, ...]] = {"properties": ("pitch", "loudness", "rate")}
"""Names for several groups at once; ``properties`` is the paper's ablation unit."""
