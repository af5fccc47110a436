"""Tables that are sorted: what is unknown is last both ways."""

from __future__ import annotations

from pages_app import opened

from pages.ui.writing import sortable
from pages.ui.writing.sortable import Column


def test_unknown_cells_are_last_both_ways() -> None:
    columns = [Column("a", "A", [2, None, 1, 3]), Column("b", "B", ["y", "", "x", "z"])]
    assert sortable.rows(columns, "") == [0, 1, 2, 3]
    assert sortable.rows(columns, "a-up") == [2, 0, 3, 1]
    assert sortable.rows(columns, "a-down") == [3, 0, 2, 1]
    assert sortable.rows(columns, "b-down") == [3, 0, 2, 1]
    assert sortable.rows(columns, "c-up") == [0, 1, 2, 3]


def test_every_chip_is_sorted_by_the_link_and_says_what_is_not_published() -> None:
    test = opened("capacity", x="capacity_every-chip*chips_usd-up")
    shown = test.dataframe[0].value
    price = shown["USD / Mtok ↑"]
    known = price.notna().sum()
    assert 0 < known < len(price)
    assert price[:known].is_monotonic_increasing and price[known:].isna().all()
    assert all("price" in why for why in shown["Not published"][known:])


def test_packing_starts_from_the_scenario_until_somebody_types() -> None:
    test = opened("capacity", x="capacity_replica-packing")
    assert any("**3 of 3 replicas** lie on 2 of 2 devices" in one.value for one in test.markdown)
    test.session_state["b"] = 1
    test.run()
    assert any("**3 of 3 replicas** lie on 1 of 2 devices" in one.value for one in test.markdown)


def test_serving_names_what_it_uses() -> None:
    line = opened("serving", qps="3", req="20").caption[0].value
    assert "3 requests/s, 8,192 tokens in" in line and "TTFT ≤ 5.00 s" in line
    assert "batch" not in line and "context" not in line
