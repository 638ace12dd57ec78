"""Benchmarks: readers of public benchmarks, and agreement statistics as pure functions on label arrays.

``perf/`` holds the speed benchmarks; each is a script that measures ours against the plain way in one run.
"""

from __future__ import annotations

from .agreement import N_DRAWS, Accuracy, Difference, Interval, accuracy, encode, paired_difference

__all__ = ["N_DRAWS", "Accuracy", "Difference", "Interval", "accuracy", "encode", "paired_difference"]
