"""Report and viewer in a real Chromium: opened, filtered, paged, read, compared, printed; the console stays silent.

``VARIANTBENCH_SCREENSHOTS=FOLDER`` keeps what it saw.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from variantbench.plugins.report.build import build_report
from variantbench.plugins.report.files import render
from variantbench.plugins.store import open_store


@pytest.fixture(scope="module")
def reports(stored, tmp_path_factory):
    """The HTML reports of the store's runs, as addresses."""
    folder = tmp_path_factory.mktemp("html")
    found = {}
    with open_store(stored.path) as store:
        for name, runs in (("study", [stored.study]), ("history", [stored.before, stored.after]),
                           ("hostile", [stored.hostile])):  # fmt: skip
            path = folder / f"{name}.html"
            path.write_text(render(build_report(store, runs), "html"))
            found[name] = path.as_uri()
    return found


@contextmanager
def page_of(browser, **options):
    """A page; what it says on the console, and whatever it asks of the network, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not _ours(request.url) else None)
    yield page
    context.close()
    assert said == []


def _ours(url: str) -> bool:
    return url.startswith(("file:", "http://127.0.0.1:", "data:", "blob:"))


def keep(page, name: str) -> None:
    """The screenshot, where somebody wants it."""
    if folder := os.environ.get("VARIANTBENCH_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def violations(page) -> list[str]:
    """What axe-core finds, a line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:120]})" for one in found]


def drawn(page) -> int:
    page.wait_for_function("document.documentElement.dataset.drawn !== undefined")
    return int(page.evaluate("document.documentElement.dataset.drawn"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["study", "history"])
def test_a_report_draws_all_its_figures_and_everybody_can_use_it(browser, reports, name, scheme):
    with page_of(browser, color_scheme=scheme, offline=True) as page:
        page.goto(reports[name])
        figures = drawn(page)
        assert figures == page.locator(".chart").count() >= 5
        assert page.locator(".chart svg").count() == figures
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        keep(page, f"report-{name}-{scheme}")
        page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        assert violations(page) == []


def test_figures_have_words_for_those_who_do_not_see_them(browser, reports):
    with page_of(browser) as page:
        page.goto(reports["study"])
        drawn(page)
        for chart in page.locator(".chart").all():
            assert chart.get_attribute("role") == "img"
            assert len(chart.get_attribute("aria-label")) > 40
        assert page.locator("figure details").count() == page.locator("figure").count()


def test_a_report_can_be_used_from_the_keyboard(browser, reports):
    with page_of(browser) as page:
        page.goto(reports["study"])
        drawn(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.url.endswith("#main")
        summary = page.locator("figure summary").first
        summary.focus()
        page.keyboard.press("Enter")
        assert page.locator("figure details").first.get_attribute("open") is not None


def test_a_report_prints_with_its_figures(browser, reports):
    with page_of(browser) as page:
        page.goto(reports["study"])
        drawn(page)
        printed = page.pdf()
        assert printed.startswith(b"%PDF")
        assert len(printed) > 50_000
        page.emulate_media(media="print")
        assert not page.locator("nav").first.is_visible()
        assert page.locator(".chart svg").first.is_visible()
        page.set_viewport_size({"width": 1032, "height": 703})  # what A4 on its side leaves between its margins
        page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        assert _beyond(page, "table, .chart svg, pre") == []
        keep(page, "report-printed")


def _beyond(page, kinds: str) -> list[str]:
    """What reaches beyond the right edge: cut off where it is printed."""
    return page.evaluate(
        """kinds => [...document.querySelectorAll(kinds)]
            .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
            .map(one => one.outerHTML.slice(0, 120))""",
        kinds,
    )


def test_figures_can_be_read_on_a_telephone(browser, reports):
    with page_of(browser, viewport={"width": 390, "height": 800}) as page:
        page.goto(reports["study"])
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        scales = page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(one => "
            "one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
        )
        assert min(scales) > 0.95
        assert page.locator(".words tbody tr > :last-child").first.bounding_box()["width"] > 250
        assert violations(page) == []
        keep(page, "report-telephone")


def test_writing_from_right_to_left_turns_nothing_else_round(browser, address, stored):
    with page_of(browser) as page:
        page.goto(f"{address}answers?run={stored.hostile}&template=rtl")
        cells = page.locator("tbody tr").first.locator("td")
        places = [cell.bounding_box()["x"] for cell in cells.all()]
        assert places == sorted(places)
        assert page.evaluate("getComputedStyle(document.querySelector('td bdi')).unicodeBidi") == "isolate"
        keep(page, "viewer-rtl-list")
        page.locator("tbody a").first.click()
        page.wait_for_load_state("load")
        assert page.evaluate("getComputedStyle(document.body).direction") == "ltr"
        for cell in page.get_by_role("region", name="Grades, table").locator("td").all():
            assert cell.evaluate("cell => getComputedStyle(cell).unicodeBidi") == "isolate"


def test_a_report_of_hostile_answers_runs_none_of_them(browser, reports):
    with page_of(browser) as page:
        page.goto(reports["hostile"])
        drawn(page)
        page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        assert page.title() == "org/<b>model</b> – variantbench"
        assert page.locator("#examples pre").count() >= 3
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert violations(page) == []
        keep(page, "report-hostile")


def test_the_viewer_is_filtered_paged_read_and_compared(browser, address, stored):
    with page_of(browser) as page:
        page.goto(address)
        assert violations(page) == []
        keep(page, "viewer-runs")
        page.get_by_role("link", name=stored.study).click()
        page.get_by_label("Model").select_option("simulated-model-02")
        page.get_by_label("Outcome").select_option("incorrect")
        page.get_by_role("button", name="Show").click()
        assert "outcome=incorrect" in page.url
        assert page.locator("tbody tr").count() == 50
        assert set(page.locator(".verdict").all_inner_texts()) == {"✗ wrong"}
        assert violations(page) == []
        keep(page, "viewer-answers")
        first = page.locator("tbody a").first.inner_text(), page.locator("tbody tr").first.inner_text()
        page.get_by_role("link", name="next →").click()
        assert page.locator("tbody tr").first.inner_text() != first[1]
        page.get_by_role("link", name="← before").click()
        assert page.locator("tbody tr").first.inner_text() == first[1]
        page.locator("tbody a").first.click()
        assert first[0].split(",")[0] in page.locator("h1").inner_text()
        assert page.get_by_role("heading", name="How it was read").is_visible()
        assert page.locator("#completion").inner_text()
        assert violations(page) == []
        keep(page, "viewer-answer")
        here = page.url
        page.get_by_role("link", name="next answer →").click()
        page.go_back()
        assert page.url == here


def test_the_viewer_compares_two_runs_side_by_side(browser, address, stored):
    with page_of(browser, color_scheme="dark") as page:
        page.goto(f"{address}compare")
        page.get_by_label("Before").select_option(stored.before)
        page.get_by_label("Now").select_option(stored.after)
        page.get_by_role("button", name="Compare").click()
        assert page.locator("tbody tr").count() > 5
        assert violations(page) == []
        keep(page, "viewer-compare")
        page.locator("tbody a").first.click()
        assert page.locator(".beside section").count() == 2
        assert violations(page) == []
        keep(page, "viewer-pair")


def test_the_viewer_shows_hostile_answers_as_text(browser, address, stored, hostile_texts):
    with page_of(browser) as page:
        for kind in hostile_texts:
            page.goto(f"{address}answers?run={stored.hostile}&template={kind}")
            page.locator("tbody a").first.click()
            page.wait_for_load_state("load")  # the style must be there
            assert page.title().endswith("variantbench")
            assert "owned" not in page.title()
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            if kind == "rtl":
                assert "⟨U+202E⟩" in page.locator("#completion").inner_text()
                keep(page, "viewer-rtl")
            if kind == "null":
                assert "␀" in page.locator("#completion").inner_text()
            assert violations(page) == []
