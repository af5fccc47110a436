"""Design reviews: pins and their link, the presentation, the report that opens offline."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect

from browser.steps import (
    IDLE,
    expect_charts,
    expect_metric,
    expect_no_overflow,
    no_exception,
    query,
    violations,
    visit,
)
from pages.ui.frame.presentation import SLIDES

PINS = [
    ["half <b>the</b> chips", "n=8"],
    ["int4", "w=int4"],
    ["H100", "chip=h100-sxm&n=8&f=operators"],
]


def with_pins(app: str, path: str = "", **more: str) -> str:
    pins = json.dumps(PINS, separators=(",", ":"))
    return f"{app}/{path}?{urlencode({'pins': pins, **more})}"


def click_now(tab: Page) -> str:
    """Click the same point of the first frontier, once it no longer lies on the pinned one."""
    x, y, batch = tab.wait_for_function(
        "() => { const gd = document.querySelector('.js-plotly-plot'), i = 10;"
        " const a = gd._fullLayout, [d] = gd._fullData;"
        " const other = gd._fullData.find(({ name }) => name === 'Eight');"
        " if (d.x[i] === other.x[i]) return null;"
        " gd.scrollIntoView({ block: 'nearest' });"
        " const b = gd.getBoundingClientRect(); return [b.left + a.xaxis._offset"
        " + a.xaxis.d2p(d.x[i]), b.top + a.yaxis._offset + a.yaxis.d2p(d.y[i]), d.text[i]]; }"
    ).json_value()
    tab.mouse.move(x - 200, y)
    tab.mouse.move(x, y, steps=5)
    expect(tab.locator(".hoverlayer .hovertext")).to_contain_text([f"batch {batch}"])
    tab.mouse.click(x, y)
    return str(batch)


def test_a_scenario_is_pinned_and_compared(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?n=8")
    tab.get_by_role("button", name="Pin", exact=False).first.click()
    expect(tab).to_have_url(re.compile("pins="))
    tab.wait_for_selector(IDLE)
    assert query(tab)["pins"] == ['[["Llama 3 70B, TPU v5e, 8 chips","n=8"]]']
    tab.get_by_role("link", name="Compare 1 pin").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Which is better, and why?")
    named = tab.locator(".st-key-pin-name-0 input")
    named.fill("Eight")
    named.press("Enter")
    expect(tab).to_have_url(re.compile("Eight"))
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name="Chips")
    slider.focus()
    slider.press("ArrowRight")
    expect(tab).to_have_url(re.compile("n=10"))
    expect_charts(tab, 3)
    expect(tab.get_by_text("From A, now at batch 32, to B, Eight at batch 32")).to_be_visible()
    batch = click_now(tab)
    expect(tab.get_by_text(f"From A, now at batch 32, to B, now at batch {batch}")).to_be_visible()
    batch = click_now(tab)
    expect(
        tab.get_by_text(f"From A, now at batch {batch}, to B, now at batch {batch}")
    ).to_be_visible()
    tab.locator(".st-key-pin-remove-0").get_by_role("button").first.click()
    expect(tab.get_by_text("Nothing is pinned yet")).to_be_visible()
    tab.wait_for_selector(IDLE)
    assert "pins" not in query(tab)
    no_exception(tab)


def test_a_presentation_in_chinese_with_three_pins_opens_the_same(
    tab: Page, chromium: Browser, app: str
) -> None:
    visit(tab, with_pins(app, view="present", lang="zh", slide="compare"))
    expect_charts(tab, 1)
    expect(tab.get_by_test_id("stSidebar")).to_be_hidden()
    # What was sent on is what was opened.
    clean = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    visit(clean, tab.url)
    expect_charts(clean, 1)
    for page in (tab, clean):
        shown = page.get_by_test_id("stMain").inner_text()
        assert "half <b>the</b> chips" in shown
        assert re.search("[\u4e00-\u9fff]", page.get_by_role("heading", level=1).inner_text())
        no_exception(page)
    assert clean.get_by_test_id("stMain").inner_text() == tab.get_by_test_id("stMain").inner_text()
    assert query(clean) == query(tab)
    clean.context.close()


def test_keys_lead_through_the_presentation(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?view=present")
    expect_charts(tab, 1)
    expect(tab.get_by_role("heading", level=1)).to_have_text("How long is one decode step?")
    assert not violations(tab)
    tab.keyboard.press("ArrowRight")
    expect(tab).to_have_url(re.compile("slide=frontier"))
    expect(tab.get_by_role("heading", level=1)).to_have_text(
        "How does latency trade for throughput?"
    )
    tab.keyboard.press("ArrowLeft")
    expect(tab.get_by_role("heading", level=1)).to_have_text("How long is one decode step?")
    tab.keyboard.press("Escape")
    expect_metric(tab, "Step time", "8.57 ms")
    expect(tab.get_by_test_id("stSidebar")).to_be_visible()
    tab.go_back()
    expect_charts(tab, 1)
    expect_no_overflow(tab)


def test_the_report_opens_without_a_network(
    tab: Page, chromium: Browser, app: str, tmp_path: Path
) -> None:
    visit(tab, with_pins(app))
    tab.get_by_role("button", name="Report").first.click()
    with tab.expect_download() as caught:
        tab.get_by_role("button", name="Report, HTML").click()
    file = tmp_path / "report.html"
    caught.value.save_as(file)
    context = chromium.new_context(offline=True)
    report = context.new_page()
    asked: list[str] = []
    report.on("request", lambda request: asked.append(request.url))
    report.on("pageerror", lambda error: asked.append(str(error)))
    report.goto(file.as_uri())
    expect(report.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    # This traffic has no classes, no prefixes to keep and no day.
    expect(report.locator(".js-plotly-plot")).to_have_count(len(SLIDES) - 3)
    expect(report.get_by_text("One decode step takes at least 8.57 ms").first).to_be_visible()
    expect(report.get_by_text("With continuous batching, 86 % of 400 requests")).to_be_visible()
    expect(report.locator("pre")).to_contain_text("max(")
    expect(report.get_by_text("half <b>the</b> chips").first).to_be_visible()
    assert asked == [file.as_uri()]
    # Paper: nothing is wider than the sheet.
    report.emulate_media(media="print")
    report.set_viewport_size({"width": 700, "height": 1000})
    report.evaluate("dispatchEvent(new Event('beforeprint'))")
    report.wait_for_function(
        "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    context.close()


def test_the_sweep_is_a_table(tab: Page, app: str, tmp_path: Path) -> None:
    visit(tab, app)
    tab.get_by_role("button", name="Report").first.click()
    with tab.expect_download() as caught:
        tab.get_by_role("button", name="Sweep over batches").click()
    file = tmp_path / "sweep.csv"
    caught.value.save_as(file)
    head, *rows = file.read_text().splitlines()
    assert head.startswith("batch (sequences),step_time (s),")
    assert "32,0.00857" in "\n".join(rows)
