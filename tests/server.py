"""A real HTTP server on loopback that speaks OpenAI's chat completions, faults included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = ("content", "voice_quality", "paralinguistics")


def verdict(ok_1: bool = True, ok_2: bool = False, preferred: str = "1") -> str:
    """A reply in the form ``steps`` with the same judgement for every dimension."""
    said = {"reason": "because the scores say so", "ok_1": ok_1, "ok_2": ok_2, "preferred": preferred}
    return json.dumps(dict.fromkeys(DIMENSIONS, said))


@dataclass(frozen=True)
class Answer:
    """What the server answers: a chat completion that says ``content``, or a fault."""

    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    delay_s: float = 0.0
    trickle_s: float = 0.0
    """Time before each byte of the body."""

    def bytes(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps({"error": {"message": f"status {self.status}", "type": "test"}}).encode()
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        usage["prompt_tokens_details"] = {"cached_tokens": 40}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return json.dumps(
            {
                **{"id": "x", "object": "chat.completion", "created": 0, "model": "scripted-2026-01-01"},
                **{"choices": [choice], "usage": usage},
            }
        ).encode()


Script = Callable[[dict[str, Any], int], Answer]
"""What to answer to a request's JSON; the number says how often the very same prompt was asked before."""


@dataclass
class Server:
    """A running server: where it is, and what it was asked."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.requests]


@contextmanager
def serve(script: Script) -> Iterator[Server]:
    """Run a server until the block ends."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = request["messages"][-1]["content"]
            with lock:
                n_before = server.prompts().count(prompt)
                server.requests.append(request)
                server.keys.append(self.headers.get("Authorization", ""))
            answer = script(request, n_before)
            time.sleep(answer.delay_s)
            body = answer.bytes()
            try:
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                if "Content-Length" not in answer.headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for byte in body if answer.trickle_s else ():
                    time.sleep(answer.trickle_s)
                    self.wfile.write(bytes([byte]))
                self.wfile.write(b"" if answer.trickle_s else body)
                self.close_connection = "Content-Length" in answer.headers
            except (BrokenPipeError, ConnectionResetError):
                return  # the client gave up waiting

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            return

    class Listener(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    listener = Listener(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listener.server_address[1]}/v1")
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def always(content: str) -> Script:
    """A server that gives everybody the same answer."""
    return lambda request, n_before: Answer(content)


def in_turn(answers: Sequence[Answer]) -> Script:
    """A server that answers the same prompt first with the first answer, then with the second; the last stays."""
    return lambda request, n_before: answers[min(n_before, len(answers) - 1)]
