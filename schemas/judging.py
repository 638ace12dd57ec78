"""What flows between a judge and a model: case, request, reply, verdict, usage."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from .base import Document
from .blueprint import Blueprint
from .item import Item
from .ratings import Label, Rating


class Order(StrEnum):
    """In which order the judge sees the two responses."""

    GIVEN = "given"
    SWAPPED = "swapped"


class Case(Document):
    """One item with all that is known of it."""

    item: Item
    instruction: Blueprint | None = Field(None, description="the instruction as measured, where it was spoken")
    responses: tuple[Blueprint, ...]
    order: Order = Order.GIVEN
    sample: int = 0
    attempt: int = 0


class TextPart(Document):
    """A piece of text in a message."""

    kind: Literal["text"] = "text"
    text: str


class Message(Document):
    """One message of a conversation with a model."""

    role: Literal["system", "user"]
    parts: tuple[TextPart, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class ReplyField(Document):
    """One value that a reply must hold, under its dimension."""

    dimension: str
    name: str
    description: str
    choices: tuple[str, ...] | None = Field(None, description="allowed values; None is free text")
    is_boolean: bool = False


class Request(Document):
    """All that decides what a model answers; its digest is the key under which the reply is kept."""

    model: str = Field(description="provider/model")
    messages: tuple[Message, ...]
    fields: tuple[ReplyField, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    structured: str = Field("json_schema", description="how a server is told the form of the reply")
    order: Order = Order.GIVEN
    sample: int = Field(0, description="which of several independent answers to the same question")
    attempt: int = Field(0, description="how often the question was answered unreadably before")


class Usage(Document):
    """What was consumed. Counts are tokens; ``cached_in`` is the part of ``text_in`` billed as cached."""

    n_requests: int = 0
    text_in: int = 0
    cached_in: int = 0
    audio_in: int = 0
    text_out: int = 0
    device_s: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Reply(Document):
    """A model's answer, word for word."""

    text: str
    model: str = Field(description="the model as it named itself")
    finish_reason: str | None = None
    usage: Usage = Usage()
    latency_s: float = 0.0
    probabilities: Mapping[str, Mapping[str, float]] | None = Field(
        None, description="of each choice of each field 'dimension.name', where the model gives them"
    )


class Verdict(Document):
    """A reply as understood."""

    ratings: Mapping[str, Rating]
    acceptable: Mapping[str, tuple[bool, bool]] | None = Field(None, description="by dimension: response 1, response 2")
    preferred: Mapping[str, Label | None] | None = Field(None, description="by dimension, where both are acceptable")
    reasoning: Mapping[str, str] | None = None
    confidence: Mapping[str, Annotated[float, Field(ge=0, le=1)]] | None = Field(
        None, description="by dimension: the model's probability of the rating"
    )
