"""What the command line prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trace_s2s.benchmarks import Accuracy
from trace_s2s.schemas import OVERALL, Label

from .agree import MEASURES, AgreementReport
from .doctor import Finding
from .engine import RunResult

N_FAILURES_SHOWN = 20


def show_run(result: RunResult) -> None:
    """What a run came to: verdicts, failures, what it took, where to look."""
    console, errors = Console(), Console(stderr=True, soft_wrap=True, highlight=False)
    manifest, ledger = result.manifest, result.manifest.ledger
    dimensions: dict[str, Counter[str]] = {}
    n_shown = 0
    for record in result.records():
        if record.failure:
            n_shown += 1
            if n_shown <= N_FAILURES_SHOWN:
                message = f"failed: {record.id}: {record.failure.kind}: {record.failure.message}"
                errors.print(Text(message))
            continue
        for name, rating in {**(record.ratings or {}), OVERALL: record.overall}.items():
            dimensions.setdefault(name, Counter())[str(rating)] += 1
    if n_shown > N_FAILURES_SHOWN:
        errors.print(f"… and {n_shown - N_FAILURES_SHOWN} more failures; see {result.folder / 'records.jsonl'}")
    table = Table("", *map(str, Label), title=f"{manifest.n_judged} of {manifest.n_items} items judged")
    for name, counts in dimensions.items():
        table.add_row(name, *(str(counts[label]) for label in Label))
    console.print(table)
    measured, known = sum(ledger.n_extracted.values()), sum(ledger.n_from_store.values())
    lines = [
        f"measured {measured} feature groups of {ledger.n_clips} clips ({known} more from the store) "
        f"in {manifest.extract_s:.1f} s",
        f"sent {ledger.n_sent} requests ({ledger.n_reused} replies from the store) in {manifest.judge_s:.1f} s",
        f"report: {result.folder / 'report' / 'index.html'}",
        f"signature: {manifest.signature}",
    ]
    if manifest.n_judged and not measured and not ledger.n_sent:
        lines.insert(0, "nothing measured, nothing sent: all of it was in the store")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    if manifest.for_trying_only:
        warning = "the embedded model is for trying the pipeline; its verdicts say nothing about the systems"
        errors.print(Text(f"note: {warning}; name a real one with --model"))


def show_agreement(report: AgreementReport) -> None:
    """Agreement of one judge."""
    console = Console()
    table = Table("", "agreement", "95 % interval", "n", "judged")
    for name in MEASURES:
        if (measured := getattr(report, name)) is not None:
            table.add_row(name, *_cells(measured))
    for name, beside in report.baselines.items():
        table.add_row(f"{name} (overall)", *_cells(beside.overall))
        difference, interval = beside.difference.difference, beside.difference.interval
        if difference is not None:
            spread = f"[{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]" if interval else "–"
            table.add_row(f"  judge less {name}", f"{100 * difference:+.2f}", Text(spread), str(report.n), "")
    console.print(table)
    for remark in report.remarks:
        console.print(Text(f"note: {remark}"), soft_wrap=True)
    console.print(Text(report.signature), soft_wrap=True)


def _cells(measured: Accuracy) -> list[Text]:
    value = f"{100 * measured.accuracy:.2f} %" if measured.accuracy is not None else "–"
    interval = measured.interval
    spread = f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if interval else "–"
    three_way = f" ({measured.n_three_way} three-way)" if measured.n_three_way else ""
    return [Text(value), Text(spread), Text(f"{measured.n}{three_way}"), Text(str(measured.n_judged))]


def show_findings(findings: Sequence[Finding]) -> None:
    """What the doctor found."""
    console = Console()
    for finding in findings:
        mark = "yes" if finding.is_there else " no"
        console.print(Text(f"{mark}  {finding.part:<12} {finding.name:<28} {finding.detail}"), soft_wrap=True)
        if finding.remedy:
            console.print(Text(f"     get it: {finding.remedy}"), soft_wrap=True)
