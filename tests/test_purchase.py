"""What an hour of a chip costs: terms, price lists and chips of one's own, and Plan with them."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_app import asked

from calc import cost, link, purchase
from calc.plan.asked import space
from presets import chips, formats, models

PRESETS = {"models": models, "chips": chips, "formats": formats}


def test_an_owned_chip_is_written_off_over_its_hours() -> None:
    # 30,000 USD and 40 % around it over 4 years of 8,760 hours, 70 % in use; 700 W at 1.3 and 0.12.
    s = asked(chip="h100-sxm", buy="owned", cap="30000", hn="0.4", ut="0.7", pue="1.3", kwh="0.12")
    assert cost.price(s) == pytest.approx(42_000 / 24_528 + 0.1092, rel=1e-12)
    assert math.isnan(cost.price(asked(chip="h100-sxm", buy="owned")))


@pytest.mark.parametrize(("terms", "paid"), [("demand", 3.0), ("reserved", 1.8), ("spot", 1.8)])
def test_a_discount_is_of_the_price_on_demand(terms: str, paid: float) -> None:
    assert cost.price(asked(usd="3", buy=terms, dis="0.4")) == pytest.approx(paid)


@given(st.floats(1, 1e6), st.floats(0.5, 20), st.floats(0.01, 1), st.floats(0, 2))
def test_more_use_is_never_dearer(capital: float, years: float, used: float, around: float) -> None:
    hour = purchase.owned(capital, 700, years, used, around, 0.1, 1.2)
    assert hour >= purchase.owned(capital, 700, years, 1.0, around, 0.1, 1.2)
    assert hour >= purchase.owned(capital, 700, years, used, 0.0, 0.1, 1.2)


OWN = {"name": "Ours", "memory": 8e10, "bandwidth": 3e12, "peaks": {"bf16": 1e15}, "capital": 9e3}


def test_a_price_list_and_own_chips_reach_every_page_and_plan() -> None:
    listed = "H100 SXM: 1.9\nb200 own 40000 1100 W; mi300x=1.5"
    texts = {"pl": listed, "hw": json.dumps(OWN), "hw3": json.dumps({**OWN, "name": "Third"})}
    found, problems = link.with_custom(PRESETS, texts)
    assert not problems
    known = found["chips"]
    assert known["custom-3"].name == "Third"
    assert known["h100-sxm"].other_prices[0] == chips["h100-sxm"].price
    s = asked(buy="spot", dis="0.5", chip="h100-sxm", usd="4")
    offered = space({"compared": "all", "left_out": "amd,tpu-v5e"}, s, found).chips
    paid = {chip.id: chip.price.usd_per_hour if chip.price else None for chip in offered}
    assert paid["h100-sxm"] == pytest.approx(2.0)  # what is typed goes before the list
    assert paid["b200"] == pytest.approx(40_000 / 35_040 + 0.11)
    # Without published power what an owned chip costs is not known.
    assert paid["custom"] is paid["custom-3"] is None
    assert not {"mi300x", "tpu-v5e"} & set(paid)


def test_a_chip_is_called_by_its_name_in_any_spelling() -> None:
    listed = purchase.priced(chips, "mi300x 2")["mi300x"].price
    assert listed and listed.usd_per_hour == 2
    with pytest.raises(purchase.PriceListError, match="entry 1 names no chip"):
        purchase.priced(chips, "nobody 2")
