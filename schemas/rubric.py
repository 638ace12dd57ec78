"""Rubrics: what is judged, on which scales, by which criteria. A rubric is a TOML file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Document, Signature
from .ratings import OVERALL


class Task(StrEnum):
    """How many responses are judged at once."""

    PAIRWISE = "pairwise"
    POINTWISE = "pointwise"

    @property
    def n_responses(self) -> int:
        return 2 if self is Task.PAIRWISE else 1


class TypedTie(Document):
    """Which of two is better, or a tie that says whether both are good or both bad."""

    kind: Literal["typed_tie"] = "typed_tie"


class Integers(Document):
    """Whole numbers from ``low`` to ``high``: 1-5, or 0-1 for yes and no."""

    kind: Literal["integers"] = "integers"
    low: int
    high: int


class Choice(Document):
    """Named values, from worst to best; their scores are 0, 1, 2, …"""

    kind: Literal["choice"] = "choice"
    values: Annotated[tuple[str, ...], Field(min_length=2)]


Scale = Annotated[TypedTie | Integers | Choice, Field(discriminator="kind")]


class Dimension(Document):
    """One thing that is judged on its own."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    criteria: tuple[str, ...] = Field(description="what the judge is to look at, a sentence each")
    acceptable: str | None = Field(None, description="when a response is acceptable on this dimension")
    scale: Scale = TypedTie()


class Rubric(Document):
    """What a judge is asked."""

    schema_version: Literal[1] = 1
    name: str
    task: Task
    description: str
    introduction: str = Field(description="first words of the judge's instructions: who it is and what it does")
    guidance: tuple[str, ...] = Field((), description="rules that hold for every dimension, a sentence each")
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    policy: str = Field(description="the fusion policy used where none is named")

    @model_validator(mode="after")
    def _check(self) -> Rubric:
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names) or OVERALL in names:
            raise ValueError(f"dimensions must differ, and none may be called {OVERALL!r}: {', '.join(names)}")
        paired = [isinstance(dimension.scale, TypedTie) for dimension in self.dimensions]
        if any(paired) != (self.task is Task.PAIRWISE) or any(paired) != all(paired):
            raise ValueError("a pairwise rubric has typed_tie scales only, a pointwise one has none")
        return self

    def dimension_names(self) -> tuple[str, ...]:
        return tuple(dimension.name for dimension in self.dimensions)

    def signature(self) -> Signature:
        return Signature.of(self.name, {"rubric": self.model_dump(mode="json")})
