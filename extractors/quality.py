"""How good the sound is, predicted without a reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trace_s2s.schemas import Failure, FailureKind, Quality, joint_digest, packaged_weights, require

from .base import Extractor, Machine, Measure, Sample, Waveform

RATE_HZ = 16000
WINDOW = 144160  # samples, 9.01 s: the input of the P.835 network
HOP = 16000  # samples: one window a second, as in the DNS challenge's script
SHORTEST_S = 0.4  # a shorter clip would be the same sound more than 22 times over
WEIGHTS = {  # of speechmos 0.0.1.1
    "pdnsmos_models/sig_bak_ovr.onnx": "9e3a197449ca2177f0997afec3bd6b890117ce2f17b89d6eea7fa0d47272c81c",
    "dnsmos_models/model_v8.onnx": "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
}
# From the network's output to MOS, for the personalised model: speechmos/dnsmos.py, get_polyfit_val
SIGNAL_FIT = (-0.01019296, 0.02751166, 1.19576786, -0.24348726)
BACKGROUND_FIT = (-0.04976499, 0.44276479, -0.1644611, 0.96883132)
OVERALL_FIT = (-0.00533021, 0.005101, 1.18058466, -0.11236046)
# P.808's spectrogram: speechmos/dnsmos.py, audio_melspec
N_FFT, FRAME_HOP, N_MELS = 321, 160, 120

Scorer = Callable[[Waveform], tuple[float, float, float, float]]


@dataclass(frozen=True)
class QualityExtractor(Extractor[Quality]):
    """DNSMOS: personalised P.835 (signal, background, overall) and P.808, by Microsoft's networks in ``speechmos``.

    Sound at 16 kHz (soxr) is scored in windows of 9.01 s, one a second, and the scores are averaged. What follows
    the last whole window, up to a second, is not heard. Silence is no sound to be rated: a named failure, as is a
    clip under 0.4 s.

    Options:
        windows: ``all`` counts every window and fills a clip under 9.01 s to one window by repeating it. ``released``
            is what the code released with the TRACE paper does: a short clip is repeated whole until it is long
            enough, so that its windows jump between 1 and 9, and windows 7-23 (and some later ones) are lost to a
            float rounding; clips over 16 s then hear their beginning more than their middle.

    Differs from the reference by less than 1e-6 with ``released`` on its 31 clips; ``all`` moves the overall score
    there by 0.04 on average and 0.18 at most. Cost: about 0.4 s a window, on the CPU whatever the machine.
    """

    name: ClassVar[str] = "quality"
    version: ClassVar[str] = "1"
    packages: ClassVar[dict[str, str]] = {"onnxruntime": "embedded", "librosa": "embedded", "speechmos": "embedded"}
    weights_licence: ClassVar[str | None] = "MIT"

    windows: Literal["all", "released"] = "all"

    def weights_digest(self) -> str:
        return joint_digest(WEIGHTS)

    def load(self, machine: Machine) -> Measure[Quality]:
        scorer = load_scorer(self.packages, machine)
        windows = all_windows if self.windows == "all" else released_windows
        return lambda samples: [measure(sample, scorer, windows) for sample in samples]


def measure(sample: Sample, scorer: Scorer, windows: Callable[[Waveform], list[Waveform]]) -> Quality | Failure:
    """One clip's quality."""
    if sample.is_silent:
        return Failure(kind=FailureKind.SILENT, message="the clip is silent; there is no sound to rate")
    if sample.duration_s < SHORTEST_S:
        message = f"{sample.duration_s:.3f} s is too short to rate; at least {SHORTEST_S} s are needed"
        return Failure(kind=FailureKind.TOO_SHORT, message=message)
    scores = np.array([scorer(window) for window in windows(sample.at(RATE_HZ))])  # (n_windows, 4)
    signal, background, overall, p808 = map(float, scores.mean(axis=0))
    return Quality(
        signal_mos=signal, background_mos=background, overall_mos=overall, p808_mos=p808, n_windows=len(scores)
    )


def all_windows(waveform: Waveform) -> list[Waveform]:
    """Every whole window; one of repeated sound where there is none."""
    whole = np.resize(waveform, WINDOW) if len(waveform) < WINDOW else waveform
    return [whole[start : start + WINDOW] for start in range(0, len(whole) - WINDOW + 1, HOP)]


def released_windows(waveform: Waveform) -> list[Waveform]:
    """The windows of the released code, with its arithmetic, which is faulty; see :class:`QualityExtractor`."""
    whole = np.tile(waveform, -(-WINDOW // len(waveform)))
    n_windows = int(len(whole) // HOP - 9.01) + 1
    windows = [whole[i * HOP : int((i + 9.01) * HOP)] for i in range(n_windows)]
    return [window for window in windows if len(window) == WINDOW]


def load_scorer(packages: dict[str, str], machine: Machine) -> Scorer:
    """The function that scores one window of sound: signal, background, overall and P.808 MOS."""
    require(packages)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = machine.threads
    paths = [packaged_weights("speechmos", packages["speechmos"], file, sha256) for file, sha256 in WEIGHTS.items()]
    p835, p808 = (
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]) for path in paths
    )

    def score(window: Waveform) -> tuple[float, float, float, float]:
        signal, background, overall = p835.run(None, {"input_1": window[None]})[0][0].astype(np.float64)
        opinion = p808.run(None, {"input_1": mel_levels(window[:-FRAME_HOP])[None]})[0][0][0]
        fits = (
            np.polyval(SIGNAL_FIT, signal),
            np.polyval(BACKGROUND_FIT, background),
            np.polyval(OVERALL_FIT, overall),
        )
        return float(fits[0]), float(fits[1]), float(fits[2]), float(opinion)

    return score


def mel_levels(waveform: Waveform) -> NDArray[np.float32]:
    """Mel levels as P.808's network wants them, (n_frames, N_MELS): dB below the loudest, (dB + 40) / 40."""
    import librosa

    powers = librosa.feature.melspectrogram(y=waveform, sr=RATE_HZ, n_fft=N_FFT, hop_length=FRAME_HOP, n_mels=N_MELS)
    levels = librosa.power_to_db(powers, ref=np.max)
    return np.asarray((levels.T + 40) / 40, dtype=np.float32)
