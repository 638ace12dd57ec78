"""The contract of an extractor, what it is given, and where it runs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from trace_s2s.schemas import Clip, Failure, Feature, Features, Signature

F = TypeVar("F", bound=Feature)
Waveform = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where models run. Nothing here changes a result, so nothing here is signed."""

    device: str = "cpu"
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    weights: Path | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One decoded clip, and what was measured of it before.

    Attributes:
        waveform: float32 (n_samples,), mono, nominally in [-1, 1], finite, at the clip's native rate.
        is_silent: no sample differs from silence by more than -90 dBFS.
        features: at least the groups that the extractor ``needs``, where they could be measured.
        failures: why a needed group could not be measured.
    """

    clip: Clip
    waveform: Waveform
    sample_rate_hz: int
    is_silent: bool = False
    features: Features = field(default_factory=Features)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    _resampled: dict[int, Waveform] = field(default_factory=dict, repr=False, compare=False)

    @property
    def duration_s(self) -> float:
        return len(self.waveform) / self.sample_rate_hz

    def at(self, rate_hz: int) -> Waveform:
        """The waveform at another rate (soxr, high quality); each rate is computed once."""
        if rate_hz == self.sample_rate_hz:
            return self.waveform
        if rate_hz not in self._resampled:
            import soxr

            self._resampled[rate_hz] = soxr.resample(self.waveform, self.sample_rate_hz, rate_hz, quality="HQ")
        return self._resampled[rate_hz]


Measure = Callable[[Sequence[Sample]], Sequence[F | Failure]]


@dataclass(frozen=True)
class Extractor(ABC, Generic[F]):
    """Measures one feature group. A frozen dataclass whose fields are its options; making one loads nothing.

    A subclass sets ``name`` (its feature group), ``version`` (raised when the same options give other values),
    ``needs`` (groups it reads from ``Sample.features``) and ``packages`` (import name to the extra that brings it).
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: ClassVar[str]
    version: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[Mapping[str, str]] = {}
    weights_licence: ClassVar[str | None] = None

    @abstractmethod
    def load(self, machine: Machine) -> Measure[F]:
        """Load models; the function returned measures a batch: same length, same order, one feature or failure each.

        Raises:
            MissingPackage: an optional package is not installed.
            WeightsError: weights are missing or differ from the pinned ones.
        """

    def weights_digest(self) -> str | None:
        """The pinned sha256 of the weights, or None for an extractor without any; part of the signature."""
        return None

    def signature(self) -> Signature:
        """Changes with the name, the version, the weights and every option."""
        content = {"version": self.version, "options": asdict(self), "weights": self.weights_digest()}
        return Signature.of(self.name, content)
