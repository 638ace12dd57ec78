"""A policy compiled: one row for every combination of labels, so that fusing is an array lookup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from trace_s2s.schemas import OVERALL, InputError, Label, Rating, Signature

from .policy import MajorityPolicy, TreePolicy

LABELS: tuple[Label, ...] = tuple(Label)
"""The labels in the order of their codes in arrays: ``1``, ``2``, ``both_good``, ``both_bad``."""

DIMENSIONS: tuple[str, ...] = ("content", "voice_quality", "paralinguistics")
"""The dimensions of the pairwise rubric, in the order of a table's axes."""


@dataclass(frozen=True)
class Table:
    """A fusion policy as the table of its 4 x 4 x 4 outcomes."""

    name: str
    policy: TreePolicy | MajorityPolicy
    dimensions: tuple[str, ...] = DIMENSIONS

    def __post_init__(self) -> None:
        unknown = self.policy.dimensions() - set(self.dimensions)
        if unknown:
            wanted, there = ", ".join(sorted(unknown)), ", ".join(self.dimensions)
            raise InputError(f"policy {self.name!r} needs dimension {wanted}, which is not rated; there are: {there}")

    @cached_property
    def outcomes(self) -> NDArray[np.uint8]:
        """Codes of the overall labels, uint8 (4, 4, 4), indexed by the codes of the dimensions' labels."""
        codes = [LABELS.index(label) for *_, label in self.rows()]
        return np.array(codes, dtype=np.uint8).reshape((len(LABELS),) * len(self.dimensions))

    def rows(self) -> Iterator[tuple[Label, ...]]:
        """Every combination of labels, with the overall label at the end."""
        for labels in product(LABELS, repeat=len(self.dimensions)):
            yield *labels, self.policy.fuse(dict(zip(self.dimensions, labels, strict=True)))

    def fuse(self, ratings: Mapping[str, Rating]) -> Label:
        """The overall label of one set of ratings; every dimension must be rated."""
        codes = tuple(LABELS.index(Label(str(ratings[name]))) for name in self.dimensions)
        return LABELS[int(self.outcomes[codes])]

    def fuse_codes(self, codes: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Overall label codes, (n,), of label codes, (n, n_dimensions)."""
        return np.asarray(self.outcomes[tuple(codes.T)])

    def signature(self) -> Signature:
        """Two policies with the same outcomes and name have the same signature."""
        return Signature.of(self.name, {"dimensions": self.dimensions, "outcomes": self.outcomes.ravel().tolist()})

    def documents(self) -> list[dict[str, str]]:
        """The truth table: one mapping a row, from dimension, and ``overall``, to label."""
        return [dict(zip((*self.dimensions, OVERALL), map(str, row), strict=True)) for row in self.rows()]
