"""Stage 2: cases in, records out. One event loop; what was answered before is not asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from trace_s2s.fusion import Table
from trace_s2s.judges import Judge, Transport
from trace_s2s.schemas import (
    Case,
    EvidenceError,
    Failure,
    FailureKind,
    ItemError,
    Label,
    Order,
    OrderedVerdict,
    Record,
    Reply,
    Request,
    Rubric,
    TransportError,
    UnreadableReply,
    Usage,
)

from .manifest import BadLine
from .store import ReplyStore

ASKED_AGAIN = frozenset(
    {
        *(FailureKind.AUTHENTICATION, FailureKind.RATE_LIMITED, FailureKind.SERVER_ERROR, FailureKind.BAD_REQUEST),
        *(FailureKind.TIMEOUT, FailureKind.CONNECTION),
    }
)
"""Failures that say nothing of the item: they leave no reply behind, and only --retry-failed asks again."""


@dataclass
class Judging:
    """Judges cases and counts what that took."""

    judge: Judge
    rubric: Rubric
    policy: Table
    transport: Transport
    store: ReplyStore
    run: str
    attempts: int
    retry_failed: bool
    past: Mapping[str, Failure]
    baselines: Mapping[str, Judge]
    n_sent: int = 0
    n_reused: int = 0
    n_unreadable: int = 0
    models: set[str] = field(default_factory=set)
    _under_way: dict[str, asyncio.Future[Reply]] = field(default_factory=dict)

    def judge_all(self, cases: Iterable[Case | BadLine], n_workers: int, keep: Callable[[Record], None]) -> None:
        """Judge every case, ``n_workers`` at a time; each record is handed to ``keep`` as it comes.

        Raises:
            TraceError: the judge cannot work at all, for want of a package or weights.
        """
        work = self._judge_all(cases, n_workers, keep)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(work)
        else:  # called from inside an event loop, as in a notebook: this one gets a thread of its own
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, work).result()

    async def _judge_all(self, cases: Iterable[Case | BadLine], n_workers: int, keep: Callable[[Record], None]) -> None:
        source = iter(cases)

        async def work() -> None:
            for case in source:  # shared by all workers: each takes the next case
                keep(await self.record(case))

        workers = [asyncio.create_task(work()) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self.transport.close()

    async def record(self, case: Case | BadLine) -> Record:
        """One item's record: judged, or failed with its reason."""
        if isinstance(case, BadLine):
            return Record(id=case.id, status="failed", failure=case.failure, label=case.label)
        common = {
            "id": case.item.id,
            "instruction_id": case.item.instruction_id,
            "models": tuple(response.model for response in case.item.responses),
            "label": case.item.label,
            "baselines": self._baseline_ratings(case) if case.item.label else {},
        }
        replies: list[Reply] = []
        try:
            self._check_arity(case)
            ordered = await self._ordered_verdict(case, replies)
        except ItemError as error:
            failed = {"status": "failed", "failure": error.failure, "usage": _sum(replies)}
            return Record.model_validate({**common, **failed})
        verdict = ordered.verdict
        judged = {
            "status": "judged",
            "ratings": verdict.ratings,
            "acceptable": verdict.acceptable,
            "overall": self.policy.fuse(verdict.ratings),
            "confidence": min(verdict.confidence.values()) if verdict.confidence else None,
            "reasoning": verdict.reasoning,
            "orders": (ordered,),
            "usage": _sum(replies),
        }
        return Record.model_validate({**common, **judged})

    def _check_arity(self, case: Case) -> None:
        wanted, found = self.rubric.task.n_responses, len(case.responses)
        if found != wanted:
            keys = "audio1_path and audio2_path" if wanted == 2 else "audio_path"
            message = f"item {case.item.id!r} has {found} responses, and rubric {self.rubric.name!r} judges {wanted}"
            raise EvidenceError(FailureKind.MISSING_KEY, f"{message}; give {keys}")

    async def _ordered_verdict(self, case: Case, replies: list[Reply]) -> OrderedVerdict:
        """Ask until the reply can be read, or the attempts are spent; every reply is added to ``replies``."""
        n_new = 0
        while True:
            request = self.judge.request(case.model_copy(update={"attempt": len(replies)}), self.rubric)
            digest = request.digest()
            reply, is_new = await self._reply(case.item.id, digest, request)
            replies.append(reply)
            n_new += is_new
            try:
                verdict = self.judge.parse(reply, self.rubric)
            except UnreadableReply:
                self.n_unreadable += is_new
                # Replies of earlier runs count as attempts, unless the user asks for new ones.
                if (n_new if self.retry_failed else len(replies)) >= self.attempts:
                    raise
            else:
                self.models.add(reply.model)
                return OrderedVerdict(order=Order.GIVEN, request=digest, model=reply.model, verdict=verdict)

    async def _reply(self, name: str, digest: str, request: Request) -> tuple[Reply, bool]:
        """The reply to a request, and whether it was sent for now. Equal requests under way are sent once."""
        if (kept := self.store.get(digest)) is not None:
            self.n_reused += 1
            return kept, False
        if digest in self._under_way:
            self.n_reused += 1
            return await asyncio.shield(self._under_way[digest]), False
        past = self.past.get(name)
        if past and past.kind in ASKED_AGAIN and not self.retry_failed:
            raise TransportError(past.kind, past.message)
        future = self._under_way[digest] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._send(digest, request)
            future.set_result(reply)
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # seen: nobody else need be waiting for it
            raise
        finally:
            del self._under_way[digest]
        return reply, True

    async def _send(self, digest: str, request: Request) -> Reply:
        number = self.store.begin(self.run, digest)
        try:
            reply = await self.transport.send(request)
        except TransportError as error:
            self.store.failed(number, error.failure.kind)
            raise
        self.store.answered(number, digest, request, reply)
        self.n_sent += 1
        return reply

    def _baseline_ratings(self, case: Case) -> dict[str, dict[str, Label]]:
        """What each baseline judge says of a case, where it can say anything."""
        ratings = {}
        for name, judge in self.baselines.items():
            try:
                request = judge.request(case, self.rubric)
                verdict = judge.parse(Reply(text=request.messages[-1].text, model="echo"), self.rubric)
            except ItemError:
                continue  # absent from the record: agree counts it as not judged
            ratings[name] = {dimension: Label(str(rating)) for dimension, rating in verdict.ratings.items()}
        return ratings


def _sum(replies: Iterable[Reply]) -> Usage:
    return sum((reply.usage for reply in replies), Usage())
