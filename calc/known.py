"""What is still known of a scenario where a figure of its chip is not published.

Its least: rates and links that nobody published are taken as unlimited, so that times come out as
"at least" and what is made in them as "at most". nan stays the unknown itself, in `Chip`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from calc import decode
from calc.chip import Chip
from calc.formats import NumberFormat
from calc.scenario import Scenario


@dataclass(frozen=True)
class Unknown:
    """What a scenario needs and no source gives.

    Parameters
    ----------
    rates : tuple of NumberFormat
        Formats that are computed in without a rate.
    bandwidth, links : bool
        Whether that of the memory, and what chips send each other, is unknown.
    """

    rates: tuple[NumberFormat, ...] = ()
    bandwidth: bool = False
    links: bool = False

    def __bool__(self) -> bool:
        return bool(self.rates or self.bandwidth or self.links)

    @property
    def all(self) -> bool:
        """Whether neither reading nor computing has a time: then nothing bounds a step."""
        return bool(self.rates) and self.bandwidth


NOTHING = Unknown()


def unknown(scenario: Scenario) -> Unknown:
    """What the scenario's times need and its chip does not say; the same of its `least`."""
    s = scenario
    links = False
    if s.fidelity != "bound" and s.n_chips > 1 and not _published_links(s.chip):
        links = math.isnan(float(decode.step_time(stated(s)).communication))
    found = Unknown(_unrated(s), not math.isfinite(s.chip.bandwidth), links)
    return found or NOTHING


def _published_links(chip: Chip) -> bool:
    return math.isfinite(chip.link_one_way) and math.isfinite(chip.link_two_way)


def _unrated(s: Scenario) -> tuple[NumberFormat, ...]:
    """Formats that are multiplied in though the chip publishes no rate for them."""
    used = [s.compute_format]
    if s.attention_format and s.fidelity != "bound":
        used.append(s.attention_format)
    if not s.one_rate:
        used += s.model.multiplied_in(s.stored, s.compute_format)
    return tuple(dict.fromkeys(one for one in used if not s.chip.publishes(one)))


def least(scenario: Scenario) -> Scenario:
    """The scenario with what it needs and nobody published taken as unlimited.

    Messages then take their hops alone, and work its other side. The scenario itself where all
    that it needs is published, or where nothing is left to bound it by.
    """
    missing = unknown(scenario)
    if not missing or missing.all:
        return scenario
    # Through what is stated, so that the least of a least one is itself.
    return replace(scenario, chip=scenario.chip.stated.unlimited)


def stated(scenario: Scenario) -> Scenario:
    """The scenario with what is not published unknown again."""
    chip = scenario.chip.stated
    return scenario if chip is scenario.chip else replace(scenario, chip=chip)


def bounded(scenario: Scenario) -> bool:
    """Whether it is a least scenario, whose times are bounds."""
    return stated(scenario) is not scenario


def figure(value: float) -> float:
    """A figure that is published; nan for what is taken as unlimited."""
    return value if math.isfinite(value) else math.nan


def offered(scenario: Scenario, formats: Mapping[str, NumberFormat]) -> NumberFormat | None:
    """A format to compute in whose rate is published, nearest in width; None if there is none."""
    now = scenario.compute_format
    rated = [f for f in formats.values() if "compute" in f.uses and scenario.chip.publishes(f)]
    return min(rated, key=lambda f: abs(f.bits - now.bits), default=None)
