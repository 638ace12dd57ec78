"""Reading a clip: decoded once, checked, downmixed, and named by a digest of its content."""

from __future__ import annotations

import hashlib
import io
import math
import os
import struct
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from trace_s2s.schemas import AudioError, AudioSpec, Clip, FailureKind

from .base import Sample

SILENCE_PEAK = 10 ** (-90 / 20)  # -90 dBFS: just above one step of 16-bit sound (-90.3 dBFS), so dither is silence
UNKNOWN_BYTES = 0x7FFFF000  # sizes from here on are placeholders of streaming writers (sox -p; others 0x7FFFFFFF, -1)
UNKNOWN_FRAMES = 2**63 - 1  # libsndfile's SF_COUNT_MAX: a stream of unknown length
OGG_PAGE_BYTES = 65307  # RFC 3533: the longest page
OGG_LAST_PAGE = 4  # RFC 3533: header flag "end of stream"


def read_sample(path: Path, shown: str, spec: AudioSpec) -> Sample:
    """Decode a clip: wav, flac, ogg, mp3 and what else libsndfile reads, whatever its extension, rate and channels.

    ``shown`` is the path as the manifest gives it. Channels are averaged. The digest is the sha256 of rate, number of
    channels and decoded float32 samples, so equal sound in another lossless container is the same clip. A clip that
    is too long by its header is refused before it is decoded; the rest of ``spec`` is :func:`check_fit`'s.

    Cut-off files are recognised by what their format promises: the chunk size of a wav (libsndfile hides a mismatch;
    the placeholders of streaming writers are fine), the sample count of a flac or of an mp3 with a Xing header, the
    last page of an ogg. An mp3 without such a header cannot be told from a shorter one.

    Raises:
        AudioError: missing_file, empty_file, not_audio, truncated, not_finite or too_long.
    """
    try:
        with path.open("rb", buffering=0) as stream:
            samples, rate_hz = _decode(stream, shown, spec)
    except OSError as error:
        found = f"{shown!r} cannot be opened under {str(path.parent)!r} ({(error.strerror or str(error)).lower()})"
        raise AudioError(FailureKind.MISSING_FILE, f"{found}; give --audio-root or mend the manifest") from error
    n_bad = int(np.count_nonzero(~np.isfinite(samples)))
    if n_bad:
        found = f"{n_bad} of {samples.size} samples of {shown!r} are NaN or infinite"
        raise AudioError(FailureKind.NOT_FINITE, f"{found}; write the file again, or leave it out")
    waveform = samples.mean(axis=1, dtype=np.float32)  # (n_samples,)
    clip = Clip(path=shown, sha256=_digest(samples, rate_hz), duration_s=len(samples) / rate_hz, sample_rate_hz=rate_hz)
    return Sample(clip, waveform, rate_hz, is_silent=bool(np.abs(waveform).max() < SILENCE_PEAK))


def check_fit(clip: Clip, is_silent: bool, spec: AudioSpec) -> None:
    """Hold a clip against the bounds of a run.

    Raises:
        AudioError: too_short, too_long or silent; the message says how to allow it.
    """
    duration_s = clip.duration_s or 0.0
    _refuse_long(clip.path, duration_s, spec)
    if duration_s < spec.min_duration_s:
        found = f"{clip.path!r} lasts {duration_s:.3f} s, shorter than {spec.min_duration_s:g} s"
        remedy = f"leave it out, or allow it with --set audio.min_duration_s={duration_s!r}"
        raise AudioError(FailureKind.TOO_SHORT, f"{found}; {remedy}")
    if is_silent and spec.silent == "fail":
        found = f"{clip.path!r} is silent, nothing in it reaches -90 dBFS"
        remedy = "leave it out, or judge it as an answer that says nothing with --set audio.silent=keep"
        raise AudioError(FailureKind.SILENT, f"{found}; {remedy}")


def _refuse_long(shown: str, duration_s: float, spec: AudioSpec) -> None:
    if duration_s > spec.max_duration_s:
        found = f"{shown!r} lasts {duration_s:.1f} s, longer than {spec.max_duration_s:g} s"
        remedy = f"shorten it, or allow it with --set audio.max_duration_s={math.ceil(duration_s)}"
        raise AudioError(FailureKind.TOO_LONG, f"{found}; {remedy}")


class _Forward(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no types
    """A sound file that is only read onwards: libsndfile cannot seek in a flac stream of unknown length."""

    def seekable(self) -> bool:
        return False


def _decode(stream: io.FileIO, shown: str, spec: AudioSpec) -> tuple[NDArray[np.float32], int]:
    """The samples, (n_samples, n_channels), and their rate."""
    if os.fstat(stream.fileno()).st_size == 0:
        raise AudioError(FailureKind.EMPTY_FILE, f"{shown!r} has 0 bytes; write the file again, or leave it out")
    try:
        with _Forward(_source(stream, shown), closefd=False) as sound:
            return _frames(sound, stream, shown, spec), sound.samplerate
    except soundfile.LibsndfileError as error:
        found = f"{shown!r} is not audio that can be read ({_reason(error)})"
        remedy = "give wav, flac, ogg or mp3, for example by: ffmpeg -i IN OUT.wav"
        raise AudioError(FailureKind.NOT_AUDIO, f"{found}; {remedy}") from error


def _frames(sound: _Forward, stream: io.FileIO, shown: str, spec: AudioSpec) -> NDArray[np.float32]:
    rate_hz, n_promised = sound.samplerate, sound.frames
    is_known = 0 <= n_promised < UNKNOWN_FRAMES
    if is_known:
        _refuse_long(shown, n_promised / rate_hz, spec)
    n_most = math.ceil(spec.max_duration_s * rate_hz) + 1
    try:
        samples: NDArray[np.float32] = sound.read(n_promised if is_known else n_most, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise _truncated(shown, f"decoding stops ({_reason(error)})") from error
    _refuse_long(shown, len(samples) / rate_hz, spec)
    if is_known and len(samples) < n_promised and _keeps_promises(sound.format, stream):
        raise _truncated(shown, f"{len(samples)} of {n_promised} samples are there")
    if sound.format == "OGG" and not _has_last_page(stream):
        raise _truncated(shown, "its last page is missing")
    if not len(samples):
        raise AudioError(FailureKind.EMPTY_FILE, f"{shown!r} holds no sound; write the file again, or leave it out")
    return samples


def _reason(error: soundfile.LibsndfileError) -> str:
    return str(error.error_string).removeprefix("Error : ").strip(" .").lower()


def _truncated(shown: str, found: str) -> AudioError:
    return AudioError(FailureKind.TRUNCATED, f"{shown!r} is cut short: {found}; copy or write the file again")


def _keeps_promises(container: str, stream: io.FileIO) -> bool:
    """Whether a sample count is exact: an mp3 without a Xing or Info header has an estimate only."""
    stream.seek(0)
    start = stream.read(4096)
    return container == "FLAC" or (container == "MP3" and (b"Xing" in start or b"Info" in start))


def _has_last_page(stream: io.FileIO) -> bool:
    stream.seek(max(0, os.fstat(stream.fileno()).st_size - OGG_PAGE_BYTES))
    tail = stream.read()
    flags = tail[tail.rfind(b"OggS") + 5 :][:1]
    return bool(flags and flags[0] & OGG_LAST_PAGE)


def _source(stream: io.FileIO, shown: str) -> int | io.BytesIO:
    """What to decode: the file itself, or a mended copy of a wav that was streamed with sizes of 0."""
    kind, n_riff, form = struct.unpack("<4sI4s", stream.read(12).ljust(12, b"\0"))
    n_bytes = os.fstat(stream.fileno()).st_size
    if kind in (b"RIFF", b"RF64", b"BW64") and form == b"WAVE":
        start, n_promised = _find_data(stream, shown)
        if n_promised == 0 and n_riff + 8 < n_bytes and start < n_bytes:
            stream.seek(0)
            content = bytearray(stream.read())
            content[start - 4 : start] = struct.pack("<I", min(n_bytes - start, UNKNOWN_BYTES))
            return io.BytesIO(content)
        if start + n_promised > n_bytes and n_promised < UNKNOWN_BYTES:
            raise _truncated(shown, f"{max(n_bytes - start, 0)} of {n_promised} bytes of sound are there")
    stream.seek(0)
    return stream.fileno()


def _find_data(stream: io.FileIO, shown: str) -> tuple[int, int]:
    """Where a wav's samples start, and how many bytes of them its header promises."""
    n_long = 0  # of an RF64, whose own chunk sizes are placeholders
    while len(head := stream.read(8)) == 8:
        name, n_bytes = struct.unpack("<4sI", head)
        start = stream.tell()
        if name == b"data":
            return start, n_long if n_bytes == 0xFFFFFFFF and n_long else n_bytes
        if name == b"ds64":  # EBU Tech 3306: size of the file, then of the data
            n_long = struct.unpack("<8xQ", stream.read(16).ljust(16, b"\0"))[0]
        stream.seek(start + n_bytes + n_bytes % 2)
    raise _truncated(shown, "it ends within its header")


def _digest(samples: NDArray[np.float32], rate_hz: int) -> str:
    content = hashlib.sha256(f"{rate_hz} {samples.shape[1]} ".encode())
    content.update(np.ascontiguousarray(samples, dtype="<f4").data)
    return content.hexdigest()
