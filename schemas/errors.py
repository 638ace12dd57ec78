"""Errors and failures.

An *error* stops what the user asked for: the command line prints its one line and exits 2. A *failure* is data: one
clip, feature group or item that could not be done, with its kind and its reason; the run goes on.

::

    TraceError
    ├── InputError            a manifest, a file or an option is unusable
    ├── MissingPackage        an optional package is not installed; names the extra
    ├── WeightsError          model weights are missing, or not the ones that were pinned
    └── ItemError             carries a Failure; whoever handles the item turns it into a record
        ├── AudioError        a clip cannot be read
        ├── EvidenceError     a judge lacks what it needs to know of an item
        ├── TransportError    a model could not be asked; never stored, asked again with --retry-failed
        └── UnreadableReply   a model answered, but not in the form that was asked for
"""

from __future__ import annotations

from enum import StrEnum

from .base import Document


class FailureKind(StrEnum):
    """Why one thing failed."""

    # the manifest
    BAD_LINE = "bad_line"
    MISSING_KEY = "missing_key"
    DUPLICATE_ID = "duplicate_id"
    UNKNOWN_LABEL = "unknown_label"
    OUTSIDE_ROOT = "outside_root"
    # a clip
    MISSING_FILE = "missing_file"
    EMPTY_FILE = "empty_file"
    NOT_AUDIO = "not_audio"
    TRUNCATED = "truncated"
    NOT_FINITE = "not_finite"
    SILENT = "silent"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    # a feature group
    NO_SPEECH = "no_speech"
    UNVOICED = "unvoiced"
    UNSUPPORTED_LANGUAGE = "unsupported_language"
    UNAVAILABLE = "unavailable"
    # a judgement
    MISSING_EVIDENCE = "missing_evidence"
    AUTHENTICATION = "authentication"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    BAD_REQUEST = "bad_request"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    REFUSED = "refused"
    CUT_SHORT = "cut_short"
    UNREADABLE_REPLY = "unreadable_reply"


class Failure(Document):
    """One thing that could not be done, and why."""

    kind: FailureKind
    message: str


class TraceError(Exception):
    """Root of all errors that a user can mend; the message is one line."""


class InputError(TraceError):
    """A manifest, a file or an option is unusable."""


class MissingPackage(TraceError):
    """An optional package is not installed."""


class WeightsError(TraceError):
    """Model weights are missing, or are not the ones that were pinned."""


class ItemError(TraceError):
    """One item cannot be done; ``failure`` says why."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message)


class AudioError(ItemError):
    """A clip cannot be read."""


class EvidenceError(ItemError):
    """A judge lacks what it needs to know of an item."""


class TransportError(ItemError):
    """A model could not be asked."""


class UnreadableReply(ItemError):
    """A model answered, but not in the form that was asked for."""
