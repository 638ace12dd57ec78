"""One conformance suite over every extractor, then known answers."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sounds import RATE_HZ, noise, sample, silence, sine, tone

from trace_s2s.extractors import EXTRACTORS, PROFILES, Extractor, Machine, Measure, Sample, make_extractor
from trace_s2s.extractors.audio import read_sample
from trace_s2s.extractors.quality import all_windows, released_windows
from trace_s2s.schemas import (
    FEATURES,
    AudioSpec,
    Failure,
    FailureKind,
    Features,
    InputError,
    Loudness,
    MissingPackage,
    Pitch,
    Quality,
    Rate,
    Segment,
    Transcript,
    Turns,
    Voice,
    WeightsError,
    Word,
)

EXAMPLES = Path(__file__).parent.parent / "trace" / "examples"
OTHER_OPTIONS: dict[tuple[str, str], object] = {  # a legal value that is not the default, where one cannot be guessed
    ("transcript", "language"): "de",
    ("quality", "windows"): "released",
    ("turns", "threshold"): 0.6,
    ("pitch", "keep"): "released",
}
WITH_WEIGHTS = {"transcript", "quality", "turns"}
GROUPS = [pytest.param(name, marks=pytest.mark.embedded if name in WITH_WEIGHTS else ()) for name in EXTRACTORS]
every_extractor = pytest.mark.parametrize("name", GROUPS)


@functools.cache
def measure_of(name: str) -> Measure[Any]:
    """An extractor with its default options; models are loaded once."""
    return make_extractor(name, {}).load(Machine(threads=2))


def words(*times: tuple[float, float]) -> Transcript:
    said = tuple(Word(text="word", start_s=start, end_s=end, probability=0.9) for start, end in times)
    text = " ".join(word.text for word in said)
    return Transcript(text=text, language="en", words=said, mean_logprob=-0.3, no_speech_probability=0.1)


def turns(*times: tuple[float, float]) -> Turns:
    segments = tuple(Segment(start_s=start, end_s=end) for start, end in times)
    speech_s = sum(end - start for start, end in times)
    return Turns(segments=segments, speech_s=speech_s, leading_silence_s=0, n_pauses=0, longest_pause_s=None)


def example(name: str) -> Sample:
    return read_sample(EXAMPLES / name, name, AudioSpec())


@functools.cache
def speech() -> tuple[Sample, ...]:
    """Three clips of two synthesisers; the last is sampled at 24 kHz."""
    return tuple(map(example, ("train-rms.flac", "cat-slt-high.flac", "week-espeak.flac")))


def measured_with_needs(name: str, samples: Sequence[Sample]) -> list[Any]:
    """What an extractor gives once its needs are met, as a run does it."""
    for need in make_extractor(name, {}).needs:
        found = list(zip(samples, measured_with_needs(need, samples), strict=True))
        samples = [
            replace(one, failures={**one.failures, need: value})
            if isinstance(value, Failure)
            else replace(one, features=one.features.with_values(**{need: value}))
            for one, value in found
        ]
    return list(measure_of(name)(samples))


# The suite


@every_extractor
def test_batch_equals_singles_in_order_and_again(name: str) -> None:
    first, _, last = speech()
    samples = [last, sample(silence(1.0)), first, last]
    batch = measured_with_needs(name, samples)
    singles = [measured_with_needs(name, [one])[0] for one in samples]
    assert batch == singles
    assert batch[0] == batch[-1]
    assert batch[0] != batch[2]


@every_extractor
def test_speech_gives_a_feature_that_survives_json(name: str) -> None:
    for feature in measured_with_needs(name, speech()):
        assert type(feature) is FEATURES[name]
        assert FEATURES[name].model_validate_json(feature.canonical_json()) == feature


ODD_SOUNDS = {
    "silence": sample(silence(1.0)),
    "0.1 s": sample(tone(150, 0.1)),
    "one sample": sample(np.array([0.5])),
    "8 kHz": sample(tone(150, 1.0, 8000), 8000),
    "96 kHz": sample(tone(150, 1.0, 96_000), 96_000),
    "100 Hz": sample(noise(1.0, rate_hz=100), 100),
    "noise": sample(noise(1.0)),
    "a click": sample(np.eye(1, RATE_HZ)[0]),
    "constant": sample(np.full(RATE_HZ, 0.5)),
    "clipped": sample(np.clip(100 * tone(150, 1.0), -1, 1)),
}


@pytest.mark.parametrize("sound", ODD_SOUNDS)
@every_extractor
def test_odd_sound_gives_a_feature_or_a_named_failure(name: str, sound: str) -> None:
    (found,) = measured_with_needs(name, [ODD_SOUNDS[sound]])
    assert isinstance(found, (FEATURES[name], Failure))
    if isinstance(found, Failure):
        assert found.message
        assert "\n" not in found.message


@every_extractor
def test_nothing_is_measured_of_silence(name: str) -> None:
    (found,) = measured_with_needs(name, [ODD_SOUNDS["silence"]])
    if name == "transcript":
        assert (found.text, found.words) == ("", ())
    else:
        kinds = (FailureKind.SILENT, FailureKind.NO_SPEECH, FailureKind.UNVOICED)
        assert found.kind in kinds


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_option_moves_the_signature(name: str) -> None:
    plain: Extractor[Any] = make_extractor(name, {})
    assert plain.signature() == make_extractor(name, {}).signature()
    seen = {plain.signature().sha256}
    for option in fields(plain):
        default = getattr(plain, option.name)
        other = OTHER_OPTIONS.get((name, option.name)) or default + 1
        seen.add(make_extractor(name, {option.name: other}).signature().sha256)
    assert len(seen) == 1 + len(fields(plain))


@pytest.mark.parametrize("name", EXTRACTORS)
def test_contract(name: str) -> None:
    extractor = make_extractor(name, {})
    assert extractor.name == name
    assert set(extractor.needs) <= set(EXTRACTORS)
    assert (extractor.weights_digest() is None) == (extractor.weights_licence is None)
    assert name in PROFILES["embedded"]


@pytest.mark.parametrize("name", [name for name in EXTRACTORS if name != "rate"])
def test_missing_package_names_what_brings_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace_s2s.schemas.packages.find_spec", lambda package: None)
    with pytest.raises(MissingPackage, match=r"is not installed; it comes with: pip install 'trace-s2s\[embedded\]'"):
        make_extractor(name, {}).load(Machine())


@pytest.mark.embedded
@pytest.mark.parametrize("name", sorted(WITH_WEIGHTS))
def test_other_weights_than_the_pinned_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.find_spec("json")
    assert spec
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr("trace_s2s.schemas.packages.find_spec", lambda package: spec)
    with pytest.raises(WeightsError, match="install it again"):
        make_extractor(name, {}).load(Machine())
    for file in ("model/model.bin", "assets/silero_vad_v6.onnx", "pdnsmos_models/sig_bak_ovr.onnx"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"something else")
    with pytest.raises(WeightsError, match=r"not .* as pinned"):
        make_extractor(name, {}).load(Machine())


# Known answers


def test_loudness_of_a_full_scale_sine() -> None:
    # ITU-R BS.1770-4, annex 1: a 0 dB FS sine at 997 Hz in one channel reads -3.01 LKFS; EBU Tech 3341 allows 0.1 LU.
    # pyloudnorm's K-weighting, and so the reference, is 0.04 LU low.
    (found,) = measure_of("loudness")([sample(sine(997, 3.0, peak=1.0, rate_hz=48_000), 48_000)])
    assert isinstance(found, Loudness)
    assert found.integrated_lufs == pytest.approx(-3.01, abs=0.1)


@pytest.mark.parametrize("f0_hz", [75, 150, 350])
def test_pitch_of_a_tone(f0_hz: int) -> None:
    (found,) = measure_of("pitch")([sample(np.concatenate([tone(f0_hz, 1.0), silence(1.0)]))])
    assert isinstance(found, Pitch)
    assert found.mean_hz == pytest.approx(f0_hz, abs=0.5)  # maths; 0.5 Hz is 6 cents at 150 Hz
    assert found.voiced_share == pytest.approx(0.5, abs=0.02)
    assert found.contour.values[50] == pytest.approx(f0_hz, abs=0.5)
    assert found.contour.values[150] is None


def test_released_pitch_range_loses_high_and_low_voices() -> None:
    measure = make_extractor("pitch", {"keep": "released"}).load(Machine())
    low, middle, high = measure([sample(tone(f0_hz, 1.0)) for f0_hz in (75, 150, 350)])
    assert isinstance(middle, Pitch)
    assert [low.kind, high.kind] == [FailureKind.UNVOICED] * 2  # type: ignore[union-attr]  # else it fails


@pytest.mark.parametrize("name", ["pitch", "voice"])
def test_impossible_pitch_range_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="give 0 < floor < ceiling"):
        make_extractor(name, {"floor_hz": 300, "ceiling_hz": 200})


def test_option_that_a_model_would_choke_on_is_refused() -> None:
    with pytest.raises(InputError, match="option 'beam_size' of extractor 'transcript'"):
        make_extractor("transcript", {"beam_size": 0})


def test_voice_of_a_steady_and_an_unsteady_tone() -> None:
    glide = np.cumsum(np.linspace(100, 200, 3 * RATE_HZ)) / RATE_HZ  # one octave
    unsteady = 0.3 * np.sign(np.sin(2 * np.pi * glide)) + noise(3.0, 0.03)
    steady, found = measure_of("voice")([sample(tone(150, 3.0)), sample(unsteady)])
    assert isinstance(steady, Voice)
    assert isinstance(found, Voice)
    assert (steady.jitter_percent, steady.shimmer_percent) == pytest.approx((0, 0), abs=0.01)  # maths: it is periodic
    assert steady.pitch_range_st == pytest.approx(0, abs=0.01)
    assert found.pitch_range_st == pytest.approx(12 * np.log2(195 / 105), abs=0.3)  # maths: 5th to 95th percentile
    for name in ("hnr_db", "cpps_db"):
        assert getattr(steady, name) > getattr(found, name) + 3


def test_spectral_tilt_is_the_ratio_of_band_powers() -> None:
    # maths: a voiced 200 Hz and a 2 kHz sine of a tenth of its amplitude; 20 log10(0.1) = -20 dB
    sound = sine(200, 2.0, 0.5) + sine(2000, 2.0, 0.05)
    (found,) = measure_of("voice")([sample(sound)])
    assert found.spectral_tilt_db == pytest.approx(-20, abs=0.1)
    (found,) = measure_of("voice")([sample(tone(150, 1.0, 8000), 8000)])
    assert found.spectral_tilt_db is None


@pytest.mark.parametrize(
    ("duration_s", "n_all", "n_released"),
    # maths: floor(duration - 9.01) + 1; and the reference code: released_code_edge_cases.json has 9, 1 and 1 windows
    # for the first three, of which it loses those from the 8th on; at 24.01 s it has 15
    [(9.0, 1, 7), (9.01, 1, 1), (10.01, 2, 1), (24.01, 16, 7)],
)
def test_windows(duration_s: float, n_all: int, n_released: int) -> None:
    waveform = np.arange(round(duration_s * RATE_HZ), dtype=np.float32)
    assert len(all_windows(waveform)) == n_all
    assert len(released_windows(waveform)) == n_released
    assert all_windows(waveform)[-1][0] == (n_all - 1) * RATE_HZ
    assert {len(window) for window in all_windows(waveform)} == {144160}


@pytest.mark.embedded
def test_quality_hears_noise() -> None:
    clean, noisy = measure_of("quality")([example("capital-rms.flac"), example("capital-rms-noisy.flac")])
    assert isinstance(clean, Quality)
    assert isinstance(noisy, Quality)
    assert clean.background_mos > noisy.background_mos + 1


@pytest.mark.embedded
def test_turns_find_pauses() -> None:
    pauses, plain = measure_of("turns")([example("colors-rms-pauses.flac"), example("colors-rms-plain.flac")])
    assert isinstance(pauses, Turns)
    assert isinstance(plain, Turns)
    assert pauses.n_pauses > plain.n_pauses
    assert pauses.longest_pause_s
    assert pauses.longest_pause_s > 0.4
    assert plain.leading_silence_s == pytest.approx(0.15, abs=0.1)  # EDGE_S of trace/examples/make.py


@pytest.mark.embedded
def test_transcript_and_its_rate() -> None:
    (found,) = measure_of("transcript")([speech()[0]])
    assert isinstance(found, Transcript)
    assert found.language == "en"
    assert "train" in found.text.lower()
    assert len(found.words) == len(found.text.split())
    assert all(0 <= word.start_s <= word.end_s <= speech()[0].duration_s + 0.1 for word in found.words)


@pytest.mark.embedded
def test_foreign_or_unintelligible_speech_is_a_failure() -> None:
    backwards = replace(speech()[0], waveform=speech()[0].waveform[::-1].copy())  # the sounds of no language
    (found,) = measure_of("transcript")([backwards])
    assert isinstance(found, Failure)
    assert found.kind == FailureKind.UNSUPPORTED_LANGUAGE
    assert "--set transcript.min_mean_logprob=" in found.message


def test_another_language_is_refused_without_loading() -> None:
    found = make_extractor("transcript", {"language": "de"}).load(Machine())(speech())
    assert [one.kind for one in found if isinstance(one, Failure)] == [FailureKind.UNSUPPORTED_LANGUAGE] * 3


def rate_of(features: Features, **failures: Failure) -> Rate | Failure:
    (found,) = measure_of("rate")([replace(sample(silence(10.0)), features=features, failures=failures)])
    assert isinstance(found, (Rate, Failure))
    return found


def test_rate() -> None:
    # maths: 4 words from 1.0 s to 3.0 s are 120 a minute; in 1.5 s of speech, 160
    said = words((0.5, 1.5), (1.5, 2.0), (2.0, 2.0), (2.5, 3.5))
    found = rate_of(Features(transcript=said, turns=turns((1.0, 2.0), (2.5, 3.0))))
    assert found == Rate(unit="words", n_units=4, speech_per_min=120, articulation_per_min=160)
    alone = rate_of(Features(transcript=said), turns=Failure(kind=FailureKind.NO_SPEECH, message="x"))
    assert alone == Rate(unit="words", n_units=4, speech_per_min=80, articulation_per_min=None)


@given(
    st.lists(st.tuples(st.floats(0, 9), st.floats(0, 1)), min_size=1, max_size=6),
    st.lists(st.floats(0, 10), min_size=2, max_size=8, unique=True).map(sorted),
)
def test_pauses_only_ever_slow_speech(said: list[tuple[float, float]], edges: list[float]) -> None:
    heard = turns(*zip(edges[::2], edges[1::2], strict=False))
    found = rate_of(Features(transcript=words(*((start, start + length) for start, length in said)), turns=heard))
    assert isinstance(found, Rate)
    if found.articulation_per_min is not None:
        assert found.articulation_per_min >= found.speech_per_min * (1 - 1e-9)


def test_rate_of_words_without_duration_is_finite() -> None:
    found = rate_of(Features(transcript=words((2.0, 2.0), (2.0, 2.0)), turns=turns((2.0, 2.01))))
    assert found == Rate(unit="words", n_units=2, speech_per_min=12, articulation_per_min=None)  # 2 in all of 10 s


def test_rate_of_nothing_said_is_a_failure() -> None:
    found = rate_of(Features(transcript=words(), turns=turns((1.0, 2.0))))
    assert isinstance(found, Failure)
    assert found.kind == FailureKind.NO_SPEECH


def test_rate_fails_as_the_transcript_did() -> None:
    found = rate_of(Features(), transcript=Failure(kind=FailureKind.UNSUPPORTED_LANGUAGE, message="not English"))
    assert found == Failure(
        kind=FailureKind.UNSUPPORTED_LANGUAGE, message="needs the transcript, which failed: not English"
    )
