"""Agreement with human labels: pure functions on arrays.

Labels are codes (``1``, ``2``, ``both_good``, ``both_bad`` = 0…3, untyped tie = 4). An item that was not judged agrees
with nothing: it counts in n and is not correct, unless it is left out on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from trace_s2s.schemas import Document, Label

N_DRAWS = 1000
CODES = (*Label, "tie")
TIE = CODES.index("tie")
NOT_JUDGED = -1
CODE: Mapping[str | None, int] = {None: NOT_JUDGED, **{str(label): code for code, label in enumerate(CODES)}}
"""The code of a label; None is "not judged"."""
_CHUNK_CELLS = 500_000  # draws are made in chunks of at most this many clusters (4 MB, so that they stay in cache)

Codes = NDArray[np.int8]


class Interval(Document):
    """A 95 % percentile bootstrap interval."""

    low: float
    high: float


class Accuracy(Document):
    """How often a judge gives the human label."""

    accuracy: Annotated[float, Field(ge=0, le=1)] | None = Field(description="fraction; null where n is 0")
    interval: Interval | None
    n: int = Field(description="labelled items")
    n_judged: int = Field(description="of which a judgement was made")
    n_three_way: int = Field(description="of which one side is an untyped tie, and typed ties are not told apart")


class Difference(Document):
    """A paired difference of two accuracies on the same items."""

    difference: float | None
    interval: Interval | None
    n: int


def encode(labels: Sequence[str | None]) -> Codes:
    """Codes of labels, int8 (n,); None is ``NOT_JUDGED``."""
    return np.array([CODE[label] for label in labels], dtype=np.int8)


def is_correct(labels: Codes, predictions: Codes) -> NDArray[np.bool_]:
    """Where a prediction gives the label, bool (n,).

    Four-way, except that an untyped tie on either side is compared three-way: it equals both typed ties.
    """
    ties = (Label.BOTH_GOOD, Label.BOTH_BAD)
    tied = (TIE, *(CODES.index(label) for label in ties))
    untyped = (labels == TIE) | (predictions == TIE)
    same_tie = untyped & np.isin(labels, tied) & np.isin(predictions, tied)
    return np.asarray(((labels == predictions) | same_tie) & (predictions != NOT_JUDGED))


def accuracy(labels: Codes, predictions: Codes, clusters: NDArray[np.int64], seed: int) -> Accuracy:
    """Accuracy over all labelled items, with a bootstrap interval over clusters of dependent items.

    Args:
        labels: codes (n,), all labelled.
        predictions: codes (n,).
        clusters: (n,), equal where items are not independent (they share an instruction).
        seed: of the bootstrap.
    """
    correct = is_correct(labels, predictions)
    return Accuracy(
        accuracy=float(correct.mean()) if len(correct) else None,
        interval=cluster_bootstrap(correct.astype(np.float64), clusters, seed),
        n=len(labels),
        n_judged=int((predictions != NOT_JUDGED).sum()),
        n_three_way=int(((labels == TIE) | (predictions == TIE)).sum()),
    )


def paired_difference(labels: Codes, first: Codes, second: Codes, clusters: NDArray[np.int64], seed: int) -> Difference:
    """Accuracy of the first judge less that of the second, on the same items."""
    gain = is_correct(labels, first).astype(np.float64) - is_correct(labels, second)
    difference = float(gain.mean()) if len(gain) else None
    return Difference(difference=difference, interval=cluster_bootstrap(gain, clusters, seed), n=len(gain))


def cluster_bootstrap(values: NDArray[np.float64], clusters: NDArray[np.int64], seed: int) -> Interval | None:
    """The 95 % percentile interval of a mean when whole clusters are drawn with replacement (``N_DRAWS`` times).

    None for fewer than two clusters: nothing can be said of the spread.
    """
    _, index = np.unique(clusters, return_inverse=True)
    n_clusters = int(index.max()) + 1 if len(index) else 0
    if n_clusters < 2:
        return None
    sums, sizes = np.bincount(index, values), np.bincount(index).astype(np.float64)
    random = np.random.default_rng(seed)
    n_at_once = max(1, _CHUNK_CELLS // n_clusters)
    means: list[NDArray[np.float64]] = []
    for start in range(0, N_DRAWS, n_at_once):
        drawn = random.integers(n_clusters, size=(min(n_at_once, N_DRAWS - start), n_clusters))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return Interval(low=float(low), high=float(high))
