"""Showing how far long work is: bars with rates and time left on a terminal, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Something that can show how far a stage is."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """Begin a stage of ``total`` steps; call what it gives with the number of steps done."""


class Silent:
    """Shows nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        """A stage of which nothing is seen."""
        yield lambda steps: None


class Bars:
    """A bar a stage on standard error."""

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        """A stage with a bar, its rate and the time left."""
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description:<18}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=Console(stderr=True)) as bars:
            task = bars.add_task(name, total=total, rate="")

            def advance(steps: int) -> None:
                bars.advance(task, steps)
                speed = bars.tasks[task].speed
                bars.update(task, rate=f"{speed:.1f}/s" if speed else "")

            yield advance
