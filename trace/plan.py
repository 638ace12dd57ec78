"""A run file resolved: everything that can be wrong with it is found before anything is measured or paid for."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from filelock import FileLock, Timeout
from pydantic import ValidationError

from trace_s2s.extractors import Machine
from trace_s2s.fusion import Table, get_policy
from trace_s2s.judges import Judge, Transport, load_rubric, make_judge, transport_of
from trace_s2s.schemas import (
    Failure,
    InputError,
    InstructionEvidence,
    Item,
    JudgeSpec,
    Rubric,
    RunSpec,
    Signature,
    Task,
    canonical_json,
    text_digest,
)

from .extraction import ExtractionPlan, Wanted
from .judging import Judging
from .manifest import BadLine
from .store import ReplyStore
from .version import __version__

RUN_FILE = "run.toml"
BASELINES = ("quality-only",)
"""Judges that rate every labelled item beside the run's own; ``random`` needs no record."""
NOT_SIGNED: Any = {
    **dict.fromkeys(("output", "store", "limit", "retry_failed", "manifest", "audio_root", "offline"), True),
    "extract": {"threads": True, "device": True, "weights": True},
    "judge": {"max_connections": True, "retries": True, "timeout_s": True, "base_url": True},
}
"""Parts of a run file that say where, how much and how fast, not how; in the form of pydantic's ``exclude``."""


@dataclass(frozen=True)
class RunPlan:
    """What a run file stands for."""

    spec: RunSpec
    extraction: ExtractionPlan
    rubric: Rubric
    judge: Judge
    transport: type[Transport]
    policy: Table
    machine: Machine

    @classmethod
    def of(cls, spec: RunSpec) -> RunPlan:
        """Resolve a run file.

        Raises:
            InputError: something that it names does not exist.
        """
        rubric = load_rubric(spec.judge.rubric)
        if rubric.task is not Task.PAIRWISE:
            raise InputError(f"rubric {rubric.name!r} is {rubric.task}; this version judges pairwise rubrics only")
        extraction = ExtractionPlan.of(spec.extract)
        if spec.judge.instruction_evidence is not InstructionEvidence.NONE:
            extraction = extraction.with_group("transcript", spec.extract.options)
        judge = make_judge(spec.judge, spec.seed)
        judge.check_groups(extraction.shown)
        return cls(
            spec=spec,
            extraction=extraction,
            rubric=rubric,
            judge=judge,
            transport=transport_of(judge.model),
            policy=get_policy(spec.policy or rubric.policy, rubric.dimension_names()),
            machine=_machine(spec),
        )

    def wanted(self, item: Item | BadLine) -> tuple[Wanted, ...]:
        """The clips of an item that are to be measured, and which groups of each."""
        if isinstance(item, BadLine):
            return ()
        instruction = self.instruction(item)
        responses = (self.response(response.audio_path) for response in item.responses)
        return (*((instruction,) if instruction else ()), *responses)

    def response(self, path: str) -> Wanted:
        """A response, with every group that is shown."""
        return Wanted(path, self.extraction.shown)

    def instruction(self, item: Item) -> Wanted | None:
        """The instruction, with what is in evidence of it: nothing where its text says all that is asked for."""
        evidence = self.spec.judge.instruction_evidence
        if item.instruction_path is None or evidence is InstructionEvidence.NONE:
            return None
        text = () if item.instruction_text else ("transcript",)
        if evidence is InstructionEvidence.BLUEPRINT:
            rest = tuple(name for name in self.extraction.shown if name not in text)
            return Wanted(item.instruction_path, (*text, *rest))
        return Wanted(item.instruction_path, text) if text else None

    def make_transport(self) -> Transport:
        """What reaches the model; nothing is loaded or connected to yet.

        Raises:
            TraceError: a key or a package is missing.
        """
        transport = self.transport.from_spec(self.spec.judge, self.machine.threads)
        if self.spec.offline and not transport.is_local():
            message = f"model {self.judge.model!r} is not on this machine, and --offline refuses such models"
            raise InputError(f"{message}; leave one of the two out")
        return transport

    def judging(self, transport: Transport, store: ReplyStore, past: Mapping[str, Failure]) -> Judging:
        """The second stage, ready to run."""
        return Judging(
            judge=self.judge,
            rubric=self.rubric,
            policy=self.policy,
            transport=transport,
            store=store,
            run=run_digest(self.spec),
            attempts=self.spec.judge.attempts,
            retry_failed=self.spec.retry_failed,
            past=past,
            baselines={name: make_judge(JudgeSpec(kind=name), self.spec.seed) for name in BASELINES},
        )

    @contextmanager
    def claim_folder(self, folder: Path) -> Iterator[Path]:
        """Make the run folder, or take it up again where this same run was begun in it; nobody else may, meanwhile.

        Raises:
            InputError: the folder holds another run, is in use, or cannot be written.
        """
        path = folder / RUN_FILE
        if path.exists() and run_digest(_read_run_file(path)) != run_digest(self.spec):
            raise InputError(f"{str(folder)!r} holds another run (see its {RUN_FILE}); give another -o")
        text = tomli_w.dumps(_with_whole_paths(self.spec).model_dump(mode="json", exclude_none=True))
        lock = FileLock(make_folder(folder) / ".lock")
        try:
            with lock.acquire(blocking=False):
                new = path.with_suffix(".toml.new")  # a kill must not leave half a run file behind
                new.write_text(text, "utf-8")
                new.replace(path)
                yield folder
        except Timeout as error:
            message = f"another process is working in {str(folder)!r}; wait for it, or give another -o"
            raise InputError(message) from error
        except PermissionError as error:
            raise InputError(f"folder {str(folder)!r} cannot be written: {error.strerror}; give another -o") from error

    def signatures(self) -> dict[str, Signature]:
        """Everything that can change a result, part by part."""
        extractors = {name: self.extraction.signatures[name] for name in self.extraction.shown}
        return {
            "judge": self.judge.signature(),
            "rubric": self.rubric.signature(),
            "policy": self.policy.signature(),
            "audio": Signature.of("audio", self.spec.audio.model_dump(mode="json")),
            **{f"extractor.{name}": signature for name, signature in extractors.items()},
        }

    def signature_line(self) -> str:
        """The line that says how the run's numbers were made."""
        judge, rubric, policy = self.judge.signature(), self.rubric.signature(), self.policy.signature()
        parts = [f"judge:{judge}:{self.judge.model}", f"rubric:{rubric}"]
        if self.judge.model != "echo":
            asked = self.spec.judge
            parts += [
                f"layout:{asked.layout}",
                f"reply:{asked.reply_form}",
                f"instruction:{asked.instruction_evidence}",
            ]
        extractors = ",".join(str(self.extraction.signatures[name]) for name in self.extraction.shown)
        parts += ["order:given", f"fusion:{policy}", f"ext:{extractors}", f"rs:{self.spec.seed}", f"v{__version__}"]
        return " | ".join(parts)


def _with_whole_paths(spec: RunSpec) -> RunSpec:
    """The same run, told from wherever the file is read."""
    paths = {name: getattr(spec, name) for name in ("manifest", "output", "audio_root", "store")}
    return spec.with_values(**{name: os.path.abspath(path) for name, path in paths.items() if path})  # noqa: PTH100


def make_folder(folder: Path) -> Path:
    """Make a folder for output.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder {str(folder)!r} cannot be made: {error.strerror}; give another -o") from error
    return folder


def run_digest(spec: RunSpec) -> str:
    """Names a run: what it judges, and how. Two starts of the same run have the same name."""
    signed = spec.model_dump(mode="json", exclude=NOT_SIGNED)
    signed["policy"] = spec.policy or load_rubric(spec.judge.rubric).policy
    return text_digest(canonical_json({**signed, "manifest": str(Path(spec.manifest).resolve())}))[:16]


def _read_run_file(path: Path) -> RunSpec:
    try:
        return RunSpec.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} is no run file of this version; give another -o") from error


def _machine(spec: RunSpec) -> Machine:
    weights = Path(spec.extract.weights) if spec.extract.weights else None
    return Machine(spec.extract.device, spec.extract.threads or os.cpu_count() or 1, weights)
