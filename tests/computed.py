"""Every explained quantity by the module that computes it for a page."""

from __future__ import annotations

from calc import (
    Scenario,
    answer,
    cost,
    decode,
    layout,
    memory,
    metrics,
    prefill,
    reader,
    ring,
    roofline,
    sharding,
    speculative,
)
from calc.explain.speculation import LONGEST
from pages.ui.charts import sweeps


def computed(s: Scenario) -> dict[str, float]:
    """Every explained quantity by the module that computes it for the page."""
    step, one, widths = decode.step_time(s), sharding.matmul(s), sharding.current_limits(s)
    reading = float(prefill.prompt_time(s).total)
    rate, own = prefill.prompt_rate(s, reading), layout.Layout.of(s)
    return {
        "step_time": float(step.total),
        "kv_read": float(step.kv_read),
        "weight_read": float(step.weight_read),
        "linear_compute": float(step.linear_compute),
        "attention_compute": float(step.attention_compute),
        "communication": float(step.communication),
        "overhead": float(step.overhead),
        "throughput": float(step.throughput),
        "throughput_per_chip": float(step.throughput_per_chip),
        "compute_bound_batch": roofline.compute_bound_batch(s),
        "max_batch": float(memory.max_batch(s)),
        "weights": memory.weights(s),
        "kv_cache": float(memory.kv_cache(s)),
        "kv_per_sequence": float(memory.kv_per_sequence(s)),
        "usd_per_million_tokens": float(cost.per_million_tokens(s, step)),
        "prefill_time": reading,
        "prefill_flops": float(prefill.flops(s.model, s.prompt, prefill.block_hit(s))),
        "free_tokens": prefill.free_tokens(s),
        "servers_ratio": prefill.servers_ratio(1 / rate, s.batch, float(step.total), s.output),
        "joined_step": prefill.joined_step(s).total,
        "block_hit": float(prefill.block_hit(s)),
        "transfer_time": prefill.transfer_time(s),
        "usd_per_million_input_tokens": cost.per_million_input_tokens(s, rate),
        "usd_per_thousand_requests": cost.requests(s, step, rate),
        "usd_per_chip_hour": cost.price(s),
        "flops_per_usd": cost.flops_per_usd(cost.price(s), s.chip, s.compute_format),
        "tokens_per_joule": float(cost.tokens_per_joule(s, step)),
        "mfu": float(metrics.mfu(s, step)),
        "mbu": float(metrics.mbu(s, step)),
        "end_to_end": metrics.end_to_end(reading, float(step.total), s.output),
        "kv_tokens_retired": metrics.kv_tokens_retired(s.batch, s.prompt, s.output),
        "usd_per_million_output_tokens": float(cost.per_million_tokens(s, step)),
        "fewest_chips": memory.min_chips(s),
        "free": memory.ledger(s).free,
        "missing": -memory.ledger(s).free,
        "kv_per_token": s.model.kv_bytes_per_token(s.kv_format),
        "kv_alone": float(s.model.kv_bytes(s.context, s.kv_format)),
        "sequences_that_fit": float(memory.max_batch(s)),
        "equal_reads": decode.kv_equals_weights_batch(s),
        "attention_intensity": sweeps.intensity(s),
        "ridge_point": roofline.ridge_point(s.chip, s.compute_format),
        "prompt_token_rate": s.prompt * rate,
        "attention_share": prefill.attention_share(s),
        "largest_chunk": prefill.largest_chunk(s),
        "ring_limit": ring.limit(s),
        "answer_flops": float(answer.with_cache(s, s.output).flops[-1]),
        "answer_flops_uncached": float(answer.without_cache(s, s.output).flops[-1]),
        **speculated(s),
        "matmul_hbm": float(one.hbm),
        "matmul_math": float(one.math),
        "matmul_link": float(one.link),
        "hbm_limit": widths.hbm,
        "compute_limit": widths.compute,
        "weight_intensity": roofline.intensity(step.work, cache=False),
        "cache_intensity": roofline.intensity(step.work, cache=True),
        "prompt_weight_intensity": roofline.intensity(prefill.by_operator(s), cache=False),
        "mfu_ceiling": float(metrics.mfu_ceiling(s)),
        "kv_overtakes": roofline.kv_overtakes(s),
        "user_rate": 1 / float(step.total),
        "input_tokens_by_time": reader.input_tokens_by_time(s, float(step.total), reading),
        "input_tokens_by_cost": reader.input_tokens_by_cost(s, float(step.total), reading),
        "prompt_cache_intensity": roofline.intensity(prefill.by_operator(s), cache=True),
        "gather_time": float(sharding.gather_time(s)),
        "pipeline_use": float(layout.pipeline_utilisation(own.pp, own.micro_batches)),
    }


def speculated(s: Scenario) -> dict[str, float]:
    """The same of speculation."""
    ratio = speculative.effective_cost_ratio(s)
    lengths = speculative.batch_speedup(s, n_draft=sweeps.DRAFTED)
    return {
        "speedup_here": float(speculative.batch_speedup(s).speedup),
        "speedup_free": float(speculative.speedup(s.acceptance, s.n_draft, ratio)),
        "tokens_per_check": float(speculative.expected_tokens(s.acceptance, s.n_draft)),
        "best_length_here": sweeps.best(lengths.speedup),
        "best_length_free": speculative.best_n_draft(s.acceptance, ratio, LONGEST),
        "free_batch": speculative.free_batch(s, roofline.compute_bound_batch(s)) // 1,
        "paying_batch": float(speculative.paying_batches(s)[1][0]),
    }
