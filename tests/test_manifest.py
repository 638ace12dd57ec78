"""Manifests: four containers, the released pair format, and every kind of bad line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trace_s2s.manifest import BadLine, ManifestFile
from trace_s2s.schemas import FailureKind, InputError, Item


def line(**changes: Any) -> dict[str, Any]:
    raw = {
        "id": "one",
        "instruction_text": "Hi?",
        "audio1_path": "a.wav",
        "audio2_path": "sub/b.wav",
        "model_a": "A",
        "model_b": "B",
        "label": {"content": "1", "overall": "tie"},
        "mood": "calm",
    }
    return {key: value for key, value in {**raw, **changes}.items() if value is not None}


def read(path: Path, audio_root: str | None = None, limit: int | None = None) -> list[Item | BadLine]:
    return list(ManifestFile.open(str(path), audio_root, limit).items())


def write_jsonl(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines), "utf-8")
    return path


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    flat = [
        {**{k: v for k, v in row.items() if k != "label"}, "label.content": "1", "label.overall": "tie"} for row in rows
    ]
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(rows), "utf-8")
        case ".jsonl":
            write_jsonl(path, *rows)
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(flat[0]))
                writer.writeheader()
                writer.writerows(flat)
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".parquet"])
def test_every_container_gives_the_same_items(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs{suffix}"
    write(path, [line(), line(id="two")])
    first, second = read(path)
    assert isinstance(first, Item)
    assert (first.id, second.id) == ("one", "two")
    assert first.audio_paths == ("a.wav", "sub/b.wav")
    assert [response.model for response in first.responses] == ["A", "B"]
    assert first.label == {"content": "1", "overall": "tie"}
    assert first.extras == {"mood": "calm"}
    assert isinstance(second, Item)
    assert first.instruction_id == second.instruction_id  # a digest of the same words
    assert len(read(path, limit=1)) == 1


def test_released_format_is_read_unchanged(tmp_path: Path) -> None:
    raw = line(id=None, index=101, instruction_path="i.wav", instruction_id=67)
    (item,) = read(write_jsonl(tmp_path / "p.jsonl", raw))
    assert isinstance(item, Item)
    assert (item.id, item.instruction_id, item.instruction_path) == ("101", "67", "i.wav")


def test_pointwise_items_have_one_response(tmp_path: Path) -> None:
    (item,) = read(write_jsonl(tmp_path / "p.jsonl", {"id": 1, "audio_path": "a.wav", "model": "M", "style": "calm"}))
    assert isinstance(item, Item)
    assert not item.is_pairwise
    assert item.extras == {"style": "calm"}


BAD_LINES = [
    ('{"id": "two", "audio1_path": ', "line 2", FailureKind.BAD_LINE, r"p.jsonl line 2: .*mend the line"),
    ('["two"]', "line 2", FailureKind.BAD_LINE, r"p.jsonl line 2: is no JSON object"),
    ('{"id": "two", "x": NaN}', "line 2", FailureKind.BAD_LINE, r"holds NaN"),
    (line(), "one (line 2)", FailureKind.DUPLICATE_ID, r"line 2: id 'one' was there before; give each"),
    (line(id=None), "line 2", FailureKind.MISSING_KEY, r"line 2: key 'id' \(or 'index'\) is missing"),
    (line(id="two", audio2_path=None), "two", FailureKind.MISSING_KEY, r"item 'two' lacks audio2_path"),
    (
        line(id="two", instruction_text=None),
        "two",
        FailureKind.MISSING_KEY,
        r"lacks instruction_text \(or instruction_path\)",
    ),
    (line(id="two", label={"content": "3"}), "two", FailureKind.UNKNOWN_LABEL, r"label.content is '3'; .*both_good"),
    (line(id="two", label="1"), "two", FailureKind.UNKNOWN_LABEL, r"label must be an object"),
    (line(id="two", audio1_path="../a.wav"), "two", FailureKind.OUTSIDE_ROOT, r"audio1_path '../a.wav' .*--audio-root"),
    (line(id="two", audio1_path="/etc/a.wav"), "two", FailureKind.OUTSIDE_ROOT, r"'/etc/a.wav' lies outside"),
    (line(id="two", instruction_path="../i.wav"), "two", FailureKind.OUTSIDE_ROOT, r"instruction_path '../i.wav'"),
    (line(id="two", model_a=7), "two", FailureKind.BAD_LINE, r"item 'two': responses.0.model|item 'two': model"),
]


@pytest.mark.parametrize(("bad", "name", "kind", "message"), BAD_LINES)
def test_bad_line_is_a_failure_and_the_rest_is_read(
    tmp_path: Path, bad: dict[str, Any] | str, name: str, kind: FailureKind, message: str
) -> None:
    first, found, last = read(write_jsonl(tmp_path / "p.jsonl", line(), bad, line(id="three")))
    assert isinstance(first, Item)
    assert isinstance(last, Item)
    assert isinstance(found, BadLine)
    assert found.id == name
    assert found.failure.kind is kind
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found.failure.message)


def test_audio_root_moves_where_paths_start(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    path = write_jsonl(tmp_path / "p.jsonl", line(audio1_path=str(tmp_path / "clips" / "a.wav")))
    (inside,) = read(path, str(tmp_path / "clips"))
    assert isinstance(inside, Item)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, r"manifest '.*none.jsonl' does not exist"),
        ("empty.jsonl", b"", r"holds no items"),
        ("broken.json", b"[{", r"'broken.json' is no JSON"),
        ("object.json", b"{}", r"must hold a JSON array"),
        ("broken.parquet", b"PAR1", r"no readable Parquet"),
        ("pairs.txt", b"x", r"ends in '.txt'; manifests are"),
        ("latin.csv", "id,instruction_text\n1,\xe9".encode("latin-1"), r"no readable CSV"),
    ],
)
def test_unusable_file_is_one_clear_error(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)
