"""What of a service a reader chooses: its traffic, how it batches, what it must keep.

The fields stand beside those of a scenario in links and controls, and change nothing but the
simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calc.scenario import Field, Option, Quantity, Scenario
from calc.serving import arrivals, lengths
from calc.serving.deployment import Colocated, Deployment, Disaggregated
from calc.serving.policies import Batching, ChunkedPrefill, Continuous, Dynamic, Static
from calc.serving.pool import Contiguous, Memory, Paged, Recompute, Reject, Relief, Swap
from calc.serving.prefix import HostMemory, PrefixCache, SpareMemory
from calc.serving.service import Limits
from calc.serving.traffic import Traffic, generate
from calc.words import marked, say

Lengths = lengths.Lengths

_ARRIVALS: Mapping[str, Callable[[float, float], arrivals.Arrivals]] = {
    "poisson": lambda rate, _: arrivals.Poisson(rate),
    "bursty": arrivals.Bursty,
    "even": lambda rate, _: arrivals.Even(rate),
    "at-once": lambda rate, _: arrivals.AtOnce(),
}
_LENGTHS: Mapping[str, Callable[[float, float], Lengths]] = {
    "lognormal": lengths.Lognormal,
    "constant": lambda mean, _: lengths.Constant(int(mean)),
    "exponential": lambda mean, _: lengths.Exponential(mean),
}
_RELIEFS: Mapping[str, Callable[[float], Relief]] = {
    "recompute": lambda _: Recompute(),
    "swap": Swap,
    "reject": lambda _: Reject(),
}
MEMORIES = ("paged", "contiguous")
PREFIXES = ("none", "spare", "host")
POLICIES = ("static", "dynamic", "continuous", "chunked", "disaggregated")

# Keys are part of every link ever shared: add fields, never rename or reuse a key.
FIELDS: tuple[Field, ...] = (
    Option("arrivals", "arr", marked("Arrivals"), "poisson",
           marked("Independent, in bursts, at even gaps, or all at time 0."), tuple(_ARRIVALS)),
    Quantity("rate", "qps", marked("Arrival rate"), "1/s", 0.8, 0.01, 10000,
             marked("Requests per second over all replicas."), whole=False),
    Quantity("requests", "req", marked("Requests"), "requests", 400, 1, 20000,
             marked("How many are simulated.")),
    Option("lengths", "len", marked("Lengths"), "lognormal",
           marked("How prompts and outputs spread around their means, which are Prompt and "
                  "Output under Prefill."), tuple(_LENGTHS)),
    Quantity("spread", "cv", marked("Spread"), "ratio", 1.0, 0.1, 5.0,
             marked("Deviation over mean of lognormal lengths."),
             whole=False, step=0.1),
    Quantity("burstiness", "burst", marked("Burstiness"), "ratio", 2.0, 0.1, 10.0,
             marked("Deviation over mean of the gaps of bursty arrivals; 1 is Poisson."),
             whole=False, step=0.1),
    Quantity("system", "sys", marked("System prompt"), "tokens", 0, 0, 131072,
             marked("Tokens at the start of every prompt that all requests share.")),
    Quantity("turns", "turns", marked("Turns"), "requests", 1, 1, 50,
             marked("Requests of one session; each starts with all that was said before.")),
    Quantity("samples", "bon", marked("Samples"), "answers", 1, 1, 64,
             marked("Answers to each prompt; they share its cache.")),
    Quantity("seed", "seed", marked("Seed"), "", 0, 0, 1000000,
             marked("Start of the random numbers: the same seed gives the same run.")),
    Option("policy", "pol", marked("Policy shown"), "continuous",
           marked("Whose requests are drawn; all are compared."), POLICIES),
    Quantity("replicas", "rep", marked("Replicas"), "replicas", 2, 1, 16,
             marked("Of the sidebar's chips each. Disaggregated, some of them only read prompts.")),
    Quantity("prefill_replicas", "npre", marked("Prefill replicas"), "replicas", 1, 1, 15,
             marked("Of the replicas, those that read prompts when disaggregated.")),
    Quantity("slots", "slots", marked("Slots"), "sequences", 32, 1, 4096,
             marked("Most sequences that a replica decodes at once.")),
    Quantity("window", "win", marked("Window"), "ms", 100, 1, 60000,
             marked("Longest that dynamic batching waits for a full batch."), scale=1e-3),
    Quantity("budget", "bud", marked("Token budget"), "tokens", 512, 1, 131072,
             marked("Tokens of one step when prompts are read in chunks.")),
    Option("memory", "kvm", marked("Cache memory"), "paged",
           marked("Blocks as they are needed, or the longest length reserved."), MEMORIES),
    Quantity("reserved", "res", marked("Reserved length"), "tokens", 32768, 1, 1048576,
             marked("What contiguous memory sets aside for each sequence.")),
    Option("relief", "out", marked("Memory full"), "recompute",
           marked("The youngest is read again later, moved to the host, or turned away."),
           tuple(_RELIEFS)),
    Quantity("host", "host", marked("Host link"), "GB/s", 25, 1, 1024,
             marked("Of one chip to host memory, for swapping and for prefixes kept there."),
             scale=1e9),
    Quantity("host_memory", "hm", marked("Host memory"), "GB", 64, 1, 4096,
             marked("For the prefixes of one chip, where they are kept on the host."), scale=1e9),
    Option("prefix", "pfx", marked("Prefix cache"), "none",
           marked("Where prefixes are kept: nowhere, in spare memory, or on the host."), PREFIXES),
    Option("affinity", "aff", marked("Session affinity"), "on",
           marked("Whether a session stays with its replica."), ("on", "off")),
    Option("streaming", "str", marked("Streaming"), "on",
           marked("Whether the cache follows layer by layer while the prompt is still read, when "
                  "disaggregated."),
           ("on", "off")),
    Quantity("ttft_limit", "tl", marked("Wanted TTFT"), "s", 5.0, 0.01, 3600,
             marked("Longest time to first token of a good answer; TPOT has its own under "
                    "Prefill."), whole=False),
)  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """A service to simulate.

    `deployments` are the policies by id, all with the same chips; `memory`, `relief` and `prefix`
    are how each of their replicas handles cache; `shown` is the policy to look at, and `notices`
    say what could not be as asked.
    """

    deployments: Mapping[str, Deployment]
    memory: Memory
    relief: Relief
    prefix: PrefixCache | None
    limits: Limits
    shown: str
    notices: tuple[str, ...] = ()


def requested(values: Mapping[str, Any], scenario: Scenario) -> Traffic:
    """The requests that the values describe.

    Raises
    ------
    ServingError
        If they cannot come together.
    """
    get = _getter(values)
    lengths_of = _LENGTHS[get("lengths")]
    return generate(
        get("requests"),
        _ARRIVALS[get("arrivals")](get("rate"), get("burstiness")),
        lengths_of(scenario.prompt, get("spread")),
        lengths_of(scenario.output, get("spread")),
        seed=get("seed"),
        system=get("system"),
        samples=get("samples"),
        turns=get("turns"),
    )


def setup(values: Mapping[str, Any], scenario: Scenario) -> Setup:
    """Policies, memory and limits that the values describe; fields left out take their defaults.

    Raises
    ------
    ServingError
        If they contradict each other.
    """
    get = _getter(values)
    host = get("host") * scenario.n_chips
    slots, replicas = get("slots"), get("replicas")
    budget = max(get("budget"), slots)
    batching: dict[str, Batching] = {
        "static": Static(slots),
        "dynamic": Dynamic(slots, get("window")),
        "continuous": Continuous(slots),
        "chunked": ChunkedPrefill(slots, budget),
    }
    deployments: dict[str, Deployment] = {
        id: Colocated(one, replicas, get("affinity") == "on") for id, one in batching.items()
    }
    readers = min(get("prefill_replicas"), replicas - 1)
    shown, notices = get("policy"), []
    if budget > get("budget"):
        notices.append(
            say("The token budget is raised to {n:,}: one token for each slot.", n=budget)
        )
    if not readers and shown == "disaggregated":
        shown = "continuous"
        notices.append(say("Disaggregated serving takes two replicas: continuous is shown."))
    elif readers < get("prefill_replicas") and shown == "disaggregated":
        notices.append(
            say("Of {n:,} replicas at most {most:,} can read prompts.", n=replicas, most=readers)
        )
    if readers:
        deployments["disaggregated"] = Disaggregated(
            readers, replicas - readers, scenario.scale_out * scenario.n_chips,
            get("streaming") == "on", Continuous(slots),
        )  # fmt: skip
    kept: dict[str, PrefixCache | None] = {
        "none": None,
        "spare": SpareMemory(),
        "host": HostMemory(get("host_memory") * scenario.n_chips, host),
    }
    return Setup(
        deployments,
        Paged() if get("memory") == "paged" else Contiguous(get("reserved")),
        _RELIEFS[get("relief")](host),
        kept[get("prefix")],
        Limits(get("ttft_limit"), scenario.tpot_target),
        shown,
        tuple(notices),
    )


def _getter(values: Mapping[str, Any]) -> Callable[[str], Any]:
    """Looks a field up in SI units, or its default."""
    by_name = {field.name: field for field in FIELDS}

    def get(name: str) -> Any:
        field = by_name[name]
        value = values.get(name, field.default)
        return field.to_si(value) if isinstance(field, Quantity) else value

    return get
