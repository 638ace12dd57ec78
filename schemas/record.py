"""What is kept of one judged item: a line of ``records.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from .base import Document
from .errors import Failure
from .judging import Order, Usage, Verdict
from .ratings import HumanLabel, Label, Rating


class OrderedVerdict(Document):
    """One verdict, and the order in which the responses were shown for it."""

    order: Order
    request: str = Field(description="digest of the request; key of the verbatim reply in the store")
    model: str = Field(description="the model as it named itself")
    verdict: Verdict


class Record(Document):
    """One item's outcome: judged, or failed with its reason. Never both, never neither."""

    schema_version: Literal[1] = 1
    id: str
    status: Literal["judged", "failed"]
    ratings: Mapping[str, Rating] | None = None
    acceptable: Mapping[str, tuple[bool, bool]] | None = None
    overall: Rating | None = Field(None, description="fused from the ratings by the run's policy")
    confidence: float | None = Field(None, description="least of the dimensions' confidences; null where not known")
    reasoning: Mapping[str, str] | None = None
    orders: tuple[OrderedVerdict, ...] = ()
    usage: Usage = Field(Usage(), description="what its replies cost when they were asked for")
    failure: Failure | None = None
    instruction_id: str | None = None
    models: tuple[str | None, ...] = Field((), description="the systems that answered, in the item's order")
    label: Mapping[str, HumanLabel] | None = Field(None, description="human labels, where the manifest has them")
    baselines: Mapping[str, Mapping[str, Label]] = Field(
        {}, description="what baseline judges rate the same item, where it is labelled"
    )

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Record:
        if self.status == "judged" and (self.ratings is None or self.overall is None or self.failure is not None):
            raise ValueError(f"record {self.id!r} is judged but lacks ratings or overall, or carries a failure")
        if self.status == "failed" and (self.failure is None or self.ratings is not None or self.overall is not None):
            raise ValueError(f"record {self.id!r} is failed but lacks its failure, or carries a verdict")
        return self
