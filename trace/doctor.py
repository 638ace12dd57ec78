"""What this machine can do: extractors, judges, weights, devices and keys, and what brings the missing ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from trace_s2s.extractors import EXTRACTORS, PROFILES, extractor_class
from trace_s2s.judges import JUDGES
from trace_s2s.judges.embedded import embedded_weights
from trace_s2s.schemas import Document, MissingPackage, WeightsError, install_command

from .store import store_folder

SENDS = {
    "blueprint": "text to the named model: instruction, transcripts, measurements; no audio",
    "transcript": "text to the named model: instruction, transcripts; no audio",
    "random": "nothing",
    "quality-only": "nothing",
}
KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TRACE_STORE", "HF_HOME", "HF_HUB_OFFLINE")


class Finding(Document):
    """One thing that was looked at."""

    part: str
    name: str
    is_there: bool
    detail: str
    remedy: str | None = None


def examine(store: str | None) -> Iterator[Finding]:
    """Everything that a user may wonder about."""
    yield from map(_extractor, EXTRACTORS)
    yield _embedded_model()
    yield _package("openai", "OpenAI-compatible servers", "llm")
    for name in JUDGES:
        yield Finding(part="judge", name=name, is_there=True, detail=f"sends {SENDS[name]}")
    yield _device()
    for key in KEYS:
        is_set = key in os.environ
        detail = ("set" if key.startswith("OPENAI") else os.environ[key]) if is_set else "not set"  # may hold secrets
        yield Finding(part="environment", name=key, is_there=is_set, detail=detail)
    yield Finding(part="store", name="folder", is_there=True, detail=str(store_folder(store)))


def _extractor(name: str) -> Finding:
    kind = extractor_class(name)
    profiles = ", ".join(profile for profile, groups in PROFILES.items() if name in groups)
    lacking = [package for package in kind.packages if find_spec(package) is None]
    licence = f"weights: {kind.weights_licence}" if kind.weights_licence else "no weights"
    if not lacking:
        return Finding(part="extractor", name=name, is_there=True, detail=f"profile {profiles}; {licence}")
    remedy = install_command(kind.packages[lacking[0]])
    return Finding(
        part="extractor", name=name, is_there=False, detail=f"{', '.join(lacking)} not installed", remedy=remedy
    )


def _embedded_model() -> Finding:
    name = "embedded (SmolLM2-135M)"
    try:
        path = embedded_weights()
    except (MissingPackage, WeightsError) as error:
        what, _, remedy = str(error).partition("; it comes with: ")
        return Finding(part="model", name=name, is_there=False, detail=what, remedy=remedy or None)
    return Finding(part="model", name=name, is_there=True, detail=f"{path.name}; weights: Apache-2.0; for trying only")


def _package(package: str, name: str, extra: str) -> Finding:
    is_there = find_spec(package) is not None
    detail = f"{package} {'is' if is_there else 'is not'} installed"
    return Finding(
        part="model", name=name, is_there=is_there, detail=detail, remedy=None if is_there else install_command(extra)
    )


def _device() -> Finding:
    """The GPU, as far as can be told without importing torch."""
    n_cpus = os.cpu_count() or 1
    has_gpu = Path("/dev/nvidia0").exists()
    return Finding(
        part="device", name="cpu", is_there=True, detail=f"{n_cpus} cores, GPU: {'yes' if has_gpu else 'none'}"
    )
