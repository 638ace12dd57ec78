"""What every test has: a store of its own, no keys, no network but loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trace_s2s.cli import main

CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's own is read or written."""
    monkeypatch.setenv("TRACE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Runs ``trace-s2s`` in this process; gives exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["trace-s2s", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        code = stopped.value.code
        return code if isinstance(code, int) else int(code is not None), captured.out, captured.err

    return run
