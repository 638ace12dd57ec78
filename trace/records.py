"""The run folder's records: appended while the run goes on, one line an item when it is done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from trace_s2s.schemas import OVERALL, InputError, Record, Rubric, Task

RECORDS = "records.jsonl"
ROWS_AT_ONCE = 4096


def append_record(file: IO[bytes], record: Record) -> None:
    """Append one line. It is handed to the operating system at once, so killing the process loses no whole line."""
    file.write(record.model_dump_json().encode() + b"\n")
    file.flush()


def open_for_append(path: Path) -> IO[bytes]:
    """The records file, ready for the next line; a torn last line is cut off."""
    file = path.open("ab")
    end = _end_of_whole_lines(path)
    if end < file.tell():
        file.truncate(end)
    return file


def _end_of_whole_lines(path: Path) -> int:
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        while position:
            start = max(0, position - 65536)
            file.seek(start)
            newline = file.read(position - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            position = start
    return 0


def read_records(run: Path) -> Iterator[Record]:
    """The last record of each id, in the order of their first lines; a torn last line is dropped.

    Raises:
        InputError: there are no records, or a line is not one.
    """
    path = run / RECORDS
    with _opened(path) as file:
        for name, offset in _last_lines(path).items():
            file.seek(offset)
            try:
                yield Record.model_validate_json(file.readline())
            except ValidationError as error:
                message = f"{path}: the line of {name!r} is no record: {error.errors()[0]['msg']}"
                raise InputError(f"{message}; judge again into another folder") from error


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{str(path.parent)!r} is no run folder: it has no readable {path.name}") from error


def _last_lines(path: Path) -> dict[str, int]:
    """Where each id's last whole line begins."""
    found: dict[str, int] = {}
    with _opened(path) as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                found[_id_of(line, path, number)] = offset
            offset += len(line)
    return found


def _id_of(line: bytes, path: Path, number: int) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} line {number} is no record; judge again into another folder") from error


def compact_records(run: Path, ids: Iterable[str]) -> None:
    """Rewrite the records as one line an item, in the order of ``ids``; others are dropped. Atomic.

    Raises:
        InputError: an id has no record.
    """
    path = run / RECORDS
    whole = run / f"{RECORDS}.new"
    last = _last_lines(path)
    with path.open("rb") as source, whole.open("wb") as target:
        for name in ids:
            if name not in last:
                raise InputError(f"the manifest was changed while it was judged: {name!r} is new; start again")
            source.seek(last[name])
            target.write(source.readline())
    whole.replace(path)


def write_parquet(run: Path, rubric: Rubric) -> None:
    """``results.parquet``: one flat row an item, for pandas, DuckDB and Hugging Face's datasets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dimensions = rubric.dimension_names()
    rated = (*dimensions, OVERALL)
    rating = pa.string() if rubric.task is Task.PAIRWISE else pa.float64()
    texts = ["id", "status", "instruction_id", "model_a", "model_b", "failure_kind", "failure_message"]
    texts += [f"label_{name}" for name in rated] + [f"reason_{name}" for name in dimensions]
    numbers = [("confidence", pa.float64()), ("text_in", pa.int64()), ("text_out", pa.int64())]
    schema = pa.schema([*((name, pa.string()) for name in texts), *((name, rating) for name in rated), *numbers])
    rows = (_flat(record, dimensions) for record in read_records(run))
    with pq.ParquetWriter(run / "results.parquet", schema) as writer:
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))


def _flat(record: Record, dimensions: tuple[str, ...]) -> dict[str, Any]:
    models = (*record.models, None, None)
    return {
        "id": record.id,
        "status": record.status,
        "instruction_id": record.instruction_id,
        "model_a": models[0],
        "model_b": models[1],
        "failure_kind": record.failure and record.failure.kind,
        "failure_message": record.failure and record.failure.message,
        **(record.ratings or {}),
        OVERALL: record.overall,
        **{f"label_{name}": value for name, value in (record.label or {}).items()},
        **{f"reason_{name}": (record.reasoning or {}).get(name) for name in dimensions},
        "confidence": record.confidence,
        "text_in": record.usage.text_in,
        "text_out": record.usage.text_out,
    }
