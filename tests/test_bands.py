"""Where calibrated times usually lie: in the core, in what is written, on charts."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pages_app import PAGES, asked, metrics, notes, opened, parsed, tour, words
from scenarios import scenario

from calc import Scenario, calibration, decode, pins
from calc.explain import EXPLANATIONS, bands, bounds
from pages.ui.charts import kit
from pages.ui.decode.view import DecodeView, by_batch, by_context
from pages.ui.report import report
from pages.ui.writing import written
from presets import chips

H100: dict[str, Any] = {
    "model": "llama-3.3-70b", "chip": "h100-sxm", "n": "8", "w": "fp8", "kv": "fp8", "c": "fp8",
    "b": "64", "s": "4096", "f": "calibrated",
}  # fmt: skip
SERVER = asked(**H100)
PHASES = {"batched": (0.71, 1.31), "sharded": (0.78, 1.27), "single": (0.91, 1.22)}


def usual(chart: kit.Chart) -> kit.Dict | None:
    """The area of a chart, which stands once."""
    found = [trace for trace in chart.data if trace.get("name") == "usual range"]
    assert len(found) == json.dumps(chart.layout["shapes"]).count("usual range") <= 1
    return found[0] if found else None


@pytest.mark.parametrize("chip", ["h100-sxm", "tpu-v5e", "rtx-4090", "gaudi3", "mi300x"])
@pytest.mark.parametrize("n_chips", [1, 4])
def test_many_steps_have_the_bands_that_each_has_alone(chip: str, n_chips: int) -> None:
    s = scenario(chip=chip, n_chips=n_chips, fidelity="calibrated")
    batch = np.array([1, 2, 256, 257])
    alone = [calibration.band(replace(s, batch=int(one))) for one in batch]
    for of, ends in zip(("low", "high"), calibration.edges(s, batch), strict=True):
        assert_allclose(ends, [getattr(one, of) if one else np.nan for one in alone])
    assert_allclose(calibration.edges(replace(s, fidelity="operators"), batch), np.nan)


def test_bands_are_those_of_chips_and_batch() -> None:
    found = calibration.edges(SERVER, [[64], [1]], [8, 1])
    order = [["batched", "batched"], ["sharded", "single"]]
    assert_allclose(np.transpose(found, (1, 2, 0)), [[PHASES[p] for p in row] for row in order])


def test_constants_set_by_hand_have_no_band() -> None:
    by_hand = replace(SERVER, kernel_time=7e-6)
    assert calibration.band(by_hand) is None
    assert "set by hand" in calibration.no_band(by_hand)
    assert bands.edges(by_hand) is None
    # No decode step is made with it.
    assert calibration.band(replace(SERVER, mfu=0.5)) == calibration.band(SERVER)


def test_rates_are_as_far_off_as_the_times_they_come_from() -> None:
    step = decode.step_time(SERVER)
    low, high = bands.usual("step_time", float(step.total), SERVER) or (0, 0)
    assert_allclose([low, high], [0.71 * float(step.total), 1.31 * float(step.total)])
    rates = bands.usual("throughput", float(step.throughput), SERVER)
    assert_allclose(rates or (), [SERVER.batch / high, SERVER.batch / low])
    assert bands.usual("prefill_time", 1.0, SERVER) is None
    assert bands.usual("weights", 1.0, SERVER) is None
    # Of a bound there is none.
    unrated = replace(SERVER, chip=chips["h100-sxm"].unlimited)
    assert bands.usual("step_time", 1.0, unrated) is None


@pytest.mark.parametrize("id", bands.PHASES)
def test_whatever_has_a_band_goes_with_the_time_and_can_be_written(id: str) -> None:
    assert id in bounds.BOUNDS
    assert id in EXPLANATIONS
    low, high = PHASES["batched"]
    said = written.ranged(id, 1.0, SERVER)
    assert bool(said) == (bands.PHASES[id] == bands.DECODE)
    if said:
        digits = {"s": "710 ms–1.3 s", "USD": "$0.71–1.3", "share": "76–140 %"}
        assert said == digits.get(EXPLANATIONS[id].unit, "0.76–1.4")
        assert_allclose([1 / high, 1 / low], [0.76, 1.4], rtol=0.01)


REASONS = {
    "of a batch": (H100, "", "8 in 10 of 328 measurements of 8 sources"),
    "thin": ({"f": "calibrated"}, " (thin data)", "Thin data"),
    "large batch": ({**H100, "b": "512"}, None, "Beyond a batch of 256"),
    "by hand": ({**H100, "eb": "0.9"}, None, "set by hand"),
    "few sources": ({"chip": "rtx-4090", "n": "1", "f": "calibrated"}, None, "Too few sources"),
    "history": ({**H100, "chip": "mi300x"}, None, "engines of the past only"),
    "operators": ({**H100, "f": "operators"}, None, ""),
}


@pytest.mark.parametrize(("query", "thin", "why"), REASONS.values(), ids=REASONS)
def test_a_page_says_where_its_times_usually_lie_or_why_not(
    query: dict[str, str], thin: str | None, why: str
) -> None:
    test = opened(**query)
    s = asked(**query)
    step = decode.step_time(s)
    beneath = {card.label: card.delta for card in test.metric}
    said = written.usual("step_time", float(step.total), s)
    assert bool(said) == (thin is not None)
    if thin is None:
        assert "usually" not in str(beneath) + words(test)
    else:
        assert beneath["Step time"] == said
        assert f"takes **{metrics(test)['Step time']}, {said}{thin}**" in words(test)
        for label in ("USD per Mtoken", "Token/s", "Token/s per chip"):
            assert beneath[label].startswith("usually ")
    assert why in notes(test).replace("\\", "")


TOLD = {
    "cost": (words, "usually $0.80–1.5** and a million input"),
    "sharding": (words, "the step takes **11.0 ms, usually 7.8–14 ms**"),
    "prefill": (notes, "How long a prompt takes alone"),
    "quantization": (words, "11.0 ms, usually 7.8–14 ms"),
    "speculative": (notes, "without drafting takes 11.0 ms, usually 7.8–14 ms"),
    "serving": (notes, "usually take 0.71–1.3 ×"),
}


def test_every_page_says_it_of_what_it_shows() -> None:
    for page, test in tour(TOLD, **H100):
        where, said = TOLD[page.name]
        assert said in where(test)
        if page.metrics:
            view = page.slide(SERVER)
            told = written.bands(written.values(page.metrics, view), view.scenario)
            assert [m.delta for m in test.metric if m.delta] == list(told.values())
        if page.name == "cost":
            assert "11.0 ms (7.8–14 ms)" in words(test)


def test_other_chips_and_slices_have_their_own() -> None:
    test = opened("capacity", **{**H100, "c": "bf16"}, x="capacity_every-chip")
    [frame] = [one.value for one in test.dataframe if "Usually" in one.value]
    by_chip = dict(zip(frame["Chip"], frame["Usually"], strict=True))
    assert by_chip["TPU v5e"].endswith(" ms (thin data)")
    assert by_chip["MI300X"] == ""
    assert "thin" not in by_chip["H100 SXM"] != ""


def test_contenders_each_have_their_own() -> None:
    test = opened("compare", **H100, pins=pins.write([pins.Pin("tpu", "f=calibrated")]))
    rows = test.dataframe[0].value.set_index("Figure")
    assert list(rows.loc["Step time, usually"]) == ["7.8–14 ms", "23–35 ms"]
    assert "11.0 ms, usually 7.8–14 ms" in words(test)
    said = notes(test)
    assert "328 measurements" in said and "Thin data" in said
    assert "usually" not in str(
        opened("compare", pins=pins.write([pins.Pin("n", "n=8")])).dataframe
    )


@pytest.mark.parametrize("scale", ["logarithmic", "linear"])
def test_charts_draw_the_area_as_far_as_it_may_be_claimed(scale: str) -> None:
    view = DecodeView(SERVER, {"decode-scale": scale})
    step, frontier = view.step_chart(), view.frontier_chart()
    drawn, tradeoff = usual(step), usual(frontier)
    assert drawn is not None and tradeoff is not None
    assert max(drawn["x"]) == 256 < view.batches[-1]
    now = 1e3 * float(view.step.total)
    at = [y for x, y in zip(drawn["x"], drawn["y"], strict=True) if x == SERVER.batch]
    assert_allclose(sorted(at), [0.71 * now, 1.31 * now])
    # Both of a point are off together.
    per_chip = float(view.step.throughput_per_chip)
    near = np.isclose(tradeoff["x"] * tradeoff["y"], now * per_chip)
    assert_allclose(sorted(tradeoff["x"][near]), [0.71 * now, 1.31 * now])
    for chart, area in ((step, drawn), (frontier, tradeoff)):
        chart.figure()
        assert "bound" in json.dumps(chart.layout["shapes"])
        assert any(trace["line"]["dash"] == "dash" for trace in chart.data[1:] if "line" in trace)
        for axis in "xy":
            low, high = chart.layout[f"{axis}axis"]["range"]
            if chart.layout[f"{axis}axis"]["type"] == "log":
                low, high = 10**low, 10**high
            assert low <= min(area[axis]) and max(area[axis]) <= high


def test_without_a_band_charts_stay_as_they_are() -> None:
    for s in (replace(SERVER, fidelity="operators"), asked(chip="rtx-4090", f="calibrated")):
        view = DecodeView(s, {})
        assert usual(view.step_chart()) is usual(view.frontier_chart()) is None


def test_a_scrub_takes_the_area_along() -> None:
    view = DecodeView(SERVER, {})
    for scrub in (by_batch(view), by_context(view)):
        frames = list(scrub.family())
        counts = {len(frame.charts["step-time"].data) for frame in frames}
        assert counts == {len(view.step_chart().data)}
        assert all(usual(chart) for frame in frames[::9] for chart in frame.charts.values())


@pytest.mark.parametrize(("page", "exhibit"), [("cost", 0), ("sharding", 0)])
def test_other_charts_draw_it_too(page: str, exhibit: int) -> None:
    shown = PAGES[page].exhibits[exhibit].shown
    for s, there in ((SERVER, True), (replace(SERVER, fidelity="operators"), False)):
        drawn = shown(PAGES[page].slide(s))
        assert drawn is not None
        drawn.chart.figure()
        assert bool(usual(drawn.chart)) == there
    # An area of prices that nobody knows is none.
    unpriced = replace(SERVER, chip=replace(SERVER.chip, price=None))
    drawn = shown(PAGES[page].slide(unpriced))
    assert drawn is not None and bool(usual(drawn.chart)) == (page == "sharding")


@pytest.mark.parametrize("query", [{}, {**H100, "f": "operators"}], ids=["bound", "operators"])
def test_what_engines_reach_stands_beside_what_is_computed_without_it(
    query: dict[str, str],
) -> None:
    there = opened(**{**query, "f": "calibrated"})
    ends = {card.label: card.delta for card in there.metric}["Step time"].removeprefix("usually ")
    thin = "" if query else " (thin data)"
    assert f"engines reach about **{ends}{thin}**" in words(opened(**query))
    assert "engines reach" not in words(there)


def test_where_engines_were_not_measured_nothing_is_said_of_them() -> None:
    for changed in ({"batch": 512}, {"chip": chips["mi300x"]}, {"bandwidth_efficiency": 0.9}):
        plain: dict[str, Any] = {"fidelity": "bound", **changed}
        assert written.reached(replace(SERVER, **plain)) is None
    assert written.reached(SERVER) is None


def test_a_report_and_a_sweep_have_it(s: Scenario = SERVER) -> None:
    rows = list(csv.DictReader(report.sweep(s).splitlines()))
    ends = ("step_time, usually from (s)", "step_time, usually to (s)")
    for row in rows:
        batch, time = float(row["batch (sequences)"]), float(row["step_time (s)"])
        low, high = PHASES["batched" if batch > 1 else "sharded"]
        expected = [low * time, high * time] if batch <= 256 else []
        assert_allclose([float(row[end]) for end in ends if row[end]], expected, rtol=1e-6)
    plain = report.sweep(replace(s, fidelity="operators")).splitlines()[0]
    assert "usually" not in plain
    said = [word for part in report.sections(s, parsed(**H100), []) for word in part.paragraphs]
    assert "328 measurements" in str(said) and "a prompt takes alone" in str(said)
