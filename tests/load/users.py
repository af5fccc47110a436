"""Visitors on all pages in turn who move a slider and think; with what that takes of memory.

By hand: ``python tests/load/users.py http://localhost:8501 --users 40 --think 2 --seconds 60``, a
soak with ``--seconds 600 --stay 30``, where each leaves after half a minute and another comes. Of a
server on this machine ``--pid`` gives its memory before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from pages_app import PAGES, address

from load.client import Visitor


@dataclass
class Measured:
    """What visitors met."""

    reruns: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


async def user(at: str, number: int, given: argparse.Namespace, end: float, into: Measured) -> None:
    """One user after another on pages in turn, until the end."""
    chance, names = random.Random(number), list(PAGES)
    # Not all at once.
    await asyncio.sleep(chance.random() * max(given.think, 0.05) * 2)
    turn = number
    while time.monotonic() < end:
        page = address(names[turn % len(names)])
        turn += 1
        leave = min(end, time.monotonic() + given.stay)
        try:
            async with Visitor(at, page, cookie=f"ledger_worker={uuid4().hex}") as visitor:
                into.opened.append(await visitor.open())
                while time.monotonic() < leave:
                    await asyncio.sleep(given.think * (0.5 + chance.random()))
                    into.reruns.append(await visitor.move())
        except Exception as error:
            into.errors[f"{type(error).__name__} on {page or 'decode'}"] += 1
            await asyncio.sleep(0.5)


def memory(pids: list[int]) -> float:
    """Resident memory of processes [MB]."""
    status = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return sum(int(one.split("VmRSS:")[1].split()[0]) for one in status) / 1e3


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--think", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--stay", type=float, default=1e9)
    parser.add_argument("--pid", type=int, action="append", default=[])
    given = parser.parse_args()
    before, into = memory(given.pid), Measured()
    start = time.monotonic()
    end = start + given.seconds
    users = [user(given.url, n, given, end, into) for n in range(given.users)]
    marks = [asyncio.create_task(_mark(given.pid, start, end))] if given.pid else []
    await asyncio.gather(*users, *marks)
    if len(into.reruns) < 2:
        sys.exit(f"too few reruns in {given.seconds} s; errors {dict(into.errors)}")
    last = statistics.quantiles(into.reruns, n=20)[-1]
    print(
        f"{given.users} users, think {given.think} s, {given.seconds:.0f} s: "
        f"{len(into.reruns) / given.seconds:.1f} reruns/s, "
        f"p50 {statistics.median(into.reruns):.0f} ms, p95 {last:.0f} ms; "
        f"opened {len(into.opened)}, p50 {statistics.median(into.opened):.0f} ms; "
        f"errors {dict(into.errors)}; memory {before:.0f} → {memory(given.pid):.0f} MB"
    )


async def _mark(pids: list[int], start: float, end: float) -> None:
    """Memory ten times on the way."""
    step = (end - start) / 10
    found = []
    while time.monotonic() < end - step / 2:
        await asyncio.sleep(step)
        found.append(f"{memory(pids):.0f}")
    print("memory on the way, MB:", " ".join(found))


if __name__ == "__main__":
    asyncio.run(main())
