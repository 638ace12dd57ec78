"""The contracts of judges and of transports.

A judge is two pure functions: what to ask, and how to read the answer. A transport is the only thing that talks to a
model, remote or local.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Self

from trace_s2s.schemas import (
    Blueprint,
    Case,
    EvidenceError,
    FailureKind,
    JudgeSpec,
    Reply,
    Request,
    Rubric,
    Signature,
    Verdict,
)


@dataclass(frozen=True)
class Judge(ABC):
    """A way of judging. A frozen dataclass whose fields are what can change its requests; making one loads nothing."""

    name: ClassVar[str]
    version: ClassVar[str]

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: JudgeSpec, seed: int) -> Judge:
        """The judge as a run file describes it."""

    @property
    @abstractmethod
    def model(self) -> str:
        """``provider/model``: which transport answers, and with which model."""

    def check_groups(self, shown: tuple[str, ...]) -> None:
        """Raise :class:`InputError` where a run does not measure what this judge cannot do without."""
        return None

    @abstractmethod
    def request(self, case: Case, rubric: Rubric) -> Request:
        """What to ask.

        Raises:
            EvidenceError: something that the judge needs to know of the item could not be measured.
        """

    @abstractmethod
    def parse(self, reply: Reply, rubric: Rubric) -> Verdict:
        """The verdict in a reply, for the responses in the order in which they were shown.

        Raises:
            UnreadableReply: the reply holds no verdict; it is never guessed.
        """

    def signature(self) -> Signature:
        """Changes with the judge, its version and every option."""
        return Signature.of(self.name, {"version": self.version, "options": asdict(self)})


class Transport(ABC):
    """Sends requests to a model."""

    for_trying_only: ClassVar[bool] = False
    """Whether its verdicts are only for trying the pipeline."""

    @classmethod
    def from_spec(cls, spec: JudgeSpec, threads: int) -> Self:
        """The transport as a run file describes it; connects to nothing and loads nothing yet.

        Raises:
            InputError: something that it needs, such as a key, is missing.
            MissingPackage: a package that it needs is not installed.
        """
        return cls()

    @abstractmethod
    async def send(self, request: Request) -> Reply:
        """Ask, and give the answer word for word.

        Raises:
            TransportError: there is no answer.
        """

    def is_local(self) -> bool:
        """Whether requests stay on this machine."""
        return True

    async def close(self) -> None:
        """Let connections go."""
        return None


def check_measured(blueprint: Blueprint, role: str, groups: tuple[str, ...]) -> None:
    """Raise :class:`EvidenceError` where the clip, or a group that the judge cannot do without, failed.

    A group whose extractor is unavailable is always an error: the user asked for it, and a verdict without it would
    not be what its signature says.
    """
    for group, failure in blueprint.failures.items():
        if group == "audio" or group in groups or failure.kind is FailureKind.UNAVAILABLE:
            what = "" if group == "audio" else f" {group}:"
            raise EvidenceError(failure.kind, f"{role} {blueprint.clip.path!r}:{what} {failure.message}")
