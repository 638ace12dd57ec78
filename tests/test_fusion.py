"""Fusion policies: known values, totality, symmetry, monotonicity."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_s2s.fusion import DIMENSIONS, LABELS, PartialOrder, Table, TreePolicy, get_policy, policy_names, rating_min
from trace_s2s.schemas import InputError, Label

ONE, TWO, GOOD, BAD = Label.FIRST, Label.SECOND, Label.BOTH_GOOD, Label.BOTH_BAD
EVERY_INPUT = list(product(LABELS, repeat=3))


def fused(policy: str, content: str, voice_quality: str, paralinguistics: str) -> str:
    labels = (content, voice_quality, paralinguistics)
    return get_policy(policy).fuse(dict(zip(DIMENSIONS, map(Label, labels), strict=True)))


@pytest.mark.parametrize(
    ("policy", "content", "voice_quality", "paralinguistics", "overall"),
    [  # read off the paper's Algorithms 1 and 2 line by line, and off ARCHITECTURE's table for the other three
        ("speakbench", "1", "2", "2", "1"),  # line 2
        ("speakbench", "both_good", "1", "2", "2"),  # line 6
        ("speakbench", "both_good", "1", "both_bad", "1"),  # line 9
        ("speakbench", "both_good", "both_bad", "both_bad", "both_good"),  # line 11
        ("speakbench", "both_bad", "1", "both_bad", "1"),  # line 18
        ("speakbench", "both_bad", "both_good", "both_good", "both_bad"),  # line 20
        ("speakbench-released", "both_bad", "1", "both_bad", "both_bad"),
        ("speakbench-released", "both_bad", "1", "both_good", "1"),
        ("s2s-arena", "1", "1", "both_bad", "both_bad"),  # line 3: capped by paralinguistics
        ("s2s-arena", "1", "1", "2", "both_bad"),  # line 3: no response passes both
        ("s2s-arena", "both_good", "2", "1", "1"),  # line 6
        ("s2s-arena", "both_good", "2", "both_good", "2"),  # line 9
        ("s2s-arena", "both_good", "both_bad", "both_good", "both_good"),  # line 11
        ("s2s-arena-lenient", "1", "1", "both_bad", "1"),
        ("s2s-arena-lenient", "both_bad", "1", "both_bad", "both_bad"),
        ("s2s-arena-lenient", "both_good", "both_good", "both_bad", "both_bad"),
        ("majority", "1", "2", "2", "2"),
        ("majority", "1", "2", "both_bad", "1"),
    ],
)
def test_policy_follows_its_source(
    policy: str, content: str, voice_quality: str, paralinguistics: str, overall: str
) -> None:
    assert fused(policy, content, voice_quality, paralinguistics) == overall


def test_rating_min_is_the_paper_s_operator() -> None:
    # Algorithm 3, all sixteen cases: the lesser acceptability of each response
    expected = {
        **{(label, label): label for label in LABELS},
        **{(GOOD, label): label for label in LABELS},
        **{(BAD, label): BAD for label in LABELS},
        (ONE, TWO): BAD,
    }
    for a, b in product(LABELS, repeat=2):
        assert rating_min([a, b]) == rating_min([b, a]) == expected.get((a, b), expected.get((b, a)))


@pytest.mark.parametrize("name", policy_names())
def test_policy_is_total_and_swapping_the_responses_swaps_the_outcome(name: str) -> None:
    table = get_policy(name)
    outcomes = {row[:-1]: row[-1] for row in table.rows()}
    assert len(outcomes) == 64
    for labels, overall in outcomes.items():
        assert outcomes[tuple(label.swapped() for label in labels)] == overall.swapped()


def violation(table: Table, order: PartialOrder) -> tuple[str, str] | None:
    """Two inputs, the second at least as good in every dimension, with a worse outcome; written out."""
    outcomes = {row[:-1]: row[-1] for row in table.rows()}
    for low, high in product(EVERY_INPUT, repeat=2):
        if all(map(order.at_most, low, high)) and not order.at_most(outcomes[low], outcomes[high]):
            return f"{'/'.join(low)} -> {outcomes[low]}", f"{'/'.join(high)} -> {outcomes[high]}"
    return None


CLAIMED = {  # found by looking through all 64 x 64 pairs; content/voice_quality/paralinguistics -> overall
    ("speakbench", "superiority"): None,
    ("speakbench", "acceptability"): ("1/1/2 -> 1", "both_good/1/2 -> 2"),
    ("speakbench-released", "superiority"): ("both_good/1/both_good -> 1", "both_bad/1/both_bad -> both_bad"),
    ("speakbench-released", "acceptability"): ("1/1/2 -> 1", "both_good/1/2 -> 2"),
    ("s2s-arena", "superiority"): ("1/1/both_good -> 1", "1/1/both_bad -> both_bad"),
    ("s2s-arena", "acceptability"): ("1/2/1 -> 1", "both_good/2/both_good -> 2"),
    ("s2s-arena-lenient", "superiority"): ("both_good/1/both_good -> 1", "both_bad/1/both_bad -> both_bad"),
    ("s2s-arena-lenient", "acceptability"): ("1/1/2 -> 1", "both_good/1/2 -> 2"),
    ("majority", "superiority"): ("1/2/both_good -> 1", "1/both_good/both_good -> both_good"),
    ("majority", "acceptability"): ("1/2/2 -> 2", "1/2/both_good -> 1"),
}


@pytest.mark.parametrize(("name", "order"), list(product(policy_names(), PartialOrder)))
def test_policy_is_monotone_in_just_the_orders_that_it_claims(name: str, order: PartialOrder) -> None:
    table = get_policy(name)
    assert violation(table, order) == CLAIMED[name, order]
    assert (order in table.policy.monotone) == (CLAIMED[name, order] is None)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=50), st.sampled_from(policy_names()))
def test_array_fusion_equals_one_at_a_time(rows: list[tuple[int, int, int]], name: str) -> None:
    table = get_policy(name)
    fused_codes = table.fuse_codes(np.array(rows))
    for codes, overall in zip(rows, fused_codes, strict=True):
        ratings = {dimension: LABELS[code] for dimension, code in zip(DIMENSIONS, codes, strict=True)}
        assert table.fuse(ratings) == LABELS[overall] == table.policy.fuse(ratings)


def test_table_prints_64_rows_of_labels() -> None:
    rows = json.loads(json.dumps(get_policy("speakbench").documents()))
    assert len({tuple(row.values()) for row in rows}) == 64
    assert set(rows[0]) == {*DIMENSIONS, "overall"}


def test_unknown_policy_and_missing_dimension_are_named() -> None:
    with pytest.raises(InputError, match=r"no fusion policy is called 'speakbnch'; there are: speakbench, "):
        get_policy("speakbnch")
    with pytest.raises(InputError, match=r"needs dimension paralinguistics, voice_quality, which is not rated"):
        get_policy("speakbench", ("content",))


def test_signature_moves_with_the_outcomes() -> None:
    plain = TreePolicy(kind="tree", source="", description="", order=DIMENSIONS, tie_from=("content",), monotone=())
    other = plain.with_values(tie_from=("voice_quality",))
    assert Table("p", plain).signature() != Table("p", other).signature()
