"""Reading replies: valid ones give their verdict, all others are unreadable. Never a guess."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_s2s.judges import json_schema, load_rubric, parse_reply, reply_fields
from trace_s2s.schemas import (
    Dimension,
    FailureKind,
    Integers,
    Label,
    Reply,
    ReplyForm,
    Rubric,
    UnreadableReply,
    label_from_steps,
)

RUBRIC = load_rubric("hcot")
DIMENSIONS = RUBRIC.dimension_names()
STEPS, DIRECT = ReplyForm.STEPS, ReplyForm.DIRECT


def reply(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(text=text, model="m", finish_reason=finish_reason)


def steps(ok_1: Any = True, ok_2: Any = True, preferred: Any = "1", reason: Any = "r") -> dict[str, Any]:
    return {"reason": reason, "ok_1": ok_1, "ok_2": ok_2, "preferred": preferred}


def steps_text(**of: Any) -> str:
    return json.dumps({name: of.get(name, steps()) for name in DIMENSIONS})


@pytest.mark.parametrize(
    ("ok_1", "ok_2", "preferred", "label"),
    [  # the five steps of TRACE, section 3.2
        (True, False, "2", "1"),
        (False, True, "1", "2"),
        (False, False, "1", "both_bad"),
        (True, True, "1", "1"),
        (True, True, "2", "2"),
        (True, True, "neither", "both_good"),
    ],
)
def test_label_follows_the_five_steps(ok_1: bool, ok_2: bool, preferred: str, label: str) -> None:
    verdict = parse_reply(reply(steps_text(content=steps(ok_1, ok_2, preferred))), RUBRIC, STEPS)
    assert verdict.ratings["content"] == label
    assert verdict.acceptable is not None
    assert verdict.acceptable["content"] == (ok_1, ok_2)
    assert verdict.preferred is not None
    assert (verdict.preferred["content"] is None) == (not (ok_1 and ok_2))
    assert verdict.reasoning == dict.fromkeys(DIMENSIONS, "r")


@pytest.mark.parametrize(
    "wrapped",
    [
        "ANSWER",
        "```json\nANSWER\n```",
        "Let me think about {braces}. Here is my answer: ANSWER Thank you.",
        '<think>perhaps {"a": 1}</think>\nANSWER',
        "ANSWER, that is to say: ANSWER",
    ],
)
def test_answer_is_found_in_what_surrounds_it(wrapped: str) -> None:
    text = wrapped.replace("ANSWER", steps_text(content=steps(False, True)))
    assert parse_reply(reply(text), RUBRIC, STEPS).ratings["content"] == Label.SECOND


@pytest.mark.parametrize("rating", ["1", 1, "both_bad", "BOTH_BAD"])
def test_direct_form_takes_the_label_itself(rating: object) -> None:
    bare = json.dumps(dict.fromkeys(DIMENSIONS, rating))
    nested = json.dumps({name: {"reason": "r", "rating": rating} for name in DIMENSIONS})
    expected = Label(str(rating).lower())
    assert parse_reply(reply(bare), RUBRIC, DIRECT).ratings == dict.fromkeys(DIMENSIONS, expected)
    assert parse_reply(reply(nested), RUBRIC, DIRECT).ratings == dict.fromkeys(DIMENSIONS, expected)


@pytest.mark.parametrize(
    ("text", "finish_reason", "kind", "message"),
    [
        ("", "stop", "unreadable_reply", "the reply is empty"),
        ("I would say the first one.", "stop", "unreadable_reply", "no JSON object"),
        (steps_text()[:90], "stop", "unreadable_reply", "no JSON object"),
        (steps_text()[:90], "length", "cut_short", "judge.max_tokens"),
        ("I cannot help with that", "refusal", "refused", "refused to judge"),
        ("", "content_filter", "refused", "refused to judge"),
        (json.dumps({"content": steps()}), "stop", "unreadable_reply", "says nothing of 'voice_quality'"),
        (steps_text(content=steps(ok_1="maybe")), "stop", "unreadable_reply", "content.ok_1 is 'maybe'"),
        (steps_text(content=steps(ok_1=None)), "stop", "unreadable_reply", "content.ok_1 is 'null'"),
        (steps_text(content=steps(preferred="both")), "stop", "unreadable_reply", "must be one of: 1, 2, neither"),
        (steps_text(content="1"), "stop", "unreadable_reply", "must be an object"),
        (f"{steps_text()} or {steps_text(content=steps(False))}", "stop", "unreadable_reply", "objects that differ"),
        ('{"content": {"ok_1": true, "ok_1": false}}', "stop", "unreadable_reply", "gives a value twice"),
        ("[" * 100_000, "stop", "unreadable_reply", "no JSON object"),
        ('{"a":' * 5_000, "stop", "unreadable_reply", "no JSON object"),
    ],
)
def test_anything_else_is_unreadable(text: str, finish_reason: str, kind: str, message: str) -> None:
    with pytest.raises(UnreadableReply, match=message) as caught:
        parse_reply(reply(text, finish_reason), RUBRIC, STEPS)
    assert caught.value.failure.kind == kind


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.sampled_from(["1", "2", "neither"]),
    lambda inner: st.dictionaries(st.sampled_from(["reason", "ok_1", "ok_2", "preferred", "x"]), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*DIMENSIONS, "other"]), JSON_VALUES), st.text(max_size=20))
def test_parsing_is_total_and_a_verdict_holds_only_what_was_said(said: dict[str, Any], before: str) -> None:
    try:
        verdict = parse_reply(reply(before + json.dumps(said)), RUBRIC, STEPS)
    except UnreadableReply as error:
        assert error.failure.kind is FailureKind.UNREADABLE_REPLY
        return
    for name in DIMENSIONS:
        ok_1, ok_2 = (str(said[name][key]).lower() == "true" for key in ("ok_1", "ok_2"))
        preferred = {"1": Label.FIRST, "2": Label.SECOND}.get(str(said[name]["preferred"]), Label.BOTH_GOOD)
        assert verdict.ratings[name] == label_from_steps(ok_1, ok_2, preferred)


def test_confidence_is_the_probability_of_what_decided() -> None:
    chances = {
        f"{name}.{field}": {"true": 0.75, "false": 0.25, "1": 0.5, "2": 0.25, "neither": 0.25}
        for name in DIMENSIONS
        for field in ("ok_1", "ok_2", "preferred")
    }
    answered = Reply(text=steps_text(content=steps(True, False)), model="m", probabilities=chances)
    confidence = parse_reply(answered, RUBRIC, STEPS).confidence
    assert confidence is not None
    assert confidence["content"] == pytest.approx(0.75 * 0.25)  # maths: the preference decides nothing here
    assert confidence["voice_quality"] == pytest.approx(0.75 * 0.75 * 0.5)


def test_schema_is_strict_and_has_the_allowed_values() -> None:
    schema = json_schema(reply_fields(RUBRIC, STEPS))
    assert schema["required"] == list(DIMENSIONS)
    content = schema["properties"]["content"]
    assert content["required"] == ["reason", "ok_1", "ok_2", "preferred"]
    assert content["additionalProperties"] is False
    assert content["properties"]["ok_1"]["type"] == "boolean"
    assert content["properties"]["preferred"]["enum"] == ["1", "2", "neither"]


def test_pointwise_rubrics_have_one_rating_a_dimension() -> None:
    rubric = Rubric(
        name="stars",
        task="pointwise",
        description="",
        introduction="",
        policy="mean",
        dimensions=(Dimension(name="style", title="Style", criteria=(), scale=Integers(low=1, high=5)),),
    )
    assert parse_reply(reply('{"style": {"reason": "", "rating": 4}}'), rubric, STEPS).ratings == {"style": 4.0}
    with pytest.raises(UnreadableReply, match=r"style.rating is '6'; it must be one of: 1, 2, 3, 4, 5"):
        parse_reply(reply('{"style": {"rating": 6}}'), rubric, STEPS)
