"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, Ollama, llama.cpp, gateways.

The official client does connections, time-outs and retries (429 with Retry-After, 5xx, broken connections).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from trace_s2s.schemas import (
    FailureKind,
    InputError,
    JudgeSpec,
    Reply,
    Request,
    TransportError,
    Usage,
    require,
)

from .base import Transport
from .reply import clean, json_schema

if TYPE_CHECKING:
    import openai
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

NO_KEY = "none"
LONGEST_WAIT_S = 60.0  # the longest Retry-After that the client heeds
N_REFUSED_LOGINS = 5
"""After so many refused keys with no answer between them, the server is not asked again in this run."""


@dataclass
class OpenAITransport(Transport):
    """Sends requests to one server.

    A server without structured output (``structured = "none"``, or ``"json_object"``) is only told the form in the
    prompt; its replies are parsed with care. A server that refuses ``json_schema`` is a failure that says so: what
    form was asked for is never changed quietly.
    """

    base_url: str | None
    api_key: str = field(repr=False)
    retries: int = 4
    timeout_s: float = 120.0
    n_refused: int = field(default=0, init=False)

    @classmethod
    def from_spec(cls, spec: JudgeSpec, threads: int) -> Self:
        require({"openai": "llm"})
        base_url = _checked_url(spec.base_url or os.environ.get("OPENAI_BASE_URL") or None)
        api_key = os.environ.get("OPENAI_API_KEY")
        if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise InputError("OPENAI_API_KEY holds characters that no key has; copy it again, without quotes or dots")
        if not api_key and not base_url:
            remedy = "set it, or OPENAI_BASE_URL to a server of your own, or leave --model out to try the embedded one"
            raise InputError(f"model {spec.model!r} needs OPENAI_API_KEY, which is not set; {remedy}")
        return cls(base_url, api_key or NO_KEY, spec.retries, spec.timeout_s)

    @cached_property
    def client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self.base_url, api_key=self.api_key, max_retries=self.retries, timeout=self.timeout_s
        )

    async def send(self, request: Request) -> Reply:
        import openai

        if self.n_refused >= N_REFUSED_LOGINS:
            message = f"not asked: the server refused the key {self.n_refused} times; mend OPENAI_API_KEY"
            raise TransportError(FailureKind.AUTHENTICATION, f"{message} and give --retry-failed")
        started = time.perf_counter()
        try:
            # The client's own time-out is for each piece of an answer: a server that trickles would never meet it.
            async with asyncio.timeout((self.timeout_s + LONGEST_WAIT_S) * (self.retries + 1)):
                answer = await self.client.chat.completions.create(**self._arguments(request))
        except openai.APIError as error:
            raise self._failure(error) from error
        except TimeoutError as error:
            raise TransportError(FailureKind.TIMEOUT, self._silence()) from error
        except (ValueError, RecursionError) as error:  # a body that is not JSON, under a header that says it is
            raise _malformed() from error
        self.n_refused = 0
        try:
            return _reply(answer, time.perf_counter() - started)
        except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
            raise _malformed() from error  # JSON of another form: the client does not check it

    def is_local(self) -> bool:
        host = urlsplit(self.base_url or "").hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")

    async def close(self) -> None:
        if "client" in self.__dict__:
            await self.client.close()

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model.partition("/")[2],
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.seed is not None:
            arguments["seed"] = request.seed
        if request.max_tokens is not None:
            # OpenAI's own models refuse the old name, many other servers do not know the new one.
            arguments["max_tokens" if self.base_url else "max_completion_tokens"] = request.max_tokens
        if request.structured == "json_schema":
            schema = {"name": "verdict", "strict": True, "schema": json_schema(request.fields)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.structured == "json_object":
            arguments["response_format"] = {"type": "json_object"}
        return arguments

    def _failure(self, error: openai.APIError) -> TransportError:
        """The failure that an error of the client stands for. The server's words are quoted without the key."""
        import openai

        if isinstance(error, openai.APIResponseValidationError):
            return _malformed()
        if isinstance(error, openai.APITimeoutError):
            return TransportError(FailureKind.TIMEOUT, self._silence())
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            self.n_refused += 1
        said = " ".join(self._without_key(str(error)).split())[:300]
        kind, message, remedy = next(known[1:] for known in self._known(said) if isinstance(error, known[0]))
        return TransportError(kind, f"{message}; {remedy}, then --retry-failed")

    def _silence(self) -> str:
        silent = f"no answer within {self.timeout_s:g} s, {self.retries + 1} times"
        return f"{silent}; raise --set judge.timeout_s, then --retry-failed"

    def _without_key(self, text: str) -> str:
        return clean(text if self.api_key == NO_KEY else text.replace(self.api_key, "***"))

    def _known(self, said: str) -> Iterator[tuple[type[Exception], FailureKind, str, str]]:
        """What can go wrong: the client's error, its kind, what happened, the remedy."""
        import openai

        n_tries = self.retries + 1
        lost = f"no connection to the server ({said})"
        yield openai.APIConnectionError, FailureKind.CONNECTION, lost, "check OPENAI_BASE_URL and the network"
        refused = f"the server refused the key ({said})"
        yield openai.AuthenticationError, FailureKind.AUTHENTICATION, refused, "mend OPENAI_API_KEY"
        yield openai.PermissionDeniedError, FailureKind.AUTHENTICATION, refused, "mend OPENAI_API_KEY"
        limited = f"the server still limits the rate after {n_tries} tries ({said})"
        yield openai.RateLimitError, FailureKind.RATE_LIMITED, limited, "lower --max-connections or check the quota"
        broken = f"the server failed {n_tries} times ({said})"
        yield openai.InternalServerError, FailureKind.SERVER_ERROR, broken, "wait for it to recover"
        other = f"the server does not take the request ({said})"
        remedy = "if it knows no JSON schema, --set judge.structured=json_object or none (with another -o); mend it"
        yield openai.APIError, FailureKind.BAD_REQUEST, other, remedy


def _reply(answer: ChatCompletion, latency_s: float) -> Reply:
    """What the client read, checked: it takes whatever JSON a server sends."""
    choice = answer.choices[0]
    refused = choice.message.refusal
    used = answer.usage
    details = getattr(used, "prompt_tokens_details", None)
    usage = Usage(
        n_requests=1,
        text_in=(used.prompt_tokens or 0) if used else 0,
        cached_in=(getattr(details, "cached_tokens", None) or 0),
        text_out=(used.completion_tokens or 0) if used else 0,
    )
    return Reply(
        text=clean(refused or choice.message.content or ""),
        model=answer.model or "unnamed",
        finish_reason="refusal" if refused else choice.finish_reason,
        usage=usage,
        latency_s=round(latency_s, 4),
    )


def _checked_url(base_url: str | None) -> str | None:
    """The server's address, refused where it is none, or holds a password that would end up in files."""
    if base_url is None:
        return None
    try:
        parts = urlsplit(base_url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    if not is_good:
        raise InputError(f"server {base_url!r} is no address; give one such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise InputError("the server's address holds a name or password; give the key by OPENAI_API_KEY instead")
    return base_url


def _malformed() -> TransportError:
    message = (
        "the server answered with something that is no chat completion; check OPENAI_BASE_URL (it often ends in /v1)"
    )
    return TransportError(FailureKind.SERVER_ERROR, f"{message}, then --retry-failed")
