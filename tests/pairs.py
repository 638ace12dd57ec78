"""Manifests of small sounds, written to disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

RATE_HZ = 16_000


def tone(hz: float, duration_s: float = 1.0, rate_hz: int = RATE_HZ) -> NDArray[np.float32]:
    """A sine at -12 dBFS, float32 (n_samples,)."""
    time_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    return (0.25 * np.sin(2 * np.pi * hz * time_s)).astype(np.float32)


def write_wav(path: Path, samples: NDArray[np.float32], rate_hz: int = RATE_HZ) -> Path:
    """A 16-bit wav."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate_hz, subtype="PCM_16", format="WAV")
    return path


def write_pairs(folder: Path, n_items: int, **of_every: Any) -> Path:
    """A manifest of ``n_items`` pairs, ids ``i0``, ``i1``, …; every clip is a tone of its own."""
    lines = []
    for number in range(n_items):
        for side, hz in (("a", 200 + number), ("b", 400 + number)):
            write_wav(folder / f"{number}{side}.wav", tone(hz))
        line = {"id": f"i{number}", "instruction_text": f"Say {number}.", "audio1_path": f"{number}a.wav"}
        lines.append({**line, "audio2_path": f"{number}b.wav", **of_every})
    return write_lines(folder / "pairs.jsonl", lines)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def records(run: Path) -> dict[str, dict[str, Any]]:
    """The records of a run by id; fails where an id stands twice."""
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text("utf-8").splitlines()]
    by_id = {line["id"]: line for line in lines}
    assert len(by_id) == len(lines)
    return by_id
