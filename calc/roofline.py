"""Which of memory and arithmetic takes the time, and from what batch on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc import decode, host, known
from calc.checkpoint import DENSE, Stored
from calc.chip import Chip
from calc.formats import NumberFormat
from calc.operators import Work
from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Roof:
    """What bounds the work of one chip.

    Parameters
    ----------
    bandwidth, rate : float
        Bytes it moves and FLOPs it does in a second, at most [byte/s, FLOP/s].
    """

    bandwidth: float
    rate: float

    @property
    def ridge(self) -> float:
        """Intensity from which arithmetic bounds it [FLOP/byte]; nan where a side is unlimited."""
        return known.figure(self.rate) / known.figure(self.bandwidth)

    def attainable(self, intensity: float) -> float:
        """FLOPs each second of work of an intensity [FLOP/s].

        .. math:: \\min(C, I W)

        References
        ----------
        F0.2; Williams et al. 2009.

        Examples
        --------
        >>> Roof(8.2e11, 1.97e14).attainable(10) / 1e12
        8.2
        """
        return min(self.rate, intensity * self.bandwidth)


def roofs(scenario: Scenario) -> Mapping[NumberFormat, Roof]:
    """The published roofs, one for each format that something of the model is multiplied in."""
    s = scenario
    used = [*s.model.multiplied_in(s.stored, s.compute_format)]
    if s.fidelity != "bound":
        used.append(s.attention_format or s.compute_format)
    return {one: Roof(s.chip.bandwidth, s.chip.peak(one)) for one in used}


def reached(work: Work) -> Sequence[Roof]:
    """The roofs that operators are timed by, each once: published figures times what is kept."""
    found = (Roof(float(one.bandwidth), float(one.rate)) for one in work.operators)
    return list(dict.fromkeys(found))


def intensity(work: Work, cache: bool) -> float:
    """FLOPs for each byte of all that reads cache, or of all that reads weights [FLOP/byte].

    Of one chip; what lies on the host is left out.

    References
    ----------
    F3.13.
    """
    rows = [row for row in work.by_name() if row.cache == cache and row.name != host.ON_HOST]
    moved = sum(row.moved for row in rows)
    return sum(row.done for row in rows) / moved if moved else math.nan


def ridge_point(chip: Chip, compute_format: NumberFormat) -> float:
    """FLOPs a chip can do in the time it reads one byte [FLOP/byte]; nan if no rate is published.

    References
    ----------
    F0.1; Williams et al. 2009.
    """
    return known.figure(chip.peak(compute_format)) / known.figure(chip.bandwidth)


def critical_batch(chip: Chip, weight_format: Stored, compute_format: NumberFormat) -> float:
    """Tokens per step and replica from which a dense linear layer is compute-bound [token].

    .. math:: B_\\mathrm{crit} = b_w C / (2 W)

    Of weights stored in several formats, that of a dense MLP counts. It does not depend on the
    number of chips. Passing it does not make the whole step
    compute-bound: the cache read remains.

    References
    ----------
    F4.1; Austin et al. 2025, part 1.

    Examples
    --------
    >>> int8, bf16 = NumberFormat("int8", "", 8, "int8"), NumberFormat("bf16", "", 16, "bf16")
    >>> v5e = Chip("v5e", "", "", 16e9, 8.2e11, {"bf16": 1.97e14})
    >>> round(critical_batch(v5e, int8, bf16))
    120
    """
    return weight_format.of(DENSE).bytes * ridge_point(chip, compute_format) / 2


def compute_bound_batch(scenario: Scenario) -> float:
    """Batch from which this model's linear layers are compute-bound as a whole [sequence].

    Where the FLOPs line crosses the weight-read line: `critical_batch` for a dense model, later
    for a mixture of experts, whose weight read grows with the batch until all experts are touched.
    nan if the chip has no published rate.

    Notes
    -----
    Weights read are concave in the batch and start above the FLOPs line, so there is one crossing.
    It is bracketed on grids that close in on it, each one call.

    References
    ----------
    F3.5.
    """
    low, high = 1e-3, 1e9
    if not (math.isfinite(scenario.linear_rate) and math.isfinite(scenario.chip.bandwidth)):
        return math.nan
    for _ in range(3):
        batch = np.geomspace(low, high, 4000)
        above = decode.step_time(scenario, batch=batch).compute_bound
        first = int(np.argmax(above)) if above.any() else len(batch) - 1
        low, high = batch[max(first - 1, 0)], batch[first]
    return float(high)


def token_flops_time(scenario: Scenario) -> float:
    """Chip time of one token's FLOPs in the linear layers at the published rates [s].

    Over all chips of a replica together; nan if no rate is published.
    """
    s = scenario
    time = 2.0 * host.chip_active(s) / known.figure(s.linear_rate)
    if s.host_share:
        at_host = s.host_compute == host.HOST
        time += 2.0 * host.active(s) / (s.host_rate if at_host else s.linear_rate)
    return time


def kv_overtakes(scenario: Scenario) -> float:
    """Context from which a sequence's cache takes longer to read than its FLOPs [token].

    Beyond it no batch makes the step wait for compute more than for the cache. inf where windows or
    constant states keep it from that; nan if a figure is not published.

    References
    ----------
    F4.5.
    """
    s, flops = scenario, token_flops_time(scenario)
    bandwidth = known.figure(s.chip.bandwidth)
    if math.isnan(flops) or math.isnan(bandwidth):
        return math.nan
    return crossing(lambda length: s.model.kv_bytes_read(length, s.kv_format) / bandwidth - flops)


def crossing(excess: Callable[[Array], Array]) -> float:
    """Where a function of length becomes positive, up to 2^40 tokens; inf if nowhere."""
    low, high = 1.0, 2.0**40
    for _ in range(5):
        length = np.geomspace(low, high, 400)
        above = excess(length) > 0
        if not above.any():
            return math.inf
        first = int(np.argmax(above))
        low, high = length[max(first - 1, 0)], length[first]
    return float(high)
