"""Which hardware, how much of it, laid out how, serves a traffic within limits, and for what.

`Ask` says what is to be kept, `Space` among what is looked; `search` gives the best plans, what
keeps other chips from one, and what each limit costs. `steady` is what one replica does.

>>> from calc import Scenario, plan
>>> from presets import chips, formats, models
>>> fp8 = formats["fp8"]
>>> s = Scenario(models["llama-3.3-70b"], chips["h200"], 1, fp8, fp8, fp8, 1, 1, usable_memory=0.9)
>>> space = plan.Space((chips["h200"], chips["mi300x"]), (plan.Formats(fp8, fp8, fp8),))
>>> ask = plan.Ask(rate=10, prompt=3000, output=300, ttft=2.0, tpot=0.04)
>>> best = plan.search(s, ask, space).best
>>> best.scenario.chip.name, best.replicas, best.scenario.n_chips, round(best.usd_per_hour, 2)
('MI300X', 3, 2, 11.1)
"""

from calc.plan.ask import (
    ARRANGEMENTS,
    OBJECTIVES,
    PERCENTILES,
    Ask,
    Formats,
    PlanError,
    Space,
)
from calc.plan.by_class import ClassTimes, class_times
from calc.plan.candidate import BINDS, Candidate, Prefill
from calc.plan.curve import Curve
from calc.plan.launch import ENGINES, Launch, Launches, command, engines
from calc.plan.moves import Move, moves
from calc.plan.obstacles import KINDS, Obstacle
from calc.plan.offer import Offer, cheaper_from, most_served
from calc.plan.pool_sizes import PoolSizes
from calc.plan.proof import Proof, verify
from calc.plan.replica import Steady, steady
from calc.plan.search import Answer, search, survey_all
from calc.plan.served import Served

__all__ = [
    "ARRANGEMENTS",
    "BINDS",
    "ENGINES",
    "KINDS",
    "OBJECTIVES",
    "PERCENTILES",
    "Answer",
    "Ask",
    "Candidate",
    "ClassTimes",
    "Curve",
    "Formats",
    "Launch",
    "Launches",
    "Move",
    "Obstacle",
    "Offer",
    "PlanError",
    "PoolSizes",
    "Prefill",
    "Proof",
    "Served",
    "Space",
    "Steady",
    "cheaper_from",
    "class_times",
    "command",
    "engines",
    "most_served",
    "moves",
    "search",
    "steady",
    "survey_all",
    "verify",
]
