"""Reading manifests: JSONL, JSON array, CSV or Parquet, one item a line.

The pair format is that of the released HCoT files. A line that cannot be used is a :class:`BadLine` with its reason,
never an error that stops the rest.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from trace_s2s.schemas import (
    OVERALL,
    Failure,
    FailureKind,
    HumanLabel,
    InputError,
    Item,
    ItemError,
    Label,
    Response,
    text_digest,
)

PAIR_KEYS = ("audio1_path", "audio2_path")
KNOWN_KEYS = frozenset(
    {
        *("id", "index", "instruction_text", "instruction_path", "instruction_id", "label"),
        *(*PAIR_KEYS, "model_a", "model_b", "audio_path", "model"),
    }
)
LABELS: tuple[HumanLabel, ...] = (*Label, "tie")


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a manifest that is no item."""

    id: str
    failure: Failure
    label: Mapping[str, HumanLabel] | None = None
    """Its human labels, where they can be read: it counts in agreement, as not judged."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest on disk. Reading streams: nothing is kept but the ids."""

    path: Path
    audio_root: Path
    limit: int | None = None

    @classmethod
    def open(cls, path: str, audio_root: str | None, limit: int | None) -> ManifestFile:
        """The manifest at a path.

        Raises:
            InputError: the file or the audio root is not there.
        """
        file = Path(path)
        if not file.is_file():
            raise InputError(f"manifest {path!r} does not exist; give a .jsonl, .json, .csv or .parquet file")
        root = Path(os.path.abspath(audio_root or file.parent))  # noqa: PTH100 - links stay as they are
        if not root.is_dir():
            raise InputError(f"audio root {str(root)!r} is not a folder; give --audio-root")
        return cls(file, root, limit)

    def items(self) -> Iterator[Item | BadLine]:
        """Every item, in order.

        Raises:
            InputError: the file as a whole is unreadable, or holds no items.
        """
        seen: set[str] = set()
        for count, (number, raw) in enumerate(raw_lines(self.path)):
            if self.limit is not None and count >= self.limit:
                return
            yield self._item(number, raw, seen)
        if not seen:
            raise InputError(f"manifest {str(self.path)!r} holds no items")

    def _item(self, number: int, raw: Mapping[str, Any] | Failure, seen: set[str]) -> Item | BadLine:
        where = f"{self.path.name} line {number}"
        name, label = f"line {number}", None
        try:
            if isinstance(raw, Failure):
                raise ItemError(raw.kind, raw.message)
            name = line_id(raw) or name
            _check_text(raw, where)
            label = _label(raw.get("label"), name, where)
            if line_id(raw) is None:
                raise ItemError(FailureKind.MISSING_KEY, f"{where}: key 'id' (or 'index') is missing; give it one")
            if name in seen:
                message = f"{where}: id {name!r} was there before; give each item an id of its own"
                raise ItemError(FailureKind.DUPLICATE_ID, message)
            item = _parse(raw, name, label, where, self.audio_root)
        except ItemError as error:
            while name in seen:
                name = f"{name} (line {number})"
            seen.add(name)
            return BadLine(name.encode("utf-8", "replace").decode(), error.failure, label)
        seen.add(name)
        return item


def raw_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | Failure]]:
    """Numbered raw objects of a JSONL, JSON, CSV or Parquet file; a broken line is its failure.

    Raises:
        InputError: the file as a whole is unreadable.
    """
    match path.suffix.lower():
        case ".parquet":
            yield from enumerate(_parquet_rows(path), start=1)
        case ".csv":
            yield from enumerate(_csv_rows(path), start=2)
        case ".json":
            yield from enumerate(_json_rows(path), start=1)
        case ".jsonl" | ".ndjson":
            yield from _jsonl_rows(path)
        case other:
            raise InputError(f"{path.name!r} ends in {other!r}; manifests are .jsonl, .json, .csv or .parquet")


def _jsonl_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | Failure]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                raw = json.loads(line.decode("utf-8-sig"), parse_constant=_no_constant)
                if not isinstance(raw, dict):
                    raise ValueError("is no JSON object")
            except (ValueError, RecursionError) as error:
                message = f"{path.name} line {number}: {error}; mend the line"
                yield number, Failure(kind=FailureKind.BAD_LINE, message=message)
            else:
                yield number, raw


def _json_rows(path: Path) -> Iterator[Mapping[str, Any] | Failure]:
    try:
        rows = json.loads(path.read_text("utf-8-sig"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name!r} is no JSON: {error}") from error
    if not isinstance(rows, list):
        raise InputError(f"{path.name!r} must hold a JSON array of items; for one object a line name it .jsonl")
    for number, row in enumerate(rows, start=1):
        message = f"{path.name} entry {number} is no JSON object; mend the entry"
        yield row if isinstance(row, dict) else Failure(kind=FailureKind.BAD_LINE, message=message)


def _csv_rows(path: Path) -> Iterator[Mapping[str, Any] | Failure]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            for row in reader:
                if None in row:
                    message = f"{path.name} line {reader.line_num} has more cells than the header; quote its commas"
                    yield Failure(kind=FailureKind.BAD_LINE, message=message)
                else:
                    yield _nested({key: value for key, value in row.items() if key and value not in (None, "")})
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path.name!r} is no readable CSV: {error}") from error


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    yield _nested({key: value for key, value in row.items() if value is not None})
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name!r} is no readable Parquet: {error}") from error


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Columns called ``label.content`` or ``label_content`` and so on, as one mapping under ``label``."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        found = re.fullmatch(r"(label|ratings)[._](.+)", key)
        if found:
            nested.setdefault(found[1], {})[found[2]] = value
        else:
            nested[key] = value
    return nested


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is no JSON")


def line_id(raw: Mapping[str, Any]) -> str | None:
    """The id of a line: ``id`` or ``index``; whole numbers however a container writes them."""
    for key in ("id", "index"):
        value = raw.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str | int) and str(value):
            return str(value)
    return None


def line_instruction_id(raw: Mapping[str, Any], name: str) -> str:
    """Which instruction a line is about: as it says, else a digest of the instruction."""
    given = raw.get("instruction_id")
    text = raw.get("instruction_text") or raw.get("instruction_path") or name
    return text_digest(str(text))[:16] if given in (None, "") else str(given)


def human_label(value: object) -> HumanLabel | None:
    """A label as one of ours, a whole number taken for its digit; None where it is none of them."""
    return next((label for label in LABELS if label == str(value)), None)


def _check_text(raw: Mapping[str, Any], where: str) -> None:
    """Refuse text that cannot be written as UTF-8 (half an emoji)."""
    try:
        json.dumps(raw, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise ItemError(FailureKind.BAD_LINE, f"{where}: holds half a character (a lone surrogate); mend it") from error


def _label(given: object, name: str, where: str) -> Mapping[str, HumanLabel] | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        message = f"{where}: item {name!r}: label must be an object with dimensions and {OVERALL!r}; mend the line"
        raise ItemError(FailureKind.UNKNOWN_LABEL, message)
    found = {}
    for dimension, value in given.items():
        if value is None:
            continue
        if (label := human_label(value)) is None:
            wanted = ", ".join(LABELS)
            message = f"{where}: item {name!r}: label.{dimension} is {value!r}; it must be one of: {wanted}"
            raise ItemError(FailureKind.UNKNOWN_LABEL, message)
        found[dimension] = label
    return found or None


def _parse(raw: Mapping[str, Any], name: str, label: Mapping[str, HumanLabel] | None, where: str, root: Path) -> Item:
    text, spoken = raw.get("instruction_text") or None, raw.get("instruction_path") or None
    audio_keys = ("audio_path",) if "audio_path" in raw else PAIR_KEYS
    required = [key for key in audio_keys if not raw.get(key)]
    if audio_keys is PAIR_KEYS and not text and not spoken:
        required.append("instruction_text (or instruction_path)")
    if required:
        message = f"{where}: item {name!r} lacks {', '.join(required)}; mend the line"
        raise ItemError(FailureKind.MISSING_KEY, message)
    for key in (*audio_keys, *(["instruction_path"] if spoken else [])):
        _check_inside(raw[key], key, name, where, root)
    models = ("model",) if audio_keys != PAIR_KEYS else ("model_a", "model_b")
    try:
        return Item(
            id=name,
            instruction_text=text,
            instruction_path=spoken,
            instruction_id=line_instruction_id(raw, name),
            responses=tuple(
                Response(audio_path=raw[key], model=raw.get(model))
                for key, model in zip(audio_keys, models, strict=True)
            ),
            label=label,
            extras={key: _plain(value) for key, value in raw.items() if key not in KNOWN_KEYS},
        )
    except ValidationError as error:
        first = error.errors()[0]
        message = f"{where}: item {name!r}: {'.'.join(map(str, first['loc']))}: {first['msg']}; mend the line"
        raise ItemError(FailureKind.BAD_LINE, message) from error


def _plain(value: object) -> Any:
    """A value as JSON has it; what JSON has not (a timestamp, bytes, NaN) as text."""
    try:
        return json.loads(json.dumps(value, default=str, allow_nan=False))
    except ValueError:
        return str(value)


def _check_inside(given: object, key: str, name: str, where: str, root: Path) -> None:
    # By text alone: a link that leads outside is the user's own, and a million paths are checked in seconds.
    inside = os.path.abspath(root)  # noqa: PTH100
    path = os.path.abspath(os.path.join(inside, str(given)))  # noqa: PTH100, PTH118
    if path != inside and not path.startswith(inside.rstrip(os.sep) + os.sep):
        message = f"{where}: item {name!r}: {key} {given!r} lies outside {str(root)!r}; give --audio-root"
        raise ItemError(FailureKind.OUTSIDE_ROOT, message)
