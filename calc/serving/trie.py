"""A trie of cached prompts: what is found again of them, held and thrown away.

Keys are whole blocks of tokens, so the cache is a trie of blocks. What requests share is known
here (the system prompt, and the conversation before a turn), so chains of the trie that do not
branch are kept as one edge with a length: one for the system prompt, and one below it for each
session. Blocks are thrown away from the ends of edges, those least recently used first.
"""

from __future__ import annotations

from collections import OrderedDict

SYSTEM = -1


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
    """Edges by session, least recently used first, below that of the system prompt.

    Parameters
    ----------
    system : int
        Whole blocks of the system prompt; a session's edge starts behind them.
    """

    def __init__(self, system: int) -> None:
        self.system = system
        self.cached = self.held = self.thrown = 0
        self._edges: OrderedDict[int, Edge] = OrderedDict()

    def _path(self, session: int, blocks: int) -> list[tuple[int, int]]:
        """Edges of the first blocks of a session's text, and how many are on each."""
        path = [(SYSTEM, min(blocks, self.system)), (session, blocks - self.system)]
        return [(key, count) for key, count in path if count > 0]

    def find(self, session: int, most: int) -> int:
        """How many of the first blocks of a session's text are cached, up to `most`."""
        for key, blocks in self._path(session, most):
            edge = self._edges.get(key)
            if edge is None:
                break
            self._edges.move_to_end(key)
            if edge.length < blocks:
                break
        return self.peek(session, most)

    def peek(self, session: int, most: int) -> int:
        """What `find` would find, which counts as no use."""
        found = 0
        for key, blocks in self._path(session, most):
            edge = self._edges.get(key)
            if edge is None:
                break
            found += min(edge.length, blocks)
            if edge.length < blocks:
                break
        return found

    def unheld(self, session: int, blocks: int) -> int:
        """How many of the first blocks, all cached, nobody holds yet."""
        return sum(
            max(count - self._edges[key].held, 0) for key, count in self._path(session, blocks)
        )

    def hold(self, session: int, blocks: int) -> None:
        """Hold the first blocks, all cached."""
        for key, count in self._path(session, blocks):
            self.held += self._edges[key].hold(count)

    def release(self, session: int, blocks: int) -> int:
        """Let go of what was held; returns how many nobody holds now."""
        freed = sum(self._edges[key].release(n) for key, n in self._path(session, blocks))
        self.held -= freed
        return freed

    def extend(self, session: int, start: int, blocks: int) -> int:
        """Add blocks `start` to `blocks` of a session's text; returns up to which it is cached.

        Nothing is added where another request has added the same meanwhile.
        """
        reached = start
        for key, count in self._path(session, blocks):
            first = 0 if key == SYSTEM else self.system
            edge = self._edges.get(key)
            if edge is None:
                edge = self._edges[key] = Edge()
            self._edges.move_to_end(key)
            if first + count <= reached:
                continue
            if first + edge.length > reached:
                break
            self.cached += count - edge.length
            edge.length = count
            reached = first + count
        return reached

    def shrink(self, most: int) -> None:
        """Throw blocks away that nobody holds, until at most so many such are left."""
        excess = self.cached - self.held - most
        if excess <= 0:
            return
        emptied = []
        for key, edge in self._edges.items():
            if key != SYSTEM:
                excess -= self._cut(edge, excess)
                if not edge.length:
                    emptied.append(key)
            if not excess:
                break
        for key in emptied:
            del self._edges[key]
        # The system prompt is above every session: it goes last.
        if excess and SYSTEM in self._edges:
            self._cut(self._edges[SYSTEM], excess)

    def _cut(self, edge: Edge, most: int) -> int:
        out = min(edge.length - edge.held, most)
        edge.length -= out
        self.cached -= out
        self.thrown += out
        return out
