"""Stage 1: clips in, measurements in the store out, blueprints on request.

Every clip is decoded once and each feature group measured once; what the store has is not measured again. Clips are
taken in chunks of bounded length, one group at a time over a chunk, so memory stays flat.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trace_s2s.extractors import (
    PROFILES,
    Extractor,
    Machine,
    Measure,
    Sample,
    foreign_extractors,
    group_names,
    make_extractor,
)
from trace_s2s.extractors.audio import check_fit, read_sample
from trace_s2s.schemas import (
    FEATURES,
    AudioError,
    AudioSpec,
    Blueprint,
    Clip,
    ExtractSpec,
    Failure,
    FailureKind,
    Feature,
    Features,
    InputError,
    MissingPackage,
    Signature,
    WeightsError,
)

from .progress import Advance
from .store import BlueprintStore, KnownClip

CHUNK_S = 300.0
"""Clips are decoded together up to this much sound (about 60 MB)."""
CHUNK_CLIPS = 64
BATCH_CLIPS = 4
"""Clips that an extractor is given at once; what they cost is all that a kill can lose."""
N_BLUEPRINTS_KEPT = 256


@dataclass(frozen=True)
class ExtractionPlan:
    """Which groups are measured, by what, and which of them are shown."""

    extractors: Mapping[str, Extractor[Any]]
    """By group, needs before those who need them. Holds groups that are needed but not shown."""
    signatures: Mapping[str, Signature]
    """By group, with the signatures of its needs folded in."""
    shown: tuple[str, ...]

    @classmethod
    def of(cls, spec: ExtractSpec) -> ExtractionPlan:
        """The plan that a run file describes.

        Raises:
            InputError: an unknown profile, group, extractor or option.
        """
        if spec.profile not in PROFILES:
            raise InputError(f"no profile is called {spec.profile!r}; there are: {', '.join(PROFILES)}")
        profile = PROFILES[spec.profile]
        known = (*profile, *(name for name in foreign_extractors() if name in FEATURES and name not in profile))
        wanted, dropped = group_names(spec.features or profile), group_names(spec.drop)
        for name in (*wanted, *dropped, *spec.options):
            if name not in known:
                raise InputError(f"profile {spec.profile!r} has no group {name!r}; it has: {', '.join(known)}")
        shown = tuple(name for name in known if name in wanted and name not in dropped)
        extractors: dict[str, Extractor[Any]] = {}
        signatures: dict[str, Signature] = {}
        for name in shown:
            _add(name, spec.options, extractors, signatures)
        return cls(extractors, signatures, shown)

    def closure(self, groups: Sequence[str]) -> dict[str, Signature]:
        """These groups and all that they need, with their signatures, needs first."""
        names = {need for group in groups for need in _needs(group, self.extractors)}
        return {name: self.signatures[name] for name in self.extractors if name in names}

    def with_group(self, name: str, options: Mapping[str, Mapping[str, Any]]) -> ExtractionPlan:
        """The same plan, able to measure one more group that is not shown of responses."""
        extractors, signatures = dict(self.extractors), dict(self.signatures)
        _add(name, options, extractors, signatures)
        return ExtractionPlan(extractors, signatures, self.shown)


def _add(
    name: str,
    options: Mapping[str, Mapping[str, Any]],
    extractors: dict[str, Extractor[Any]],
    signatures: dict[str, Signature],
) -> None:
    if name in extractors:
        return
    extractor = make_extractor(name, options.get(name, {}))
    for need in extractor.needs:
        _add(need, options, extractors, signatures)
    needs = {need: signatures[need].sha256 for need in extractor.needs}
    extractors[name] = extractor
    own = extractor.signature()
    signatures[name] = Signature.of(name, {"own": own.sha256, "needs": needs}) if needs else own


def _needs(name: str, extractors: Mapping[str, Extractor[Any]]) -> Iterator[str]:
    for need in extractors[name].needs:
        yield from _needs(need, extractors)
    yield name


@dataclass(frozen=True, slots=True)
class Wanted:
    """A clip of which some groups are wanted."""

    path: str
    groups: tuple[str, ...]


@dataclass
class Extraction:
    """Measures clips, and gives their blueprints."""

    plan: ExtractionPlan
    store: BlueprintStore
    audio_root: Path
    audio: AudioSpec
    machine: Machine
    n_extracted: Counter[str] = field(default_factory=Counter)
    n_from_store: Counter[str] = field(default_factory=Counter)
    device_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    n_clips: int = 0
    _loaded: dict[str, Measure[Any] | Failure] = field(default_factory=dict)
    _failed: dict[str, Failure] = field(default_factory=dict)
    _kept: dict[tuple[str, tuple[str, ...]], Blueprint] = field(default_factory=dict)

    def measure(self, clips: Iterable[Wanted], advance: Advance = lambda steps: None) -> None:
        """Measure what the store lacks of these clips; ``advance`` is told of each group of each clip done."""
        chunk: list[tuple[Wanted, Sample]] = []
        for wanted in clips:
            self.n_clips += 1
            if (sample := self._sample_if_needed(wanted)) is None:
                advance(len(self.plan.closure(wanted.groups)))
                continue
            chunk.append((wanted, sample))
            if len(chunk) >= CHUNK_CLIPS or sum(sample.duration_s for _, sample in chunk) >= CHUNK_S:
                self._measure_chunk(chunk, advance)
                chunk = []
        self._measure_chunk(chunk, advance)

    def blueprint(self, wanted: Wanted) -> Blueprint:
        """What is known of a clip; measured now where it was not before."""
        key = (wanted.path, wanted.groups)
        if key not in self._kept:
            if len(self._kept) >= N_BLUEPRINTS_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self._blueprint(wanted)
        return self._kept[key]

    def _blueprint(self, wanted: Wanted) -> Blueprint:
        try:
            known, _ = self._look(wanted.path)
        except AudioError as error:
            return Blueprint(clip=Clip(path=wanted.path), failures={"audio": error.failure})
        found = self.store.get(_sha256(known), self.plan.closure(wanted.groups))
        if any(self._outcome(name, found) is None for name in wanted.groups):
            self.measure([wanted])
            found = self.store.get(_sha256(known), self.plan.closure(wanted.groups))
        outcomes = {name: self._outcome(name, found) for name in wanted.groups}
        return Blueprint(
            clip=known.clip,
            features=Features(**{name: value for name, value in outcomes.items() if isinstance(value, Feature)}),
            failures={name: value for name, value in outcomes.items() if isinstance(value, Failure)},
            provenance={name: self.plan.signatures[name] for name in wanted.groups},
        )

    def _outcome(self, name: str, found: Mapping[str, Feature | Failure]) -> Feature | Failure | None:
        """What is known of a group: measured, or failed for this clip or for all; None if it was not tried."""
        loaded = self._loaded.get(name)
        return found.get(name) or (loaded if isinstance(loaded, Failure) else None)

    def _look(self, shown: str) -> tuple[KnownClip, Sample | None]:
        """What a file holds: remembered if it has not changed, else decoded (then the sample comes along).

        Raises:
            AudioError: the clip cannot be used.
        """
        if shown in self._failed:
            raise AudioError(self._failed[shown].kind, self._failed[shown].message)
        try:
            path = self._path(shown)
            known, sample = (self.store.known_clip(path, shown) if path.is_file() else None), None
            if known is None:
                sample = read_sample(path, shown, self.audio)
                known = KnownClip(sample.clip, sample.is_silent)
                self.store.put_clip(path, known)
            check_fit(known.clip, known.is_silent, self.audio)
        except AudioError as error:
            self._failed[shown] = error.failure
            raise
        except (OSError, ValueError) as error:  # a name that no file can have
            message = f"{shown[:80]!r} cannot be opened ({error}); mend the manifest"
            self._failed[shown] = Failure(kind=FailureKind.MISSING_FILE, message=message)
            raise AudioError(FailureKind.MISSING_FILE, message) from error
        return known, sample

    def _sample_if_needed(self, wanted: Wanted) -> Sample | None:
        """The decoded clip, if some group is still to be measured of it."""
        try:
            known, sample = self._look(wanted.path)
            signatures = self.plan.closure(wanted.groups)
            missing = self.store.missing(_sha256(known), signatures)
            self.n_from_store.update(name for name in signatures if name not in missing)
            if all(isinstance(self._loaded.get(name), Failure) for name in missing):
                return None
            return sample or read_sample(self._path(wanted.path), wanted.path, self.audio)
        except AudioError:
            return None  # blueprint() says why

    def _path(self, shown: str) -> Path:
        return Path(os.path.join(self.audio_root, shown))  # noqa: PTH118 - keeps an absolute path as it is

    def _measure_chunk(self, chunk: Sequence[tuple[Wanted, Sample]], advance: Advance) -> None:
        found = {_sha256(sample): self.store.get(_sha256(sample), self.plan.signatures) for _, sample in chunk}
        samples = {_sha256(sample): sample for _, sample in chunk}
        wanted: dict[str, set[str]] = defaultdict(set)
        for clip, sample in chunk:
            wanted[_sha256(sample)].update(self.plan.closure(clip.groups))
        for name, extractor in self.plan.extractors.items():
            pending = [sha256 for sha256 in samples if name in wanted[sha256] and name not in found[sha256]]
            advance(sum(name in self.plan.closure(clip.groups) for clip, _ in chunk) - len(pending))
            for start in range(0, len(pending), BATCH_CLIPS):
                some = pending[start : start + BATCH_CLIPS]
                if not isinstance(measure := self._load(name), Failure):
                    batch = [_with_needs(samples[sha256], extractor.needs, found[sha256]) for sha256 in some]
                    for sha256, value in zip(some, self._measured(name, measure, batch), strict=True):
                        found[sha256][name] = value
                advance(len(some))

    def _measured(self, name: str, measure: Measure[Any], batch: Sequence[Sample]) -> Sequence[Feature | Failure]:
        """One group of some clips, measured, counted and kept."""
        started = time.perf_counter()
        values = measure(batch)
        elapsed_s = time.perf_counter() - started
        measured = list(zip(map(_sha256, batch), values, strict=True))
        self.store.put(name, self.plan.signatures[name], measured, elapsed_s / len(batch))
        self.n_extracted[name] += len(batch)
        self.device_s[name] += elapsed_s
        return values

    def _load(self, name: str) -> Measure[Any] | Failure:
        if name not in self._loaded:
            unmet = [need for need in self.plan.extractors[name].needs if isinstance(self._loaded.get(need), Failure)]
            try:
                self._loaded[name] = self.plan.extractors[name].load(self.machine)
            except (MissingPackage, WeightsError) as error:
                self._loaded[name] = Failure(kind=FailureKind.UNAVAILABLE, message=str(error))
            if unmet:
                message = f"needs {unmet[0]}, which is unavailable"
                self._loaded[name] = Failure(kind=FailureKind.UNAVAILABLE, message=message)
        return self._loaded[name]


def _with_needs(sample: Sample, needs: tuple[str, ...], found: Mapping[str, Feature | Failure]) -> Sample:
    features = {name: found[name] for name in needs if isinstance(found.get(name), Feature)}
    failures = {name: why for name in needs if isinstance(why := found.get(name), Failure)}
    return replace(sample, features=Features(**features), failures=failures)


def _sha256(known: KnownClip | Sample) -> str:
    return known.clip.sha256 or ""
