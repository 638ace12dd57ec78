"""Our measurements against the released code's on the real clips: ``make check-figures``.

The clips are not ours to pass on. They lie in the folder that ``TRACE_SHARED`` names, or in ``../shared``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

from trace_s2s.extractors import Machine, Sample, make_extractor
from trace_s2s.extractors.audio import read_sample
from trace_s2s.extractors.loudness import gated_blocks
from trace_s2s.schemas import AudioSpec, Loudness, Pitch, Quality, Transcript

SHARED = Path(os.environ.get("TRACE_SHARED", Path(__file__).parent.parent.parent / "shared"))
pytestmark = [
    pytest.mark.figures,
    pytest.mark.skipif(
        "TRACE_SHARED" not in os.environ and not SHARED.is_dir(),
        reason="the real clips are not here: set TRACE_SHARED to their folder",
    ),
]
Show = Callable[[str], None]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Iterator[Show]:
    """Prints a figure even where pytest captures output."""

    def printed(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}", end="")

    yield printed


@pytest.fixture(scope="module")
def released() -> dict[str, Any]:
    """What the released code computes, by clip."""
    values = json.loads((SHARED / "reference" / "released_code_values.json").read_text("utf-8"))
    del values["_about"]
    assert len(values) == 31
    return dict(values)


@pytest.fixture(scope="module")
def samples(released: dict[str, Any]) -> list[Sample]:
    names = [name if "/" in name else f"speakbench/{name}" for name in released]
    return [read_sample(SHARED / "data" / "clips" / name, name, AudioSpec()) for name in names]


def measured(kind: type[Any], group: str, samples: Sequence[Sample], **options: object) -> list[Any]:
    found = list(make_extractor(group, options).load(Machine())(samples))
    assert [type(feature) for feature in found] == [kind] * len(samples)
    return found


def largest(found: Sequence[float], wanted: Sequence[float]) -> float:
    return float(np.max(np.abs(np.asarray(found) - np.asarray(wanted))))


def test_quality(samples: list[Sample], released: dict[str, Any], show: Show) -> None:
    found: list[Quality] = measured(Quality, "quality", samples, windows="released")
    wanted = [values["dnsmos"] for values in released.values()]
    assert [one.n_windows for one in found] == [values["dnsmos_windows_used"] for values in released.values()]
    fields = {"signal_mos": "P_SIG", "background_mos": "P_BAK", "overall_mos": "P_OVRL", "p808_mos": "P808_MOS"}
    for ours, theirs in fields.items():
        difference = largest([getattr(one, ours) for one in found], [one[theirs] for one in wanted])
        show(f"DNSMOS {theirs}: largest difference {difference:.1e}, allowed 1e-4")
        assert difference < 1e-4


def test_loudness(samples: list[Sample], released: dict[str, Any], show: Show) -> None:
    found: list[Loudness] = measured(Loudness, "loudness", samples)
    wanted = [values["lufs"] for values in released.values()]
    contours = [
        np.interp(np.linspace(0, 1, 20), np.linspace(0, 1, len(levels)), levels) for levels in gated_blocks(samples)
    ]
    differences = {
        "integrated": largest([one.integrated_lufs for one in found], [one["integrated"] for one in wanted]),
        "standard deviation": largest([one.std_lu for one in found], [one["std"] for one in wanted]),
        "20-point contour": max(largest(ours, one["contour"]) for ours, one in zip(contours, wanted, strict=True)),
    }
    for name, difference in differences.items():
        show(f"loudness, {name}: largest difference {difference:.1e} LU, allowed 1e-6")
        assert difference < 1e-6


def test_pitch(samples: list[Sample], released: dict[str, Any], show: Show) -> None:
    found: list[Pitch] = measured(Pitch, "pitch", samples, keep="released")
    ratios = [ours.mean_hz / values["pitch"]["mean"] for ours, values in zip(found, released.values(), strict=True)]
    errors = np.abs(np.asarray(ratios) - 1)
    median, most = float(np.median(errors)), float(errors.max())
    show(f"pitch, mean: differs from aubio's by {median:.2%} (median, allowed 3 %), {most:.2%} (largest, allowed 8 %)")
    assert median <= 0.03
    assert most <= 0.08


def test_word_error_rate(show: Show) -> None:
    folder = SHARED / "data" / "clips" / "questions"
    lines = [json.loads(line) for line in (folder / "transcripts.jsonl").read_text("utf-8").splitlines()]
    questions = [read_sample(folder / line["audio"], line["audio"], AudioSpec()) for line in lines]
    found: list[Transcript] = measured(Transcript, "transcript", questions)
    # Without Whisper's table of British spellings, which transformers does not ship: that can only add errors.
    normalise = EnglishTextNormalizer({})
    wanted = [normalise(line["text"]) for line in lines]
    rate = jiwer.wer(wanted, [normalise(transcript.text) for transcript in found])
    show(f"word error rate on {len(lines)} questions: {rate:.2%}, allowed 3 %")
    assert len(lines) == 20
    assert rate < 0.03
