"""Steadiness and colour of the voice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trace_s2s.schemas import Failure, FailureKind, Voice, require

from .base import Extractor, Machine, Measure, Sample
from .pitch import CEILING_HZ, FLOOR_HZ, STEP_S, check_range, praat_pitch, praat_sound

if TYPE_CHECKING:
    import parselmouth

# Praat's standard settings: shortest and longest period in seconds, largest ratio of periods, of amplitudes
SHORTEST_PERIOD_S, LONGEST_PERIOD_S, PERIOD_RATIO, AMPLITUDE_RATIO = 0.0001, 0.02, 1.3, 1.6
HNR_SETTINGS = (0.1, 1.0)  # Praat's standard: silence threshold, periods a window
# CPPS as in the Acoustic Voice Quality Index, script version 03.01 (Maryn & Weenink 2015)
CEPSTROGRAM_SETTINGS = (60, 0.002, 5000, 50)
CPPS_SETTINGS = ("no", 0.01, 0.001, 60, 330, 0.05, "Parabolic", 0.001, 0, "Straight", "Robust")
CPPS_SHORTEST_S = 0.1  # two analysis windows
TILT_SPLIT_HZ, TILT_TOP_HZ = 1000.0, 5000.0


@dataclass(frozen=True)
class VoiceExtractor(Extractor[Voice]):
    """Jitter, shimmer, harmonicity, cepstral peak prominence, spectral tilt and pitch range, by Praat (parselmouth).

    Conventions: the mono mix at native rate. Jitter and shimmer are Praat's "local" ones over all glottal pulses;
    harmonicity is the mean over frames that have one (cross-correlation). CPPS and tilt are of the voiced frames,
    joined: CPPS with the settings of the Acoustic Voice Quality Index; tilt as the total level of 1-5 kHz less that of
    0-1 kHz. Running speech has more jitter and shimmer than the sustained vowels of clinical norms: compare clips with
    each other. A value that cannot be computed is None (tilt: sound sampled under 10 kHz). A clip without pitch is
    ``unvoiced``; one shorter than Praat's window is ``too_short``.

    Options:
        floor_hz, ceiling_hz: where pitch is looked for.
        cpps_most_s: CPPS is of this much voiced sound from the start, since it costs more than all else.

    Cost: 0.08 of the duration of the 31 real clips, more than half of it for CPPS (0.09 s a second).
    """

    name: ClassVar[str] = "voice"
    version: ClassVar[str] = "1"
    packages: ClassVar[dict[str, str]] = {"parselmouth": "embedded"}

    floor_hz: float = FLOOR_HZ
    ceiling_hz: float = CEILING_HZ
    cpps_most_s: Annotated[float, Field(ge=CPPS_SHORTEST_S)] = 30.0

    def __post_init__(self) -> None:
        check_range(self.floor_hz, self.ceiling_hz)

    def load(self, machine: Machine) -> Measure[Voice]:
        require(self.packages)
        return lambda samples: [self._measure(sample) for sample in samples]

    def _measure(self, sample: Sample) -> Voice | Failure:
        pitch = praat_pitch(sample, self.floor_hz, self.ceiling_hz)
        if isinstance(pitch, Failure):
            return pitch
        values_hz = pitch.selected_array["frequency"]
        if not values_hz.any():
            return Failure(kind=FailureKind.UNVOICED, message="no part of the clip is voiced")
        sound = praat_sound(sample)
        voiced = voiced_part(sound, pitch)
        jitter, shimmer = unsteadiness(sound, pitch)
        return Voice(
            jitter_percent=jitter,
            shimmer_percent=shimmer,
            hnr_db=harmonicity_db(sound, self.floor_hz),
            cpps_db=cpps_db(voiced, self.cpps_most_s),
            spectral_tilt_db=tilt_db(voiced),
            pitch_range_st=12 * float(np.log2(np.divide(*np.percentile(values_hz[values_hz > 0], (95, 5))))),
        )


def unsteadiness(sound: parselmouth.Sound, pitch: parselmouth.Pitch) -> tuple[float | None, float | None]:
    """Local jitter and shimmer in percent."""
    from parselmouth.praat import call

    pulses = call([sound, pitch], "To PointProcess (cc)")
    periods = (0, 0, SHORTEST_PERIOD_S, LONGEST_PERIOD_S, PERIOD_RATIO)
    jitter = number(call(pulses, "Get jitter (local)", *periods))
    shimmer = number(call([sound, pulses], "Get shimmer (local)", *periods, AMPLITUDE_RATIO))
    return jitter and 100 * jitter, shimmer and 100 * shimmer


def harmonicity_db(sound: parselmouth.Sound, floor_hz: float) -> float | None:
    """Mean harmonics-to-noise ratio over the frames that have one."""
    values = sound.to_harmonicity_cc(STEP_S, floor_hz, *HNR_SETTINGS).values
    voiced = values[values > -200]  # Praat's mark of an unvoiced frame
    return number(voiced.mean()) if voiced.size else None


def voiced_part(sound: parselmouth.Sound, pitch: parselmouth.Pitch) -> parselmouth.Sound:
    """The sound of the voiced frames, joined."""
    import parselmouth

    is_voiced = pitch.selected_array["frequency"] > 0
    frames = np.clip(np.rint((sound.xs() - pitch.x1) / STEP_S).astype(int), 0, len(is_voiced) - 1)
    return parselmouth.Sound(sound.values[0, is_voiced[frames]], sound.sampling_frequency)


def cpps_db(voiced: parselmouth.Sound, most_s: float) -> float | None:
    """Smoothed cepstral peak prominence of the start of a sound."""
    from parselmouth.praat import call

    if voiced.duration < CPPS_SHORTEST_S:
        return None
    start = voiced.extract_part(0.0, min(most_s, voiced.duration))
    return number(call(call(start, "To PowerCepstrogram", *CEPSTROGRAM_SETTINGS), "Get CPPS", *CPPS_SETTINGS))


def tilt_db(voiced: parselmouth.Sound) -> float | None:
    """Level of 1-5 kHz less that of 0-1 kHz."""
    if voiced.sampling_frequency < 2 * TILT_TOP_HZ:
        return None
    powers = np.abs(np.fft.rfft(voiced.values[0] - voiced.values[0].mean())) ** 2
    split, top = (int(hz / voiced.sampling_frequency * voiced.n_samples) for hz in (TILT_SPLIT_HZ, TILT_TOP_HZ))
    low, high = powers[:split].sum(), powers[split:top].sum()
    return number(10 * math.log10(high / low)) if low > 0 and high > 0 else None


def number(value: float) -> float | None:
    """Praat's "undefined" is NaN; ours is None."""
    return float(value) if math.isfinite(value) else None
