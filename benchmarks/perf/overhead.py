"""What engine, store and records cost an item, beyond extractors and judge; and whether memory stays flat.

Everything is measured already (a store made here: every clip its own, with contours and words of a five-second
answer), and the judge is ``random``, which costs nothing. Run: ``python benchmarks/perf/overhead.py``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trace_s2s import RunSpec, evaluate
from trace_s2s.extraction import ExtractionPlan
from trace_s2s.progress import Advance, Silent
from trace_s2s.schemas import (
    Clip,
    Contour,
    ExtractSpec,
    Loudness,
    Pitch,
    Quality,
    Rate,
    Segment,
    Transcript,
    Turns,
    Voice,
    Word,
)
from trace_s2s.store import BlueprintStore, KnownClip

N_ITEMS = 10_000
CLIP_S = 5.0
COLUMNS = ("list", "judge", "write", "engine, store, records", "report")
"""Milliseconds an item: listing by stat, judging, writing tables; these together; and the pages."""


def fill(folder: Path, n_items: int) -> None:
    """A manifest of ``n_items`` pairs, their files, and a store in which all is measured."""
    plan = ExtractionPlan.of(ExtractSpec())
    words = tuple(Word(text=f" word{n}", start_s=n / 3, end_s=n / 3 + 0.2, probability=0.9) for n in range(15))
    features = {
        "transcript": Transcript(
            text=" ".join(word.text for word in words),
            language="en",
            words=words,
            mean_logprob=-0.2,
            no_speech_probability=0.0,
        ),
        "quality": Quality(signal_mos=4.0, background_mos=4.0, overall_mos=4.0, p808_mos=4.0, n_windows=1),
        "pitch": Pitch(
            mean_hz=200.0,
            std_hz=20.0,
            median_hz=200.0,
            voiced_share=0.7,
            contour=Contour(start_s=0.0, step_s=0.01, values=tuple(150.0 + n % 97 for n in range(int(CLIP_S * 100)))),
        ),
        "loudness": Loudness(
            integrated_lufs=-23.0,
            std_lu=3.0,
            contour=Contour(start_s=0.2, step_s=0.1, values=tuple(-23.0 - n % 7 for n in range(int(CLIP_S * 10)))),
        ),
        "rate": Rate(unit="words", n_units=15, speech_per_min=180.0, articulation_per_min=200.0),
        "voice": Voice(
            jitter_percent=1.0,
            shimmer_percent=5.0,
            hnr_db=14.0,
            cpps_db=9.0,
            spectral_tilt_db=-15.0,
            pitch_range_st=9.0,
        ),
        "turns": Turns(
            segments=(Segment(start_s=0.1, end_s=4.9),),
            speech_s=4.8,
            leading_silence_s=0.1,
            n_pauses=0,
            longest_pause_s=None,
        ),
    }
    with BlueprintStore(folder / "store") as store, (folder / "pairs.jsonl").open("w", encoding="utf-8") as manifest:
        store.connection.execute("PRAGMA synchronous=OFF")
        store.connection.execute("BEGIN")
        rows = {name: (feature.canonical_json(), plan.signatures[name].sha256) for name, feature in features.items()}
        for number in range(n_items):
            for side in "ab":
                path = folder / f"{number}{side}.wav"
                path.write_bytes(b"x")
                clip = Clip(path=path.name, sha256=f"{number:063d}{side}", duration_s=CLIP_S, sample_rate_hz=16000)
                store.put_clip(path, KnownClip(clip, is_silent=False))
                store.connection.executemany(
                    "INSERT INTO features VALUES (?,?,?,0,?,0,0)",
                    [(clip.sha256, name, signature, value) for name, (value, signature) in rows.items()],
                )
            item = {"id": f"item-{number}", "instruction_text": f"Say {number}", "label": {"overall": "1"}}
            manifest.write(
                json.dumps({**item, "audio1_path": f"{number}a.wav", "audio2_path": f"{number}b.wav"}) + "\n"
            )
        store.connection.execute("COMMIT")


class Stages(Silent):
    """Shows nothing, and notes how long each stage takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        """A stage, timed."""
        started = time.perf_counter()
        yield lambda steps: None
        self.seconds[name] = time.perf_counter() - started


def run(folder: Path, limit: int) -> None:
    """One run in this process; prints its seconds and its peak memory as JSON."""
    spec = RunSpec.model_validate(
        {
            **{"manifest": str(folder / "pairs.jsonl"), "output": str(folder / f"run-{limit}"), "limit": limit},
            **{"store": str(folder / "store"), "judge": {"kind": "random"}},
        }
    )
    stages = Stages()
    started = time.perf_counter()
    result = evaluate(spec, stages)
    wall_s = time.perf_counter() - started
    manifest = result.manifest
    if manifest.n_judged != limit or manifest.ledger.n_extracted:
        raise SystemExit(f"not a run of {limit} measured items: {manifest}")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report_s = stages.seconds["writing the report"]
    parts = {
        "list": manifest.extract_s,
        "judge": manifest.judge_s,
        "write": wall_s - manifest.wall_s - report_s,
        "engine, store, records": wall_s - report_s,
        "report": report_s,
    }
    print(json.dumps({"peak_mb": peak_mb, **parts}))


def main() -> None:
    """Measure at ``N_ITEMS`` and at ten times as many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs=2, metavar=("FOLDER", "LIMIT"))
    parser.add_argument("--items", type=int, default=N_ITEMS)
    given = parser.parse_args()
    if given.run:
        run(Path(given.run[0]), int(given.run[1]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fill(folder, 10 * given.items)
        print(f"| items | {' | '.join(COLUMNS)} | peak MB |\n|---|{'---|' * len(COLUMNS)}---|")
        for limit in (given.items, 10 * given.items):
            command = [sys.executable, __file__, "--run", str(folder), str(limit)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            per_item = [f"{1000 * row[key] / limit:.2f}" for key in COLUMNS]
            print(f"| {limit:,} | {' | '.join(per_item)} | {row['peak_mb']:.0f} |")


if __name__ == "__main__":
    main()
