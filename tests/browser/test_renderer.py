"""Charts drawn in place: node and zoom stay, the theme is followed, a failure is said."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from browser.environment import serve
from browser.steps import IDLE, expect_charts, expect_metric, go, metric, next_frame, visit

FIRST = "document.querySelector('.js-plotly-plot')"


def curve_colour(tab: Page) -> str:
    colour: str = tab.evaluate(
        f"() => {FIRST}._fullData.find(trace => trace.name === 'step').line.color"
    )
    return colour


def overheard(tab: Page) -> list[str | bytes]:
    """All that a tab will send to the server."""
    sent: list[str | bytes] = []

    def keep(frame: str | bytes) -> None:
        sent.append(frame)

    tab.on("websocket", lambda socket: socket.on("framesent", keep))
    return sent


def press(tab: Page, key: str) -> None:
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name="Batch")
    slider.focus()
    slider.press(key)


def ranges(tab: Page) -> list[list[float]]:
    both: list[list[float]] = tab.evaluate(
        f"() => [{FIRST}._fullLayout.xaxis.range, {FIRST}._fullLayout.yaxis.range]"
    )
    return both


def zoom(tab: Page) -> None:
    # A chart that is drawn anew lets go of a drag.
    tab.wait_for_selector(IDLE)
    next_frame(tab)
    before = ranges(tab)
    area = tab.locator(".js-plotly-plot .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box
    tab.mouse.move(box["x"] + 100, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 200, box["y"] + 160, steps=5)
    tab.mouse.up()
    tab.wait_for_function(f"x => {FIRST}._fullLayout.xaxis.range[0] > x", arg=before[0][0])


def test_a_move_keeps_the_node_and_the_zoom(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    tab.evaluate(f"() => {{ {FIRST}.mark = 'same'; }}")
    zoom(tab)
    zoomed = ranges(tab)
    press(tab, "ArrowRight")
    expect_metric(tab, "Step time", "9.39 ms")
    tab.wait_for_function(f"() => {FIRST}.data.at(-1).y[0] > 9")
    assert tab.evaluate(f"() => {FIRST}.mark") == "same"
    assert ranges(tab) == zoomed


def test_a_click_on_the_frontier_sets_the_batch(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    plot = tab.locator(".js-plotly-plot").nth(1)
    plot.scroll_into_view_if_needed()
    for place, at_once in ((10, False), (14, True)):
        x, y, batch = plot.evaluate(
            "(gd, i) => { const a = gd._fullLayout, d = gd._fullData[0], b = gd"
            ".getBoundingClientRect(); return [b.left + a.xaxis._offset + a.xaxis.d2p(d.x[i]),"
            " b.top + a.yaxis._offset + a.yaxis.d2p(d.y[i]), d.customdata[i]]; }",
            place,
        )
        tab.mouse.move(x + 60, y + 60)
        if not at_once:
            tab.mouse.move(x, y, steps=5)
            expect(tab.locator(".hoverlayer .hovertext").first).to_be_visible()
        tab.mouse.click(x, y)
        expect(tab).to_have_url(re.compile(rf"[?&]b={batch:.0f}(&|$)"))
        box = tab.get_by_label("Batch, exact")
        expect(box).to_have_value(f"{batch:.0f}")
        tab.wait_for_selector(IDLE)


def test_paper_shows_whole_charts(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 700, "height": 1000})
    cut: int = tab.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.main-svg')].map(svg => {"
        " const box = svg.getBoundingClientRect();"
        " return box.right - document.documentElement.clientWidth; }))"
    )
    assert cut <= 0


def test_quick_page_switches_leave_no_error(tab: Page, app: str) -> None:
    said: list[str] = []
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    visit(tab, app)
    expect_charts(tab)
    for i in range(20):
        name = ("Prefill", "Decode", "KV cache", "Cost")[i % 4]
        go(tab, name)
        tab.wait_for_timeout(120)
    expect(tab.get_by_role("heading", level=1)).to_have_text("What does a million tokens cost?")
    expect_charts(tab)
    assert not said


def test_a_line_hidden_stays_hidden(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    entry = tab.get_by_role("button", name="weight read").first
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    press(tab, "ArrowRight")
    expect_metric(tab, "Step time", "9.39 ms")
    tab.wait_for_function(f"() => {FIRST}.data.at(-1).y[0] > 9")
    hidden = f"{FIRST}._fullData.filter(t => t.visible === false).map(t => t.name).join()"
    assert tab.evaluate(f"() => {hidden}") == "weight read"
    # Another scale is another chart: everything is back.
    tab.get_by_text("linear", exact=True).click()
    tab.wait_for_function(f"() => {FIRST}._fullLayout.yaxis.type === 'linear'")
    expect(entry).to_have_attribute("aria-pressed", "true")
    assert tab.evaluate(f"() => {hidden}") == ""


def test_a_scrubber_moves_all_and_sends_on_release_only(tab: Page, app: str) -> None:
    sent = overheard(tab)
    visit(tab, app)
    expect_charts(tab)
    scrubber = tab.locator(".ledger-scrub").get_by_role("slider", name="Context")
    scrubber.hover()
    tab.wait_for_function(
        "() => document.querySelector('.ledger-scrub').rows.get('s').family !== null"
    )
    tab.wait_for_selector(IDLE)
    box = scrubber.bounding_box()
    assert box
    said = len(sent)
    curve = f"Math.max(...{FIRST}._fullData.find(t => t.name === 'KV read').y)"
    before = tab.evaluate(f"() => {curve}")
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2, steps=10)
    tab.wait_for_function(f"before => {curve} > 2 * before", arg=before)
    next_frame(tab)
    length = int(tab.locator(".ledger-scrub output").nth(1).inner_text().replace(",", ""))
    moved = metric(tab, "Step time")
    assert length > 8192
    assert moved != "8.57 ms"
    assert len(sent) == said
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(rf"[?&]s={length}\b"))
    expect_metric(tab, "Step time", moved)
    expect(tab.get_by_label("Context, exact")).to_have_value(str(length))
    tab.go_back()
    expect_metric(tab, "Step time", "8.57 ms")
    expect(scrubber).to_have_attribute("aria-valuetext", "8,192")


def reach(tab: Page, key: str) -> Locator:
    """Focus one of the sidebar's sliders and wait for its family."""
    slider = tab.locator(f".st-key-{key}").get_by_role("slider")
    slider.focus()
    tab.wait_for_function(
        "key => document.querySelector('.ledger-scrub').rows.get(key).family", arg=key
    )
    tab.wait_for_selector(IDLE)
    return slider


def grab(tab: Page, key: str) -> tuple[float, float]:
    """Take the thumb of one of the sidebar's sliders in hand; where that is."""
    thumb = tab.locator(f".st-key-{key}").get_by_test_id("stSliderThumbValue").bounding_box()
    track = tab.locator(f".st-key-{key} [role=group]").first.bounding_box()
    assert thumb and track
    place = thumb["x"] + thumb["width"] / 2, track["y"] + track["height"] / 2
    tab.mouse.move(*place)
    tab.mouse.down()
    return place


def test_the_sidebars_slider_scrubs_too(tab: Page, app: str) -> None:
    sent = overheard(tab)
    visit(tab, app)
    expect_charts(tab)
    slider = reach(tab, "b")
    said = len(sent)
    x, y = grab(tab, "b")
    tab.mouse.move(x + 20, y, steps=8)
    batch = slider.get_attribute("aria-valuetext")
    assert batch
    tab.wait_for_function(f"batch => {FIRST}.data.at(-1).x[0] === batch", arg=int(batch))
    next_frame(tab)
    moved = metric(tab, "Step time")
    assert moved != "8.57 ms"
    assert len(sent) == said
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(rf"[?&]b={batch}\b"))
    tab.wait_for_selector(IDLE)
    expect_metric(tab, "Step time", moved)
    expect(tab.locator(".ledger-scrubbing")).to_have_count(0)


def test_beyond_the_frames_everything_is_pale(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    reach(tab, "s")
    x, y = grab(tab, "s")
    tab.mouse.move(x + 10, y, steps=4)
    expect(tab.locator("body.ledger-scrubbing:not(.ledger-beyond)")).to_have_count(1)
    tab.mouse.move(x + 60, y, steps=4)
    expect(tab.locator("body.ledger-beyond")).to_have_count(1)
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(r"[?&]s=\d{7,}"))
    expect(tab.locator("body.ledger-scrubbing, body.ledger-beyond")).to_have_count(0)
    assert metric(tab, "Largest batch") == "0"


def test_a_bound_stays_one_under_the_hand(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?chip=t4&n=8")
    expect_charts(tab)
    reach(tab, "b")
    x, y = grab(tab, "b")
    for way in (12, 0):
        tab.mouse.move(x + way, y, steps=4)
        next_frame(tab)
        assert metric(tab, "Step time").startswith("≥ ")
        assert metric(tab, "Critical batch") == "unknown"
    tab.mouse.up()
    expect(tab.locator(".ledger-scrubbing")).to_have_count(0)


def test_a_hidden_line_stays_hidden_when_the_batch_no_longer_fits(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    tab.evaluate(f"() => {{ {FIRST}.mark = 'same'; }}")
    entry = tab.locator(".ledger-legend").first.get_by_role("button", name="KV read")
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    box = tab.get_by_label("Context, exact")
    box.fill("57344")
    box.press("Enter")
    expect_metric(tab, "Step time", "28.2 ms")
    expect(tab.get_by_text("does not fit past 21").first).to_be_visible()
    expect(entry).to_have_attribute("aria-pressed", "false")
    assert tab.evaluate(f"() => {FIRST}.mark") == "same"


def test_a_key_draws_at_once_and_only_once(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    slider = reach(tab, "b")
    tab.evaluate(
        "() => window.__ledgerPlotly.then((plotly) => { const react = plotly.react;"
        " window.drawn = []; plotly.react = (host, ...rest) => {"
        " drawn.push(host.dataset.chart); return react(host, ...rest); }; })"
    )
    slider.press("ArrowRight")
    expect(tab).to_have_url(re.compile(r"[?&]b=40\b"))
    expect_metric(tab, "Step time", "9.39 ms")
    expect(tab.get_by_text("9.39 ms").first).to_be_visible()
    tab.wait_for_selector(IDLE)
    assert not {"step-time", "frontier"} & {*tab.evaluate("drawn")}
    assert round(tab.evaluate(f"{FIRST}.data.at(-1).y[0]"), 2) == 9.39
    # What the family does not hold is drawn when Python answers.
    tab.get_by_label("Chips, exact").fill("32")
    tab.get_by_label("Chips, exact").press("Enter")
    expect(tab).to_have_url(re.compile(r"[?&]n=32\b"))
    tab.wait_for_function("() => drawn.includes('step-time') && drawn.includes('frontier')")


def test_a_scrubber_listens_to_keys(tab: Page, app: str) -> None:
    visit(tab, f"{app}/speculative")
    expect_charts(tab, 4)
    scrubber = tab.locator(".ledger-scrub").get_by_role("slider", name="Acceptance")
    scrubber.focus()
    scrubber.press("ArrowRight")
    expect(tab).to_have_url(re.compile(r"[?&]a=0\.81\b"))
    expect(scrubber).to_have_attribute("aria-valuetext", "0.81")
    expect(scrubber).to_be_focused()


def test_another_scale_resets_the_zoom(home: Page) -> None:
    def switched(label: str, to: str) -> list[list[float]]:
        home.get_by_text(label, exact=True).click()
        home.wait_for_function(f"to => {FIRST}._fullLayout.yaxis.type === to", arg=to)
        return ranges(home)

    log, linear = ranges(home), switched("linear", "linear")
    assert switched("logarithmic", "log") == log
    zoom(home)
    assert switched("linear", "linear") == linear
    assert switched("logarithmic", "log") == log


def test_a_double_click_leaves_axes_that_were_not_zoomed(home: Page) -> None:
    before = ranges(home)
    home.locator(".js-plotly-plot .nsewdrag").first.dblclick()
    next_frame(home)
    assert ranges(home) == before


def test_a_theme_switch_recolours_without_a_move(home: Page) -> None:
    light = curve_colour(home)
    home.emulate_media(color_scheme="dark")
    home.wait_for_function(
        f"light => {FIRST}._fullData.find(t => t.name === 'step').line.color !== light", arg=light
    )
    assert curve_colour(home) == home.evaluate(f"() => {FIRST}._fullLayout.font.color")


def test_a_missing_library_is_said_and_recovered_from(tab: Page, app: str) -> None:
    def refuse(route: Route) -> None:
        route.abort()

    tab.route("**/plotly.min.js*", refuse)
    visit(tab, app)
    expect(tab.get_by_text("The chart library did not load").first).to_be_visible()
    tab.unroute("**/plotly.min.js*")
    press(tab, "ArrowRight")
    expect_charts(tab)
    expect(tab.get_by_text("The chart library did not load")).to_have_count(0)


def test_nothing_can_be_shared_elsewhere(home: Page) -> None:
    assert home.locator('[data-title="Fullscreen"]').count() == 3
    assert home.locator('[data-title="Share chart..."]').count() == 0


def test_stock_charts_by_one_setting(chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_STOCK_CHARTS", "1")
    with serve() as url:
        tab = chromium.new_page()
        visit(tab, url)
        expect_charts(tab)
        expect(tab.get_by_test_id("stPlotlyChart")).to_have_count(3)
        tab.close()
