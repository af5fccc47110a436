"""What prefixes are worth: sessions kept, reload against recompute, an SSD below the host."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from numpy.testing import assert_allclose
from pages_app import opened
from scenarios import scenario

from calc import cost, memory, serving
from calc.serving import HostAndDisk, HostMemory, reuse
from calc.serving.reuse import Tier

HOST = Tier("host", 450 * 2**30, 25e9)


def test_a_tier_keeps_sessions_and_gives_them_back() -> None:
    """F8.25: 450 GiB over 1.342 GB at 8k, 53.7 ms at 25 GB/s against 959 ms."""
    s = scenario()
    each = float(memory.kv_per_sequence(s, 8192))
    assert reuse.sessions(HOST.limit, each) == 360
    assert reuse.sessions(HOST.limit, 0.0) == 0
    assert_allclose(reuse.reload_time(s, 8192, HOST), 53.7e-3, rtol=1e-3)
    assert_allclose(reuse.recompute_time(s, 8192), 0.959, rtol=1e-3)
    # Kept for an hour it pays while its bytes cost less than what 0.905 s of 16 chips do.
    worth = reuse.storage_worth(s, 8192, HOST, 3600.0)
    saved = 0.959 - 0.0537
    assert_allclose(worth * each * 3600, 16 * cost.price(s) * saved / 3600, rtol=1e-3)
    assert reuse.storage_worth(s, 8192, Tier("slow", 1e12, 1e6), 60.0) == 0.0
    assert math.isinf(Tier("chips", 1.0, math.inf).bandwidth)
    assert reuse.reload_time(s, 8192, Tier("chips", 1.0, math.inf)) == 0


def test_a_providers_price() -> None:
    """F8.25: a system prompt of 1,000 tokens, 10⁶ times; 75 % off, $1 per million and hour."""
    assert 1000 * 10**6 == 10**9
    assert_allclose(reuse.Provider(1.0, 0.75, 1.0).calls_to_pay, 4 / 3)
    # Half price for a batch pays without storage at any number of calls.
    assert reuse.Provider(1.0, 0.5, 0.0).calls_to_pay == 0


def test_a_system_prompt_is_found_in_whole_blocks() -> None:
    """1,000 tokens for all before 350 of one's own: 992 of 1,350 are found, a share of 0.735."""
    traffic = serving.generate(
        200, serving.Poisson(1.0), serving.Constant(350), serving.Constant(20), system=1000
    )
    run = serving.simulate(
        scenario(), traffic, serving.Continuous(32), prefix=serving.SpareMemory()
    )
    # The first request finds nothing.
    assert_allclose(run.hit_rate * 200 / 199, 992 / 1350)
    assert round(992 / 1350, 3) == 0.735


def test_an_ssd_finds_what_the_host_has_thrown_away() -> None:
    s = scenario()
    traffic = serving.generate(
        300, serving.Poisson(1.0), serving.Constant(1000), serving.Constant(50),
        turns=6, think=20.0,
    )  # fmt: skip
    host, disk = HostMemory(4e9, 4e11), HostMemory(1e12, 8e10)
    kinds: dict[str, Any] = {
        "host": host, "both": HostAndDisk(host, disk), "disk": disk,
        "endless": HostAndDisk(replace(host, limit=1e15), disk),
    }  # fmt: skip
    runs = {
        name: serving.simulate(s, traffic, serving.Continuous(32), prefix=prefix)
        for name, prefix in kinds.items()
    }
    assert runs["host"].hit_rate < runs["both"].hit_rate
    assert_allclose(runs["both"].hit_rate, runs["disk"].hit_rate)
    assert_allclose(runs["disk"].hit_rate, traffic.shared, atol=0.02)
    # What the host still has is quicker than the SSD.
    assert runs["endless"].ttft.mean() <= runs["both"].ttft.mean() <= runs["disk"].ttft.mean()


def test_prefixes_are_shown() -> None:
    at = opened(
        "serving", req="60", p="1000", g="50", turns="4", sys="500", pfx="ssd",
        x="serving_prefixes",
    )  # fmt: skip
    assert not at.exception
    said = " ".join(element.value for element in at.markdown)
    assert "The prefix cache finds **" in said and "comes back from host memory in" in said
    assert "a provider's cache pays from **1.33** calls an hour" in said
    assert {one.key for one in at.number_input} >= {"pin", "pcd", "pcs"}
    found, tiers = (table.value for table in at.table)
    assert "Tokens of the system prompt a day" in found["Quantity"].tolist()
    assert tiers["Memory"].tolist() == ["chip memory beside weights", "host memory", "SSD"]
