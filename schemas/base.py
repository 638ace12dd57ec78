"""What every document of the project has in common: frozen, strict, one canonical JSON, one digest.

A *document* goes to disk, over a network or to a user. It forbids unknown keys and NaN, and it serialises to exactly
one text, so its digest names its content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Document(BaseModel):
    """A frozen pydantic model; unknown keys and non-finite numbers are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")

    def canonical_json(self) -> str:
        """The one JSON text of this document: sorted keys, no spaces, UTF-8 kept."""
        return canonical_json(self.model_dump(mode="json"))

    def digest(self) -> str:
        """The sha256 of :meth:`canonical_json`, in hexadecimal."""
        return text_digest(self.canonical_json())

    def with_values(self, **values: object) -> Self:
        """A validated copy with some values replaced (``model_copy`` does not validate)."""
        return type(self).model_validate({**self.__dict__, **values})


class SparseDocument(Document):
    """A document whose absent (``None``) optional values are left out of its JSON instead of written as null."""

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces; raises ``ValueError`` on NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def text_digest(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Signature(Document):
    """What made a result: a name and the digest of all that can change it.

    Device, batch size, workers, keys and paths are no part of it. Printed as ``name@1a2b``.
    """

    name: str
    sha256: str

    @classmethod
    def of(cls, name: str, content: Mapping[str, object]) -> Signature:
        """The signature of a part called ``name`` whose result depends on ``content`` (JSON values)."""
        return cls(name=name, sha256=text_digest(canonical_json({"name": name, **content})))

    def __str__(self) -> str:
        return f"{self.name}@{self.sha256[:4]}"
