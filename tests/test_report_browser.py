"""The report in a real browser, opened from disk: sound plays, nothing runs, everyone can read it.

Needs Debian's ``chromium`` (or ``CHROMIUM``, the path of one) and the packages ``playwright`` and
``axe-playwright-python``, which brings axe-core along; nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from cases import blueprint, features
from test_report import item, judged, manifest

from trace_s2s.report import Row, write_report
from trace_s2s.schemas import Failure, FailureKind, Record

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

SCRIPT = """<script>document.title = "owned"; window.owned = true</script><img src=x onerror="window.owned = true">"""
CLIPS = {"what time is it? #1.wav": 0.5, "größe 100%.flac": 1.0, "b&'c.wav": 1.5}  # name: duration in seconds
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)
LOAD = """audio => new Promise((resolve, reject) => {
    audio.addEventListener("loadedmetadata", () => resolve([audio.readyState, audio.duration]));
    audio.addEventListener("error", () => reject(new Error(`${audio.src}: ${audio.error.message}`)));
    audio.preload = "auto";
    audio.load();
})"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail(
            "chromium is not installed; on Debian: apt-get install chromium; elsewhere set CHROMIUM to its path"
        )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("'playwright' is not installed; it comes with: pip install playwright axe-playwright-python")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three items: judged, judged without reasons, failed; two pages of it."""
    root = tmp_path_factory.mktemp("a run #1 with 100%")
    for name, duration_s in CLIPS.items():
        soundfile.write(root / name, 0.1 * np.sin(np.arange(int(16_000 * duration_s)) / 20), 16_000)
    spoken, first, second = CLIPS
    pair = {"instruction_path": spoken, "responses": [{"audio_path": first}, {"audio_path": second, "model": SCRIPT}]}
    blueprints = (blueprint(first, features(SCRIPT)), blueprint(second, features(pitch=None), pitch=failure()))
    reasons = {"content": SCRIPT, "voice_quality": "a reason of some length, " * 20}
    label = {"content": "2", "overall": "1"}
    rows = [
        Row(
            judged(SCRIPT, reasoning=reasons, label=label, acceptable={"content": (True, False)}, confidence=0.5),
            item(SCRIPT, **{**pair, "instruction_text": SCRIPT}),
            blueprint(spoken),
            blueprints,
        ),
        Row(judged("a-very-long-id-" * 20), item(**pair), None, blueprints),
        Row(Record(id="line 3", status="failed", failure=failure()), None, None, ()),
    ]
    facts = manifest(3, for_trying_only=True, n_failed=1, n_judged=2, failures={"unvoiced": 1}, model=SCRIPT)
    return write_report(root / "run" / "report", facts, rows, root, rows_per_page=2)


def failure() -> Failure:
    return Failure(kind=FailureKind.UNVOICED, message=f"no voiced frame in {SCRIPT}")


@pytest.fixture
def page(browser: Browser, index: Path) -> Iterator[Page]:
    """The first page; the test fails if the browser complains of anything."""
    opened = browser.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(index.as_uri())
    yield opened
    opened.close()
    assert complaints == []


def test_players_play_the_clips(page: Page) -> None:
    loaded = [player.evaluate(LOAD) for player in page.locator("#item-1 audio").all()]
    assert [duration_s for _, duration_s in loaded] == pytest.approx(list(CLIPS.values()), abs=1e-3)
    assert all(ready_state >= 1 for ready_state, _ in loaded)


def test_nothing_from_outside_runs(page: Page) -> None:
    assert page.evaluate("window.owned") is None
    assert page.title() != "owned"
    assert page.locator("script, img").count() == 0
    assert page.locator("#item-1 h3").inner_text() == SCRIPT
    assert page.locator("#item-1 .blueprint td", has_text=SCRIPT).count() > 0


def test_the_style_is_loaded(page: Page) -> None:
    assert page.locator(".card").first.evaluate("card => getComputedStyle(card).borderTopStyle") == "solid"


@pytest.mark.parametrize("width_px", [320, 390, 1280])
def test_the_page_never_scrolls_sideways(page: Page, width_px: int) -> None:
    page.set_viewport_size({"width": width_px, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert page.evaluate(OVERFLOW) == 0


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("number", [1, 2])
def test_axe_finds_nothing_serious(page: Page, index: Path, colours: str, number: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    if number == 2:
        page.get_by_role("link", name="next").first.click()
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    found = Axe().run(page, options={"preload": False}).response  # preloading would fetch the style sheet again
    assert len(found["passes"]) > 10
    serious = [rule for rule in found["violations"] if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in serious] == []


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.locator(".overview a").first.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#item-1")
    term = page.locator(".term", has_text="voiced share").first
    term.focus()
    shown = "element => getComputedStyle(element, '::after').content"
    assert term.evaluate(shown) == '"share of frames with a pitch, 0-1"'
    summary = page.locator("#item-2 summary")
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#item-2 .blueprint").is_visible()
