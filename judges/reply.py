"""The form of a reply: which fields a rubric asks for, and how an answer is read back. Never a guess.

In the form ``steps`` a judge says for each dimension of a pairwise rubric whether each response is acceptable and
which one it prefers; the label is derived in code. In the form ``direct`` it gives the label at once, as in the paper.
Pointwise dimensions have one rating in either form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from trace_s2s.schemas import (
    Dimension,
    FailureKind,
    Integers,
    Label,
    Rating,
    Reply,
    ReplyField,
    ReplyForm,
    Rubric,
    TypedTie,
    UnreadableReply,
    Verdict,
    label_from_steps,
)

NEITHER = "neither"
LONGEST_REPLY = 100_000  # characters; looking for JSON takes time that grows with the square of nonsense
_PREFERRED: Mapping[str, Label] = {"1": Label.FIRST, "2": Label.SECOND, NEITHER: Label.BOTH_GOOD}


def reply_fields(rubric: Rubric, form: ReplyForm) -> tuple[ReplyField, ...]:
    """Everything a reply to this rubric must hold, in the order in which it is to be written."""
    return tuple(field for dimension in rubric.dimensions for field in _dimension_fields(dimension, form))


def _dimension_fields(dimension: Dimension, form: ReplyForm) -> Iterator[ReplyField]:
    yield ReplyField(dimension=dimension.name, name="reason", description="one or two sentences, naming the evidence")
    if isinstance(dimension.scale, TypedTie) and form is ReplyForm.STEPS:
        for number in (1, 2):
            description = f"whether response {number} is acceptable on this dimension, by itself"
            yield ReplyField(dimension=dimension.name, name=f"ok_{number}", description=description, is_boolean=True)
        description = f"the better of two acceptable responses; '{NEITHER}' where they are level or not both acceptable"
        yield ReplyField(dimension=dimension.name, name="preferred", description=description, choices=tuple(_PREFERRED))
    else:
        yield ReplyField(
            dimension=dimension.name, name="rating", description=_meaning(dimension), choices=_choices(dimension)
        )


def _meaning(dimension: Dimension) -> str:
    match dimension.scale:
        case TypedTie():
            return "'1' or '2': that response is better; 'both_good' or 'both_bad': neither is, and both are so"
        case Integers(low=low, high=high):
            return f"a whole number from {low} (worst) to {high} (best)"
        case choice:
            return f"one of these, from worst to best: {', '.join(choice.values)}"


def _choices(dimension: Dimension) -> tuple[str, ...]:
    match dimension.scale:
        case TypedTie():
            return tuple(Label)
        case Integers(low=low, high=high):
            return tuple(str(value) for value in range(low, high + 1))
        case choice:
            return choice.values


def json_schema(fields: tuple[ReplyField, ...]) -> dict[str, Any]:
    """The reply's JSON Schema: one object a dimension; everything required, nothing else allowed."""
    by_dimension: dict[str, dict[str, Any]] = {}
    for field in fields:
        kind: dict[str, Any] = {"type": "boolean"} if field.is_boolean else {"type": "string"}
        if field.choices is not None:
            kind["enum"] = list(field.choices)
        by_dimension.setdefault(field.dimension, {})[field.name] = {**kind, "description": field.description}
    return _object({name: _object(properties) for name, properties in by_dimension.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def clean(text: str) -> str:
    """Text that can be written as UTF-8: half an emoji (a lone surrogate) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def parse_reply(reply: Reply, rubric: Rubric, form: ReplyForm) -> Verdict:
    """Read a reply. Reasons may be missing; ratings may not.

    Raises:
        UnreadableReply: refused, cut short, no JSON, several that differ, or a value missing or not allowed.
    """
    _check_finished(reply)
    verdicts = [_verdict(found, reply, rubric, form) for found in _objects_with(rubric, reply.text)]
    if not verdicts:
        raise _unreadable(f"the reply holds no JSON object with the rubric's dimensions: {_excerpt(reply.text)}")
    if any(verdict.ratings != verdicts[0].ratings for verdict in verdicts):
        raise _unreadable(f"the reply holds {len(verdicts)} JSON objects that differ: {_excerpt(reply.text)}")
    return verdicts[-1]


def _check_finished(reply: Reply) -> None:
    if reply.finish_reason in ("refusal", "content_filter"):
        raise UnreadableReply(FailureKind.REFUSED, f"the model refused to judge: {_excerpt(reply.text)}")
    if reply.finish_reason == "length":
        message = "the reply was cut short at its bound; raise --set judge.max_tokens, with another -o"
        raise UnreadableReply(FailureKind.CUT_SHORT, message)
    if not reply.text.strip():
        raise _unreadable("the reply is empty")
    if len(reply.text) > LONGEST_REPLY:
        raise _unreadable(f"the reply has {len(reply.text)} characters, far more than a verdict needs")


def _objects_with(rubric: Rubric, text: str) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in the text, not inside another one, that has a key of the rubric's dimensions."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_repeated_keys)
    wanted = set(rubric.dimension_names())
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # also numbers of thousands of digits
            end = start + 1
        else:
            if wanted & found.keys():
                yield found
        start = text.find("{", end)


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _unreadable(f"the reply gives a value twice: {', '.join(key for key, _ in pairs)}")
    return found


def _verdict(found: Mapping[str, Any], reply: Reply, rubric: Rubric, form: ReplyForm) -> Verdict:
    ratings: dict[str, Rating] = {}
    acceptable: dict[str, tuple[bool, bool]] = {}
    preferred: dict[str, Label | None] = {}
    reasons: dict[str, str] = {}
    confidence: dict[str, float] = {}
    decisive: tuple[str, ...]
    for dimension in rubric.dimensions:
        answers = _answers(found, dimension, form)
        if "preferred" in answers:
            ok_1, ok_2 = answers["ok_1"] == "true", answers["ok_2"] == "true"
            choice = _PREFERRED[answers["preferred"]]
            acceptable[dimension.name] = ok_1, ok_2
            preferred[dimension.name] = choice if ok_1 and ok_2 else None
            ratings[dimension.name] = label_from_steps(ok_1, ok_2, choice)
            decisive = ("ok_1", "ok_2", "preferred") if ok_1 and ok_2 else ("ok_1", "ok_2")
        else:
            ratings[dimension.name] = _rating(answers["rating"], dimension)
            decisive = ("rating",)
        if reason := _reason(found, dimension):
            reasons[dimension.name] = reason
        if reply.probabilities is not None:
            chances = (reply.probabilities[f"{dimension.name}.{name}"][answers[name]] for name in decisive)
            confidence[dimension.name] = min(1.0, math.prod(chances))
    return Verdict(
        ratings=ratings,
        acceptable=acceptable or None,
        preferred=preferred or None,
        reasoning=reasons or None,
        confidence=confidence or None,
    )


def _answers(found: Mapping[str, Any], dimension: Dimension, form: ReplyForm) -> dict[str, str]:
    """The dimension's values as given, as text, each checked against what is allowed."""
    given = found.get(dimension.name)
    if isinstance(given, str | int) and form is ReplyForm.DIRECT:
        given = {"rating": given}  # a server without structured output may write {"content": "1"}
    if not isinstance(given, Mapping):
        raise _unreadable(f"the reply says nothing of {dimension.name!r}; it must be an object")
    answers = {}
    for field in _dimension_fields(dimension, form):
        allowed: tuple[str, ...] | None = ("true", "false") if field.is_boolean else field.choices
        if allowed is None:
            continue
        value = given.get(field.name)
        text = str(value).strip() if isinstance(value, str | int) else json.dumps(value)
        spelled = {choice.casefold(): choice for choice in allowed}
        if text.casefold() not in spelled:
            wanted = ", ".join(allowed)
            place = f"{dimension.name}.{field.name}"
            raise _unreadable(f"the reply's {place} is {text[:60]!r}; it must be one of: {wanted}")
        answers[field.name] = spelled[text.casefold()]
    return answers


def _rating(text: str, dimension: Dimension) -> Rating:
    match dimension.scale:
        case TypedTie():
            return Label(text)
        case Integers():
            return float(text)
        case choice:
            return float(choice.values.index(text))


def _reason(found: Mapping[str, Any], dimension: Dimension) -> str | None:
    given = found[dimension.name]
    reason = given.get("reason") if isinstance(given, Mapping) else None
    return clean(reason).strip() or None if isinstance(reason, str) else None


def _unreadable(message: str) -> UnreadableReply:
    return UnreadableReply(FailureKind.UNREADABLE_REPLY, message)


def _excerpt(text: str) -> str:
    one_line = " ".join(text.split())
    return repr(one_line[:160] + ("…" if len(one_line) > 160 else ""))
