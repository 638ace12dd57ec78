"""The report: nothing from outside becomes markup, links lead to clips, every item has one card."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import pytest
from cases import blueprint, features

from trace_s2s.report import Row, write_report
from trace_s2s.report.contour import HEIGHT, MARGIN, WIDTH, draw
from trace_s2s.report.values import agrees, duration, number, quantity
from trace_s2s.schemas import Contour, Emotion, Failure, FailureKind, Item, Label, Ledger, Manifest, Record

NASTY = """<script>document.title = "owned"</script>"><img src=x onerror='alert(1)'> & &lt; {{ 7 * 7 }}"""
RATINGS = {"content": "1", "paralinguistics": "both_good", "voice_quality": "2"}
VOID = {"meta", "link", "polyline", "img", "br"}
BLOCKS = {"th", "td", "dt", "dd", "li", "p", "h1", "h2", "h3", "h4"}


class Parsed(HTMLParser):
    """The elements of a page, with their attributes; its text; and whether every element is closed in turn."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(path.read_text("utf-8"))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag
        if tag in BLOCKS:
            self.text += " "

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, tag: str, attribute: str) -> list[str]:
        return [value for name, attrs in self.elements if name == tag and (value := attrs.get(attribute)) is not None]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def manifest(n_items: int = 1, **values: Any) -> Manifest:
    facts: dict[str, Any] = {
        "signature": "judged 1/1 | judge:blueprint@9c2e:m | v0.1.0",
        "signatures": {},
        "judge": "blueprint",
        "model": "openai/m-2025",
        "for_trying_only": False,
        "n_items": n_items,
        "n_judged": n_items,
        "n_failed": 0,
        "failures": {},
        "ledger": Ledger(n_clips=2, n_extracted={"pitch": 2, "rate": 1}, n_sent=3, n_reused=4),
        "started_at": "2025-11-21T10:00:00+00:00",
        "wall_s": 3.0,
        "extract_s": 2.0,
        "judge_s": 1.0,
        "versions": {},
        "machine": {},
    }
    return Manifest(**{**facts, **values})


def item(name: str = "clock", **values: Any) -> Item:
    facts: dict[str, Any] = {
        "id": name,
        "instruction_text": "What time is it?",
        "instruction_id": "i1",
        "responses": [{"audio_path": "a.wav", "model": "system-a"}, {"audio_path": "b.wav", "model": "system-b"}],
    }
    return Item.model_validate({**facts, **values})


def judged(name: str = "clock", **values: Any) -> Record:
    return Record.model_validate({"id": name, "status": "judged", "ratings": RATINGS, "overall": "1", **values})


def row(name: str = "clock", of_item: dict[str, Any] | None = None, **of_record: Any) -> Row:
    responses = (blueprint("a.wav"), blueprint("b.wav", features("No idea.")))
    return Row(judged(name, **of_record), item(name, **(of_item or {})), None, responses)


def page(folder: Path, *rows: Row, **of_manifest: Any) -> Parsed:
    return Parsed(write_report(folder / "run" / "report", manifest(len(rows), **of_manifest), iter(rows), folder))


def test_nothing_from_outside_becomes_markup(tmp_path: Path) -> None:
    failure = Failure(kind=FailureKind.UNVOICED, message=NASTY)
    shown = features(NASTY, pitch=None, emotion=Emotion(scores={NASTY: 0.9}))
    spoken = {"instruction_text": NASTY, "responses": [{"audio_path": f"{NASTY}.wav", "model": NASTY}] * 2}
    reasoning = dict.fromkeys(RATINGS, NASTY)
    rows = [
        Row(
            judged(NASTY, reasoning=reasoning, ratings={**RATINGS, NASTY: "1"}),
            item(NASTY, **spoken),
            blueprint("i.wav", shown),
            (blueprint("a.wav", shown, pitch=failure), blueprint("b.wav", shown, audio=failure)),
        ),
        Row(Record(id=f"{NASTY} 2", status="failed", failure=failure), None, None, ()),
    ]
    texts = {"judge": NASTY, "model": NASTY, "signature": NASTY, "models_answered": (NASTY,)}
    parsed = page(tmp_path, *rows, **texts, failures={NASTY: 1}, n_failed=1, n_judged=1)
    assert not {tag for tag, _ in parsed.elements} & {"script", "img", "iframe", "object", "embed"}
    assert not [key for _, attributes in parsed.elements for key in attributes if key.startswith("on")]
    assert all("style" not in attributes for _, attributes in parsed.elements)
    assert parsed.values("article", "data-id") == [NASTY, f"{NASTY} 2"]
    # ids twice, models twice, given instruction, both heard, three transcripts, reasons, failure messages, scores, head
    assert parsed.text.count(NASTY) >= 20


def test_links_lead_to_the_clips_whatever_their_names(tmp_path: Path) -> None:
    root = tmp_path / "the clips #1"
    names = ["instruction 100%.wav", "größe #2?.wav", "sub%20dir/a&b=c;d:'é'.WAV"]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    spoken = {"instruction_path": names[0], "responses": [{"audio_path": name} for name in names[1:]]}
    index = write_report(tmp_path / "run %41" / "report", manifest(), [row(of_item=spoken)], root)
    parsed = Parsed(index)
    urls = [urljoin(index.as_uri(), source) for source in parsed.values("audio", "src")]
    found = [Path(url2pathname(urlsplit(url).path)) for url in urls]
    assert [path.read_bytes() for path in found] == [name.encode() for name in names]
    assert not any(urlsplit(url).query or urlsplit(url).fragment for url in urls)
    assert parsed.values("audio", "preload") == ["none"] * 3
    labels = ["instruction of item clock", "response 1 of item clock", "response 2 of item clock"]
    assert parsed.values("audio", "aria-label") == labels


def test_links_do_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative = Parsed(write_report(Path("run/report"), manifest(), [row()], Path("clips")))
    assert relative.values("audio", "src") == ["../../clips/a.wav", "../../clips/b.wav"]


def test_no_player_where_there_is_nothing_to_play(tmp_path: Path) -> None:
    missing = Failure(kind=FailureKind.MISSING_FILE, message="'b.wav' does not exist")
    silent = Failure(kind=FailureKind.SILENT, message="'a.wav' is silent")
    responses = (blueprint("a.wav", features(), audio=silent), blueprint("b.wav", features(), audio=missing))
    parsed = page(tmp_path, Row(judged(), item(), None, responses))
    assert [source.rpartition("/")[2] for source in parsed.values("audio", "src")] == ["a.wav"]
    assert "missing file: 'b.wav' does not exist" in parsed.words


def test_an_unusable_line_has_its_card(tmp_path: Path) -> None:
    failure = Failure(kind=FailureKind.BAD_LINE, message="pairs.jsonl line 7: no JSON; mend the line")
    record = Record(id="line 7", status="failed", failure=failure)
    parsed = page(tmp_path, Row(record, None, None, ()), n_judged=0, n_failed=1, failures={"bad_line": 1})
    assert parsed.values("article", "data-id") == ["line 7"]
    assert "bad line: pairs.jsonl line 7: no JSON; mend the line" in parsed.words
    assert "0 judged of 1, 1 failed (bad line 1)" in parsed.words
    assert parsed.values("audio", "src") == []


def test_a_failed_item_keeps_its_players_and_human_labels(tmp_path: Path) -> None:
    failure = Failure(kind=FailureKind.TIMEOUT, message="no reply within 120 s")
    record = Record(id="clock", status="failed", failure=failure, label={"content": "2", "overall": "tie"})
    parsed = page(tmp_path, Row(record, item(), None, (blueprint("a.wav"), blueprint("b.wav"))))
    assert len(parsed.values("audio", "src")) == 2
    assert "failed: timeout" in parsed.words
    assert "content response 2 overall tie" in parsed.words
    assert "gives no reasons" not in parsed.words


def test_every_item_is_on_one_page(tmp_path: Path) -> None:
    names = [f"item {count}" for count in range(5)]
    folder = tmp_path / "report"
    write_report(folder, manifest(9), map(row, map(str, range(9))), tmp_path, rows_per_page=2)
    write_report(folder, manifest(5), map(row, names), tmp_path, rows_per_page=2)
    pages = [Parsed(folder / name) for name in ("index.html", "page-2.html", "page-3.html")]
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "page-2.html", "page-3.html", "style.css"]
    assert [name for page in pages for name in page.values("article", "data-id")] == names
    links = [[link for link in page.values("a", "href") if not link.startswith("#")] for page in pages]
    assert links == [["page-2.html"] * 2, ["index.html", "page-3.html"] * 2, ["page-2.html"] * 2]
    assert all(f"page {count} of 3" in page.words for count, page in enumerate(pages, start=1))
    for page in pages:
        anchors = [link[1:] for link in page.values("a", "href") if link.startswith("#")]
        ids = Counter(value for _, attributes in page.elements if (value := attributes.get("id")))
        assert set(anchors) <= set(ids)
        assert set(ids.values()) == {1}


def test_a_page_is_written_before_the_next_is_read(tmp_path: Path) -> None:
    def rows() -> Iterator[Row]:
        for count in range(5):
            assert len(list(tmp_path.glob("report/*.html"))) == count // 2
            yield row(str(count))

    write_report(tmp_path / "report", manifest(5), rows(), tmp_path, rows_per_page=2)


@pytest.mark.parametrize("n_rows", [2, 4])
def test_rows_are_as_many_as_the_manifest_says(tmp_path: Path, n_rows: int) -> None:
    rows = [row(str(count)) for count in range(n_rows)]
    with pytest.raises(ValueError, match=f"has 3 items, but {n_rows} rows"):
        write_report(tmp_path, manifest(3), rows, tmp_path, rows_per_page=2)


def test_a_run_of_nothing_has_a_page(tmp_path: Path) -> None:
    assert "0 judged of 0" in page(tmp_path).words


@pytest.mark.parametrize("for_trying_only", [True, False])
def test_verdicts_for_trying_say_so(tmp_path: Path, for_trying_only: bool) -> None:
    folder = tmp_path / "report"
    write_report(folder, manifest(2, for_trying_only=for_trying_only), [row("1"), row("2")], tmp_path, rows_per_page=1)
    for name in ("index.html", "page-2.html"):
        said = "for trying the pipeline only; they say nothing about the systems" in Parsed(folder / name).words
        assert said == for_trying_only


def test_the_head_says_how_the_numbers_were_made(tmp_path: Path) -> None:
    said = page(tmp_path, row()).words
    for fact in (
        "run 1 judged of 1, by judge blueprint with model openai/m-2025",
        "3.00 s: measuring 2.00 s, judging 1.00 s",
        "Measured in this run pitch 2, rate 1",
        "From the store none",
        "3 sent, 4 reused",
        "judged 1/1 | judge:blueprint@9c2e:m | v0.1.0",
    ):
        assert fact in said


def test_only_what_was_measured_is_compared(tmp_path: Path) -> None:
    reason = Failure(kind=FailureKind.UNVOICED, message="no voiced frame")
    without = {"voice": None, "turns": None, "emotion": None}
    first = blueprint("a.wav", features(**without))
    second = blueprint("b.wav", features(pitch=None, rate=None, **without), pitch=reason, turns=reason)
    parsed = page(tmp_path, Row(judged(), item(), None, (first, second)))
    said = parsed.words
    assert "transcript, quality, accent, pitch, loudness, rate, turns" in said
    assert "not measured: unvoiced: no voiced frame" in said
    assert "jitter" not in said
    assert "measured response 1 response 2" in said
    assert parsed.values("td", "rowspan") == ["5", "4", "1", "1"]  # pitch, rate; turns of both
    measured_instruction = page(tmp_path, Row(judged(), item(), first, (first, second)))
    assert "measured instruction response 1 response 2" in measured_instruction.words


def test_fields_are_explained_by_the_schema(tmp_path: Path) -> None:
    parsed = page(tmp_path, row())
    terms = [attributes for tag, attributes in parsed.elements if attributes.get("class") == "term"]
    assert "mean pitch over voiced frames in hertz" in [attributes["title"] for attributes in terms]
    assert {attributes["tabindex"] for attributes in terms} == {"0"}
    said = parsed.words
    assert "scores us 0.69 canada 0.43 england 0.26 wales 0.18" in said  # by score
    assert "0.25" not in said  # words are counted, not listed
    assert "spectral tilt dB −17.0 −17.0" in said


def test_verdict_reasons_and_labels_stand_together(tmp_path: Path) -> None:
    parsed = page(
        tmp_path,
        row(
            reasoning={"content": "2 is off topic."},
            acceptable={"content": (True, False)},
            label={"content": "1", "voice_quality": "both_good", "overall": "2"},
        ),
        row("other", models=("x", "y")),
    )
    said = parsed.words
    assert "content response 1 only 1 response 1 2 is off topic. voice quality response 2 – both good differs" in said
    assert "overall response 1, human response 2: disagree" in said
    assert said.count("the judge gives no reasons") == 1
    assert "clock judged response 1 response 2 both good response 1 response 2 no" in said
    assert "other judged response 1 response 2 both good response 1 – –" in said


def test_an_instruction_without_text_is_shown_by_its_transcript(tmp_path: Path) -> None:
    spoken = item(instruction_text=None, instruction_path="i.wav")
    instruction = blueprint("i.wav", features("Say it slowly."))
    parsed = page(tmp_path, Row(judged(), spoken, instruction, (blueprint("a.wav"), blueprint("b.wav"))))
    assert "transcript of the clip, no text was given: Say it slowly." in parsed.words


def test_one_response_is_scored(tmp_path: Path) -> None:
    alone = item(responses=[{"audio_path": "a.wav"}])
    record = Record(id="clock", status="judged", ratings={"helpful": 4.0}, overall=4.0)
    parsed = page(tmp_path, Row(record, alone, None, (blueprint("a.wav"),)))
    assert "clock judged 4 4 – –" in parsed.words
    assert parsed.values("audio", "aria-label") == ["response of item clock"]


def test_a_contour_is_drawn_to_scale_with_its_gaps() -> None:
    contours = [
        Contour(start_s=0.0, step_s=0.5, values=(100.0, 200.0, None, 150.0)),
        Contour(start_s=1.0, step_s=0.5, values=(300.0, None)),
        Contour(start_s=0.0, step_s=0.5, values=(None, None)),
    ]
    first, second, third = draw(contours, quantity("mean_hz"))
    assert first is not None
    assert second is not None
    # maths: four steps fill the width, a value in the middle of each; 100 is at the bottom, 300 would be at the top
    step = (WIDTH - 2 * MARGIN) / 4
    x = [int(MARGIN + step * (index + 0.5)) for index in range(4)]
    bottom, middle, quarter = HEIGHT - MARGIN, HEIGHT // 2, int(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) / 4)
    assert first.lines == (f"{x[0]},{bottom} {x[1]},{middle}", f"{x[3]},{quarter} {x[3]},{quarter}")
    assert second.lines == (f"{x[2]},{MARGIN} {x[2]},{MARGIN}",)
    assert third is None
    assert (first.extent, first.end) == ("100 to 200 Hz", "2.0 s")
    assert first.alternative.endswith("beginning, middle and end: 150, 150")


def test_long_contours_are_thinned_and_keep_their_extremes() -> None:
    values = tuple(float(value) for value in range(60_000))
    (drawing,) = draw([Contour(start_s=0.0, step_s=0.01, values=values)], quantity("integrated_lufs"))
    assert drawing is not None
    assert len(drawing.lines[0].split()) <= 100
    assert drawing.extent == "0.0 to 59999.0 LUFS"


def test_numbers_are_worded() -> None:
    assert [number(-0.04, 1), number(-12.34, 1), number(3, 2), number(0.5, 0)] == ["0.0", "−12.3", "3", "0"]
    assert [duration(0.421), duration(9.999), duration(59.6), duration(185), duration(7_800)] == [
        *("0.42 s", "10 s", "1 min 00 s", "3 min 05 s", "2 h 10 min")
    ]


def test_an_untyped_tie_agrees_with_both_ties() -> None:
    assert [agrees(label, "tie") for label in Label] == [False, False, True, True]
    assert agrees(Label.BOTH_GOOD, Label.BOTH_BAD) is False
    assert agrees(3.0, Label.FIRST) is None


def test_a_file_name_that_is_no_unicode_is_linked(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.wav")
    spoken = item().model_copy(update={"responses": (item().responses[0].model_copy(update={"audio_path": name}),) * 2})
    parsed = page(tmp_path, Row(judged(), spoken, None, (blueprint("a.wav"), blueprint("b.wav"))))
    assert parsed.values("audio", "src") == ["../../%FF.wav"] * 2
