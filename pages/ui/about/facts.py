"""The figures of a chip and of a model, with their sources."""

from __future__ import annotations

from calc import Chip, Scenario
from calc.words import say
from pages.ui.writing import text


def chip(used: Chip) -> list[list[str]]:
    """Each published figure of a chip with its source; what is absent is said to be."""
    price = (
        say("{price} per hour", price=text.usd(used.price.usd_per_hour))
        if used.price
        else text.unknown()
    )
    figures = {
        **(
            {"visible_memory": (say("memory, as programs see it"), text.si(used.memory, "B"))}
            if used.memory_by != "maker"
            else {}
        ),
        "memory": (
            say("memory"),
            text.si(used.memory if used.memory_by == "maker" else used.printed_memory, "B"),
        ),
        "bandwidth": (say("bandwidth"), text.si(used.bandwidth, "B/s")),
        **{
            f"{rate} peak": (say("{rate} peak", rate=rate), text.si(peak, "FLOP/s"))
            for rate, peak in used.peaks.items()
        },
        "link_one_way": (say("link one way"), text.si(used.link_one_way, "B/s")),
        "link_two_way": (say("link two way"), text.si(used.link_two_way, "B/s")),
        "host_link": (say("link to the host"), text.si(used.host_link, "B/s")),
        "chips_per_node": (
            say("chips per node"),
            text.count(used.chips_per_node or float("nan")),
        ),
        "slices": (say("slices"), ", ".join(map(str, used.slices)) or text.unknown()),
        "power": (say("power"), text.si(used.power, "W")),
        "price": (say("price"), price),
        **{
            f"price {i}": (
                say("price {n}", n=i),
                say("{price} per hour, also printed", price=text.usd(other.usd_per_hour)),
            )
            for i, other in enumerate(used.other_prices, 2)
        },
    }
    return [
        [label, text.plain(value), text.plain(used.sources.get(name, ""))]
        for name, (label, value) in figures.items()
    ]


def model(scenario: Scenario) -> list[list[str]]:
    """Counts of a model, exact."""
    counted, kv = scenario.model, scenario.kv_format
    per_token = counted.kv_bytes_per_token(kv)
    return [
        [say("Parameters"), text.count(counted.total_params)],
        [say("Active per token, input embedding left out"), text.count(counted.active_params)],
        [
            say("Active per token, input embedding counted"),
            text.count(counted.active_params_with_embedding),
        ],
        [say("Layers"), text.count(counted.layers)],
        [
            say("KV cache per token, {format}", format=kv.id),
            f"{per_token:,.0f} B ({per_token / 1024:,.1f} KiB)",
        ],
        [say("Longest context"), text.count(counted.max_context or float("nan"))],
    ]
