"""Agreement: known values on the released labels, and honest counting."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trace_s2s.agree import agree_files
from trace_s2s.benchmarks import accuracy, encode, paired_difference
from trace_s2s.schemas import InputError

SHARED = Path(os.environ.get("TRACE_SHARED") or Path(__file__).parent.parent.parent / "shared")
released_labels = pytest.mark.skipif(
    not (SHARED / "data/hcot").is_dir(), reason="the released HCoT labels are not here; set TRACE_SHARED"
)


@released_labels
@pytest.mark.parametrize(
    ("name", "policy", "percent", "n"),
    [  # ARCHITECTURE's table of policies: human dimension labels fused, against the human overall label
        ("speakbench", "speakbench", 90.54, 497),
        ("speakbench", "speakbench-released", 97.59, 497),
        ("speakbench", "majority", 80.08, 497),
        ("s2sarena", "s2s-arena", 94.27, 314),
        ("s2sarena", "majority", 55.10, 314),
    ],
)
def test_known_fusion_values(name: str, policy: str, percent: float, n: int) -> None:
    path = SHARED / f"data/hcot/{name}.json"
    report = agree_files(path, path, policy, judged_only=False, seed=0)
    assert report.overall is not None
    assert report.overall.accuracy is not None
    assert round(100 * report.overall.accuracy, 2) == percent
    assert report.n == report.n_judged == report.overall.n == n
    assert report.content is not None
    assert report.content.accuracy == 1.0


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    labels = [{"id": str(k), "label": {"content": "1", "overall": "1"}} for k in range(10)]
    said = [{"id": str(k), "content": "1", "overall": "1" if k < 6 else "both_bad"} for k in range(8)]
    said.append({"id": "8", "status": "failed"})
    return write(tmp_path / "labels.jsonl", labels), write(tmp_path / "said.jsonl", said)


def test_items_not_judged_count_as_not_agreeing_unless_left_out(files: tuple[Path, Path]) -> None:
    report = agree_files(*files, None, judged_only=False, seed=0)
    assert report.overall is not None
    assert (report.n, report.n_judged, report.overall.accuracy) == (10, 8, 0.6)
    assert "1 labelled items have no prediction: not judged" in report.remarks
    kept = agree_files(*files, None, judged_only=True, seed=0)
    assert kept.overall is not None
    assert (kept.n, kept.n_judged, kept.overall.accuracy) == (8, 8, 0.75)
    assert "judged-only" in kept.signature


def test_random_baseline_stands_beside_with_its_paired_difference(files: tuple[Path, Path]) -> None:
    report = agree_files(*files, None, judged_only=False, seed=0)
    assert report.overall is not None
    beside = report.baselines["random"]
    assert beside.overall.accuracy is not None
    assert beside.difference.difference == pytest.approx(0.6 - beside.overall.accuracy)
    assert any("quality-only" in remark for remark in report.remarks)


def test_a_run_s_own_files_are_read_as_what_they_are(tmp_path: Path) -> None:
    """Records and results hold human labels and the judge's: neither is taken for the other."""
    record = {"id": "a", "ratings": {"content": "1"}, "overall": "1", "label": {"content": "2", "overall": "2"}}
    failed = {"id": "b", "ratings": None, "overall": None, "label": {"overall": "1"}}
    records = write(tmp_path / "records.jsonl", [record, failed])
    flat = {"id": "a", "content": "1", "overall": "1", "label_content": "2", "label_overall": "2"}
    results = tmp_path / "results.parquet"
    pq.write_table(pa.Table.from_pylist([flat, {"id": "b", "label_overall": "1"}]), results)
    for path in (records, results):
        report = agree_files(path, path, None, judged_only=False, seed=0)
        assert report.overall is not None
        assert (report.overall.accuracy, report.overall.n, report.overall.n_judged) == (0.0, 2, 1)


def test_labels_may_be_numbers_or_partly_missing(tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", [{"index": 1.0, "label": {"content": 1, "overall": None}}, {"id": 2}])
    said = write(tmp_path / "said.jsonl", [{"id": "1", "content": "1"}, {"id": 2, "content": "1"}])
    report = agree_files(labels, said, None, judged_only=False, seed=0)
    assert (report.n, report.overall) == (1, None)
    assert report.content is not None
    assert report.content.accuracy == 1.0
    assert "1 lines of labels have none: left out" in report.remarks


@pytest.mark.parametrize(
    ("labels", "said", "message"),
    [
        ([{"id": 1, "overall": "1"}], [{"id": 2, "overall": "1"}], r"have no id in common"),
        ([{"id": 1, "overall": "3"}], [{"id": 1, "overall": "1"}], r"labels.jsonl line 1: overall is '3'; it must be"),
        ([{"id": 1, "overall": "1"}], [{"id": 1}, {"id": 1}], r"said.jsonl line 2: id '1' was there before"),
        ([{"overall": "1"}], [{"id": 1}], r"labels.jsonl line 1: no id"),
        ([{"id": 1, "overal": "1"}], [{"id": 1}], r"'labels.jsonl' rates nothing; each line needs overall, content"),
        ([{"id": 1, "label": "1"}], [{"id": 1}], r"labels.jsonl line 1: label is '1'; it must be an object"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, labels: Any, said: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        agree_files(write(tmp_path / "labels.jsonl", labels), write(tmp_path / "said.jsonl", said), None, False, 0)


def test_a_policy_needs_dimensions_to_fuse(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"'said.jsonl' has no line with all of content, .*, which policy 'majority'"):
        agree_files(*files, "majority", judged_only=False, seed=0)


def test_untyped_ties_are_compared_three_way() -> None:
    labels = encode(["tie", "tie", "tie", "both_good", "1"])
    predictions = encode(["both_good", "tie", "1", "tie", "tie"])
    measured = accuracy(labels, predictions, np.arange(5), seed=0)
    assert (measured.accuracy, measured.n_three_way) == (0.6, 5)


def test_bootstrap_draws_whole_clusters() -> None:
    # maths: with one perfectly correlated answer a cluster, the standard error is that of 20 draws, not of 2,000
    right = np.repeat(np.arange(20) % 2, 100)
    labels, predictions = encode(["1"] * 2000), encode(["1" if ok else "2" for ok in right])
    clustered = accuracy(labels, predictions, np.repeat(np.arange(20), 100), seed=0).interval
    plain = accuracy(labels, predictions, np.arange(2000), seed=0).interval
    assert clustered is not None
    assert plain is not None
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(20), rel=0.15)
    assert plain.high - plain.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(2000), rel=0.15)


def test_nothing_to_say_is_null_not_a_number() -> None:
    nothing = accuracy(encode([]), encode([]), np.arange(0), seed=0)
    assert (nothing.accuracy, nothing.interval, nothing.n) == (None, None, 0)
    one = accuracy(encode(["1"]), encode(["1"]), np.arange(1), seed=0)
    assert (one.accuracy, one.interval) == (1.0, None)


def test_paired_difference_of_a_judge_with_itself_is_zero() -> None:
    labels, said = encode(["1", "2", "both_bad"] * 10), encode(["1", "1", "both_bad"] * 10)
    same = paired_difference(labels, said, said, np.arange(30), seed=0)
    assert same.difference == 0.0
    assert same.interval is not None
    assert (same.interval.low, same.interval.high) == (0.0, 0.0)
