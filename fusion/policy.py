"""Pairwise fusion policies: what they are as data, and the rule that each kind stands for.

A policy is a total function from one label a dimension to the overall label. It is written here for one set of
ratings, and compiled by :mod:`.table` to a table of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from trace_s2s.schemas import Document, Label

LabelsByDimension = Mapping[str, Label]


class PartialOrder(StrEnum):
    """Ways in which one label is better than another."""

    SUPERIORITY = "superiority"
    """For response 1: ``2`` < ties < ``1``; the two ties are level."""
    ACCEPTABILITY = "acceptability"
    """For each response: ``both_bad`` < {``1``, ``2``} < ``both_good``; ``1`` and ``2`` cannot be compared."""

    def at_most(self, lower: Label, upper: Label) -> bool:
        """Whether ``upper`` is at least as good as ``lower``."""
        if self is PartialOrder.SUPERIORITY:
            return _LEAD[lower] <= _LEAD[upper]
        return all(low <= high for low, high in zip(_ACCEPTABLE[lower], _ACCEPTABLE[upper], strict=True))


_LEAD: Mapping[Label, int] = {Label.SECOND: -1, Label.BOTH_BAD: 0, Label.BOTH_GOOD: 0, Label.FIRST: 1}
_ACCEPTABLE: Mapping[Label, tuple[bool, bool]] = {
    Label.FIRST: (True, False),
    Label.SECOND: (False, True),
    Label.BOTH_GOOD: (True, True),
    Label.BOTH_BAD: (False, False),
}
_LABEL: Mapping[tuple[bool, bool], Label] = {pair: label for label, pair in _ACCEPTABLE.items()}


def rating_min(labels: Iterable[Label]) -> Label:
    """RatingMin of any number of labels (TRACE, Algorithm 3): a response is acceptable if all of them say so."""
    first, second = zip(*(_ACCEPTABLE[label] for label in labels), strict=True)
    return _LABEL[all(first), all(second)]


class TreePolicy(Document):
    """An order of dimensions for breaking ties, with combinations that dominate and dimensions that cap."""

    kind: Literal["tree"]
    source: str
    description: str
    order: Annotated[tuple[str, ...], Field(min_length=1)]
    tie_from: Annotated[tuple[str, ...], Field(min_length=1)]
    both_bad_if: tuple[tuple[str, ...], ...] = ()
    cap: tuple[str, ...] = ()
    monotone: tuple[PartialOrder, ...]

    def dimensions(self) -> frozenset[str]:
        """Every dimension that the policy reads."""
        return frozenset((*self.order, *self.tie_from, *self.cap)).union(*self.both_bad_if)

    def fuse(self, ratings: LabelsByDimension) -> Label:
        """The overall label."""
        if any(all(ratings[name] is Label.BOTH_BAD for name in names) for names in self.both_bad_if):
            return Label.BOTH_BAD
        winners = (ratings[name] for name in self.order if ratings[name] in (Label.FIRST, Label.SECOND))
        decided = next(winners, None) or rating_min(ratings[name] for name in self.tie_from)
        return rating_min([decided, *(ratings[name] for name in self.cap)])


class MajorityPolicy(Document):
    """A vote of the dimensions."""

    kind: Literal["majority"]
    source: str
    description: str
    voters: Annotated[tuple[str, ...], Field(min_length=3)]
    otherwise: str
    monotone: tuple[PartialOrder, ...]

    def dimensions(self) -> frozenset[str]:
        """Every dimension that the policy reads."""
        return frozenset((*self.voters, self.otherwise))

    def fuse(self, ratings: LabelsByDimension) -> Label:
        """The overall label."""
        votes = [ratings[name] for name in self.voters]
        leader = max(Label, key=votes.count)
        return leader if votes.count(leader) > len(votes) / 2 else ratings[self.otherwise]


Policy = Annotated[TreePolicy | MajorityPolicy, Field(discriminator="kind")]
POLICY_FILE: TypeAdapter[dict[str, Policy]] = TypeAdapter(dict[str, Policy])
