"""Rubric files: the ones that come along, and a user's own."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from trace_s2s.schemas import InputError, Rubric

_FOLDER = files(__package__) / "rubrics"


def rubric_names() -> tuple[str, ...]:
    """The rubrics that come along."""
    return tuple(sorted(Path(entry.name).stem for entry in _FOLDER.iterdir() if entry.name.endswith(".toml")))


def load_rubric(name: str) -> Rubric:
    """The rubric called ``name``, or the one in the TOML file at that path.

    Raises:
        InputError: there is no such rubric or file, or the file is no rubric.
    """
    path = Path(name) if name.endswith(".toml") else _FOLDER / f"{name}.toml"
    if not path.is_file():
        raise InputError(f"no rubric is called {name!r}; there are: {', '.join(rubric_names())}, or give a .toml file")
    try:
        return Rubric.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"rubric {name!r} is not readable TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"rubric {name!r}: {place}: {first['msg']}") from error
