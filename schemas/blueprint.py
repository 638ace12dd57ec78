"""The blueprint: everything measured of one clip, with where it came from and what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from .base import Document, Signature
from .errors import Failure
from .features import Features


class Clip(Document):
    """A piece of sound. All but the path is ``None`` where the file could not be read."""

    path: str = Field(description="path as the manifest gives it")
    sha256: str | None = Field(None, description="digest of the decoded samples at native rate, all channels")
    duration_s: float | None = Field(None, description="duration in seconds")
    sample_rate_hz: int | None = Field(None, description="native sample rate in hertz")


class Blueprint(Document):
    """All that was measured of one clip."""

    schema_version: Literal[1] = 1
    clip: Clip
    features: Features = Features()
    failures: Mapping[str, Failure] = Field({}, description="by feature group, or under 'audio' for the whole clip")
    provenance: Mapping[str, Signature] = Field({}, description="signature of the extractor of each group")
