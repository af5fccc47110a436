"""Tables of the Cost page."""

from __future__ import annotations

import math

from calc import Scenario, cost, decode, metrics
from pages.ui import tables, text


def measures(scenario: Scenario, step: decode.StepTime, reading: float) -> str:
    """Latency, utilisation and cost, each with the definition that is meant."""
    s, tpot = scenario, float(step.total)
    price, watts = cost.price(s), cost.power(s)
    rows = [
        ["TTFT", text.si(reading, "s"), "prompt time; nothing waits in a queue here"],
        ["TPOT", text.si(tpot, "s"), "time of a decode step: gaps between tokens"],
        ["E2E, gaps", text.si(metrics.end_to_end(reading, tpot, s.output), "s"),
         "TTFT + TPOT × (output − 1), as most engines report"],
        ["E2E, tokens", text.si(metrics.end_to_end(reading, tpot, s.output, per_token=True), "s"),
         "TTFT + TPOT × output, the other convention"],
        ["MBU", text.percent(float(metrics.mbu(s, step))),
         "weights and cache that must move, over what memory could move"],
        ["MFU", text.percent(float(metrics.mfu(s, step))),
         "2 FLOP per active parameter and token over the dense peak, attention left out"],
        ["FLOP per USD", text.si(cost.flops_per_usd(price, s.chip, s.compute_format), "FLOP"),
         "dense peak, 3,600 s over the hourly price"],
        ["Token per joule", text.significant(float(cost.tokens_per_joule(s, step))),
         f"at {text.si(watts, 'W')} a chip" if math.isfinite(watts) else "power not published"],
        ["Energy of a chip in a year", text.energy(cost.kilowatt_hours_per_year(watts)),
         "at that power all year"],
        ["KV tokens retired per step",
         text.significant(metrics.kv_tokens_retired(s.batch, s.prompt, s.output)),
         "batch × (prompt + output) ÷ output"],
    ]  # fmt: skip
    return tables.markdown(["", "Value", "What is meant"], rows, " r ")


def prices(scenario: Scenario) -> str:
    """Prices of the chip with date and source, and which is used."""
    chip, s = scenario.chip, scenario
    rows = []
    if s.price:
        rows.append([text.usd(s.price), "used", "typed in the sidebar"])
    if chip.price:
        rows.append(
            [text.usd(chip.price.usd_per_hour), "" if s.price else "used",
             text.plain(chip.price.source)]
        )  # fmt: skip
    rows += [[text.usd(p.usd_per_hour), "", text.plain(p.source)] for p in chip.other_prices]
    if not rows:
        return f"No price is published for {text.plain(chip.name)}: type one in the sidebar."
    return tables.markdown(["USD per chip-hour", "", "Source and date"], rows, "r  ")
