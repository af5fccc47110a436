"""Whatever a link says, it is read, what was replaced is said, and every page opens."""

from __future__ import annotations

import pytest
from mutated import links, unsaid
from pages_app import asked, notes, tour, words

DAMAGED = list(links(200))
NOTHING = '{"model_type":"totals","total_params":30e9,"kv_elements_per_token":0}'


def test_every_link_gives_a_scenario_and_says_what_it_replaced() -> None:
    for query in DAMAGED:
        assert not unsaid(query), query
        asked(**query)


# Few, since each opens all pages.
@pytest.mark.parametrize("query", DAMAGED[:3], ids=str)
def test_every_page_opens(query: dict[str, str]) -> None:
    # Pages, in English: not the slides.
    shown = {key: value for key, value in query.items() if key not in ("view", "lang")}
    for page, test in tour(**shown):
        assert "9,223,372" not in words(test) + notes(test), page.name


@pytest.mark.parametrize("more", [{}, {"f": "operators"}, {"chip": "t4", "n": "8"}], ids=str)
def test_a_model_that_caches_nothing_says_so(more: dict[str, str]) -> None:
    said = {
        page.name: words(test) + notes(test)
        for page, test in tour(model="custom", cfg=NOTHING, **more)
    }
    assert "**No cache**" in said["kv_cache"]
    assert "memory holds any number of sequences" in said["kv_cache"]
    assert "No cache: memory holds any number of sequences." in said["decode"]
    assert not any("9,223,372" in text for text in said.values())


def test_speculation_opens_where_no_time_of_a_draft_is_known() -> None:
    slow = '{"name":"x","memory":1e14,"bandwidth":1e10,"peaks":{"fp8":1e18}}'
    [(_, test)] = tour(["speculative"], chip="custom", hw=slow, d="glm-4.5-air")
    assert "unknown" in [metric.value for metric in test.metric]
