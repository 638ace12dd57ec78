"""Whole runs over a real server on loopback: what is sent, kept, sent again, resumed after a kill, and written."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import CommandLine
from filelock import FileLock
from pairs import records, tone, write_lines, write_pairs, write_wav
from server import Answer, always, in_turn, serve, verdict

from trace_s2s import RunSpec, evaluate

MODEL = ("--model", "openai/scripted", "--features", "loudness", "--quiet")


def judge(run: CommandLine, manifest: Path, output: Path, *more: object) -> tuple[int, str, str]:
    return run("judge", manifest, "-o", output, *MODEL, *more)


def test_a_run_judges_all_and_writes_its_folder(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, output = write_pairs(tmp_path, 3, label={"overall": "1"}), tmp_path / "run"
    with serve(always(verdict(True, False))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        code, out, _ = judge(command_line, manifest, output)
    assert code == 0
    assert "3 of 3 items judged" in out
    found = records(output)
    assert list(found) == ["i0", "i1", "i2"]
    first = found["i0"]
    assert (first["status"], first["overall"], first["ratings"]["content"]) == ("judged", "1", "1")
    assert first["acceptable"]["content"] == [True, False]
    assert first["reasoning"]["content"] == "because the scores say so"
    assert first["usage"] == {
        **{"n_requests": 1, "text_in": 100, "cached_in": 40, "audio_in": 0, "text_out": 20, "device_s": 0.0}
    }
    assert pq.read_table(output / "results.parquet").to_pylist()[2]["id"] == "i2"
    written = json.loads((output / "manifest.json").read_text())
    assert (written["n_items"], written["n_judged"], written["models_answered"]) == (3, 3, ["scripted-2026-01-01"])
    assert written["ledger"]["usage"]["text_in"] == 300
    assert written["ledger"]["n_extracted"] == {"loudness": 6}
    assert json.loads((output / "agreement.json").read_text())["overall"]["accuracy"] == 1.0
    assert (output / "report/index.html").is_file()
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True
    assert (server.requests[0]["temperature"], server.requests[0]["max_tokens"]) == (0.0, 1200)


def test_command_line_equals_the_python_interface_and_reruns_from_its_run_file(
    tmp_path: Path, command_line: CommandLine
) -> None:
    manifest = write_pairs(tmp_path, 4)
    options = ("--judge", "random", "--seed", 5, "--features", "loudness", "--quiet")
    assert command_line("judge", manifest, "-o", tmp_path / "cli", *options)[0] == 0
    spec = {"manifest": str(manifest), "seed": 5, "judge": {"kind": "random"}, "extract": {"features": ["loudness"]}}
    result = evaluate(RunSpec.model_validate({**spec, "output": str(tmp_path / "api")}))
    again = ("judge", manifest, "-o", tmp_path / "file", "--config", tmp_path / "cli/run.toml", "--quiet")
    assert command_line(*again)[0] == 0
    assert records(tmp_path / "cli") == records(tmp_path / "api") == records(tmp_path / "file")
    assert [record.id for record in result.records()] == ["i0", "i1", "i2", "i3"]


def test_a_second_start_measures_and_sends_nothing(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_pairs(tmp_path, 3)
    with serve(always(verdict())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        judge(command_line, manifest, tmp_path / "run")
        before = records(tmp_path / "run")
        code, out, _ = judge(command_line, manifest, tmp_path / "run")
        assert (code, len(server.requests)) == (0, 3)
        assert "nothing measured, nothing sent" in out
        assert records(tmp_path / "run") == before
        # another folder, the same questions: the replies are the store's
        judge(command_line, manifest, tmp_path / "other", "--policy", "s2s-arena")
        assert len(server.requests) == 3
        # one clip changes: its group is measured again, its item is asked again, nothing else
        write_wav(tmp_path / "1a.wav", tone(333) / 2)
        code, out, _ = judge(command_line, manifest, tmp_path / "run")
        assert len(server.requests) == 4
        assert "measured 1 feature groups" in out


def test_equal_pairs_are_asked_once(tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pairs(tmp_path, 1)
    line = {"instruction_text": "Say it.", "audio1_path": "0a.wav", "audio2_path": "0b.wav"}
    manifest = write_lines(tmp_path / "twice.jsonl", [{"id": "x", **line}, {"id": "y", **line}])
    with serve(lambda request, n: Answer(verdict(), delay_s=0.2)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert judge(command_line, manifest, tmp_path / "run")[0] == 0
        assert len(server.requests) == 1
    assert {record["status"] for record in records(tmp_path / "run").values()} == {"judged"}


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 1)
    options = ("--judge", "random", "--features", "loudness", "--quiet")
    assert command_line("judge", manifest, "-o", tmp_path / "run", *options)[0] == 0
    code, _, err = command_line("judge", manifest, "-o", tmp_path / "run", *options, "--seed", 1)
    assert code == 2
    assert "holds another run" in err
    assert "give another -o" in err


def test_fuse_again_asks_nothing(tmp_path: Path, command_line: CommandLine) -> None:
    manifest = write_pairs(tmp_path, 20)
    options = ("--judge", "random", "--features", "loudness", "--quiet")
    command_line("judge", manifest, "-o", tmp_path / "one", *options)
    command_line("judge", manifest, "-o", tmp_path / "two", *options, "--policy", "s2s-arena")
    code, out, _ = command_line("fuse", tmp_path / "one", "--policy", "s2s-arena")
    assert code == 0
    fused = tmp_path / "one/fused-s2s-arena.jsonl"
    assert str(fused) in out
    overall = {line["id"]: line["overall"] for line in map(json.loads, fused.read_text().splitlines())}
    assert overall == {name: record["overall"] for name, record in records(tmp_path / "two").items()}
    assert overall != {name: record["overall"] for name, record in records(tmp_path / "one").items()}


def kill_when(process: subprocess.Popen[bytes], ready: Any) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_killed_run_goes_on_without_asking_again_what_was_answered(tmp_path: Path) -> None:
    n_items, n_connections = 40, 4
    manifest, output = write_pairs(tmp_path, n_items), tmp_path / "run"
    command = [
        sys.executable,
        "-c",
        "from trace_s2s.cli import main; main()",
        "judge",
        str(manifest),
        "-o",
        str(output),
    ]
    command += [*MODEL, "--max-connections", str(n_connections)]

    def stored() -> set[str]:
        with sqlite3.connect(tmp_path / "store/replies.sqlite") as connection:
            requests = [json.loads(text) for (text,) in connection.execute("SELECT request FROM replies")]
        return {request["messages"][-1]["parts"][0]["text"] for request in requests}

    with serve(lambda request, n: Answer(verdict(), delay_s=0.03)) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.base_url}
        for n_asked in (10, 22):
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with process:
                kill_when(process, lambda n=n_asked: len(server.requests) >= n)
            answered, n_before = stored(), len(server.requests)
            assert answered
            with (output / "records.jsonl").open("ab") as file:
                file.write(b'{"id": "torn')
        finished = subprocess.run(command, env=environment, check=False, capture_output=True)
        assert finished.returncode == 0, finished.stderr
        assert not answered & set(server.prompts()[n_before:])
        # what repeats is at most what was under way at each of the two kills
        assert n_items <= len(server.requests) <= n_items + 2 * n_connections
    assert list(records(output)) == [f"i{number}" for number in range(n_items)]
    ledger = json.loads((output / "manifest.json").read_text())["ledger"]
    assert ledger["usage"]["n_requests"] == n_items
    assert ledger["n_lost"] <= 2 * n_connections


def test_unreadable_replies_are_asked_again_and_kept(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_pairs(tmp_path, 2)
    with serve(in_turn([Answer("what?"), Answer(verdict())])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert judge(command_line, manifest, tmp_path / "run")[0] == 0
        assert len(server.requests) == 4
        assert records(tmp_path / "run")["i0"]["usage"]["n_requests"] == 2  # both were paid for
        judge(command_line, manifest, tmp_path / "run")
        assert len(server.requests) == 4


def test_failures_are_asked_again_only_when_told_to(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_pairs(tmp_path, 2)
    down = [True]

    def script(request: dict[str, Any], n_before: int) -> Answer:
        if down[0] and "Say 1." in request["messages"][-1]["content"]:
            return Answer(status=500)
        return Answer(verdict() if down[0] is False or "Say 0." in request["messages"][-1]["content"] else "what?")

    with serve(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        retries = ("--set", "judge.retries=0")
        assert judge(command_line, manifest, tmp_path / "run", *retries)[0] == 3
        n_sent = len(server.requests)
        down[0] = False
        assert judge(command_line, manifest, tmp_path / "run", *retries)[0] == 3
        assert len(server.requests) == n_sent
        assert judge(command_line, manifest, tmp_path / "run", *retries, "--retry-failed")[0] == 0
        assert len(server.requests) == n_sent + 1
    assert {record["status"] for record in records(tmp_path / "run").values()} == {"judged"}


def test_keys_appear_nowhere(tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, key = write_pairs(tmp_path, 1), "sk-very-secret-4711"
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}}).encode()
    with serve(lambda request, n: Answer(status=401, body=echo)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        code, out, err = judge(command_line, manifest, tmp_path / "run")
        assert server.keys == [f"Bearer {key}"]
    assert code == 4
    assert "mend OPENAI_API_KEY" in err
    assert key not in out + err
    written = [path for path in (*(tmp_path / "run").rglob("*"), *(tmp_path / "store").rglob("*")) if path.is_file()]
    assert all(key.encode() not in path.read_bytes() for path in written)


def test_a_second_process_in_the_same_folder_is_refused(tmp_path: Path, command_line: CommandLine) -> None:
    manifest, folder = write_pairs(tmp_path, 1), tmp_path / "run"
    folder.mkdir()
    options = ("--judge", "random", "--features", "loudness", "--quiet")
    with FileLock(folder / ".lock"):
        code, _, err = command_line("judge", manifest, "-o", folder, *options)
    assert (code, err.count("\n")) == (2, 1)
    assert "another process is working in" in err
    assert command_line("judge", manifest, "-o", folder, *options)[0] == 0


def test_run_file_alone_reruns_the_run_from_anywhere(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pairs(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    assert command_line("judge", "pairs.jsonl", "-o", "run", "--judge", "random", "--features", "loudness")[0] == 0
    before = records(tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, _ = command_line("judge", "--config", tmp_path / "run/run.toml", "--policy", "speakbench-released")
    assert code == 0
    assert "nothing measured, nothing sent" in out
    assert records(tmp_path / "run") == before


def test_a_manifest_changed_under_way_is_said(
    tmp_path: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_pairs(tmp_path, 2)

    def script(request: dict[str, Any], n_before: int) -> Answer:
        changed = tmp_path / "changed.jsonl"
        changed.write_text(manifest.read_text().replace('"i1"', '"new"'))
        changed.replace(manifest)  # at once: a reader sees the old lines or the new ones
        return Answer(verdict())

    with serve(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        code, _, err = judge(command_line, manifest, tmp_path / "run", "--max-connections", 1)
    assert code == 2
    assert "the manifest was changed while it was judged: 'new' is new; start again" in err


def test_evaluate_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    spec = {"judge": {"kind": "random"}, "extract": {"features": ["loudness"]}}
    run = RunSpec.model_validate({"manifest": write_pairs(tmp_path, 2), "output": tmp_path / "run", **spec})

    async def notebook() -> int:
        return evaluate(run).manifest.n_judged

    assert asyncio.run(notebook()) == 2
