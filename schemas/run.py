"""The run file (``run.toml``): everything a run is told; and ``manifest.json``: what the run was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue

from .base import Document, Signature
from .judging import Usage

Count = Annotated[int, Field(ge=1)]


class Layout(StrEnum):
    """How a blueprint is written out for a judge."""

    PAPER = "paper"
    COMPACT = "compact"


class ReplyForm(StrEnum):
    """Whether the judge answers acceptability first (``steps``), or the label at once (``direct``)."""

    STEPS = "steps"
    DIRECT = "direct"


class InstructionEvidence(StrEnum):
    """What the judge sees of the spoken instruction."""

    NONE = "none"
    TRANSCRIPT = "transcript"
    BLUEPRINT = "blueprint"


class AudioSpec(Document):
    """Which clips are fit to be measured."""

    min_duration_s: Annotated[float, Field(gt=0)] = Field(0.1, description="shorter clips fail as too_short")
    max_duration_s: Annotated[float, Field(gt=0)] = Field(600.0, description="longer clips fail as too_long")
    silent: Literal["fail", "keep"] = Field(
        "fail", description="whether a clip of digital silence fails, or is kept as an answer that says nothing"
    )


class ExtractSpec(Document):
    """What is measured, and by what."""

    profile: str = "embedded"
    features: tuple[str, ...] | None = Field(None, description="only these groups; all of the profile where not given")
    drop: tuple[str, ...] = Field((), description="groups to leave out")
    options: Mapping[str, Mapping[str, JsonValue]] = Field({}, description="options of the extractors, by group")
    weights: str | None = Field(None, description="folder with model weights")
    threads: Count | None = Field(None, description="CPU threads of one model; all cores where not given")
    device: Literal["auto", "cpu", "cuda"] = "auto"


class JudgeSpec(Document):
    """Who judges, and how it is asked."""

    kind: str = Field("blueprint", description="which judge; see trace-s2s doctor")
    model: str = Field("embedded", description="provider/model, or 'embedded'")
    rubric: str = Field("hcot", description="name of a rubric, or path of a rubric file")
    layout: Layout = Layout.COMPACT
    reply_form: ReplyForm = ReplyForm.STEPS
    instruction_evidence: InstructionEvidence = InstructionEvidence.TRANSCRIPT
    temperature: Annotated[float, Field(ge=0)] | Literal["model"] = Field(0.0, description="or 'model': its own")
    max_tokens: Count = Field(1200, description="bound on the length of one reply")
    seed: int | None = Field(None, description="passed to models that take one")
    attempts: Count = Field(2, description="how often an item is asked when replies are unreadable")
    max_connections: Count = Field(16, description="requests under way at once")
    retries: Annotated[int, Field(ge=0)] = Field(4, description="how often one request is sent again after a fault")
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    base_url: str | None = Field(None, description="server; OPENAI_BASE_URL, or the provider's own, where not given")
    structured: Literal["json_schema", "json_object", "none"] = Field(
        "json_schema", description="how the server is told the form of the reply"
    )


PathText = Annotated[str, BeforeValidator(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path)]
"""A path; path objects are taken, too."""


class RunSpec(Document):
    """One run, whole: ``evaluate(RunSpec(manifest="pairs.jsonl", output="run"))``."""

    schema_version: Literal[1] = 1
    manifest: Annotated[PathText, Field(min_length=1)] = Field(
        description="pairs to judge: JSONL, JSON array, CSV or Parquet"
    )
    output: Annotated[PathText, Field(min_length=1)] = Field(description="the run folder")
    audio_root: PathText | None = Field(None, description="where audio paths start; else the manifest's folder")
    limit: Count | None = Field(None, description="only the first items")
    seed: int = 0
    policy: str | None = Field(None, description="fusion policy; the rubric's own where not given")
    store: PathText | None = Field(
        None, description="folder of measurements and replies; else TRACE_STORE, the user's cache"
    )
    offline: bool = Field(False, description="refuse models that are not on this machine")
    retry_failed: bool = Field(False, description="ask again for items that failed before")
    audio: AudioSpec = AudioSpec()
    extract: ExtractSpec = ExtractSpec()
    judge: JudgeSpec = JudgeSpec()


class Ledger(Document):
    """What one run did and consumed, beside what the store spared it."""

    n_clips: int = 0
    n_extracted: Mapping[str, int] = Field({}, description="clips measured in this run, by feature group")
    n_from_store: Mapping[str, int] = Field({}, description="clips found measured in the store, by feature group")
    device_s: Mapping[str, float] = Field({}, description="seconds of measuring, by feature group")
    n_sent: int = Field(0, description="requests answered in this run")
    n_reused: int = Field(0, description="replies found in the store, or shared by equal requests")
    n_unreadable: int = Field(0, description="replies of this run that could not be read and were asked for again")
    n_faults: int = Field(0, description="requests that got no reply, over all starts of the run")
    n_lost: int = Field(0, description="requests under way when the run was killed, over all starts of it")
    usage: Usage = Field(Usage(), description="what the replies cost, over all starts of the run")


class Manifest(Document):
    """What a run was: ``manifest.json`` in its folder."""

    schema_version: Literal[1] = 1
    signature: str = Field(description="the line that says how the run's numbers were made")
    signatures: Mapping[str, Signature]
    judge: str
    model: str
    models_answered: tuple[str, ...] = Field((), description="the models as they named themselves")
    for_trying_only: bool = Field(description="the judge is for trying the pipeline; its verdicts mean nothing")
    n_items: int
    n_judged: int
    n_failed: int
    failures: Mapping[str, int] = Field(description="failed items by kind of failure")
    ledger: Ledger
    started_at: str
    wall_s: float
    extract_s: float
    judge_s: float
    versions: Mapping[str, str]
    machine: Mapping[str, str | int]
