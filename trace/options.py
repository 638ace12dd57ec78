"""From the command line to a run file: flag, then ``--set``, then file, then default."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trace_s2s.schemas import FEATURES, InputError, RunSpec

PARTS = ("audio", "extract", "judge")


def resolve_spec(config: str | None, settings: Sequence[str], flags: Mapping[str, Any]) -> RunSpec:
    """The run that a file, ``--set part.option=value`` and flags describe together.

    Args:
        config: path of a TOML run file.
        settings: as ``judge.layout=paper``, ``pitch.floor_hz=80`` or ``seed=3``; values are JSON, else text.
        flags: by dotted name, as in settings; None where a flag was not given.

    Raises:
        InputError: a file or a value is unusable, or an option does not exist.
    """
    document = _read(config) if config else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r} must look like part.option=value, such as judge.layout=paper")
        _put(document, _place(name), _value(text))
    for name, value in flags.items():
        if value is not None:
            _put(document, name.split("."), value)
    try:
        return RunSpec.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        there = ", ".join(_options_beside(first["loc"]))
        raise InputError(f"option {option!r}: {first['msg'].lower()}; there are: {there}") from error


def _read(config: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(config).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"run file {config!r} cannot be read: {error}") from error


def _place(name: str) -> list[str]:
    """Where a setting belongs; options of a feature group lie under ``extract.options``."""
    part, *rest = name.split(".")
    return ["extract", "options", part, *rest] if part in FEATURES and rest else [part, *rest]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(document: dict[str, Any], place: Sequence[str], value: Any) -> None:
    *outer, last = place
    for key in outer:
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise InputError(f"option {'.'.join(place)!r}: {key!r} holds a value, not options")
    document[last] = value


def _options_beside(location: tuple[int | str, ...]) -> list[str]:
    part = location[0] if location else ""
    if part in PARTS:
        spec = RunSpec.model_fields[str(part)].annotation
        return sorted(getattr(spec, "model_fields", {}))
    return sorted(RunSpec.model_fields)
