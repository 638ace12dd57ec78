"""Baseline judges: what agreement costs nothing. They ask no model: their request holds all they need.

Their transport is ``echo``, which answers with the request's own text, so that they are judges like any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from trace_s2s.schemas import (
    Case,
    EvidenceError,
    FailureKind,
    JudgeSpec,
    Label,
    Message,
    Order,
    Reply,
    Request,
    Rubric,
    Task,
    TextPart,
    UnreadableReply,
    Verdict,
    label_from_steps,
)

from .base import Judge, Transport, check_measured


class EchoTransport(Transport):
    """Answers with the request's last message."""

    async def send(self, request: Request) -> Reply:
        return Reply(text=request.messages[-1].text, model="echo")


@dataclass(frozen=True)
class _Baseline(Judge):
    @property
    def model(self) -> str:
        return "echo"

    def _request(self, evidence: Mapping[str, Any], case: Case) -> Request:
        message = Message(role="user", parts=(TextPart(text=json.dumps(evidence, sort_keys=True)),))
        return Request(
            model=self.model, messages=(message,), fields=(), order=case.order, sample=case.sample, attempt=case.attempt
        )


@dataclass(frozen=True)
class RandomJudge(_Baseline):
    """Each label with equal chance, drawn from the seed, the item's id and the dimension."""

    name: ClassVar[str] = "random"
    version: ClassVar[str] = "1"
    seed: int = 0

    @classmethod
    def from_spec(cls, spec: JudgeSpec, seed: int) -> Self:
        return cls(seed=seed)

    def request(self, case: Case, rubric: Rubric) -> Request:
        for number, response in enumerate(case.responses, start=1):
            check_measured(response, f"response {number}", ())
        return self._request({"id": case.item.id, "seed": self.seed}, case)

    def parse(self, reply: Reply, rubric: Rubric) -> Verdict:
        _check_pairwise(self.name, rubric)
        return Verdict(ratings=random_ratings(reply.text, rubric.dimension_names()))


@dataclass(frozen=True)
class QualityOnlyJudge(_Baseline):
    """Every dimension by predicted sound quality alone (DNSMOS P.835, overall).

    A response is acceptable from 3.0 ("fair" on the scale of ITU-T P.800); of two acceptable ones the better by more
    than 0.2 is preferred. Both figures are ours, chosen in advance and fitted to nothing.
    """

    name: ClassVar[str] = "quality-only"
    version: ClassVar[str] = "1"
    acceptable_mos: float = 3.0
    least_difference: float = 0.2

    @classmethod
    def from_spec(cls, spec: JudgeSpec, seed: int) -> Self:
        return cls()

    def request(self, case: Case, rubric: Rubric) -> Request:
        scores = []
        for number, response in enumerate(case.responses, start=1):
            check_measured(response, f"response {number}", ("quality",))
            if response.features.quality is None:
                message = f"item {case.item.id!r}: judge {self.name!r} needs group 'quality', which was left out"
                raise EvidenceError(FailureKind.MISSING_EVIDENCE, message)
            scores.append(response.features.quality.overall_mos)
        if case.order is Order.SWAPPED:
            scores.reverse()
        return self._request({"overall_mos": scores}, case)

    def parse(self, reply: Reply, rubric: Rubric) -> Verdict:
        _check_pairwise(self.name, rubric)
        first, second = json.loads(reply.text)["overall_mos"]
        ok = first >= self.acceptable_mos, second >= self.acceptable_mos
        label = label_from_steps(*ok, self._preferred(first - second))
        names = rubric.dimension_names()
        return Verdict(ratings=dict.fromkeys(names, label), acceptable=dict.fromkeys(names, ok))

    def _preferred(self, difference: float) -> Label:
        if abs(difference) <= self.least_difference:
            return Label.BOTH_GOOD
        return Label.FIRST if difference > 0 else Label.SECOND


def random_ratings(key: str, dimensions: tuple[str, ...]) -> dict[str, Label]:
    """One of the four labels a dimension, by the hash of ``key`` and the dimension."""
    labels = tuple(Label)
    draws = {name: hashlib.sha256(f"{key}\n{name}".encode()).digest()[0] for name in dimensions}
    return {name: labels[draw % len(labels)] for name, draw in draws.items()}


def _check_pairwise(name: str, rubric: Rubric) -> None:
    if rubric.task is not Task.PAIRWISE:
        message = f"judge {name!r} compares two responses; rubric {rubric.name!r} is {rubric.task}"
        raise UnreadableReply(FailureKind.MISSING_EVIDENCE, message)
