"""The command line. Each command parses, calls one function, and prints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .schemas import InputError, TraceError

if TYPE_CHECKING:
    from .progress import Progress

app = typer.Typer(
    name="trace-s2s",
    help="Judge speech-to-speech systems pair by pair: measure the clips, let a text LLM rate each dimension, fuse.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
)

OK, BUG, BAD_INPUT, SOME_FAILED, NONE_JUDGED, INTERRUPTED = 0, 1, 2, 3, 4, 130

ManifestPath = Annotated[
    str | None, typer.Argument(metavar="MANIFEST", help="Pairs: .jsonl, .json, .csv or .parquet; or in --config.")
]
Output = Annotated[str | None, typer.Option("-o", "--output", help="The folder to write; or in --config.")]
Store = Annotated[
    str | None,
    typer.Option("--store", help="Folder of measurements and replies; default: TRACE_STORE, else the user's cache."),
]
AudioRoot = Annotated[str | None, typer.Option(help="Where audio paths start; default: the manifest's folder.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N items.")]
Profile = Annotated[str | None, typer.Option(help="Set of extractors; default: embedded.")]
FeatureNames = Annotated[str | None, typer.Option("--features", help="Only these groups, separated by commas.")]
Drop = Annotated[str | None, typer.Option(help="Leave these groups out, separated by commas.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="part.option=value, e.g. judge.max_tokens=800.")]
Config = Annotated[str | None, typer.Option(help="A TOML run file, such as the run.toml of another run.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Policy = Annotated[str | None, typer.Option(help="Fusion policy; default: the rubric's.")]
Offline = Annotated[bool, typer.Option("--offline", help="Refuse models that are not on this machine.")]
Seed = Annotated[int | None, typer.Option(help="Of everything random.")]


@app.command(epilog="Example: trace-s2s demo -o demo-run")
def demo(output: Output = "demo-run", store: Store = None, quiet: Quiet = False) -> None:
    """Judge the bundled pairs with the embedded model: the whole pipeline, offline."""
    from importlib.resources import as_file, files

    with as_file(files("trace_s2s") / "examples") as folder:
        flags = {"manifest": str(folder / "pairs.jsonl"), "output": output, "store": store}
        _run(None, None, flags, quiet)


@app.command(
    epilog="Examples: trace-s2s judge pairs.jsonl -o run --model openai/NAME; trace-s2s judge --config run.toml"
)
def judge(
    manifest: ManifestPath = None,
    output: Output = None,
    judge: Annotated[str | None, typer.Option(help="blueprint, transcript, random or quality-only.")] = None,
    model: Annotated[str | None, typer.Option(help="openai/MODEL, or embedded (for trying).")] = None,
    rubric: Annotated[str | None, typer.Option(help="Name or .toml file; default: hcot.")] = None,
    layout: Annotated[str | None, typer.Option(help="paper or compact.")] = None,
    reply_form: Annotated[str | None, typer.Option(help="steps or direct.")] = None,
    instruction_evidence: Annotated[str | None, typer.Option(help="none, transcript or blueprint.")] = None,
    policy: Policy = None,
    max_connections: Annotated[int | None, typer.Option(min=1, help="Requests under way at once.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again for failed items.")] = False,
    profile: Profile = None,
    features: FeatureNames = None,
    drop: Drop = None,
    weights: Annotated[str | None, typer.Option(help="Folder with model weights.")] = None,
    store: Store = None,
    audio_root: AudioRoot = None,
    limit: Limit = None,
    seed: Seed = None,
    offline: Offline = False,
    settings: Settings = None,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Judge pairs of spoken answers; measures first what the store lacks. A second start does only what is missing."""
    flags = {
        **{"manifest": manifest, "output": output, "policy": policy, "store": store, "audio_root": audio_root},
        **{"limit": limit, "seed": seed, "retry_failed": retry_failed or None, "offline": offline or None},
        **{"judge.kind": judge, "judge.model": model, "judge.rubric": rubric, "judge.layout": layout},
        **{"judge.reply_form": reply_form, "judge.instruction_evidence": instruction_evidence},
        "judge.max_connections": max_connections,
        **_extract_flags(profile, features, drop, weights),
    }
    _run(config, settings, flags, quiet)


@app.command(epilog="Example: trace-s2s extract pairs.jsonl -o blueprints --drop voice,turns")
def extract(
    manifest: ManifestPath = None,
    output: Output = None,
    profile: Profile = None,
    features: FeatureNames = None,
    drop: Drop = None,
    weights: Annotated[str | None, typer.Option(help="Folder with model weights.")] = None,
    store: Store = None,
    audio_root: AudioRoot = None,
    limit: Limit = None,
    settings: Settings = None,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Stage 1 only: measure every clip and write OUTPUT/blueprints.jsonl."""
    from .extract import extract_manifest
    from .options import resolve_spec

    flags = {
        **{"manifest": manifest, "output": output, "store": store, "audio_root": audio_root, "limit": limit},
        **_extract_flags(profile, features, drop, weights),
    }
    done = extract_manifest(resolve_spec(config, settings or [], flags), _progress(quiet))
    for reasons in done.failures.values():
        for reason in reasons:
            typer.echo(reason, err=True)
    typer.echo(done.line())
    raise typer.Exit(_exit_code(done.n, len(done.failures)))


@app.command(epilog="Examples: trace-s2s fuse run --policy s2s-arena; trace-s2s fuse --policy majority --table")
def fuse(
    policy: Annotated[str, typer.Option(help="Name of a fusion policy.")],
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder.")] = None,
    table: Annotated[bool, typer.Option("--table", help="Print the policy's truth table; needs no run.")] = False,
) -> None:
    """Fuse a run's ratings again by another policy, asking nothing; writes RUN/fused-POLICY.jsonl."""
    from .fuse import fuse_run
    from .fusion import get_policy

    if table:
        typer.echo(json.dumps(get_policy(policy).documents(), indent=1))
    elif run is None:
        raise InputError("give a run folder to fuse again, or --table to see the policy")
    else:
        typer.echo(f"wrote {fuse_run(run, policy)}")


@app.command(epilog="Examples: trace-s2s agree run; trace-s2s agree --labels gold.csv --predictions mine.csv --json")
def agree(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Human labels, in a manifest's format.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Labels given by some judge.")] = None,
    policy: Annotated[str | None, typer.Option(help="Fuse overall labels anew by this policy.")] = None,
    judged_only: Annotated[bool, typer.Option("--judged-only", help="Leave failed items out of n.")] = False,
    seed: Annotated[int, typer.Option(help="Of the bootstrap and the random baseline.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Agreement with human labels: of runs, or of predictions made elsewhere."""
    from .agree import agree_files, agree_run
    from .show import show_agreement

    if labels and predictions and not runs:
        reports = [agree_files(labels, predictions, policy, judged_only, seed)]
    elif runs and not labels and not predictions:
        reports = [agree_run(run, policy, judged_only, seed) for run in runs]
    else:
        raise InputError("give run folders, or both --labels and --predictions")
    if as_json:
        documents = [report.model_dump(mode="json") for report in reports]
        typer.echo(json.dumps(documents[0] if len(documents) == 1 else documents, indent=1))
    else:
        for report in reports:
            show_agreement(report)


@app.command(epilog="Example: trace-s2s doctor")
def doctor(store: Store = None, as_json: AsJson = False) -> None:
    """What is there: extractors, weights and their licences, judges and what they send, devices, keys; and remedies."""
    from .doctor import examine
    from .show import show_findings

    findings = list(examine(store))
    if as_json:
        typer.echo(json.dumps([finding.model_dump(mode="json") for finding in findings], indent=1))
    else:
        show_findings(findings)


@app.command(epilog="Example: trace-s2s schema record")
def schema(name: Annotated[str, typer.Argument(help="Name of a document, such as blueprint or record.")]) -> None:
    """Print the JSON Schema of a document."""
    from .schemas import SCHEMAS

    if name.lower() not in SCHEMAS:
        raise InputError(f"no document is called {name!r}; there are: {', '.join(SCHEMAS)}")
    typer.echo(json.dumps(SCHEMAS[name.lower()].model_json_schema(), indent=1))


def _extract_flags(profile: str | None, features: str | None, drop: str | None, weights: str | None) -> dict[str, Any]:
    return {
        "extract.profile": profile,
        "extract.features": _names(features),
        "extract.drop": _names(drop),
        "extract.weights": weights,
    }


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"{text!r} names no feature group between its commas; give names such as pitch,loudness")
    return names


def _run(config: str | None, settings: list[str] | None, flags: dict[str, Any], quiet: bool) -> None:
    from .engine import evaluate
    from .options import resolve_spec
    from .show import show_run

    try:
        result = evaluate(resolve_spec(config, settings or [], flags), _progress(quiet))
    except KeyboardInterrupt:
        typer.echo("stopped; what was done is kept, and the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    show_run(result)
    manifest = result.manifest
    raise typer.Exit(_exit_code(manifest.n_items, manifest.n_failed))


def _exit_code(n: int, n_failed: int) -> int:
    if n_failed == n:
        return NONE_JUDGED
    return SOME_FAILED if n_failed else OK


def _progress(quiet: bool) -> Progress:
    from .progress import Bars, Silent

    return Bars() if sys.stderr.isatty() and not quiet else Silent()


def main() -> None:
    """Run the command line; errors that a user can mend are one line and exit 2."""
    try:
        app()
    except TraceError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(BAD_INPUT)
