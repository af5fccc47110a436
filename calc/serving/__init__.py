"""A service under load, simulated by iterations: who waits, who is read, who decodes.

>>> from calc import serving
>>> traffic = serving.generate(
...     400, serving.Poisson(2.0), serving.Lognormal(1000), serving.Lognormal(300)
... )
>>> len(traffic)
400

``serving.simulate(scenario, traffic, serving.Continuous())`` gives a `Run`, and
``serving.summary(run, serving.Limits(ttft=1.0, tpot=0.05))`` its figures.
"""

from calc.serving import classes, hours, knees, prefill_pool, queueing, reuse, theory, trace
from calc.serving.arrivals import AtOnce, Bursty, Daily, Even, Poisson
from calc.serving.asked import Setup, client_counts, requested, service_classes, setup
from calc.serving.classes import ServiceClass
from calc.serving.clock import Clock
from calc.serving.deployment import Colocated, Disaggregated
from calc.serving.errors import ServingError
from calc.serving.knees import Knee
from calc.serving.knees import find as find_knee
from calc.serving.lengths import Constant, Exponential, Lognormal, Mix, Uniform
from calc.serving.policies import ChunkedPrefill, Continuous, Dynamic, Static
from calc.serving.pool import Contiguous, Paged, Recompute, Reject, Swap
from calc.serving.prefill_pool import reader
from calc.serving.prefix import HostAndDisk, HostMemory, SpareMemory
from calc.serving.roster import Shift
from calc.serving.routing import InTurn, LeastRequests, LeastTokens, PrefixAware
from calc.serving.run import Intervals, MemoryUse, Run, Shifts
from calc.serving.service import (
    ClassService,
    Limits,
    Service,
    Spread,
    by_class,
    cdf,
    goodput,
    knee,
    meets,
    percentile,
    spread,
    summary,
)
from calc.serving.simulate import LoadPoint, clock_for, load_sweep, simulate
from calc.serving.staffing import Autoscaler, Failures, Outages
from calc.serving.steps import Plain, Speculative
from calc.serving.task import Fate, State
from calc.serving.trace import read as read_trace
from calc.serving.traffic import Traffic, closed_loop, generate
from calc.serving.window import Window

__all__ = [
    "AtOnce",
    "Autoscaler",
    "Bursty",
    "ChunkedPrefill",
    "ClassService",
    "Clock",
    "Colocated",
    "Constant",
    "Contiguous",
    "Continuous",
    "Daily",
    "Disaggregated",
    "Dynamic",
    "Even",
    "Exponential",
    "Failures",
    "Fate",
    "HostAndDisk",
    "HostMemory",
    "InTurn",
    "Intervals",
    "Knee",
    "LeastRequests",
    "LeastTokens",
    "Limits",
    "LoadPoint",
    "Lognormal",
    "MemoryUse",
    "Mix",
    "Outages",
    "Paged",
    "Plain",
    "Poisson",
    "PrefixAware",
    "Recompute",
    "Reject",
    "Run",
    "Service",
    "ServiceClass",
    "ServingError",
    "Setup",
    "Shift",
    "Shifts",
    "SpareMemory",
    "Speculative",
    "Spread",
    "State",
    "Static",
    "Swap",
    "Traffic",
    "Uniform",
    "Window",
    "by_class",
    "cdf",
    "classes",
    "client_counts",
    "clock_for",
    "closed_loop",
    "find_knee",
    "generate",
    "goodput",
    "hours",
    "knee",
    "knees",
    "load_sweep",
    "meets",
    "percentile",
    "prefill_pool",
    "queueing",
    "read_trace",
    "reader",
    "requested",
    "reuse",
    "service_classes",
    "setup",
    "simulate",
    "spread",
    "summary",
    "theory",
    "trace",
]
