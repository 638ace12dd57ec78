"""The main job on the bundled pairs, as a newcomer runs it: measured, judged, reported; the second time nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pairs import records

pytestmark = pytest.mark.embedded

COMMAND = """
import sys
sys.argv = ["trace-s2s", "demo", "-o", sys.argv[1]]
from trace_s2s.cli import main
try:
    main()
finally:
    print("torch was imported" if "torch" in sys.modules else "torch was not imported")
"""


def demo(output: Path) -> tuple[str, str, float]:
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", COMMAND, str(output)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, time.monotonic() - started


def test_demo_and_demo_again(tmp_path: Path) -> None:
    output = tmp_path / "demo"
    out, err, _ = demo(output)
    assert "14 of 14 items judged" in out
    assert "for trying the pipeline" in err
    found = records(output)
    assert all(record["reasoning"] is None and 0 < record["confidence"] <= 1 for record in found.values())
    assert all(record["baselines"]["quality-only"] for record in found.values())
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["for_trying_only"]
    extracted = manifest["ledger"]["n_extracted"]
    assert len(set(extracted.values()) - {extracted["transcript"]}) == 1
    assert extracted["transcript"] == extracted["pitch"] + 1  # one instruction has no text and is transcribed
    assert "for trying the pipeline" in (output / "report/index.html").read_text()

    out, _, _ = demo(output)
    assert "nothing measured, nothing sent" in out
    assert "torch was not imported" in out
    assert records(output) == found
