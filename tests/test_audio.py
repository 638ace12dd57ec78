"""Decoding: what is read, what is refused, and what the refusal says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sounds import RATE_HZ, noise, silence, sine

from trace_s2s.extractors.audio import check_fit, read_sample
from trace_s2s.schemas import AudioError, AudioSpec, FailureKind

SPEC = AudioSpec()
DATA_SIZE, RIFF_SIZE = slice(40, 44), slice(4, 8)  # in the 44-byte header that libsndfile writes for 16-bit wav


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """A second of 16-bit stereo."""
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack([sine(300, 1.0), noise(1.0)], axis=1), RATE_HZ, subtype="PCM_16")
    return path


def patch(path: Path, place: slice, size: int) -> Path:
    content = bytearray(path.read_bytes())
    content[place] = struct.pack("<I", size)
    path.write_bytes(content)
    return path


def cut(path: Path, share: float) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def converted(wav: Path, suffix: str) -> Path:
    samples, rate_hz = soundfile.read(wav, dtype="int16")
    path = wav.with_suffix(suffix)
    soundfile.write(path, samples, rate_hz)
    return path


def text(wav: Path) -> Path:
    wav.write_text("hello, I am text")
    return wav


def with_bad_samples(wav: Path) -> Path:
    samples = noise(1.0)
    samples[[5, 7]] = np.nan, np.inf
    soundfile.write(wav, samples, RATE_HZ, subtype="FLOAT")
    return wav


REFUSED: dict[str, tuple[Callable[[Path], Path], FailureKind, str, str]] = {
    "missing": (lambda wav: wav.with_name("b.wav"), FailureKind.MISSING_FILE, "no such file", "--audio-root"),
    "folder": (lambda wav: wav.parent, FailureKind.MISSING_FILE, "is a directory", "mend the manifest"),
    "0 bytes": (lambda wav: cut(wav, 0.0), FailureKind.EMPTY_FILE, "0 bytes", "write the file again"),
    "0 frames": (lambda wav: patch(cut(wav, 44 / 64044), DATA_SIZE, 0), FailureKind.EMPTY_FILE, "no sound", "again"),
    "text": (text, FailureKind.NOT_AUDIO, "format not", "ffmpeg"),
    "cut wav": (lambda wav: cut(wav, 0.5), FailureKind.TRUNCATED, "31978 of 64000 bytes", "copy or write"),
    "cut header": (lambda wav: cut(wav, 0.0005), FailureKind.TRUNCATED, "within its header", "copy or write"),
    "cut flac": (lambda wav: cut(converted(wav, ".flac"), 0.5), FailureKind.TRUNCATED, "is cut short", "copy or write"),
    "cut mp3": (lambda wav: cut(converted(wav, ".mp3"), 0.5), FailureKind.TRUNCATED, "of 16000 samples", "copy"),
    "cut ogg": (lambda wav: cut(converted(wav, ".ogg"), 0.7), FailureKind.TRUNCATED, "last page", "copy or write"),
    "NaN": (with_bad_samples, FailureKind.NOT_FINITE, "2 of 16000 samples", "write the file again"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(wav: Path, name: str) -> None:
    spoil, kind, found, remedy = REFUSED[name]
    path = spoil(wav)
    with pytest.raises(AudioError) as refused:
        read_sample(path, "clips/shown.wav", SPEC)
    message = refused.value.failure.message
    assert refused.value.failure.kind == kind
    assert "'clips/shown.wav'" in message
    assert found in message
    assert remedy in message
    assert "\n" not in message


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_sizes_of_streaming_writers_are_fine(wav: Path, size: int) -> None:
    whole = read_sample(wav, "a.wav", SPEC)
    streamed = read_sample(patch(patch(wav, DATA_SIZE, size), RIFF_SIZE, size), "a.wav", SPEC)
    assert streamed.clip == whole.clip


def test_flac_stream_of_unknown_length_is_read(wav: Path) -> None:
    path = converted(wav, ".flac")
    content = bytearray(path.read_bytes())
    content[21] &= 0xF0  # STREAMINFO starts at byte 8; its sample count is the low 36 bits of bytes 13-17 there
    content[22:26] = bytes(4)
    path.write_bytes(content)
    assert read_sample(path, "a.flac", SPEC).clip.duration_s == 1.0
    with pytest.raises(AudioError, match=r"longer than 0\.5 s"):
        read_sample(path, "a.flac", AudioSpec(max_duration_s=0.5))


@pytest.mark.parametrize("suffix", [".flac", ".ogg", ".mp3"])
@pytest.mark.parametrize("extension", [".wav", ".RAW", ".FLAC"])
def test_format_is_told_by_content(wav: Path, suffix: str, extension: str) -> None:
    path = converted(wav, suffix).rename(wav.with_name(f"b{extension}"))
    found = read_sample(path, path.name, SPEC)
    assert (found.clip.duration_s, found.sample_rate_hz) == (1.0, RATE_HZ)


def test_digest_is_of_the_content(wav: Path) -> None:
    clip = read_sample(wav, "a.wav", SPEC).clip
    assert read_sample(converted(wav, ".flac"), "b.flac", SPEC).clip.sha256 == clip.sha256
    samples, _ = soundfile.read(wav, dtype="int16")
    digests = {clip.sha256}
    for n_channels, rate_hz in ((2, 8000), (1, RATE_HZ)):
        soundfile.write(wav, samples[:, :n_channels], rate_hz)
        digests.add(read_sample(wav, "a.wav", SPEC).clip.sha256)
    assert len(digests) == 3


def test_channels_are_averaged_at_native_rate(tmp_path: Path) -> None:
    channels = np.array([[0.5, -0.25, 0.25], [1.0, 0.5, 0.0]] * 2400)  # 0.05 s of three channels
    soundfile.write(tmp_path / "a.wav", channels, 96_000, subtype="FLOAT")
    found = read_sample(tmp_path / "a.wav", "a.wav", SPEC)
    assert found.waveform.dtype == np.float32
    np.testing.assert_allclose(found.waveform[:2], [1 / 6, 0.5])
    assert (found.duration_s, found.sample_rate_hz) == (0.05, 96_000)


@pytest.mark.parametrize(("peak", "is_silent"), [(0.0, True), (10 ** (-91 / 20), True), (10 ** (-89 / 20), False)])
def test_silence_is_below_minus_90_dbfs(tmp_path: Path, peak: float, is_silent: bool) -> None:
    soundfile.write(tmp_path / "a.wav", sine(1000, 0.5, peak), RATE_HZ, subtype="FLOAT")
    assert read_sample(tmp_path / "a.wav", "a.wav", SPEC).is_silent is is_silent


def test_too_long_is_refused_before_decoding(wav: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundfile.SoundFile, "read", lambda *_, **__: pytest.fail("was decoded"))
    with pytest.raises(AudioError, match=r"'a.wav' lasts 1.0 s, longer than 0.5 s.*--set audio.max_duration_s=1$"):
        read_sample(wav, "a.wav", AudioSpec(max_duration_s=0.5))


def test_bounds_of_a_run(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", silence(0.05), RATE_HZ)
    found = read_sample(tmp_path / "a.wav", "a.wav", SPEC)
    with pytest.raises(AudioError, match=r"lasts 0.050 s, shorter than 0.1 s.*--set audio.min_duration_s=0.05$"):
        check_fit(found.clip, found.is_silent, SPEC)
    with pytest.raises(AudioError, match=r"--set audio\.silent=keep$"):
        check_fit(found.clip, found.is_silent, AudioSpec(min_duration_s=0.05))
    check_fit(found.clip, found.is_silent, AudioSpec(min_duration_s=0.05, silent="keep"))
