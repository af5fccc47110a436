"""A hand without a mouse: fingers scroll over charts, keys reach what they show as a table."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from browser.steps import IDLE, expect_charts, visit

MAIN = "document.querySelector('[data-testid=stMain]')"
RANGES = (
    "[...document.querySelectorAll('.js-plotly-plot')].map("
    "({ _fullLayout: { xaxis, yaxis } }) => [...xaxis.range, ...yaxis.range])"
)


STILL = f"""() => new Promise(done => {{
    let last, frames = 0;
    const look = () => {{
        const at = {MAIN}.scrollTop;
        frames = at === last ? frames + 1 : 0;
        last = at;
        frames < 12 ? requestAnimationFrame(look) : done();
    }};
    look();
}})"""


def swipe(tab: Page, chart: int, by: int = 130) -> None:
    """Draw a finger over a chart, with real touch events: the page goes along."""
    plot = tab.locator(".js-plotly-plot").nth(chart)
    plot.evaluate("plot => plot.scrollIntoView({ block: 'center' })")
    tab.evaluate(STILL)
    box = plot.bounding_box()
    assert box
    before = tab.evaluate(f"() => {MAIN}.scrollTop")
    x, y = box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"]
    way = 1 if before < by else -1
    session = tab.context.new_cdp_session(tab)

    def touch(kind: str, *points: dict[str, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    touch("touchStart", {"x": x, "y": y})
    for i in range(1, 11):
        touch("touchMove", {"x": x, "y": y - way * by * i / 10})
        tab.wait_for_timeout(16)
    touch("touchEnd")
    tab.wait_for_function(f"before => Math.abs({MAIN}.scrollTop - before) > 50", arg=before)


def test_a_finger_scrolls_and_asks_for_tools(chromium: Browser, app: str) -> None:
    phone = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    tab = phone.new_page()
    visit(tab, app)
    expect_charts(tab, 3)
    tab.wait_for_selector(IDLE)
    ranges = tab.evaluate(f"() => {RANGES}")
    for chart in range(3):
        swipe(tab, chart)
    assert tab.evaluate(f"() => {RANGES}") == ranges
    # Until somebody asks for the tools of a chart.
    second = tab.locator(".ledger-chart").nth(1)
    expect(second.locator(".modebar-btn")).to_have_count(0)
    second.get_by_role("button", name="Chart tools").tap()
    expect(second.locator(".modebar-btn").first).to_be_attached()
    phone.close()


def test_keys_reach_a_charts_table_and_a_cards_formula(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    button = tab.get_by_role("button", name="Show as table").first
    button.focus()
    button.press("Enter")
    table = tab.locator(".ledger-table").first
    expect(table).to_be_focused()
    expect(table.get_by_role("columnheader").first).to_have_text("Batch (sequences)")
    here = table.get_by_role("row").filter(has=tab.get_by_role("cell", name="32", exact=True))
    expect(here.first).to_contain_text("8.571")
    button.press("Enter")
    expect(table).to_be_hidden()
    tab.get_by_role("button", name="Explain Step time").click()
    expect(tab.get_by_test_id("stPopoverBody").locator(".katex-display")).to_have_count(2)
