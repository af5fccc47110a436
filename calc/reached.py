"""What engines are measured to take for a decode step, whatever fidelity shows it."""

from __future__ import annotations

import math
from dataclasses import replace

from calc import calibration, decode
from calc.scenario import Scenario


def step(scenario: Scenario) -> tuple[float, float] | None:
    """Between what times nine in ten engines lie [s] (F3.12); None where no band is known.

    Examples
    --------
    >>> from presets import chips, formats, models
    >>> fp8 = formats["fp8"]
    >>> s = Scenario(model=models["llama-3.3-70b"], chip=chips["h100-sxm"], n_chips=8,
    ...              weight_format=fp8, kv_format=fp8, compute_format=fp8, batch=64, context=4096)
    >>> low, high = step(s)
    >>> low < float(decode.step_time(replace(s, fidelity="calibrated")).total) < high
    True
    """
    s = replace(scenario, fidelity="calibrated")
    found = calibration.band(s)
    if found is None:
        return None
    time = float(decode.step_time(s).total)
    return (found.low * time, found.high * time) if math.isfinite(time) else None
