"""A trie of cached prompts: what is found again of them, held and thrown away.

Keys are whole blocks of tokens, so the cache is a trie of blocks. What requests share is known
here (`calc.serving.chains`), so blocks that come one after another in all texts are kept as one
edge with a length. Blocks are thrown away from the ends of edges, those least recently used first,
and those that others follow last.
"""

from __future__ import annotations

from collections import OrderedDict

# Edges of a text from its start, each with the most blocks that it may have.
Chain = tuple[tuple[int, int], ...]


class Edge:
    """Blocks in a row: how many are cached, and how many requests hold how many of them."""

    __slots__ = ("holders", "length")

    def __init__(self) -> None:
        self.length = 0
        self.holders: dict[int, int] = {}

    @property
    def held(self) -> int:
        """Blocks that some request holds."""
        return max(self.holders, default=0)

    def hold(self, blocks: int) -> int:
        """Hold so many from the front; returns how many nobody held before."""
        before = self.held
        self.holders[blocks] = self.holders.get(blocks, 0) + 1
        return max(blocks - before, 0)

    def release(self, blocks: int) -> int:
        """Let go of them; returns how many nobody holds now."""
        before = self.held
        self.holders[blocks] -= 1
        if not self.holders[blocks]:
            del self.holders[blocks]
        return before - self.held


class Trie:
    """Edges by key, those least recently used first, and before those that they follow."""

    def __init__(self) -> None:
        self.cached = self.held = self.thrown = 0
        self._edges: OrderedDict[int, Edge] = OrderedDict()

    def find(self, chain: Chain, most: int) -> int:
        """How many of the first blocks of a text are cached, up to `most`."""
        self._touch([key for key, _ in _path(chain, most) if key in self._edges])
        return self.peek(chain, most)

    def peek(self, chain: Chain, most: int) -> int:
        """What `find` would find, which counts as no use."""
        found = 0
        for key, blocks in _path(chain, most):
            edge = self._edges.get(key)
            if edge is None:
                break
            found += min(edge.length, blocks)
            if edge.length < blocks:
                break
        return found

    def unheld(self, chain: Chain, blocks: int) -> int:
        """How many of the first blocks, all cached, nobody holds yet."""
        return sum(max(count - self._edges[key].held, 0) for key, count in _path(chain, blocks))

    def hold(self, chain: Chain, blocks: int) -> None:
        """Hold the first blocks, all cached."""
        for key, count in _path(chain, blocks):
            self.held += self._edges[key].hold(count)

    def release(self, chain: Chain, blocks: int) -> int:
        """Let go of what was held; returns how many nobody holds now."""
        freed = sum(self._edges[key].release(count) for key, count in _path(chain, blocks))
        self.held -= freed
        return freed

    def extend(self, chain: Chain, start: int, blocks: int) -> int:
        """Add blocks `start` to `blocks` of a text; returns up to which it is cached.

        Nothing is added where another request has added the same meanwhile.
        """
        reached, first, keys = start, 0, []
        for key, count in _path(chain, blocks):
            edge = self._edges.setdefault(key, Edge())
            keys.append(key)
            if first + count > reached:
                if first + edge.length > reached:
                    break
                self.cached += count - edge.length
                edge.length = count
                reached = first + count
            first += count
        self._touch(keys)
        return reached

    def _touch(self, keys: list[int]) -> None:
        # From the end of the text to its start, which is needed for as long as what follows it.
        for key in reversed(keys):
            self._edges.move_to_end(key)

    def shrink(self, most: int) -> None:
        """Throw blocks away that nobody holds, until at most so many such are left."""
        excess = self.cached - self.held - most
        if excess <= 0:
            return
        emptied = []
        for key, edge in self._edges.items():
            excess -= self._cut(edge, excess)
            if not edge.length:
                emptied.append(key)
            if not excess:
                break
        for key in emptied:
            del self._edges[key]

    def _cut(self, edge: Edge, most: int) -> int:
        out = min(edge.length - edge.held, most)
        edge.length -= out
        self.cached -= out
        self.thrown += out
        return out


def _path(chain: Chain, blocks: int) -> list[tuple[int, int]]:
    """Edges of the first blocks of a text, and how many are on each."""
    path = []
    for key, most in chain:
        if blocks <= 0:
            break
        path.append((key, min(blocks, most)))
        blocks -= most
    return path
