"""The data that flows: clips, features, blueprints, rubrics, ratings, verdicts, records, errors.

Nothing here computes anything or knows of the rest of the project. To add a document: a frozen model in a module here,
its name in the re-exports below, and in ``SCHEMAS`` if users or their tools read it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .base import Document, Signature, SparseDocument, canonical_json, text_digest
from .blueprint import Blueprint, Clip
from .errors import (
    AudioError,
    EvidenceError,
    Failure,
    FailureKind,
    InputError,
    ItemError,
    MissingPackage,
    TraceError,
    TransportError,
    UnreadableReply,
    WeightsError,
)
from .features import (
    FEATURES,
    GROUP_SETS,
    Accent,
    Contour,
    Emotion,
    Feature,
    Features,
    Loudness,
    Pitch,
    Quality,
    Rate,
    Segment,
    Transcript,
    Turns,
    Voice,
    Word,
)
from .item import Item, Response
from .judging import Case, Message, Order, Reply, ReplyField, Request, TextPart, Usage, Verdict
from .packages import install_command, joint_digest, packaged_weights, require
from .ratings import OVERALL, HumanLabel, Label, Rating, Ratings, Score, label_from_steps
from .record import OrderedVerdict, Record
from .rubric import Choice, Dimension, Integers, Rubric, Task, TypedTie
from .run import (
    AudioSpec,
    ExtractSpec,
    InstructionEvidence,
    JudgeSpec,
    Layout,
    Ledger,
    Manifest,
    ReplyForm,
    RunSpec,
)

SCHEMAS: Mapping[str, type[Document]] = {
    "blueprint": Blueprint,
    "item": Item,
    "manifest": Manifest,
    "record": Record,
    "reply": Reply,
    "request": Request,
    "rubric": Rubric,
    "run": RunSpec,
    "verdict": Verdict,
}
"""The documents whose JSON Schema ``trace-s2s schema NAME`` prints."""

__all__ = [
    "FEATURES",
    "GROUP_SETS",
    "OVERALL",
    "SCHEMAS",
    "Accent",
    "AudioError",
    "AudioSpec",
    "Blueprint",
    "Case",
    "Choice",
    "Clip",
    "Contour",
    "Dimension",
    "Document",
    "Emotion",
    "EvidenceError",
    "ExtractSpec",
    "Failure",
    "FailureKind",
    "Feature",
    "Features",
    "HumanLabel",
    "InputError",
    "InstructionEvidence",
    "Integers",
    "Item",
    "ItemError",
    "JudgeSpec",
    "Label",
    "Layout",
    "Ledger",
    "Loudness",
    "Manifest",
    "Message",
    "MissingPackage",
    "Order",
    "OrderedVerdict",
    "Pitch",
    "Quality",
    "Rate",
    "Rating",
    "Ratings",
    "Record",
    "Reply",
    "ReplyField",
    "ReplyForm",
    "Request",
    "Response",
    "Rubric",
    "RunSpec",
    "Score",
    "Segment",
    "Signature",
    "SparseDocument",
    "Task",
    "TextPart",
    "TraceError",
    "Transcript",
    "TransportError",
    "Turns",
    "TypedTie",
    "UnreadableReply",
    "Usage",
    "Verdict",
    "Voice",
    "WeightsError",
    "Word",
    "canonical_json",
    "install_command",
    "joint_digest",
    "label_from_steps",
    "packaged_weights",
    "require",
    "text_digest",
]
