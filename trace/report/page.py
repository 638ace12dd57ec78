"""Writing the report: a page a hundred items, each made and written before the next, so that memory stays flat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from trace_s2s.schemas import FEATURES, Manifest

from .card import Card, Row, card, dimensions
from .comparison import Field, fields
from .values import acceptable_words, duration, number, rating_words, words

STYLE = "style.css"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the report."""

    run: str
    manifest: Manifest
    number: int
    n_pages: int
    cards: tuple[Card, ...]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that some item of the page has."""
        return dimensions(card.record for card in self.cards)

    @property
    def before(self) -> str | None:
        return file_name(self.number - 1) if self.number > 1 else None

    @property
    def after(self) -> str | None:
        return file_name(self.number + 1) if self.number < self.n_pages else None


def write_report(
    folder: Path, manifest: Manifest, rows: Iterable[Row], audio_root: Path, rows_per_page: int = 100
) -> Path:
    """Write the pages of a run and give the path of the first, ``index.html``.

    The pages hold no sound: they link to the clips where they lie, by paths relative to ``folder``.

    Args:
        folder: where the pages go; pages of an earlier report there are replaced.
        manifest: what the run was; its number of items tells the number of pages.
        rows: the items in order; read once.
        audio_root: where the items' audio paths start.
        rows_per_page: items a page.

    Raises:
        ValueError: there are not as many rows as the manifest says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    templates = environment()
    _write(folder / STYLE, templates.get_template("style.css.jinja").render())
    template = templates.get_template("page.html.jinja")
    n_pages = max(1, -(-manifest.n_items // rows_per_page))
    _remove_pages_after(n_pages, folder)
    cards = (card(count, row, audio_root, folder) for count, row in enumerate(rows, start=1))
    n_rows = 0
    for page_number in range(1, n_pages + 1):
        page = Page(run_name(folder), manifest, page_number, n_pages, tuple(islice(cards, rows_per_page)))
        _write(folder / file_name(page_number), template.render(page=page))
        n_rows += len(page.cards)
    n_rows += sum(1 for _ in cards)
    if n_rows != manifest.n_items:
        raise ValueError(f"the manifest has {manifest.n_items} items, but {n_rows} rows came for the report")
    return folder / file_name(1)


def environment() -> Environment:
    """The templates. Everything from clips, models and manifests is escaped: there is no way round it in them."""
    templates = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "acceptable": acceptable_words,
        "counts": counts_words,
        "duration": duration,
        "number": number,
        "rating": rating_words,
        "words": words,
    }
    heads: dict[Field, str] = {}
    templates.globals["heads"] = heads
    head = vars(templates.get_template("card.html.jinja").module)["head"]
    heads |= {field: head(field) for group in FEATURES for field in fields(group)}
    return templates


def file_name(page_number: int) -> str:
    """The file of a page."""
    return "index.html" if page_number == 1 else f"page-{page_number}.html"


def run_name(folder: Path) -> str:
    """What the page calls the run: its folder, of which the report is a part."""
    folder = folder.resolve()
    return folder.parent.name if folder.name == "report" else folder.name


def counts_words(counts: Mapping[str, int]) -> str:
    """Counts by name: ``12 each: pitch, rate``, or ``pitch 12, rate 11``; feature groups in their own order."""
    names = sorted((name for name in counts if counts[name]), key=[*FEATURES, *sorted(counts)].index)
    if not names:
        return "none"
    if len(names) > 2 and len({counts[name] for name in names}) == 1:
        return f"{counts[names[0]]:,} each: {', '.join(map(words, names))}"
    return ", ".join(f"{words(name)} {counts[name]:,}" for name in names)


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", errors="replace", newline="\n")


def _remove_pages_after(n_pages: int, folder: Path) -> None:
    for path in folder.glob("page-*.html"):
        page_number = path.stem.removeprefix("page-")
        if page_number.isdecimal() and int(page_number) > n_pages:
            path.unlink()
