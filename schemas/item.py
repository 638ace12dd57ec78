"""What is to be judged: one instruction and one response (pointwise) or two (pairwise)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from .base import Document
from .ratings import HumanLabel


class Response(Document):
    """One answer of one system."""

    audio_path: str = Field(description="path relative to the audio root")
    model: str | None = Field(None, description="the system that answered")


class Item(Document):
    """One line of a manifest."""

    id: str
    instruction_text: str | None = None
    instruction_path: str | None = None
    instruction_id: str = Field(description="names the instruction; items that share it are not independent")
    responses: Annotated[tuple[Response, ...], Field(min_length=1, max_length=2)]
    label: Mapping[str, HumanLabel] | None = Field(None, description="human labels by dimension, and 'overall'")
    extras: Mapping[str, JsonValue] = Field({}, description="unknown keys of the manifest line, kept")

    @property
    def is_pairwise(self) -> bool:
        return len(self.responses) == 2

    @property
    def audio_paths(self) -> tuple[str, ...]:
        """Every clip of the item, the instruction first where it has one."""
        spoken = (self.instruction_path,) if self.instruction_path else ()
        return (*spoken, *(response.audio_path for response in self.responses))
