"""Fusion: dimension labels in, one overall label out, by a deterministic policy.

To add a pairwise policy: a few lines in ``policies.toml``; the property tests pick it up. A policy of a new kind is a
model in ``policy.py`` with ``dimensions()`` and ``fuse()``. Other packages add policies by an entry point in the group
``trace_s2s.fusion`` that names a mapping like those of ``policies.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files

from trace_s2s.schemas import InputError

from .policy import POLICY_FILE, MajorityPolicy, PartialOrder, TreePolicy, rating_min
from .table import DIMENSIONS, LABELS, Table

__all__ = [
    "DIMENSIONS",
    "LABELS",
    "MajorityPolicy",
    "PartialOrder",
    "Table",
    "TreePolicy",
    "get_policy",
    "policy_names",
    "rating_min",
]


@cache
def _policies() -> Mapping[str, TreePolicy | MajorityPolicy]:
    ours = POLICY_FILE.validate_python(tomllib.loads((files(__package__) / "policies.toml").read_text("utf-8")))
    foreign = {point.name: point.load() for point in entry_points(group="trace_s2s.fusion")}
    return {**POLICY_FILE.validate_python(foreign), **ours}


def policy_names() -> tuple[str, ...]:
    """The names of all policies."""
    return tuple(_policies())


def get_policy(name: str, dimensions: tuple[str, ...] = DIMENSIONS) -> Table:
    """The policy called ``name``, compiled for these dimensions.

    Raises:
        InputError: there is no such policy, or it reads a dimension that is not there.
    """
    if name not in _policies():
        raise InputError(f"no fusion policy is called {name!r}; there are: {', '.join(_policies())}")
    return Table(name, _policies()[name], dimensions)
