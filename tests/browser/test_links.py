"""The link: what it opens with, what travels in it, and the browser's history."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Browser, Page, expect

from browser.environment import serve
from browser.steps import (
    IDLE,
    expect_charts,
    expect_metric,
    go,
    metric,
    next_frame,
    no_exception,
    query,
    value,
    visit,
)
from pages.ui.frame.presentation import BY_KEY


def test_first_request_to_a_fresh_server_may_be_a_deep_link(chromium: Browser) -> None:
    """A folder named pages/ makes a fresh server run the page file alone; the guard starts over."""
    with serve() as url:
        tab = chromium.new_page()
        visit(tab, f"{url}/about?chip=h100-sxm&b=77")
        expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
        expect(
            tab.get_by_test_id("stSidebar").get_by_role("combobox", name="Chip", exact=True)
        ).to_be_visible()
        expect(tab.get_by_text("page not found")).to_have_count(0)
        expect(tab.get_by_text("3.35 TB/s")).to_be_visible()
        expect(tab.get_by_role("link", name="Decode")).to_be_visible()
        assert query(tab) == {"chip": ["h100-sxm"], "b": ["77"]}
        no_exception(tab)
        tab.close()


def test_an_exact_number_can_be_typed_and_back_restores(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_metric(tab, "Step time", "8.57 ms")
    box = tab.get_by_label("Batch, exact")
    box.fill("37")
    box.press("Enter")
    expect(tab).to_have_url(re.compile(r"[?&]b=37\b"))
    expect_metric(tab, "Step time", "9.08 ms")
    tab.go_back()
    expect_metric(tab, "Step time", "8.57 ms")
    expect(box).to_have_value("32")
    tab.go_forward()
    expect_metric(tab, "Step time", "9.08 ms")
    expect(box).to_have_value("37")


def test_navigation_is_one_history_entry_and_keeps_the_scenario(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?b=77&chip=h100-sxm")
    expect_charts(tab)
    depth, numbers = tab.evaluate("history.length"), metric(tab, "Step time")
    go(tab, "About")
    expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
    tab.wait_for_selector(IDLE)
    assert tab.evaluate("history.length") == depth + 1
    assert query(tab) == {"b": ["77"], "chip": ["h100-sxm"]}
    tab.go_back()
    expect_metric(tab, "Step time", numbers)
    go(tab, "About")
    expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
    go(tab, "Decode")
    expect_metric(tab, "Step time", numbers)
    assert query(tab) == {"b": ["77"], "chip": ["h100-sxm"]}


def test_a_shared_link_reproduces_the_numbers_in_a_new_browser(
    tab: Page, app: str, chromium: Browser
) -> None:
    visit(tab, f"{app}/?model=gemma-3-27b&chip=h200&n=8&w=bf16&kv=bf16&b=48&s=32768&u=0.9")
    expect_charts(tab)
    tab.get_by_role("button", name="Share").click()
    code = tab.get_by_test_id("stCode").nth(1)
    expect(code).to_be_visible()
    shared = code.inner_text().strip().replace("\n", "")
    assert set(parse_qs(urlparse(shared).query, keep_blank_values=True)) == {"v", "made", *BY_KEY}
    other = chromium.new_context().new_page()
    visit(other, shared)
    for label in ("Step time", "Token/s per chip", "Largest batch", "USD per Mtoken"):
        expect_metric(other, label, metric(tab, label))
    expect(other.get_by_text("read with changes")).to_have_count(0)
    other.context.close()


BROKEN = "b=0&n=-3&s=nan&u=1e999&model=<img src=x onerror=alert(1)>&chip=&w=bf17&c=q6-k&b=2"


def test_a_broken_link_is_named_and_survived(tab: Page, app: str) -> None:
    alerts: list[str] = []
    tab.on("dialog", lambda dialog: alerts.append(dialog.message))
    visit(tab, f"{app}/?{BROKEN}")
    notice = tab.locator(".st-key-link-notice")
    expect(notice).to_contain_text("Batch (b) in the link is outside 1 to 65,536; 32 is used.")
    for label in ("Chips (n)", "Context (s)", "Usable memory (u)", "Model (model)", "Chip (chip)"):
        expect(notice).to_contain_text(f"{label} in the link is")
    expect_metric(tab, "Step time", "8.57 ms")
    assert query(tab) == {}
    assert not alerts
    assert notice.locator("img").count() == 0
    no_exception(tab)
    notice.get_by_role("button", name="Dismiss").press("Enter")
    expect(notice).to_have_count(0)
    # Keys go on from the answer, not from the top of the page.
    expect(tab.get_by_role("heading", level=1)).to_be_focused()


def test_a_huge_query_is_survived(tab: Page, app: str) -> None:
    # The server itself refuses request lines of more than 64 KiB.
    visit(tab, f"{app}/?b=64&junk={'x' * 40_000}&model={'y' * 20_000}")
    expect(tab.locator(".st-key-link-notice")).to_contain_text("Model (model)")
    expect_metric(tab, "Step time", "11.8 ms")
    no_exception(tab)


PASTED = """{
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 5120,
  "intermediate_size": 13824, "num_attention_heads": 40, "num_hidden_layers": 40,
  "num_key_value_heads": 40, "vocab_size": 32000, "tie_word_embeddings": false,
  "torch_dtype": "float16", "id2label": {"0": "LABEL_0"}
}"""


def test_a_pasted_model_and_a_custom_chip_travel_in_the_link(
    tab: Page, app: str, chromium: Browser
) -> None:
    visit(tab, f"{app}/kv_cache?n=8&kv=bf16")
    tab.get_by_text("Custom model", exact=True).click()
    box = tab.get_by_role("textbox", name="Paste a config.json")
    box.fill("{ broken")
    box.press("Control+Enter")
    expect(tab.get_by_text("This configuration cannot be used: Not JSON")).to_be_visible()
    expect_metric(tab, "Per token", "320 KiB")
    expect(box).to_have_value("{ broken")
    box.fill(PASTED)
    box.press("Control+Enter")
    # 819,200 B, LLaMA-2-13B.
    expect_metric(tab, "Per token", "800 KiB")
    expect(tab).to_have_url(re.compile("model=custom"))
    tab.get_by_role("button", name="Store weights as published, fp16").click()
    expect(tab).to_have_url(re.compile("w=pub"))
    tab.wait_for_selector(IDLE)
    tab.get_by_text("Custom chip", exact=True).click()
    for label, figure in {
        "Memory (GB)": 123,
        "Bandwidth (GB/s)": 3350,
        "bf16 (TFLOP/s)": 989,
    }.items():
        tab.get_by_label(label).fill(str(figure))
    before = metric(tab, "Sequences that fit")
    # By key: the expander is still opening, and a button that slides away misses the click.
    tab.get_by_role("button", name="Use this chip").press("Enter")
    expect(tab).to_have_url(re.compile("chip=custom"))
    # The address changes before the page does.
    expect(value(tab, "Sequences that fit")).not_to_have_text(before)
    fits = metric(tab, "Sequences that fit")
    tab.get_by_role("button", name="Share").click()
    shared = tab.get_by_test_id("stCode").first.inner_text().strip().replace("\n", "")
    assert "id2label" not in shared
    other = chromium.new_context().new_page()
    visit(other, shared)
    expect_metric(other, "Per token", "800 KiB")
    expect_metric(other, "Sequences that fit", fits)
    expect(other.get_by_text("read with changes")).to_have_count(0)
    other.context.close()
    # Back undoes the chip, then the format, then the model, and nothing breaks on the way.
    for _ in range(4):
        tab.go_back()
        tab.wait_for_selector(IDLE)
        no_exception(tab)


def test_an_unusable_custom_model_in_a_link_is_named(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?cfg=%7B%22model_type%22%3A%22bert%22%7D&model=custom")
    notice = tab.locator(".st-key-link-notice")
    expect(notice).to_contain_text(
        "Custom model (cfg) in the link is not usable (model_type: bert is"
    )
    expect_metric(tab, "Step time", "8.57 ms")
    no_exception(tab)


def test_the_bench_travels_in_the_link(tab: Page, app: str) -> None:
    visit(tab, f"{app}/speculative?pq=0.5,0.3,0.2;0.6,0.3,0.1&t=0.5")
    tab.get_by_role("tab", name="Acceptance bench").click()
    expect(tab.get_by_text("α = 0.875")).to_be_visible()
    no_exception(tab)


def test_the_fidelity_switch_and_a_layout_travel_in_the_link(tab: Page, app: str) -> None:
    visit(tab, app)
    tab.get_by_role("radio", name="operators").click()
    expect_metric(tab, "Step time", "13.8 ms")
    expect_charts(tab, 4)
    tab.get_by_text("Layout", exact=True).click()
    box = tab.get_by_label("Data parallel", exact=True)
    box.fill("2")
    box.press("Enter")
    expect(tab.get_by_text("fidelity: operators, TP 8, DP 2")).to_be_visible()
    step = metric(tab, "Step time")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"f": ["operators"], "dp": ["2"]}
    go(tab, "Sharding")
    expect(tab.get_by_role("heading", level=1)).to_have_text("How wide may it be sharded?")
    expect_metric(tab, "Step time", step)
    go(tab, "Decode")
    expect_metric(tab, "Step time", step)
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"f": ["operators"], "dp": ["2"]}
    no_exception(tab)


def test_a_source_leads_to_its_formula(tab: Page, app: str) -> None:
    """In a tab of its own, at the heading, with the scenario kept."""
    visit(tab, f"{app}/?b=64")
    tab.get_by_text("Explain a number").click()
    with tab.context.expect_page() as opened:
        tab.get_by_role("link", name="F3.1", exact=True).click()
    there = opened.value
    heading = there.get_by_role("heading", name=re.compile("^F3.1 "))
    expect(heading).to_be_in_viewport()
    assert query(there)["b"] == ["64"]
    assert there.evaluate("decodeURIComponent(location.hash)") == "#f3-1-the-bound"
    no_exception(there)
    there.close()


CONNECTED = "[data-test-connection-state=CONNECTED]"


def move(tab: Page, batch: int) -> None:
    """One step right from a batch to the next, once the server is there: a session's first run."""
    tab.wait_for_selector(CONNECTED)
    tab.get_by_test_id("stSidebar").get_by_role("slider", name="Batch").press("ArrowRight")
    expect(tab.get_by_text(f"batch {batch} ·")).to_be_visible()
    tab.wait_for_selector(IDLE)
    next_frame(tab)


def test_a_server_that_comes_back_draws_what_was_left(tab: Page) -> None:
    """What no link holds the browser tells: the scale of the charts, the tab that is open."""
    scale = "document.querySelector('.js-plotly-plot')._fullLayout.yaxis.type"
    with serve() as url:
        visit(tab, url)
        expect_charts(tab)
        tab.get_by_text("linear", exact=True).click()
        tab.wait_for_function(f"() => {scale} === 'linear'")
        tab.wait_for_selector(IDLE)
    expect(tab.locator(CONNECTED)).to_have_count(0)
    port = urlparse(url).port
    with serve(port=port):
        move(tab, 40)
        assert tab.evaluate(f"() => {scale}") == "linear"
        go(tab, "KV cache")
        intensity = tab.get_by_role("tab", name="Intensity")
        intensity.click()
        expect_charts(tab, 3)
        tab.wait_for_selector(IDLE)
    expect(tab.locator(CONNECTED)).to_have_count(0)
    with serve(port=port):
        move(tab, 48)
        expect(intensity).to_have_attribute("aria-selected", "true")
        expect_charts(tab, 3)
        no_exception(tab)
