"""Contours drawn as SVG polylines, and said in words for those who cannot see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_s2s.schemas import Contour

from .values import Quantity, number

WIDTH, HEIGHT = 600, 112  # of the drawing's own grid, fine enough for whole numbers
MARGIN = 6  # half a line's width and more, so that extremes are not cut off
N_CELLS = 100  # points of a drawing at most: a value every 3 px of the screen

Track = NDArray[np.float64]  # (n_values,), NaN where there is none; leaves this module only as text


class Drawing(NamedTuple):
    """One contour, drawn."""

    lines: tuple[str, ...]  # `points` of a polyline each; between two of them there is a gap
    extent: str
    end: str
    alternative: str


def draw(contours: Sequence[Contour], quantity: Quantity) -> list[Drawing | None]:
    """The contours of one row of a table; None for one without any value.

    They share one scale from bottom to top, so that they can be compared by eye. Each has a time axis of its own: an
    answer may be many times as long as the instruction beside it. Long contours are drawn by the means of at most
    ``N_CELLS`` stretches, so a peak may stand a little lower than the greatest value; the values in words are exact.
    """
    tracks = [np.array(contour.values, np.float64) for contour in contours]
    extents = [_extent(track) for track in tracks]
    known = [extent for extent in extents if extent]
    low, high = min((low for low, _ in known), default=0.0), max((high for _, high in known), default=0.0)
    return [
        Drawing(_lines(contour, track, low, high), *_words(contour, track, extent, quantity)) if extent else None
        for contour, track, extent in zip(contours, tracks, extents, strict=True)
    ]


def _extent(track: Track) -> tuple[float, float] | None:
    """The least and the greatest value; None where there is none."""
    if not track.size:
        return None
    low = float(np.fmin.reduce(track))
    return None if math.isnan(low) else (low, float(np.fmax.reduce(track)))


def _words(contour: Contour, track: Track, extent: tuple[float, float], quantity: Quantity) -> tuple[str, str, str]:
    reach = " to ".join(number(value, quantity.n_decimals) for value in extent) + f" {quantity.unit}".rstrip()
    end = f"{number(contour.start_s + contour.step_s * track.size, 1)} s"
    thirds = _means(track, -(-track.size // 3)).tolist()
    course = ", ".join("none" if math.isnan(mean) else number(mean, quantity.n_decimals) for mean in thirds)
    return reach, end, f"from {reach} over {end}; means of its beginning, middle and end: {course}"


def _lines(contour: Contour, track: Track, low: float, high: float) -> tuple[str, ...]:
    size = -(-track.size // N_CELLS)
    means = _means(track, size)
    before = contour.start_s / contour.step_s  # steps before the first value
    steps = before + np.minimum(size * (np.arange(means.size) + 0.5), track.size)
    x = MARGIN + (WIDTH - 2 * MARGIN) / (before + track.size) * steps
    per_unit = (HEIGHT - 2 * MARGIN) / (high - low) if high > low else 0.0
    is_there = ~np.isnan(means)
    y = HEIGHT - MARGIN - per_unit * (np.where(is_there, means, low) - low)
    points = list(map("%d,%d".__mod__, zip(x.astype(int).tolist(), y.astype(int).tolist(), strict=True)))
    bounded = np.concatenate(([False], is_there, [False]))
    edges = np.flatnonzero(bounded[1:] != bounded[:-1]).tolist()
    # a lone point is drawn as a dot: a line from it to itself
    return tuple(
        " ".join(points[start:stop] if stop - start > 1 else points[start:stop] * 2)
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    )


def _means(track: Track, size: int) -> Track:
    """The mean of the values that are there, in each stretch of ``size``; NaN where there is none."""
    if size == 1:
        return track
    is_there, starts = ~np.isnan(track), np.arange(0, track.size, size)
    counts = np.add.reduceat(is_there.astype(float), starts)
    counts[counts == 0] = np.nan
    return np.add.reduceat(np.where(is_there, track, 0.0), starts) / counts
