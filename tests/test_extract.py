"""Stage 1 through the command line: what is measured, kept, measured again, and what fails by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandLine
from pairs import records, tone, write_pairs, write_wav

from trace_s2s.extractors import Extractor, Machine, Measure
from trace_s2s.schemas import Blueprint, Emotion


def blueprints(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "blueprints.jsonl").read_text("utf-8").splitlines()
    assert all(Blueprint.model_validate_json(line) for line in lines)
    return {line["clip"]["path"]: line for line in map(json.loads, lines)}


def test_each_clip_is_measured_once_and_written_once(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 3)
    manifest.write_text(manifest.read_text() + manifest.read_text().replace('"id": "i', '"id": "again'))
    code, out, _ = command_line("extract", manifest, "-o", tmp_path / "out", "--features", "loudness,pitch", "--quiet")
    assert code == 0
    assert "6 of 6 clips" in out
    assert "12 groups measured, 0 from the store" in out
    found = blueprints(tmp_path / "out")
    assert set(found) == {f"{number}{side}.wav" for number in range(3) for side in "ab"}
    first = found["0a.wav"]
    assert set(first["features"]) == {"loudness", "pitch"}
    assert first["failures"] == {}
    assert first["clip"]["duration_s"] == 1.0
    assert first["clip"]["sample_rate_hz"] == 16000
    assert set(first["provenance"]) == {"loudness", "pitch"}
    assert first["features"]["pitch"]["mean_hz"] == pytest.approx(200, abs=0.5)  # the tone's own frequency


def test_only_what_changed_is_measured_again(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 2)

    def measured(*options: object) -> str:
        code, out, _ = command_line("extract", manifest, "-o", tmp_path / "out", "--quiet", *options)
        assert code == 0
        return out.split(": ")[1].strip()

    assert measured("--features", "loudness,pitch") == "8 groups measured, 0 from the store"
    assert measured("--features", "properties", "--drop", "rate") == "0 groups measured, 8 from the store"
    assert (
        measured("--features", "loudness,pitch", "--set", "pitch.floor_hz=80") == "4 groups measured, 4 from the store"
    )
    write_wav(tmp_path / "0a.wav", tone(999))
    assert measured("--features", "loudness,pitch") == "2 groups measured, 6 from the store"
    (tmp_path / "copy.wav").write_bytes((tmp_path / "1a.wav").read_bytes())
    manifest.write_text(manifest.read_text().replace("1a.wav", "copy.wav"))  # the same sound under another name
    assert measured("--features", "loudness,pitch") == "0 groups measured, 8 from the store"


def test_failures_are_written_beside_the_features(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 2)
    write_wav(tmp_path / "0a.wav", tone(200, 0.2))  # long enough to be a clip, too short for a block of loudness
    (tmp_path / "1b.wav").write_bytes(b"")
    manifest.write_text(manifest.read_text() + "{broken\n")
    code, _, err = command_line("extract", manifest, "-o", tmp_path / "out", "--features", "loudness", "--quiet")
    found = blueprints(tmp_path / "out")
    assert found["0a.wav"]["failures"]["loudness"]["kind"] == "too_short"
    assert found["0a.wav"]["features"] == {}
    assert found["1b.wav"]["failures"]["audio"]["kind"] == "empty_file"
    assert found["1b.wav"]["clip"] == {"path": "1b.wav", "sha256": None, "duration_s": None, "sample_rate_hz": None}
    assert code == 3
    assert "failed: line 3: bad_line: pairs.jsonl line 3" in err
    assert "failed: 1b.wav: audio: empty_file" in err


def test_an_extractor_that_is_not_installed_fails_by_name_and_is_not_remembered(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_pairs(tmp_path, 2)
    command = (
        "judge",
        manifest,
        "-o",
        tmp_path / "run",
        "--judge",
        "blueprint",
        "--features",
        "loudness,pitch",
        "--quiet",
    )
    command = (*command, "--model", "openai/m", "--set", "judge.retries=0")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with monkeypatch.context() as patched:
        patched.setattr("trace_s2s.schemas.packages.find_spec", lambda name: None if name == "pyloudnorm" else name)
        code, _, err = command_line(*command)
    assert code == 4
    found = records(tmp_path / "run")["i0"]["failure"]
    assert found["kind"] == "unavailable"
    assert (
        "loudness: 'pyloudnorm' is not installed; it comes with: pip install 'trace-s2s[embedded]'" in found["message"]
    )
    assert found["message"] in err
    assert command_line(*command)[0] == 4
    assert records(tmp_path / "run")["i0"]["failure"]["kind"] == "connection"  # it got as far as the server


def test_another_package_brings_an_extractor(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("emotion", "test_extract:CalmExtractor", "trace_s2s.extractors")
    monkeypatch.setattr("trace_s2s.extractors.entry_points", lambda group: [point])
    command = ("extract", write_pairs(tmp_path, 1), "-o", tmp_path / "out", "--features", "loudness,emotion", "--quiet")
    assert command_line(*command)[0] == 0
    assert blueprints(tmp_path / "out")["0a.wav"]["features"]["emotion"] == {"scores": {"calm": 1.0}}


@dataclass(frozen=True)
class CalmExtractor(Extractor[Emotion]):
    name = "emotion"
    version = "1"

    def load(self, machine: Machine) -> Measure[Emotion]:
        return lambda samples: [Emotion(scores={"calm": 1.0}) for _ in samples]


def test_a_language_that_the_transcriber_does_not_know_is_a_named_failure(
    tmp_path: Path, command_line: CommandLine
) -> None:
    manifest = write_pairs(tmp_path, 1)
    options = ("--features", "transcript", "--set", "transcript.language=de", "--quiet")
    code, _, err = command_line("judge", manifest, "-o", tmp_path / "run", "--model", "embedded", *options)
    assert code == 4
    assert records(tmp_path / "run")["i0"]["failure"]["kind"] == "unsupported_language"
    assert "response 1 '0a.wav': transcript: language 'de' is asked for" in err
