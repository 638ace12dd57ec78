"""Every line of bad input: one line names the item and the remedy, the rest is judged, the record says why."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from conftest import CommandLine
from pairs import RATE_HZ, records, tone, write_lines, write_pairs, write_wav
from server import Answer, Script, always, in_turn, serve, verdict

OPTIONS = ("--model", "openai/scripted", "--features", "loudness", "--set", "judge.retries=0", "--quiet")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def judge(tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Judges a manifest with a server that always gives the same verdict, or as a script says."""

    def run(manifest: Path, *more: object, script: Script | None = None) -> tuple[int, str, str]:
        with serve(script or always(verdict())) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            return command_line("judge", manifest, "-o", tmp_path / "run", *OPTIONS, *more)

    return run


def check(run: Path, outcome: tuple[int, str, str], failed: dict[str, tuple[str, str]], n_judged: int) -> None:
    """Exit code, and for each failed item: its kind, its id and the remedy in one line; all others judged."""
    code, out, err = outcome
    assert code == (3 if n_judged else 4)
    found = records(run)
    assert {name for name, record in found.items() if record["status"] == "failed"} == set(failed)
    assert len(found) == n_judged + len(failed)
    assert f"{n_judged} of {len(found)} items judged" in out
    for name, (kind, remedy) in failed.items():
        failure = found[name]["failure"]
        assert failure["kind"] == kind
        assert remedy in failure["message"]
        assert "\n" not in failure["message"]
        assert f"failed: {name}: {kind}: {failure['message']}" in err.splitlines()
        assert found[name]["overall"] is None


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def spoil_samples(path: Path) -> None:
    samples = tone(300)
    samples[100:110] = np.nan
    soundfile.write(path, samples, RATE_HZ, subtype="FLOAT")


BAD_CLIPS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "missing file": (lambda path: path.unlink(), "missing_file", "give --audio-root or mend the manifest"),
    "empty file": (lambda path: path.write_bytes(b""), "empty_file", "write the file again, or leave it out"),
    "not audio": (lambda path: path.write_text("hello, I am text"), "not_audio", "give wav, flac, ogg or mp3"),
    "truncated wav": (truncate, "truncated", "copy or write the file again"),
    "silence": (lambda path: write_wav(path, 0 * tone(300)), "silent", "--set audio.silent=keep"),
    "50 ms": (lambda path: write_wav(path, tone(300, 0.05)), "too_short", "--set audio.min_duration_s=0.05"),
    "20 minutes": (lambda path: write_wav(path, tone(300, 1200.0)), "too_long", "--set audio.max_duration_s=1200"),
    "NaN samples": (spoil_samples, "not_finite", "write the file again, or leave it out"),
}


@pytest.mark.parametrize("name", BAD_CLIPS)
def test_bad_clip(tmp_path: Path, judge: Run, name: str) -> None:
    spoil, kind, remedy = BAD_CLIPS[name]
    manifest = write_pairs(tmp_path, 3)
    spoil(tmp_path / "1b.wav")
    outcome = judge(manifest)
    check(tmp_path / "run", outcome, {"i1": (kind, remedy)}, 2)
    assert "response 2 '1b.wav'" in outcome[2]


@pytest.mark.parametrize("name", ["silence", "50 ms", "20 minutes"])
def test_the_named_remedy_works(tmp_path: Path, judge: Run, name: str) -> None:
    spoil, _, remedy = BAD_CLIPS[name]
    manifest = write_pairs(tmp_path, 2)
    spoil(tmp_path / "1b.wav")
    assert judge(manifest, "--set", remedy.split()[1])[0] == 0


GOOD_CLIPS: dict[str, Callable[[Path], Path]] = {
    "stereo": lambda path: write_wav(path, np.stack([tone(300), tone(301)], axis=1)),
    "8 kHz": lambda path: write_wav(path, tone(300, rate_hz=8_000), 8_000),
    "96 kHz": lambda path: write_wav(path, tone(300, rate_hz=96_000), 96_000),
    "upper-case extension": lambda path: write_wav(path, tone(300)).rename(path.with_suffix(".WAV")),
    "wrong extension": lambda path: write_wav(path, tone(300)).rename(path.with_suffix(".mp3")),
}


@pytest.mark.parametrize("name", GOOD_CLIPS)
def test_unusual_clip_is_judged(tmp_path: Path, judge: Run, name: str) -> None:
    write_pairs(tmp_path, 1)
    clip = GOOD_CLIPS[name](tmp_path / "odd.wav")
    line = {"id": "odd", "instruction_text": "Say it.", "audio1_path": clip.name, "audio2_path": "0b.wav"}
    assert judge(write_lines(tmp_path / "odd.jsonl", [line]))[0] == 0


GOOD_LINE: dict[str, Any] = {"instruction_text": "Say it.", "audio1_path": "0a.wav", "audio2_path": "0b.wav"}
BAD_LINES: dict[str, tuple[dict[str, Any] | str, str, str, str]] = {
    "broken JSON": ('{"id": "x", "audio1_path"', "line 7", "bad_line", "pairs.jsonl line 7: "),
    "duplicate id": ({"id": "i0", **GOOD_LINE}, "i0 (line 7)", "duplicate_id", "give each item an id of its own"),
    "unknown label": (
        {"id": "x", **GOOD_LINE, "label": {"content": "3"}},
        "x",
        "unknown_label",
        "must be one of: 1, 2",
    ),
    "missing key": ({"id": "x", "instruction_text": "y", "audio1_path": "0a.wav"}, "x", "missing_key", "mend the line"),
    "deep nesting": ('{"id": ' + "[" * 100_000, "line 7", "bad_line", "mend the line"),
    "half an emoji": ({"id": "x", **GOOD_LINE, "model_a": "\ud800"}, "x", "bad_line", "mend it"),
    "a name no file has": ({"id": "x", **GOOD_LINE, "audio1_path": "a\0b"}, "x", "missing_file", "mend the manifest"),
    "a name too long": ({"id": "x", **GOOD_LINE, "audio1_path": "a" * 400}, "x", "missing_file", "mend the manifest"),
    "one response": ({"id": "x", "audio_path": "0a.wav", "instruction_text": "y"}, "x", "missing_key", "audio2_path"),
    "outside the root": ({"id": "x", **GOOD_LINE, "audio1_path": "../a.wav"}, "x", "outside_root", "give --audio-root"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_manifest_line(tmp_path: Path, judge: Run, name: str) -> None:
    line, item, kind, remedy = BAD_LINES[name]
    manifest = write_pairs(tmp_path, 6)
    with manifest.open("a") as file:
        file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    outcome = judge(manifest)
    check(tmp_path / "run", outcome, {item: (kind, remedy)}, 6)
    if kind != "missing_file" and name != "one response":
        assert "line 7" in outcome[2]


def odd(**changed: Any) -> Answer:
    """A chat completion with parts of another form."""
    whole = {**json.loads(Answer(verdict()).bytes()), **changed}
    return Answer(body=json.dumps(whole).encode())


HALF = verdict()[: len(verdict()) // 2]
SERVER_FAULTS: dict[str, tuple[Answer, str, str]] = {
    "401": (Answer(status=401), "authentication", "mend OPENAI_API_KEY, then --retry-failed"),
    "429": (Answer(status=429, headers={"Retry-After": "0"}), "rate_limited", "lower --max-connections"),
    "500": (Answer(status=500), "server_error", "--retry-failed"),
    "400": (Answer(status=400), "bad_request", "--set judge.structured=json_object"),
    "nonsense": (Answer("the first one, I feel"), "unreadable_reply", "no JSON object"),
    "half a JSON": (Answer(HALF), "unreadable_reply", "no JSON object"),
    "half a JSON at the bound": (Answer(HALF, finish_reason="length"), "cut_short", "--set judge.max_tokens"),
    "nothing": (Answer(""), "unreadable_reply", "the reply is empty"),
    "no content": (Answer(None), "unreadable_reply", "the reply is empty"),
    "a refusal": (Answer(None, refusal="I would rather not"), "refused", "I would rather not"),
    "a body that is no JSON": (Answer(body=b"<html>oops"), "server_error", "check OPENAI_BASE_URL"),
    "another page": (
        Answer(body=b"<p>", headers={"Content-Type": "text/html"}),
        "server_error",
        "check OPENAI_BASE_URL",
    ),
    "a body cut off": (Answer(verdict(), headers={"Content-Length": "9999"}), "connection", "then --retry-failed"),
    "an empty body": (Answer(body=b""), "server_error", "check OPENAI_BASE_URL"),
    "no choices": (odd(choices=[]), "server_error", "check OPENAI_BASE_URL"),
    "a choice that is null": (odd(choices=[None]), "server_error", "check OPENAI_BASE_URL"),
    "choices of another kind": (odd(choices={"a": 1}), "server_error", "check OPENAI_BASE_URL"),
    "a model that is a number": (odd(model=4), "server_error", "check OPENAI_BASE_URL"),
    "usage that is no count": (odd(usage={"prompt_tokens": 1.5}), "server_error", "check OPENAI_BASE_URL"),
    "deep nesting": (Answer(body=b"[" * 100_000), "server_error", "check OPENAI_BASE_URL"),
    "a number without end": (Answer('{"content": ' + "1" * 5000), "unreadable_reply", "no JSON object"),
    "a flood": (Answer("{" * 200_000), "unreadable_reply", "far more than a verdict needs"),
    "no answer in time": (Answer(verdict(), delay_s=1.0), "timeout", "raise --set judge.timeout_s"),
}


@pytest.mark.parametrize("name", SERVER_FAULTS)
def test_server_fault(tmp_path: Path, judge: Run, name: str) -> None:
    fault, kind, remedy = SERVER_FAULTS[name]
    manifest = write_pairs(tmp_path, 3)

    def script(request: dict[str, Any], n_before: int) -> Answer:
        return fault if "Say 1." in request["messages"][-1]["content"] else Answer(verdict())

    outcome = judge(manifest, "--set", "judge.timeout_s=0.5", script=script)
    check(tmp_path / "run", outcome, {"i1": (kind, remedy)}, 2)


def test_half_an_emoji_harms_nothing(tmp_path: Path, judge: Run) -> None:
    text = verdict().replace("because", "because \\ud83d")
    assert judge(write_pairs(tmp_path, 1), script=always(text))[0] == 0
    assert records(tmp_path / "run")["i0"]["reasoning"]["content"].startswith("because ?")


def test_a_trickling_server_is_given_up(tmp_path: Path, judge: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace_s2s.judges.openai_server.LONGEST_WAIT_S", 0.0)
    slow, started = Answer(verdict(), trickle_s=0.1), time.monotonic()
    outcome = judge(write_pairs(tmp_path, 1), "--set", "judge.timeout_s=0.5", script=lambda request, n: slow)
    check(tmp_path / "run", outcome, {"i0": ("timeout", "raise --set judge.timeout_s")}, 0)
    assert time.monotonic() - started < 10


def test_retry_after_is_heeded_and_the_item_judged(tmp_path: Path, judge: Run) -> None:
    limited = Answer(status=429, headers={"Retry-After": "1"})
    script = in_turn([limited, Answer(status=500), Answer(verdict())])
    started = time.monotonic()
    code, _, _ = judge(write_pairs(tmp_path, 1), "--set", "judge.retries=2", script=script)
    assert code == 0
    assert time.monotonic() - started >= 1.0


def test_a_server_that_refuses_the_key_is_not_asked_for_ever(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(lambda request, n_before: Answer(status=401)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        options = (*OPTIONS, "--max-connections", 1)
        code, _, err = command_line("judge", write_pairs(tmp_path, 30), "-o", tmp_path / "run", *options)
        assert len(server.requests) == 5
    assert code == 4
    assert "… and 10 more failures" in err


def test_nobody_listens(tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(always("")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    outcome = command_line("judge", write_pairs(tmp_path, 1), "-o", tmp_path / "run", *OPTIONS)
    check(tmp_path / "run", outcome, {"i0": ("connection", "check OPENAI_BASE_URL and the network")}, 0)


UNUSABLE: dict[str, tuple[tuple[str, ...], str]] = {
    "no key": (("--model", "openai/m"), "needs OPENAI_API_KEY, which is not set"),
    "no such model": (("--model", "gpt-4o"), "no model is called 'gpt-4o'"),
    "no such judge": (("--judge", "jury"), "no judge is called 'jury'; there are: blueprint"),
    "no such policy": (("--policy", "vote"), "no fusion policy is called 'vote'; there are: speakbench"),
    "no such rubric": (("--rubric", "x"), "no rubric is called 'x'"),
    "no such group": (("--drop", "ptich"), "profile 'embedded' has no group 'ptich'; it has: transcript"),
    "no group": (("--features", ""), "names no feature group"),
    "nothing to see": (("--judge", "transcript", "--features", "loudness"), "group 'transcript' is left out"),
    "no such server": (("--model", "openai/m", "--set", "judge.base_url=http://[::1"), "is no address"),
    "a password in the address": (
        ("--model", "openai/m", "--set", "judge.base_url=http://me:secret@localhost/v1"),
        "holds a name or password",
    ),
    "no such profile": (("--profile", "cloud"), "no profile is called 'cloud'; there are: embedded"),
    "no such layout": (("--layout", "wide"), "option 'judge.layout': input should be 'paper' or 'compact'"),
    "no such option": (("--set", "judge.colour=red"), "option 'judge.colour': extra inputs are not permitted"),
    "no such extractor option": (("--set", "loudness.gain=3"), "option 'gain' of extractor 'loudness'"),
    "no such run file": (("--config", "none.toml"), "run file 'none.toml' cannot be read"),
    "not a setting": (("--set", "colour"), "must look like part.option=value"),
    "not on this machine": (
        ("--offline", "--model", "openai/m", "--set", "judge.base_url=https://example.invalid/v1"),
        "model 'openai/m' is not on this machine, and --offline refuses such models",
    ),
    "no such flag": (("--colour", "red"), "No such option: --colour"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_options_are_refused_before_anything_is_done(
    tmp_path: Path, command_line: CommandLine, name: str
) -> None:
    options, message = UNUSABLE[name]
    code, _, err = command_line("judge", write_pairs(tmp_path, 1), "-o", tmp_path / "run", *options)
    assert code == 2
    assert message in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["judge", "extract"])
def test_output_that_is_a_file(tmp_path: Path, command_line: CommandLine, command: str) -> None:
    (tmp_path / "run").write_text("mine")
    code, _, err = command_line(command, write_pairs(tmp_path, 1), "-o", tmp_path / "run", "--features", "loudness")
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be made: File exists; give another -o" in err


def test_a_baseline_does_not_judge_what_is_not_there(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 2)
    (tmp_path / "1b.wav").unlink()
    options = ("--judge", "random", "--features", "loudness", "--quiet")
    outcome = command_line("judge", manifest, "-o", tmp_path / "run", *options)
    check(tmp_path / "run", outcome, {"i1": ("missing_file", "give --audio-root")}, 1)


def test_labelled_lines_that_fail_count_in_agreement(tmp_path: Path, judge: Run) -> None:
    manifest = write_pairs(tmp_path, 3, label={"overall": "1", "content": None, "voice_quality": 1})
    with manifest.open("a") as file:
        file.write(json.dumps({"id": "x", "instruction_text": "y", "label": {"overall": "1"}}) + "\n")
    assert judge(manifest)[0] == 3
    report = json.loads((tmp_path / "run/agreement.json").read_text())
    assert (report["n"], report["n_judged"]) == (4, 3)
    assert (report["overall"]["n"], report["overall"]["accuracy"]) == (4, 0.75)
    assert report["voice_quality"]["n"] == 3


def test_unusable_manifest(tmp_path: Path, command_line: CommandLine) -> None:
    code, _, err = command_line("judge", tmp_path / "none.jsonl", "-o", tmp_path / "run")
    assert (code, err.count("\n")) == (2, 1)
    assert "does not exist" in err
