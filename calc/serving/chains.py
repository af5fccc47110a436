"""Which texts begin alike: what a prefix cache can find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calc.serving.task import Task
from calc.serving.trie import Chain

# The edge of the system prompt, below it those of other adapters; sessions and blocks of a trace
# have numbers from 0.
SYSTEM = -1
# More blocks than any text has.
_ENDLESS = 1 << 60


@dataclass(frozen=True)
class Hashes:
    """Blocks of every prompt of a trace by number: equal numbers are equal texts up to their end.

    `block` tokens make one, the last of a prompt may have fewer; `ids` are those of each request.
    """

    block: int
    ids: tuple[tuple[int, ...], ...]

    def of(self, rows: list[int]) -> Hashes:
        """Those of some requests."""
        return Hashes(self.block, tuple(self.ids[row] for row in rows))


def chains(
    block: int, system: int, hashes: Hashes | None, adapters: int = 0
) -> Callable[[Task], Chain]:
    """What gives the chain of a request in blocks of so many tokens.

    Parameters
    ----------
    block : int
        Tokens of a block of the cache.
    system : int
        Tokens that all prompts begin with.
    hashes : Hashes, optional
        Of a trace that tells what its prompts share. Otherwise those of a session do: each begins
        with all that was said before.
    adapters : int
        Of LoRA, in turn over sessions: a cache is of use to its own adapter only. 0 for none.
    """
    shared = system // block
    if hashes is None:
        tops = [((SYSTEM - adapter, shared),) if shared else () for adapter in range(adapters or 1)]
        return lambda task: (*tops[task.session % len(tops)], (task.session, _ENDLESS))
    known: dict[int, Chain] = {}

    def chain(task: Task) -> Chain:
        found = known.get(task.request)
        if found is None:
            links, before = [], 0
            for number, key in enumerate(hashes.ids[task.request], 1):
                upto = min(number * hashes.block, task.prompt) // block
                if upto > before:
                    links.append((key, upto - before))
                before = upto
            found = known[task.request] = tuple(links)
        return found

    return chain
