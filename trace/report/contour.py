"""Contours drawn as SVG polylines, and said in words for those who cannot see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trace_s2s.schemas import Contour

from .values import Quantity, number

WIDTH, HEIGHT = 300, 56
MARGIN = 3  # half a line's width and more, so that extremes are not cut off
N_CELLS = 150  # points a frame's width: a value every 2 px


@dataclass(frozen=True, slots=True)
class Frame:
    """The ranges that all contours of one row of a table are drawn in, so that they can be compared by eye."""

    end_s: float
    low: float
    high: float

    @classmethod
    def around(cls, contours: Iterable[Contour]) -> Frame | None:
        """The smallest frame that holds all of them; None where they have no values at all."""
        some = [contour for contour in contours if any(value is not None for value in contour.values)]
        if not some:
            return None
        values = [value for contour in some for value in contour.values if value is not None]
        return cls(max(map(end_s, some)), min(values), max(values))

    def x(self, time_s: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * time_s / self.end_s

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share


@dataclass(frozen=True, slots=True)
class Drawing:
    """One contour, drawn."""

    lines: tuple[str, ...]  # `points` of a polyline each; between two of them there is a gap
    low: str
    high: str
    end: str
    alternative: str


def end_s(contour: Contour) -> float:
    """When a contour is over."""
    return contour.start_s + contour.step_s * len(contour.values)


def draw(contour: Contour, frame: Frame, quantity: Quantity) -> Drawing | None:
    """The contour in its frame; None where it has no values.

    Long contours are drawn by the means of at most ``N_CELLS`` stretches, so a peak may stand a little lower than the
    greatest value, which is that of the contour itself.
    """
    values = [value for value in contour.values if value is not None]
    if not values:
        return None
    low, high = (f"{number(value, quantity.n_decimals)} {quantity.unit}".strip() for value in (min(values), max(values)))
    end = f"{number(end_s(contour), 1)} s"
    course = ", ".join(_said(mean, quantity) for mean in _means(contour.values, -(-len(contour.values) // 3)))
    alternative = f"from {low} to {high} over {end}; means of its beginning, middle and end: {course}"
    return Drawing(tuple(_lines(contour, frame)), low, high, end, alternative)


def _lines(contour: Contour, frame: Frame) -> Iterable[str]:
    size = max(1, -(-int(frame.end_s / contour.step_s) // N_CELLS))
    points: list[str] = []
    for index, mean in enumerate(_means(contour.values, size)):
        if mean is not None:
            time_s = min(contour.start_s + contour.step_s * size * (index + 0.5), frame.end_s)
            points.append(f"{frame.x(time_s):.1f},{frame.y(mean):.1f}")
        elif points:
            yield _line(points)
            points = []
    if points:
        yield _line(points)


def _line(points: Sequence[str]) -> str:
    return " ".join(points if len(points) > 1 else [*points, *points])  # a lone point is drawn as a dot


def _means(values: Sequence[float | None], size: int) -> list[float | None]:
    """The mean of the values that are there, in each stretch of ``size`` steps."""
    cells = ([v for v in values[at : at + size] if v is not None] for at in range(0, len(values), size))
    return [sum(cell) / len(cell) if cell else None for cell in cells]


def _said(mean: float | None, quantity: Quantity) -> str:
    return "none" if mean is None else number(mean, quantity.n_decimals)
