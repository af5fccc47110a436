"""Replicas that fail, start cold, drain and follow a rule; a day of traffic; what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pages_app import opened
from scenarios import constant, scenario

from calc import cost, serving
from calc.serving import Fate, ServingError, Shift, hours

BATCH = serving.Continuous(32)


def test_a_replica_dies_and_comes_back() -> None:
    traffic = constant(40, serving.Even(1.0), 1000, 400)
    plain = serving.simulate(scenario(), traffic, BATCH)
    down = serving.Outages(((0, 10.5, 60.0),))
    run = serving.simulate(scenario(), traffic, serving.Colocated(BATCH, staffing=(down,)))
    # What it had when it stopped is read again when it is back, with what was written of it.
    hit = (traffic.arrival < 10.5) & (plain.ended > 10.5)
    assert hit.any()
    assert (run.retries == hit).all()
    assert run.reread > 1000 * hit.sum()
    assert run.finished.all() and run.ended[hit].min() > 70.5
    assert_allclose(run.ended[plain.ended < 10.5], plain.ended[plain.ended < 10.5])
    assert ((run.first < 10.5 + 1e-9) | (run.first > 70.5)).all()
    lost = serving.simulate(
        scenario(), traffic,
        serving.Colocated(BATCH, staffing=(serving.Outages(((0, 10.5, 60.0),), retried=False),)),
    )  # fmt: skip
    assert ((lost.fate == Fate.LOST) == hit).all()
    assert (lost.ended[hit] == 10.5).all()
    assert serving.summary(lost).lost == hit.sum()
    assert lost.shifts and run.shifts
    assert_allclose(lost.shifts.end[lost.shifts.shift == Shift.DOWN], [70.5])
    # Another replica takes it at once; the session that was there follows.
    two = serving.Colocated(BATCH, 2, routing=serving.LeastTokens(), staffing=(down,))
    both = serving.simulate(scenario(), traffic, two)
    assert both.finished.all() and both.ended.max() < 70
    assert set(both.replica[(traffic.arrival > 11)]) == {1}


def test_replicas_serve_their_share_of_the_time() -> None:
    """F8.23."""
    traffic = constant(3000, serving.Poisson(0.5), 200, 20)
    fleet = serving.Colocated(BATCH, 4, staffing=(serving.Failures(300.0, 100.0),))
    run = serving.simulate(scenario(), traffic, fleet)
    assert_allclose(hours.serving(run, 0, run.duration) / 4, 0.75, atol=0.03)
    assert run.finished.all()
    # A machine that restarts is paid for.
    assert_allclose(run.paid(0.0, run.duration), 1.0)


def test_a_fleet_follows_its_rule() -> None:
    """F8.22: all at once, so that the queue asks for all at the first look."""
    traffic = constant(200, serving.AtOnce(), 1000, 200)
    rule = serving.Autoscaler(1, 16, cold_start=20, hold=30, interval=5)
    run = serving.simulate(
        scenario(), traffic, serving.Colocated(BATCH, 4, False, serving.LeastTokens(), (rule,))
    )
    assert run.shifts and run.finished.all()
    starts = run.shifts.start[run.shifts.shift == Shift.STARTING]
    assert starts.tolist() == [5.0, 5.0, 5.0]
    serves = run.shifts.start[run.shifts.shift == Shift.SERVING]
    assert sorted(serves.tolist()) == [0.0, 25.0, 25.0, 25.0]
    spent = float((run.shifts.end - run.shifts.start).sum())
    bill = hours.bill(run)
    assert_allclose(bill.replica_hours, spent / 3600, rtol=1e-6)
    assert_allclose(bill.fixed_hours, 4 * run.duration / 3600)
    assert_allclose(bill.usd / bill.replica_hours, 16 * cost.price(scenario()))
    assert rule.wanted(0, 4) == 1 and rule.wanted(17, 4) == 2 and rule.wanted(999, 4) == 4
    with pytest.raises(ServingError, match="fewest replicas is 0"):
        serving.Autoscaler(0)


def test_a_day_goes_up_and_down() -> None:
    """F8.24: the mean is the rate, the peak is at noon, and parts add up."""
    day = serving.Daily(0.2, 1.8)
    traffic = serving.generate(17_280, day, serving.Constant(50), serving.Constant(2))
    assert_allclose(traffic.realised_rate, 0.2, rtol=0.05)
    counts, _ = np.histogram(traffic.arrival, 24, (0, 86400))
    middle = (np.arange(24) + 0.5) / 24
    wanted = 720 * (1 - 0.8 * np.cos(2 * np.pi * middle))
    assert_allclose(counts[:22], wanted[:22], atol=120)
    with pytest.raises(ServingError, match="within 1 to 2"):
        serving.Daily(1.0, 3.0)
    run = serving.simulate(scenario(), traffic.upto(2000), BATCH)
    each = hours.parts(run, serving.Limits())
    assert sum(one.requests for one in each) == 2000
    assert each[0].end == each[1].start
    assert serving.summary(run).window.whole
    assert run.traffic.at_rate(0.4).realised_rate > run.traffic.realised_rate


def test_the_day_is_shown_beside_a_fixed_fleet() -> None:
    at = opened(
        "serving", arr="daily", day="600", qps="2", req="600", p="500", g="100", rep="4", sc="auto",
        star="4", cold="10", hold="20", mtb="60", down="30", x="serving_over-the-day",
    )  # fmt: skip
    assert not at.exception
    said = " ".join(element.value for element in at.markdown)
    assert "replica-hours** are paid for" in said and "scaling saves" in said
    assert "Failures sent" in said
    fleets = at.table[0].value
    assert fleets["Fleet"].tolist() == ["this fleet", "all replicas, without failures"]
    assert len(at.table[1].value) == hours.PARTS
