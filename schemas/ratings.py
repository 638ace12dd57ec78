"""Labels, typed ties and scores."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal


class Label(StrEnum):
    """The outcome of comparing two responses on one dimension."""

    FIRST = "1"
    SECOND = "2"
    BOTH_GOOD = "both_good"
    BOTH_BAD = "both_bad"

    def swapped(self) -> Label:
        """The same outcome with the two responses changed round."""
        return {Label.FIRST: Label.SECOND, Label.SECOND: Label.FIRST}.get(self, self)


HumanLabel = Label | Literal["tie"]
"""An untyped ``tie`` occurs in labels and predictions made elsewhere; it is compared three-way only."""

Score = float
"""A pointwise rating on its rubric's scale."""

Rating = Label | Score
Ratings = Mapping[str, Rating]
"""One rating a dimension."""

OVERALL = "overall"


def label_from_steps(ok_1: bool, ok_2: bool, preferred: Label) -> Label:
    """The typed-tie label of the HCoT protocol's five steps (TRACE, section 3.2).

    Acceptability comes first: one acceptable response wins, none is ``both_bad``. Only between two acceptable ones does
    ``preferred`` (``1``, ``2``, or ``both_good`` for neither) count.
    """
    if ok_1 and ok_2:
        return preferred
    if ok_1 or ok_2:
        return Label.FIRST if ok_1 else Label.SECOND
    return Label.BOTH_BAD
