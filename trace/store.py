"""What was paid for is kept: measurements of clips, and replies of models, each in one SQLite file.

Both files are in WAL mode, so that several processes may use them at once, and everything is written before it is
used, so that a killed process loses nothing.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from trace_s2s.schemas import (
    FEATURES,
    Clip,
    Failure,
    FailureKind,
    Feature,
    InputError,
    Reply,
    Request,
    Signature,
    Usage,
)

FORMAT = 1
BUSY_S = 60.0

_BLUEPRINTS = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER,
    sha256 TEXT, duration_s REAL, sample_rate_hz INTEGER, is_silent INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS features (
    sha256 TEXT, feature_group TEXT, signature TEXT, is_failure INTEGER, value TEXT, device_s REAL, measured_at REAL,
    PRIMARY KEY (sha256, feature_group, signature)
) WITHOUT ROWID;
"""
_REPLIES = """
CREATE TABLE IF NOT EXISTS replies (digest TEXT PRIMARY KEY, request TEXT, reply TEXT, answered_at REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
    number INTEGER PRIMARY KEY, run TEXT, digest TEXT, sent_at REAL, ended_at REAL, outcome TEXT, usage TEXT
);
CREATE INDEX IF NOT EXISTS ledger_by_run ON ledger (run);
"""


def store_folder(given: str | None) -> Path:
    """Where measurements and replies are kept: as given, else ``TRACE_STORE``, else the user's cache folder."""
    named = given or os.environ.get("TRACE_STORE")
    return Path(named) if named else platformdirs.user_cache_path("trace-s2s")


class _Database:
    def __init__(self, path: Path, schema: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.execute("PRAGMA synchronous=NORMAL")
            (found,) = self.connection.execute("PRAGMA user_version").fetchone()
            if found not in (0, FORMAT):
                message = f"store {str(path)!r} has format {found}, and this version reads {FORMAT}"
                raise InputError(f"{message}; give another --store")
            if not found:
                self.connection.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version={FORMAT}; COMMIT;")
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"store {str(path)!r} cannot be used: {error}; give another --store") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()


@dataclass(frozen=True, slots=True)
class KnownClip:
    """A clip whose content is known without decoding it."""

    clip: Clip
    is_silent: bool


class BlueprintStore(_Database):
    """Measurements by the digest of the clip's samples and the signature of how they were made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "blueprints.sqlite", _BLUEPRINTS)

    def known_clip(self, path: Path, shown: str) -> KnownClip | None:
        """The clip in a file that has not changed since it was decoded; None if it has, or never was.

        Raises:
            OSError: the file cannot be looked at.
        """
        found = path.stat()
        row = self.connection.execute(
            "SELECT sha256, duration_s, sample_rate_hz, is_silent FROM files WHERE path=? AND size=? AND mtime_ns=?",
            (str(path), found.st_size, found.st_mtime_ns),
        ).fetchone()
        if row is None:
            return None
        return KnownClip(Clip(path=shown, sha256=row[0], duration_s=row[1], sample_rate_hz=row[2]), bool(row[3]))

    def put_clip(self, path: Path, known: KnownClip) -> None:
        """Remember what a file holds."""
        found = path.stat()
        clip = known.clip
        self.connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?)",
            (
                *(str(path), found.st_size, found.st_mtime_ns),
                *(clip.sha256, clip.duration_s, clip.sample_rate_hz, known.is_silent),
            ),
        )

    def missing(self, sha256: str, signatures: Mapping[str, Signature]) -> list[str]:
        """Which of these groups were not measured yet of this clip."""
        rows = self.connection.execute("SELECT feature_group, signature FROM features WHERE sha256=?", (sha256,))
        known = set(rows.fetchall())
        return [name for name, signature in signatures.items() if (name, signature.sha256) not in known]

    def get(self, sha256: str, signatures: Mapping[str, Signature]) -> dict[str, Feature | Failure]:
        """What is known of a clip, of these groups."""
        rows = self.connection.execute(
            "SELECT feature_group, signature, is_failure, value FROM features WHERE sha256=?", (sha256,)
        )
        return {
            name: (Failure if is_failure else FEATURES[name]).model_validate_json(value)
            for name, signature, is_failure, value in rows
            if name in signatures and signatures[name].sha256 == signature
        }

    def put(
        self, name: str, signature: Signature, measured: Iterable[tuple[str, Feature | Failure]], device_s: float
    ) -> None:
        """Keep one group of several clips; ``device_s`` is what each cost."""
        now = time.time()
        rows = [
            (sha256, name, signature.sha256, isinstance(value, Failure), value.canonical_json(), device_s, now)
            for sha256, value in measured
        ]
        with self.connection:
            self.connection.executemany("INSERT OR REPLACE INTO features VALUES (?,?,?,?,?,?,?)", rows)


class ReplyStore(_Database):
    """Replies, word for word, by the digest of the request; and the ledger of everything that was sent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "replies.sqlite", _REPLIES)

    def get(self, digest: str) -> Reply | None:
        """The reply to a request, if there has been one."""
        row = self.connection.execute("SELECT reply FROM replies WHERE digest=?", (digest,)).fetchone()
        return Reply.model_validate_json(row[0]) if row else None

    def begin(self, run: str, digest: str) -> int:
        """Note that a request is about to be sent; gives its number in the ledger."""
        cursor = self.connection.execute(
            "INSERT INTO ledger (run, digest, sent_at, outcome) VALUES (?,?,?,'sent')", (run, digest, time.time())
        )
        return int(cursor.lastrowid or 0)

    def answered(self, number: int, digest: str, request: Request, reply: Reply) -> None:
        """Keep a reply, and note it in the ledger, at once."""
        now = time.time()
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(
            "INSERT OR REPLACE INTO replies VALUES (?,?,?,?)",
            (digest, request.canonical_json(), reply.canonical_json(), now),
        )
        self._end(number, "answered", now, reply.usage)
        self.connection.execute("COMMIT")

    def failed(self, number: int, kind: FailureKind) -> None:
        """Note in the ledger that a request got no reply."""
        self._end(number, kind, time.time(), None)

    def _end(self, number: int, outcome: str, now: float, usage: Usage | None) -> None:
        self.connection.execute(
            "UPDATE ledger SET ended_at=?, outcome=?, usage=? WHERE number=?",
            (now, outcome, usage.canonical_json() if usage else None, number),
        )

    def spent(self, run: str) -> tuple[Usage, int, int]:
        """What a run has consumed, over all its starts: usage, requests without reply, and those cut off by a kill."""
        usage, n_faults, n_lost = Usage(), 0, 0
        for outcome, used in self.connection.execute("SELECT outcome, usage FROM ledger WHERE run=?", (run,)):
            if used:
                usage = usage + Usage.model_validate_json(used)
            n_lost += outcome == "sent"
            n_faults += outcome not in ("sent", "answered")
        return usage, n_faults, n_lost
