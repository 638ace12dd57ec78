"""Fusing a finished run again by another policy."""

from __future__ import annotations

from pathlib import Path

from trace_s2s.fusion import get_policy

from .agree import read_run_manifest
from .records import append_record, read_records


def fuse_run(run: Path, policy: str) -> Path:
    """Write ``RUN/fused-POLICY.jsonl``: the run's records with their overall label fused anew. Asks nothing.

    Raises:
        InputError: no such run or policy.
    """
    table = get_policy(policy)
    read_run_manifest(run)
    path = run / f"fused-{policy}.jsonl"
    with path.open("wb") as file:
        for record in read_records(run):
            fused = {} if record.ratings is None else {"overall": table.fuse(record.ratings)}
            append_record(file, record.model_copy(update=fused))
    return path
