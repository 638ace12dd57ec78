"""Judges, the transports that reach their models, and rubrics.

To add a judge: a class with ``request`` and ``parse`` (``baselines.py`` has short ones), one line in ``JUDGES``, its
test; the conformance suite picks it up from the table. To add a transport: a class with ``send``, one line in
``TRANSPORTS``. To add a rubric: a TOML file in ``rubrics/``. Other packages add judges by an entry point in the group
``trace_s2s.judges``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from trace_s2s.schemas import InputError, JudgeSpec

from .base import Judge, Transport, check_measured
from .reply import json_schema, parse_reply, reply_fields
from .rubric_file import load_rubric, rubric_names

JUDGES: Mapping[str, str] = {
    "blueprint": "trace_s2s.judges.text:BlueprintJudge",
    "transcript": "trace_s2s.judges.text:TranscriptJudge",
    "random": "trace_s2s.judges.baselines:RandomJudge",
    "quality-only": "trace_s2s.judges.baselines:QualityOnlyJudge",
}
"""Every judge of ours by name, as ``module:Class``; imported when asked for."""

TRANSPORTS: Mapping[str, str] = {
    "openai": "trace_s2s.judges.openai_server:OpenAITransport",
    "embedded": "trace_s2s.judges.embedded:EmbeddedTransport",
    "echo": "trace_s2s.judges.baselines:EchoTransport",
}
"""What answers the models of a provider (the part of a model's name before the slash)."""

_GROUP = "trace_s2s.judges"

__all__ = [
    "JUDGES",
    "TRANSPORTS",
    "Judge",
    "Transport",
    "check_measured",
    "json_schema",
    "load_rubric",
    "make_judge",
    "parse_reply",
    "reply_fields",
    "rubric_names",
    "transport_of",
]


def make_judge(spec: JudgeSpec, seed: int) -> Judge:
    """The judge that a run file describes.

    Raises:
        InputError: there is no such judge.
    """
    foreign = {point.name: point.value for point in entry_points(group=_GROUP)}
    table = {**foreign, **JUDGES}
    if spec.kind not in table:
        raise InputError(f"no judge is called {spec.kind!r}; there are: {', '.join(sorted(table))}")
    made: type[Judge] = EntryPoint(spec.kind, table[spec.kind], _GROUP).load()
    return made.from_spec(spec, seed)


def transport_of(model: str) -> type[Transport]:
    """The transport that answers for a model called ``provider/model``.

    Raises:
        InputError: the provider is not known.
    """
    provider, _, name = model.partition("/")
    if provider not in TRANSPORTS or bool(name) != (provider == "openai"):
        wanted = "openai/MODEL (any OpenAI-compatible server; see OPENAI_BASE_URL) or embedded"
        raise InputError(f"no model is called {model!r}; give {wanted}")
    found: type[Transport] = EntryPoint(provider, TRANSPORTS[provider], _GROUP).load()
    return found
