"""Optional packages: the one place that turns a missing one into an error that says what brings it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from .errors import MissingPackage


def require(packages: Mapping[str, str]) -> None:
    """Raise :class:`MissingPackage` for the first package (by import name) that is not installed.

    The values are what :func:`install_command` takes.
    """
    for package, extra in packages.items():
        if find_spec(package) is None:
            raise MissingPackage(f"{package!r} is not installed; it comes with: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that brings an extra of ours, or a requirement that no extra can hold (it begins with ``--``)."""
    return f"pip install {extra}" if extra.startswith("--") else f"pip install 'trace-s2s[{extra}]'"
