"""Tables of the Cost page."""

from __future__ import annotations

import math

from calc import Scenario, cost, decode, metrics, purchase
from calc.words import say
from pages.ui.writing import published, tables, text, written


def measures(scenario: Scenario, step: decode.StepTime, reading: float) -> str:
    """Latency, utilisation and cost, each with the definition that is meant."""
    s, tpot = scenario, float(step.total)
    price, watts = cost.price(s), cost.power(s)
    rows = [
        ["TTFT", published.seconds(s, reading), say("prompt time; nothing waits in a queue here")],
        ["TPOT", written.cell("step_time", tpot, s),
         say("time of a decode step: gaps between tokens")],
        [say("E2E, gaps"), published.seconds(s, metrics.end_to_end(reading, tpot, s.output)),
         say("TTFT + TPOT × (output − 1), as most engines report")],
        [say("E2E, tokens"),
         published.seconds(s, metrics.end_to_end(reading, tpot, s.output, per_token=True)),
         say("TTFT + TPOT × output, the other convention")],
        ["MBU", written.cell("mbu", float(metrics.mbu(s, step)), s),
         say("weights and cache that must move, over what memory could move")],
        ["MFU", written.cell("mfu", float(metrics.mfu(s, step)), s),
         say("2 FLOP per active parameter and token over the dense peak, attention left out")],
        [say("FLOP per USD"), text.si(cost.flops_per_usd(price, s.chip, s.compute_format), "FLOP"),
         say("dense peak, 3,600 s over the hourly price")],
        [say("Token per joule"),
         written.cell("tokens_per_joule", float(cost.tokens_per_joule(s, step)), s),
         say("at {power} a chip", power=text.si(watts, "W")) if math.isfinite(watts)
         else say("power not published")],
        [say("Energy of a chip in a year"), text.energy(cost.kilowatt_hours_per_year(watts)),
         say("at that power all year")],
        [say("KV tokens retired per step"),
         text.significant(metrics.kv_tokens_retired(s.batch, s.prompt, s.output)),
         say("batch × (prompt + output) ÷ output")],
    ]  # fmt: skip
    return tables.markdown([say("Quantity"), say("Value"), say("What is meant")], rows, " r ")


def _owned(s: Scenario) -> str:
    """What the hour of an owned chip is made of."""
    return say(
        "owned: {capital} and {surroundings} for host and network, {years} years, {in_use} of them "
        "in use; {power} at PUE {pue} and {energy}/kWh",
        capital=text.usd(cost.capital(s)), surroundings=text.percent(s.surroundings),
        years=text.significant(s.years), in_use=text.percent(s.in_use),
        power=text.si(cost.power(s), "W"), pue=text.significant(s.pue),
        energy=text.usd(s.energy_price),
    )  # fmt: skip


def prices(scenario: Scenario) -> str:
    """Prices of the chip with date and source, and which is used."""
    chip, s = scenario.chip, scenario
    rows, used = [], cost.price(s)
    if s.terms in purchase.DISCOUNTED and s.discount:
        rows.append([
            text.usd(used), say("used"),
            say("{terms}, {discount} below the price on demand",
                terms=say(purchase.TERMS[s.terms]), discount=text.percent(s.discount)),
        ])  # fmt: skip
    elif cost.is_owned(s) and math.isfinite(used):
        rows.append([text.usd(used), say("used"), _owned(s)])
    left = not rows
    if s.price:
        rows.append([text.usd(s.price), say("used") if left else "", say("typed in the sidebar")])
    if chip.price:
        rows.append(
            [text.usd(chip.price.usd_per_hour), say("used") if left and not s.price else "",
             text.plain(chip.price.source)]
        )  # fmt: skip
    rows += [[text.usd(p.usd_per_hour), "", text.plain(p.source)] for p in chip.other_prices]
    if not rows:
        return say(
            "No price is published for {chip}: type one in the sidebar.",
            chip=text.plain(chip.name),
        )
    return tables.markdown(
        [say("USD per chip-hour"), say("Taken"), say("Source and date")], rows, "r  "
    )
