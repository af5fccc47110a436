"""What a person does on the pages, in real Chromium."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.steps import (
    IDLE,
    expect_charts,
    expect_metric,
    go,
    metric,
    no_exception,
    query,
    visit,
)


def test_the_page_opens_with_its_numbers_and_charts(home: Page) -> None:
    expect_metric(home, "Step time", "8.57 ms")
    expect_metric(home, "Critical batch", "120")
    expect_charts(home)
    figure = home.get_by_role("figure").first
    expect(figure).to_have_attribute("aria-label", re.compile("weight read 5.30 ms"))
    no_exception(home)


def total_at_batch(tab: Page) -> float:
    """The marker's height in the step-time chart: what is drawn, not what was sent."""
    found: float = tab.evaluate(
        "() => { const data = document.querySelector('.js-plotly-plot').data;"
        " return data[data.length - 1].y[0]; }"
    )
    return found


def test_moving_a_slider_changes_chart_numbers_and_link_without_history(
    tab: Page, app: str
) -> None:
    visit(tab, app)
    expect_charts(tab)
    before, depth = total_at_batch(tab), tab.evaluate("history.length")
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name="Batch")
    slider.focus()
    slider.press("ArrowRight")
    expect(tab).to_have_url(re.compile(r"[?&]b=40\b"))
    expect_metric(tab, "Step time", "9.39 ms")
    tab.wait_for_function(
        "before => document.querySelector('.js-plotly-plot').data.at(-1).y[0] > before", arg=before
    )
    assert tab.evaluate("history.length") == depth


def test_what_does_not_fit_is_drawn_grey(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?n=1")
    expect(tab.get_by_text("The weights alone do not fit")).to_be_visible()
    expect_charts(tab)
    # 0.24 grey over the whole plot.
    assert tab.evaluate(
        "() => [...document.querySelectorAll('.shapelayer path')]"
        ".some(path => getComputedStyle(path).fill === 'rgb(138, 145, 155)')"
    )


def test_an_explanation_shows_formula_and_numbers(home: Page) -> None:
    home.get_by_text("Explain a number").click()
    formulas = home.get_by_test_id("stExpander").locator(".katex-display")
    expect(formulas).to_have_count(2)
    expect(home.get_by_text("dense peak of one chip in compute format").first).to_be_visible()
    no_exception(home)
    home.get_by_text("Explain a number").click()
    expect(formulas).to_have_count(0)


def test_the_kv_page_draws_every_tab(tab: Page, app: str) -> None:
    visit(tab, f"{app}/kv_cache?model=gemma-3-27b")
    expect_charts(tab, 2)
    for name, number in (("Intensity", 3), ("Layers", 2), ("Paging", 3)):
        tab.get_by_role("tab", name=name).click()
        tab.wait_for_selector(IDLE)
        expect(tab.locator(".js-plotly-plot:visible")).to_have_count(number)
        no_exception(tab)


def test_the_speculation_page_draws_every_tab_and_carries_its_link(tab: Page, app: str) -> None:
    visit(tab, f"{app}/speculative?a=0.7&k=6&d=llama-3.2-1b")
    expect_charts(tab, 4)
    expect(tab.get_by_text("Drafting 6 tokens at acceptance 0.7")).to_be_visible()
    tab.get_by_role("tab", name="Token budget").click()
    expect(tab.get_by_text("Target passes for 1,000 tokens")).to_be_visible()
    tab.get_by_role("tab", name="Acceptance bench").click()
    expect(tab.get_by_text("total variation")).to_be_visible()
    expect(tab.get_by_text("100,000 draws with a fixed seed")).to_be_visible()
    no_exception(tab)
    go(tab, "Decode")
    expect_metric(tab, "Step time", "8.57 ms")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {
        "a": ["0.7"],
        "k": ["6"],
        "d": ["llama-3.2-1b"],
        "x": ["speculative_acceptance-bench"],
    }
    go(tab, "Speculation")
    expect(tab.get_by_text("Drafting 6 tokens at acceptance 0.7")).to_be_visible()


def test_a_layout_is_applied_with_a_click(tab: Page, app: str) -> None:
    visit(tab, f"{app}/sharding?model=deepseek-v3&chip=h200&n=32&w=fp8&c=fp8&b=256")
    expect_charts(tab)
    before = metric(tab, "Step time")
    table = tab.get_by_test_id("stDataFrame").locator(".dvn-scroller")
    expect(table).to_be_visible()
    tab.wait_for_selector(IDLE)
    # The box that selects the first row, which is the best.
    table.click(position={"x": 18, "y": 54})
    expect(tab).to_have_url(re.compile("ks=batch"))
    expect(tab).to_have_url(re.compile("f=operators"))
    tab.wait_for_selector(IDLE)
    assert metric(tab, "Step time") != before
    no_exception(tab)


def test_replicas_are_placed_and_a_price_travels(tab: Page, app: str) -> None:
    visit(tab, f"{app}/capacity")
    tab.get_by_role("tab", name="Replica packing").click()
    expect(tab.get_by_text("3 of 3 replicas")).to_be_visible()
    tab.get_by_role("radio", name="all, on the fewest devices").click()
    expect(tab.get_by_text("lie on 2 of 2 devices")).to_be_visible()
    go(tab, "Cost")
    expect_metric(tab, "USD per M output", "$1.43")
    box = tab.get_by_label("Price", exact=True)
    box.fill("2.4")
    box.press("Enter")
    expect_metric(tab, "USD per M output", "$2.86")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"usd": ["2.4"], "x": ["capacity_replica-packing*goal_fewest"]}
    go(tab, "Decode")
    expect_metric(tab, "USD per Mtoken", "$2.86")
    no_exception(tab)
