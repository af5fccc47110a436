"""The names that others rely on."""

from __future__ import annotations

import calc
import presets
from calc import Scenario, decode, memory, roofline
from presets import chips, formats, models


def test_exported_members() -> None:
    assert set(calc.__all__) <= set(dir(calc))
    assert {"Scenario", "decode", "memory", "roofline"} <= set(calc.__all__)
    assert set(presets.__all__) == {"PresetError", "chips", "formats", "load", "models"}


def test_the_documented_example() -> None:
    s = Scenario(
        model=models["llama-3-70b"], chip=chips["tpu-v5e"], n_chips=16,
        weight_format=formats["int8"], kv_format=formats["int8"],
        compute_format=formats["bf16"], batch=32, context=8192, fidelity="bound",
    )  # fmt: skip
    step = decode.step_time(s)
    times = (step.kv_read, step.weight_read, step.linear_compute, step.attention_compute)
    assert all(time > 0 for time in (*times, step.throughput, step.throughput_per_chip))
    assert step.communication == step.overhead == 0
    assert memory.weights(s) + memory.kv_cache(s) <= memory.capacity(s)
    assert memory.max_batch(s) == 138
    assert memory.min_chips(s) == 8
    assert round(roofline.critical_batch(s.chip, s.stored, s.compute_format)) == 120
    assert s.model.kv_bytes(8192, s.kv_format) == 8192 * s.model.kv_bytes_per_token(s.kv_format)
