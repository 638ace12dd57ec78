"""The store: content addressed, shared by processes, nothing lost by a kill."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from cases import case, features

from trace_s2s.judges import load_rubric, make_judge
from trace_s2s.schemas import Clip, Failure, FailureKind, InputError, JudgeSpec, Reply, Request, Signature, Usage
from trace_s2s.store import BlueprintStore, KnownClip, ReplyStore

PITCH = Signature.of("pitch", {"v": 1})
QUALITY = Signature.of("quality", {"v": 1})


def a_request() -> Request:
    return make_judge(JudgeSpec(model="openai/m"), 0).request(case(), load_rubric("hcot"))


def test_measurements_are_found_by_content_and_signature(tmp_path: Path) -> None:
    made = features()
    assert made.pitch is not None
    silent = Failure(kind=FailureKind.SILENT, message="nothing there")
    with BlueprintStore(tmp_path) as store:
        store.put("pitch", PITCH, [("aa", made.pitch)], 0.1)
        store.put("quality", QUALITY, [("aa", silent)], 0.1)
    with BlueprintStore(tmp_path) as store:
        wanted = {"pitch": PITCH, "quality": QUALITY}
        assert store.get("aa", wanted) == {"pitch": made.pitch, "quality": silent}
        assert store.missing("aa", wanted) == []
        other = {"pitch": Signature.of("pitch", {"v": 2})}
        assert store.get("aa", other) == {}
        assert store.missing("aa", other) == ["pitch"]
        assert store.missing("bb", wanted) == ["pitch", "quality"]


def test_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"1")
    known = KnownClip(Clip(path="shown", sha256="aa", duration_s=1.0, sample_rate_hz=16000), is_silent=False)
    with BlueprintStore(tmp_path) as store:
        assert store.known_clip(path, "shown") is None
        store.put_clip(path, known)
        assert store.known_clip(path, "shown") == known
        path.write_bytes(b"22")
        assert store.known_clip(path, "shown") is None
        path.write_bytes(b"1")
        os.utime(path, ns=(1, 1))
        assert store.known_clip(path, "shown") is None


def test_ledger_tells_answers_from_faults_and_from_what_a_kill_cut_off(tmp_path: Path) -> None:
    asked, answer = a_request(), Reply(text="{}", model="m", usage=Usage(n_requests=1, text_in=7))
    with ReplyStore(tmp_path) as store:
        store.answered(store.begin("r", asked.digest()), asked.digest(), asked, answer)
        store.failed(store.begin("r", "x"), FailureKind.TIMEOUT)
        store.begin("r", "y")
        store.begin("another run", "z")
    with ReplyStore(tmp_path) as store:
        assert store.get(asked.digest()) == answer
        assert store.get("x") is None
        assert store.spent("r") == (Usage(n_requests=1, text_in=7), 1, 1)


def _write_many(folder: Path, first: int) -> None:
    made = features().pitch
    assert made is not None
    with BlueprintStore(folder) as store:
        for number in range(first, first + 100):
            store.put("pitch", PITCH, [(str(number), made)], 0.0)


def test_processes_may_share_a_store_and_open_it_first_together(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(tmp_path, 100 * k)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with BlueprintStore(tmp_path) as store:
        assert all(not store.missing(str(number), {"pitch": PITCH}) for number in range(300))


def test_an_unusable_store_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "blueprints.sqlite").write_bytes(b"not a database, and rather longer than a header would be" * 4)
    with pytest.raises(InputError, match=r"blueprints.sqlite' cannot be used: .*; give another --store"):
        BlueprintStore(tmp_path)
    with ReplyStore(tmp_path) as store:
        store.connection.execute("PRAGMA user_version=99")
    with pytest.raises(InputError, match=r"has format 99, and this version reads 1; give another --store"):
        ReplyStore(tmp_path)
