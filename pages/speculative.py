"""Speculation: what drafting buys, how long a draft should be, whether it pays at this batch."""

from __future__ import annotations

import streamlit as st

from calc import roofline, speculative
from calc.words import say
from pages.ui import bench, figures, speculation_figures, sweeps, tables, text, verdict
from pages.ui.frame import current_scenario, header, metrics

scenario = current_scenario()
cycle = speculative.batch_speedup(scenario)
ratio = speculative.effective_cost_ratio(scenario)
best = speculative.best_n_draft(scenario.acceptance, ratio, text.LONGEST_SHOWN_DRAFT)
free = speculative.free_batch(scenario, roofline.compute_bound_batch(scenario))
by_length = speculative.batch_speedup(scenario, n_draft=sweeps.DRAFTED)
best_here = int(sweeps.best(by_length.speedup))
batches = sweeps.batches(scenario, free)

header(say("Does speculative decoding pay?"), scenario)
st.markdown(verdict.speculation(scenario, cycle, best_here, free))
caveats = verdict.speculation_caveats(scenario, ratio)
if caveats:
    st.caption("  \n".join(f":material/info: {caveat}" for caveat in caveats))
shown = {
    say("Speed-up here"): text.times(float(cycle.speedup)),
    say("If verifying is free"): text.times(
        float(speculative.speedup(scenario.acceptance, scenario.n_draft, ratio))
    ),
    say("Tokens per check"): text.significant(float(cycle.tokens)),
    say("Best length here"): text.at_least(best_here),
    say("Best if free"): text.at_least(best),
    say("Free up to batch"): text.count(free // 1),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    figures.show(
        speculation_figures.against_batch(
            batches,
            sweeps.speed_by_context(scenario, batches),
            now=(scenario.batch, float(cycle.speedup)),
            free=free,
        ),
        key="speed-batch",
        alt=say(
            "Speed-up against batch at several contexts; now {factor}.",
            factor=text.times(float(cycle.speedup)),
        ),
    )
    figures.show(
        speculation_figures.against_length(
            sweeps.DRAFTED,
            speculative.speedup(scenario.acceptance, sweeps.DRAFTED, ratio),
            by_length.speedup,
            best=best,
            best_real=best_here,
            batch=scenario.batch,
        ),
        key="speed-length",
        alt=say("Speed-up against draft length; best {n} at this batch.", n=best_here),
    )

length, budget, acceptance = st.tabs(
    [say("Acceptance and length"), say("Token budget"), say("Acceptance bench")],
    key="speculation-tabs",
    on_change="rerun",
)
if length.open:
    with length, st.grid(2, min_column_width=400):
        figures.show(
            speculation_figures.tokens(
                sweeps.DRAFTED,
                sweeps.tokens_by_acceptance(),
                scenario.acceptance,
                speculative.expected_tokens(scenario.acceptance, sweeps.DRAFTED),
            ),
            key="tokens-length",
            alt=say("Tokens per verification against draft length for several acceptances."),
        )
        figures.show(
            speculation_figures.speed_map(
                sweeps.ACCEPTANCES,
                sweeps.DRAFTED,
                sweeps.speed_map(ratio),
                (scenario.n_draft, scenario.acceptance),
            ),
            key="speed-map",
            alt=say("Speed-up over acceptance and draft length if verification is free."),
        )
if budget.open:
    with budget:
        st.markdown(tables.speculation_budget(scenario, cycle, ratio))
        bench.conversions(scenario)
if acceptance.open:
    with acceptance:
        bench.section(scenario)
