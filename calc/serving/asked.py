"""What of a service a reader chooses: its traffic, how it batches, what it must keep.

The fields stand beside those of a scenario in links and controls, and change nothing but the
simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calc import fields
from calc.fields import Field, Option, Quantity, optional
from calc.layout import Layout
from calc.memory import capacity, weights
from calc.scenario import Scenario
from calc.serving import arrivals, classes, lengths, prefill_pool
from calc.serving.classes import ServiceClass
from calc.serving.deployment import MOST_REPLICAS, Colocated, Deployment, Disaggregated
from calc.serving.policies import (
    MOST_SLOTS,
    Batching,
    ChunkedPrefill,
    Continuous,
    Dynamic,
    Static,
)
from calc.serving.pool import Contiguous, Memory, Paged, Recompute, Reject, Relief, Swap
from calc.serving.prefix import HostAndDisk, HostMemory, PrefixCache, SpareMemory
from calc.serving.reuse import CHIPS, HOST, SSD, Provider, Tier
from calc.serving.routing import InTurn, LeastRequests, LeastTokens, PrefixAware, Routing
from calc.serving.service import Limits
from calc.serving.staffing import Autoscaler, Failures, Staffing
from calc.serving.steps import PLAIN, Speculative, Steps
from calc.serving.traffic import Traffic, closed_loop, generate
from calc.words import marked, say

Lengths = lengths.Lengths

_ARRIVALS: Mapping[str, Callable[[float, float], arrivals.Arrivals]] = {
    "poisson": lambda rate, _: arrivals.Poisson(rate),
    "bursty": arrivals.Bursty,
    "even": lambda rate, _: arrivals.Even(rate),
    "at-once": lambda rate, _: arrivals.AtOnce(),
}
# Those that take more than a rate and a burstiness.
_DAILY = "daily"
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
_ROUTINGS: Mapping[str, Routing] = {
    "in-turn": InTurn(),
    "requests": LeastRequests(),
    "tokens": LeastTokens(),
    "prefix": PrefixAware(),
}
MEMORIES = ("paged", "contiguous")
PREFIXES = ("none", "spare", "host", "ssd")
POLICIES = ("static", "dynamic", "continuous", "chunked", "disaggregated")


# Keys are part of every link ever shared: add fields, never rename or reuse a key. A field stands
# in one line here, is read below, and is shown by a group of `pages.ui.frame.groups`.
# fmt: off
@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the traffic and the service are asked to be, in SI units."""

    arrivals: str = optional(Option(
        "arr", marked("Arrivals"), "poisson",
        marked("Independent, in bursts, at even gaps, all at time 0, or by a daily curve."),
        (*_ARRIVALS, _DAILY)))
    rate: float = optional(Quantity(
        "qps", marked("Arrival rate"), "1/s", 0.8, 0.01, 10000,
        marked("Requests per second over all replicas."), whole=False))
    requests: int = optional(Quantity(
        "req", marked("Requests"), "requests", 400, 1, 20000,
        marked("How many are simulated.")))
    lengths: str = optional(Option(
        "len", marked("Lengths"), "lognormal",
        marked("How prompts and outputs spread around their means, which are Prompt and Output "
               "under Prefill."),
        tuple(_LENGTHS)))
    spread: float = optional(Quantity(
        "cv", marked("Spread"), "ratio", 1.0, 0.1, 5.0,
        marked("Deviation over mean of lognormal lengths."), whole=False, step=0.1))
    burstiness: float = optional(Quantity(
        "burst", marked("Burstiness"), "ratio", 2.0, 0.1, 10.0,
        marked("Deviation over mean of the gaps of bursty arrivals; 1 is Poisson."),
        whole=False, step=0.1))
    system: int = optional(Quantity(
        "sys", marked("System prompt"), "tokens", 0, 0, 131072,
        marked("Tokens at the start of every prompt that all requests share.")))
    turns: int = optional(Quantity(
        "turns", marked("Turns"), "requests", 1, 1, 50,
        marked("Requests of one session; each starts with all that was said before.")))
    think: float = optional(Quantity(
        "think", marked("Time between turns"), "s", 30.0, 0.01, 36000,
        marked("From one turn of a session to its next, on average."), whole=False))
    clients: int = optional(Quantity(
        "cl", marked("Clients"), "clients", 0, 0, 4096,
        marked("Each sends its next request when its last is answered, as most benchmarks do "
               "(max-concurrency); 0: requests come at the arrival rate."))
    )
    pause: float = optional(Quantity(
        "ct", marked("Pause of a client"), "s", 0.0, 0, 36000,
        marked("From an answer to the client's next request, on average."), whole=False))
    samples: int = optional(Quantity(
        "bon", marked("Samples"), "answers", 1, 1, 64,
        marked("Answers to each prompt; they share its cache (n).")))
    seed: int = optional(Quantity(
        "seed", marked("Seed"), "", 0, 0, 1000000,
        marked("Start of the random numbers: the same seed gives the same run.")))
    policy: str = optional(Option(
        "pol", marked("Policy shown"), "continuous",
        marked("Whose requests are drawn; all are compared. Chunked is enable_chunked_prefill."),
        POLICIES))
    replicas: int = optional(Quantity(
        "rep", marked("Replicas"), "replicas", 2, 1, MOST_REPLICAS,
        marked("Of the sidebar's chips each. Disaggregated, some of them only read prompts.")))
    prefill_replicas: int = optional(Quantity(
        "npre", marked("Prefill replicas"), "replicas", 1, 1, MOST_REPLICAS - 1,
        marked("Of the replicas, those that read prompts when disaggregated (kv_producer, "
               "disaggregation_mode prefill).")))
    slots: int = optional(Quantity(
        "slots", marked("Slots"), "sequences", 32, 1, MOST_SLOTS,
        marked("Most sequences that a replica decodes at once (max_num_seqs, "
               "max_running_requests, max_batch_size).")))
    window: float = optional(Quantity(
        "win", marked("Window"), "ms", 100, 1, 60000,
        marked("Longest that dynamic batching waits for a full batch."), scale=1e-3))
    budget: int = optional(Quantity(
        "bud", marked("Token budget"), "tokens", 512, 1, 131072,
        marked("Tokens of one step when prompts are read in chunks (max_num_batched_tokens, "
               "chunked_prefill_size, max_num_tokens).")))
    budget_of: str = optional(Option(
        "bof", marked("Budget of"), "replica",
        marked("Whether all groups of data-parallel attention share the budget, or each has it, as "
               "engines count."), ("replica", "group")))
    reading: str = optional(Option(
        "pr", marked("Prompts read"), "alone",
        marked("Continuous batching reads waiting prompts one after another, or as many together "
               "as the token budget holds, which then have their first tokens together."),
        ("alone", "together")))
    memory: str = optional(Option(
        "kvm", marked("Cache memory"), "paged",
        marked("Blocks as they are needed, or the longest length reserved."), MEMORIES))
    reserved: int = optional(Quantity(
        "res", marked("Reserved length"), "tokens", 32768, 1, 1048576,
        marked("What contiguous memory sets aside for each sequence (max_model_len, "
               "max_seq_len).")))
    relief: str = optional(Option(
        "out", marked("Memory full"), "recompute",
        marked("The youngest is read again later, swapped to the host, or rejected."),
        tuple(_RELIEFS)))
    host: float = optional(Quantity(
        "host", marked("Host link"), "GB/s", 25, 1, 1024,
        marked("Of one chip to host memory, for swapping and for prefixes kept there."), scale=1e9))
    host_memory: float = optional(Quantity(
        "hm", marked("Host memory"), "GB", 64, 1, 4096,
        marked("For the prefixes of one chip, where they are kept on the host."), scale=1e9))
    prefix: str = optional(Option(
        "pfx", marked("Prefix cache"), "none",
        marked("Where prefixes are kept: nowhere, in spare memory, on the host, or there and on "
               "an SSD below it (enable_prefix_caching)."), PREFIXES))
    affinity: str = optional(Option(
        "aff", marked("Session affinity"), "on",
        marked("Whether a session stays with its replica."), ("on", "off")))
    routing: str = optional(Option(
        "way", marked("Routing"), "in-turn",
        marked("Which replica takes a request, or a session that stays: in turn, the one with the "
               "fewest requests, with the fewest tokens left, or with the fewest left and its "
               "prefix."),
        tuple(_ROUTINGS)))
    streaming: str = optional(Option(
        "str", marked("Streaming"), "on",
        marked("Whether the cache follows layer by layer while the prompt is still read, when "
               "disaggregated."),
        ("on", "off")))
    ttft_limit: float = optional(Quantity(
        "tl", marked("Wanted TTFT"), "s", 5.0, 0.01, 3600,
        marked("Longest time to first token of a good answer; TPOT has its own under Prefill."),
        whole=False))
    classes: tuple[ServiceClass, ...] = optional(classes.FIELD)
    peak: float = optional(Quantity(
        "pk", marked("Peak"), "ratio", 2.0, 1.0, 2.0,
        marked("Highest rate of a daily curve over its mean."), whole=False, step=0.1))
    period: float = optional(Quantity(
        "day", marked("Day"), "s", 86400, 60, 604800,
        marked("Period of a daily curve: a shorter one takes fewer requests.")))
    scaling: str = optional(Option(
        "sc", marked("Scaling"), "fixed",
        marked("All replicas all the time, or as many as the requests need (autoscaling on "
               "requests in the system)."), ("fixed", "auto")))
    scale_least: int = optional(Quantity(
        "smin", marked("Fewest replicas"), "replicas", 1, 1, 256,
        marked("Where they scale; the most are the replicas above (minReplicas).")))
    scale_target: float = optional(Quantity(
        "star", marked("Requests a replica"), "requests", 16, 0.1, 4096,
        marked("As many as a replica holds before another starts (target concurrency)."),
        whole=False, step=1.0))
    cold_start: float = optional(Quantity(
        "cold", marked("Cold start"), "s", 120, 0, 86400,
        marked("From the decision to the first request: machine, weights, warm-up."),
        whole=False, step=10.0))
    hold: float = optional(Quantity(
        "hold", marked("Scale down after"), "s", 300, 0, 86400,
        marked("So long fewer must have been enough (stabilizationWindowSeconds)."),
        whole=False, step=10.0))
    disk: float = optional(Quantity(
        "ssd", marked("SSD bandwidth"), "GB/s", 5, 0.1, 1024,
        marked("Of one chip, for prefixes kept there."), whole=False, scale=1e9))
    disk_memory: float = optional(Quantity(
        "sm", marked("SSD"), "GB", 1000, 1, 1000000,
        marked("For the prefixes of one chip, where they are kept there too."), scale=1e9))
    speculation: str = optional(Option(
        "spec", marked("Speculation"), "off",
        marked("Whether tokens are drafted and checked, with the draft, acceptance and length of "
               "Speculation."), ("off", "on")))
    adapters: int = optional(Quantity(
        "lora", marked("LoRA adapters"), "adapters", 0, 0, 1024,
        marked("In turn over sessions, all in memory (max_loras): caches are shared by those of "
               "one adapter only. Their own FLOPs are left out.")))
    adapter_size: float = optional(Quantity(
        "ls", marked("Adapter"), "MB", 100, 1, 100000,
        marked("Of one adapter, over all chips of a replica."), scale=1e6))
    failures: float = optional(Quantity(
        "mtb", marked("Fails every"), "s", 0.0, 0, 1e8,
        marked("Mean time from a start of a replica to its failure; 0: never."), whole=False,
        step=600.0))
    down: float = optional(Quantity(
        "down", marked("Down for"), "s", 300, 1, 1e6,
        marked("From a failure until the replica serves again, its restart included."),
        whole=False, step=10.0))
    after_failure: str = optional(Option(
        "lost", marked("After a failure"), "retried",
        marked("What a failed replica had is sent to another and read again, or is lost."),
        ("retried", "lost")))
    input_price: float = optional(Quantity(
        "pin", marked("Input price"), "USD", 1.0, 0.01, 1000,
        marked("That a provider asks for a million tokens of prompts."), whole=False, step=0.05))
    cache_discount: float = optional(Quantity(
        "pcd", marked("Discount on cached"), "share", 0.75, 0.01, 1.0,
        marked("Off the input price for cached tokens; usually 0.5 to 0.9."), whole=False,
        step=0.05))
    cache_storage: float = optional(Quantity(
        "pcs", marked("Cache storage"), "USD", 1.0, 0.0, 1000,
        marked("That a provider asks for keeping a million cached tokens an hour; 0 where it asks "
               "for none."), whole=False, step=0.05))
# fmt: on


_OWN: tuple[Field, ...] = fields.schema(Asked)
FIELDS: tuple[Field, ...] = (*_OWN, *prefill_pool.FIELDS)


@dataclass(frozen=True)
class Setup:
    """A service to simulate.

    `deployments` are the policies by id, all with as many replicas; `memory`, `relief` and `prefix`
    are how each of their replicas handles cache; `shown` is the policy to look at, `budget` the
    tokens of a step that reads chunks, and `notices` say what could not be as asked; `tiers` are
    the memories of a replica that can keep prefixes, whether they do or not;
    `steps` is how tokens are made, `beside` what adapters take of a replica's memory [byte];
    `provider` is what cached prompts cost elsewhere.
    """

    deployments: Mapping[str, Deployment]
    memory: Memory
    relief: Relief
    prefix: PrefixCache | None
    limits: Limits
    shown: str
    budget: int
    provider: Provider
    notices: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()
    steps: Steps = PLAIN
    beside: float = 0.0


def requested(values: Mapping[str, Any], scenario: Scenario) -> Traffic:
    """The requests that the values describe.

    Raises
    ------
    ServingError
        If they cannot come together.
    """
    asked = Asked(**fields.resolved(_OWN, values, {}))
    return replace(_drawn(asked, values, scenario), adapters=asked.adapters)


def _drawn(asked: Asked, values: Mapping[str, Any], scenario: Scenario) -> Traffic:
    lengths_of = _LENGTHS[asked.lengths]
    prompt, output = (lengths_of(mean, asked.spread) for mean in (scenario.prompt, scenario.output))
    if asked.clients:
        return closed_loop(
            asked.requests,
            asked.clients,
            prompt,
            output,
            pause=asked.pause,
            seed=asked.seed,
            system=asked.system,
            samples=asked.samples,
            classes=asked.classes,
        )
    return generate(
        asked.requests,
        process(values),
        prompt,
        output,
        seed=asked.seed,
        system=asked.system,
        samples=asked.samples,
        turns=asked.turns,
        think=asked.think,
        classes=asked.classes,
    )


def service_classes(values: Mapping[str, Any], scenario: Scenario) -> tuple[ServiceClass, ...]:
    """The classes that the values list; where they list none, one of all requests.

    Raises
    ------
    ServingError
        If they cannot be read.
    """
    asked = Asked(**fields.resolved(_OWN, values, {}))
    return asked.classes or (
        ServiceClass(
            name="all", share=1.0, prompt=scenario.prompt, output=scenario.output,
            ttft=asked.ttft_limit, tpot=scenario.tpot_target,
        ),
    )  # fmt: skip


def client_counts(clients: int) -> tuple[int, ...]:
    """Numbers of clients to look at around the one asked for: powers of two up to four times it.

    >>> client_counts(24)
    (1, 2, 4, 8, 16, 24, 32, 64)
    """
    powers = {1 << n for n in range((4 * clients).bit_length()) if 1 << n <= 4 * clients}
    return tuple(sorted({clients, *powers}))


def process(values: Mapping[str, Any]) -> arrivals.Arrivals:
    """When the requests come that the values describe, for a trace without times."""
    asked = Asked(**fields.resolved(_OWN, values, {}))
    if asked.arrivals == _DAILY:
        return arrivals.Daily(asked.rate, asked.peak, asked.period)
    return _ARRIVALS[asked.arrivals](asked.rate, asked.burstiness)


def _failing(asked: Asked) -> tuple[Staffing, ...]:
    if not asked.failures:
        return ()
    retried = asked.after_failure == "retried"
    return (Failures(asked.failures, asked.down, retried, asked.seed),)


def setup(values: Mapping[str, Any], scenario: Scenario, reader: Scenario | None = None) -> Setup:
    """Policies, memory and limits that the values describe; fields left out take their defaults.

    Replicas that only read prompts are of `reader`, and as the others without one.

    Raises
    ------
    ServingError
        If they contradict each other.
    """
    asked = Asked(**fields.resolved(_OWN, values, {}))
    host = asked.host * scenario.n_chips
    slots, replicas = asked.slots, asked.replicas
    groups = int(Layout.of(scenario).dp) if asked.budget_of == "group" else 1
    least = -(-slots // groups)
    budget, routing = max(asked.budget, least), _ROUTINGS[asked.routing]
    continuous = Continuous(slots, asked.budget if asked.reading == "together" else 0)
    batching: dict[str, Batching] = {
        "static": Static(slots),
        "dynamic": Dynamic(slots, asked.window),
        "continuous": continuous,
        "chunked": ChunkedPrefill(slots, budget, groups),
    }
    failing = _failing(asked)
    staffing: tuple[Staffing, ...] = failing
    if asked.scaling == "auto":
        least = min(asked.scale_least, replicas)
        rule = Autoscaler(least, asked.scale_target, asked.cold_start, asked.hold)
        staffing = (*failing, rule)
    deployments: dict[str, Deployment] = {
        id: Colocated(one, replicas, asked.affinity == "on", routing, staffing)
        for id, one in batching.items()
    }
    readers = min(asked.prefill_replicas, replicas - 1)
    shown, notices = asked.policy, []
    if budget > asked.budget:
        notices.append(
            say("The token budget is raised to {n:,}: one token for each slot.", n=budget)
        )
    if not readers and shown == "disaggregated":
        shown = "continuous"
        notices.append(say("Disaggregated serving takes two replicas: continuous is shown."))
    elif readers < asked.prefill_replicas and shown == "disaggregated":
        notices.append(
            say("Of {n:,} replicas at most {most:,} can read prompts.", n=replicas, most=readers)
        )
    if readers:
        deployments["disaggregated"] = Disaggregated(
            readers, replicas - readers, scenario.scale_out * (reader or scenario).n_chips,
            asked.streaming == "on", continuous, routing, reader, failing,
        )  # fmt: skip
        if shown == "disaggregated" and len(staffing) > len(failing):
            notices.append(say("Disaggregated pools do not scale here: all replicas serve."))
    on_host = HostMemory(asked.host_memory * scenario.n_chips, host)
    on_disk = HostMemory(asked.disk_memory * scenario.n_chips, asked.disk * scenario.n_chips)
    kept: dict[str, PrefixCache | None] = {
        "none": None,
        "spare": SpareMemory(),
        "host": on_host,
        "ssd": HostAndDisk(on_host, on_disk),
    }
    taken = asked.adapters * asked.adapter_size
    room = max(capacity(scenario) - weights(scenario) - taken, 0.0)
    tiers = (
        Tier(CHIPS, room, math.inf),
        Tier(HOST, on_host.limit, on_host.bandwidth),
        Tier(SSD, on_disk.limit, on_disk.bandwidth),
    )
    return Setup(
        deployments,
        Paged() if asked.memory == "paged" else Contiguous(asked.reserved),
        _RELIEFS[asked.relief](host),
        kept[asked.prefix],
        Limits(asked.ttft_limit, scenario.tpot_target),
        shown,
        budget,
        Provider(asked.input_price, asked.cache_discount, asked.cache_storage),
        tuple(notices),
        tiers,
        Speculative() if asked.speculation == "on" else PLAIN,
        asked.adapters * asked.adapter_size,
    )
