"""How the house is kept: imports go one way, the base import is light, commands are documented."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main
from conftest import CommandLine

from trace_s2s.cli import app
from trace_s2s.schemas import SCHEMAS

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "schemas": set(),
    "extractors": {"schemas"},
    "judges": {"schemas"},
    "fusion": {"schemas"},
    "benchmarks": {"schemas", "fusion"},
}
HEAVY = (
    "torch",
    "transformers",
    "openai",
    "faster_whisper",
    "onnxruntime",
    "librosa",
    "parselmouth",
    "pyarrow",
    "scipy",
)


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    return names | {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_go_one_way(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if "perf" not in path.parts]
    assert files
    for path in files:
        ours = {name.split(".")[1] for name in imported_modules(path) if name.startswith("trace_s2s.")}
        assert ours <= MAY_IMPORT[folder], f"{path} imports {ours - MAY_IMPORT[folder]}"


def test_nothing_is_imported_under_its_bare_folder_name() -> None:
    folders = {*MAY_IMPORT, "trace"}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported_modules(path)} & folders, path


def test_base_import_brings_nothing_heavy() -> None:
    imports = "import sys, trace_s2s.engine, trace_s2s.cli, trace_s2s.doctor"
    code = f"{imports}; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_every_package_is_listed() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    homes = {"trace": "trace_s2s", **{folder: f"trace_s2s.{folder}" for folder in MAY_IMPORT}}
    found = set()
    for folder, name in homes.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            inner = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((name, *inner)))
    assert set(setuptools["packages"]) == found
    assert setuptools["package-dir"] == {name: folder for folder, name in homes.items()}


COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help_with_an_example_and_a_line_in_the_readme(command: str, command_line: CommandLine) -> None:
    code, out, _ = command_line(command, "--help")
    assert code == 0
    assert f"trace-s2s {command}" in out.split("Example")[1]
    assert f"`trace-s2s {command}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_printed(name: str, command_line: CommandLine) -> None:
    code, out, _ = command_line("schema", name)
    assert code == 0
    assert json.loads(out) == SCHEMAS[name].model_json_schema()


def test_unknown_schema_is_named(command_line: CommandLine) -> None:
    code, _, err = command_line("schema", "bluprint")
    assert (code, "no document is called 'bluprint'; there are: blueprint" in err) == (2, True)


def test_doctor_names_remedies_and_hides_keys(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr("trace_s2s.doctor.find_spec", lambda name: None)
    code, out, _ = command_line("doctor")
    assert code == 0
    assert "get it: pip install 'trace-s2s[embedded]'" in out
    assert "OPENAI_API_KEY" in out
    assert "sk-secret" not in out
    for group in ("transcript", "quality", "pitch", "loudness", "rate", "voice", "turns"):
        assert f"extractor    {group}" in out
