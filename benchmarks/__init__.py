"""Benchmarks: readers of public benchmarks, and agreement statistics as pure functions on label arrays.

``perf/`` holds the speed benchmarks; each is a script that measures ours against the plain way in one run.
"""

from __future__ import annotations

from .agreement import (
    CODE,
    N_DRAWS,
    NOT_JUDGED,
    Accuracy,
    Codes,
    Difference,
    Interval,
    accuracy,
    encode,
    paired_difference,
)

__all__ = [
    "CODE",
    "NOT_JUDGED",
    "N_DRAWS",
    "Accuracy",
    "Codes",
    "Difference",
    "Interval",
    "accuracy",
    "encode",
    "paired_difference",
]
