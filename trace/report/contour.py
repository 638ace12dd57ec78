"""Contours drawn as SVG polylines, and said in words for those who cannot see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace_s2s.schemas import Contour

from .values import Quantity, number

WIDTH, HEIGHT = 600, 112  # of the drawing's own grid, fine enough for whole numbers
MARGIN = 6  # half a line's width and more, so that extremes are not cut off
N_CELLS = 120  # points of a drawing: a value every 2 or 3 px of the screen

Track = NDArray[np.float64]  # (n_values,), NaN where there is none; leaves this module only as text


@dataclass(frozen=True, slots=True)
class Drawing:
    """One contour, drawn."""

    lines: tuple[str, ...]  # `points` of a polyline each; between two of them there is a gap
    extent: str
    end: str
    alternative: str


def draw(contours: Iterable[Contour | None], quantity: Quantity) -> list[Drawing | None]:
    """The contours of one row of a table; None where there is none, or none of its values.

    They share one scale from bottom to top, so that they can be compared by eye. Each has a time axis of its own: an
    answer may be many times as long as the instruction beside it. Long contours are drawn by the means of at most
    ``N_CELLS`` stretches, so a peak may stand a little lower than the greatest value; the values in words are exact.
    """
    given = list(contours)
    tracks = [np.array(contour.values if contour else (), np.float64) for contour in given]
    present = [track[~np.isnan(track)] for track in tracks]
    low = min((float(values.min()) for values in present if values.size), default=0.0)
    high = max((float(values.max()) for values in present if values.size), default=0.0)
    return [
        _drawing(contour, track, values, low, high, quantity) if contour and values.size else None
        for contour, track, values in zip(given, tracks, present, strict=True)
    ]


def _drawing(contour: Contour, track: Track, values: Track, low: float, high: float, quantity: Quantity) -> Drawing:
    extent = f"{_said(values.min(), quantity)} to {_said(values.max(), quantity)} {quantity.unit}".rstrip()
    end = f"{number(contour.start_s + contour.step_s * track.size, 1)} s"
    course = ", ".join(_said(mean, quantity) for mean in _means(track, -(-track.size // 3)))
    alternative = f"from {extent} over {end}; means of its beginning, middle and end: {course}"
    return Drawing(_lines(contour, track, low, high), extent, end, alternative)


def _lines(contour: Contour, track: Track, low: float, high: float) -> tuple[str, ...]:
    size = -(-track.size // N_CELLS)
    means = _means(track, size)
    before = contour.start_s / contour.step_s  # steps before the first value
    steps = before + np.minimum(size * (np.arange(means.size) + 0.5), track.size)
    x = MARGIN + (WIDTH - 2 * MARGIN) / (before + track.size) * steps
    per_unit = (HEIGHT - 2 * MARGIN) / (high - low) if high > low else 0.0
    y = HEIGHT - MARGIN - per_unit * (np.nan_to_num(means, nan=low) - low)
    points = list(map("%.0f,%.0f".__mod__, zip(x.tolist(), y.tolist(), strict=True)))
    is_there = np.concatenate(([False], ~np.isnan(means), [False]))
    edges = np.flatnonzero(is_there[1:] != is_there[:-1]).tolist()
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


def _said(value: float, quantity: Quantity) -> str:
    return "none" if np.isnan(value) else number(float(value), quantity.n_decimals)
