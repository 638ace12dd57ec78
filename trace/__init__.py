"""TRACE-S2S: judge speech-to-speech systems pair by pair, cheaply, and see how each verdict came about.

::

    from trace_s2s import RunSpec, evaluate

    result = evaluate(RunSpec(manifest="pairs.jsonl", output="run"))
    for record in result.records():
        print(record.id, record.overall, record.failure)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .engine import RunResult, evaluate
    from .schemas import RunSpec

__all__ = ["RunResult", "RunSpec", "__version__", "evaluate"]

_HOME = {"RunResult": "engine", "evaluate": "engine", "RunSpec": "schemas"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME[name]}", __name__), name)
