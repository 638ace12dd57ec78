"""When there is speech, and when there is silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field

from trace_s2s.schemas import Failure, FailureKind, Segment, Turns, joint_digest, packaged_weights, require

from .base import Extractor, Machine, Measure, Sample, Waveform

NonNegative = Annotated[float, Field(ge=0)]
RATE_HZ = 16000  # silero-vad's
VAD_FILE = "assets/silero_vad_v6.onnx"
VAD_SHA256 = "4cbf549b8326f60f80f2536d9eefeb450a9abe83365a098031c89719f1be17d2"  # faster-whisper 1.2.1


@dataclass(frozen=True)
class TurnsExtractor(Extractor[Turns]):
    """Stretches of speech and the pauses between them, by silero-vad v6.

    The network is the ONNX file inside ``faster-whisper``, run by that package's code with onnxruntime, so neither
    torch nor the ``silero-vad`` package is needed. It decides every 32 ms whether there is speech. All times come from
    the mono mix: who speaks is not told apart, and ``Segment.speaker`` is None. Nobody speaking is the failure
    ``no_speech``.

    Options:
        threshold: probability above which there is speech (silero-vad's default).
        min_silence_s: a shorter silence is part of the speech around it. 0.2 s parts a pause from the closure of a
            stop consonant.
        min_speech_s: a shorter sound is no speech (silero-vad's default).
        pad_s: added at both ends of each stretch (silero-vad's default), less where two would meet.

    Cost: about 0.002 of the clip's duration.
    """

    name: ClassVar[str] = "turns"
    version: ClassVar[str] = "1"
    packages: ClassVar[dict[str, str]] = {"faster_whisper": "embedded", "onnxruntime": "embedded"}
    weights_licence: ClassVar[str | None] = "MIT"

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    min_silence_s: NonNegative = 0.2
    min_speech_s: NonNegative = 0.25
    pad_s: NonNegative = 0.03

    def weights_digest(self) -> str:
        return joint_digest({VAD_FILE: VAD_SHA256})

    def load(self, machine: Machine) -> Measure[Turns]:
        require(self.packages)
        packaged_weights("faster_whisper", self.packages["faster_whisper"], VAD_FILE, VAD_SHA256)
        return lambda samples: [self._measure(sample) for sample in samples]

    def _measure(self, sample: Sample) -> Turns | Failure:
        spans = [] if sample.is_silent else self._spans(sample.at(RATE_HZ))
        if not spans:
            return Failure(kind=FailureKind.NO_SPEECH, message="no speech is heard in the clip")
        return turns(spans)

    def _spans(self, waveform: Waveform) -> list[tuple[float, float]]:
        """Start and end of each stretch of speech in seconds."""
        from faster_whisper.vad import VadOptions, get_speech_timestamps

        options = VadOptions(
            threshold=self.threshold,
            min_silence_duration_ms=round(1000 * self.min_silence_s),
            min_speech_duration_ms=round(1000 * self.min_speech_s),
            speech_pad_ms=round(1000 * self.pad_s),
        )
        found = get_speech_timestamps(waveform, options)
        return [(span["start"] / RATE_HZ, span["end"] / RATE_HZ) for span in found]


def turns(spans: Sequence[tuple[float, float]]) -> Turns:
    """What the stretches of speech come to; there is at least one."""
    pauses = [after[0] - before[1] for before, after in pairwise(spans)]
    return Turns(
        segments=tuple(Segment(start_s=start, end_s=end) for start, end in spans),
        speech_s=sum(end - start for start, end in spans),
        leading_silence_s=spans[0][0],
        n_pauses=len(pauses),
        longest_pause_s=max(pauses, default=None),
    )
