"""Models and chips are found by the words that people type."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.steps import IDLE, query, visit

FOUND = {
    "llama 3.3": "Llama 3.3 70B Instruct",
    "Llama 3.3 70B": "Llama 3.3 70B Instruct",
    "deepseek r1": "DeepSeek-V3 / R1",
    "Qwen3 32B": "Qwen3 32B",
    "70b llama 3.1": "Llama 3.1 70B",
    "gptoss 120": "gpt-oss 120B",
}


def test_a_model_is_found_and_picked(tab: Page, app: str) -> None:
    visit(tab, app)
    box = tab.get_by_role("combobox", name="Model")
    tab.wait_for_selector(IDLE)
    for typed, name in FOUND.items():
        box.fill(typed)
        expect(tab.get_by_role("option").first).to_contain_text(name)
    box.fill("qwen 32")
    expect(tab.get_by_role("option").filter(has_text="Qwen3 32B")).to_be_visible()
    box.fill("nothing of the kind")
    expect(tab.get_by_text("Nothing is called so.")).to_be_visible()
    box.fill("llama 3.3")
    box.press("Enter")
    expect(tab).to_have_url(re.compile("model=llama-3.3-70b"))
    expect(tab.get_by_test_id("stMain")).to_contain_text("Llama 3.3 70B Instruct")
    assert query(tab) == {"model": ["llama-3.3-70b"], "w": ["pub"], "u": ["0.9"]}
    box.press("ArrowDown")
    box.press("Escape")
    expect(box).to_have_value("Llama 3.3 70B Instruct")
