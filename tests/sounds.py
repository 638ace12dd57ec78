"""Sounds with known answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trace_s2s.extractors import Sample
from trace_s2s.schemas import Clip

RATE_HZ = 16_000
Sound = NDArray[np.float64]


def sine(frequency_hz: float, duration_s: float, peak: float = 0.5, rate_hz: int = RATE_HZ) -> Sound:
    times_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    return np.asarray(peak * np.sin(2 * np.pi * frequency_hz * times_s))


def tone(f0_hz: float, duration_s: float, rate_hz: int = RATE_HZ) -> Sound:
    """Harmonics up to 3 kHz, falling by 6 dB an octave."""
    n_harmonics = int(3000 // f0_hz)
    return sum((sine(k * f0_hz, duration_s, 0.3 / k, rate_hz) for k in range(1, n_harmonics + 1)), np.float64(0))


def noise(duration_s: float, level: float = 0.1, rate_hz: int = RATE_HZ) -> Sound:
    return level * np.random.default_rng(0).standard_normal(round(duration_s * rate_hz))


def silence(duration_s: float, rate_hz: int = RATE_HZ) -> Sound:
    return np.zeros(round(duration_s * rate_hz))


def sample(sound: Sound, rate_hz: int = RATE_HZ, name: str = "a.wav") -> Sample:
    """A mono sound as decoding would give it."""
    clip = Clip(path=name, duration_s=len(sound) / rate_hz, sample_rate_hz=rate_hz)
    return Sample(clip, sound.astype(np.float32), rate_hz, is_silent=not sound.any())
