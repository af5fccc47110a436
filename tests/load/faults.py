"""What a server meets on a bad day: idle tabs, deaf clients, long links, odd scenarios, uploads.

By hand: ``python tests/load/faults.py http://localhost:8501`` for all, or with the names of some.
Each prints what it found; an exception of a page ends it with the link.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from http import HTTPStatus
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import mutated
from pages_app import PAGES, address
from streamlit.proto.BackMsg_pb2 import BackMsg

from calc import link
from load.client import FailedError, Visitor

MEGA = 1 << 20
TABS, SCENARIOS, AT_ONCE = 200, 2000, 4
NAMES = [address(name) for name in PAGES]


async def _answers(url: str, moves: int = 20) -> str:
    """How a visitor is served now."""
    async with Visitor(url) as visitor:
        await visitor.open()
        found = [await visitor.move() for _ in range(moves)]
    return f"a visitor meanwhile: p50 {statistics.median(found):.0f} ms, worst {max(found):.0f} ms"


async def deaf(url: str) -> str:
    """A client asks for runs and never reads an answer."""
    async with Visitor(url) as visitor:
        visitor.socket.transport.pause_reading()
        message = BackMsg(rerun_script=visitor.state).SerializeToString()
        for _ in range(200):
            await visitor.socket.send(message)
        told = await _answers(url)
        visitor.socket.transport.abort()
    return told


async def idle(url: str) -> str:
    """Tabs that are open and left alone."""
    async with AsyncExitStack() as tabs:
        for n in range(TABS):
            tab = await tabs.enter_async_context(Visitor(url, NAMES[n % len(NAMES)]))
            await tab.open()
        return await _answers(url)


async def long_links(url: str) -> str:
    """As long as a link may be, by the address and by the socket; and longer than servers take."""
    long = urlencode({"pins": "x" * (link.LONGEST_QUERY - 10)})
    status = await asyncio.to_thread(_status, Request(f"{url}/kv_cache?{long}"))
    for page in NAMES:
        async with Visitor(url, page, long) as visitor:
            await visitor.open()
    beyond = await asyncio.to_thread(_status, Request(f"{url}/kv_cache?{long}{'x' * 9000}"))
    return f"{len(long):,} characters: {status}; {len(long) + 9000:,}: {beyond}"


async def scenarios(url: str) -> str:
    """Links as strangers leave them, spread over the pages."""
    queries = enumerate(mutated.links(SCENARIOS))
    failed: list[str] = []

    async def some() -> None:
        for n, query in queries:
            page, text = NAMES[n % len(NAMES)], urlencode(query)
            try:
                async with Visitor(url, page, text) as visitor:
                    await visitor.open()
            except (FailedError, TimeoutError) as error:
                failed.append(f"{url}/{page}?{text}: {error!r}")

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return "\n".join([f"{SCENARIOS} scenarios, {len(failed)} failed", *failed])


async def uploads(url: str) -> str:
    """A file as large as may be, and one that is larger."""
    async with Visitor(url) as visitor:
        await visitor.open()
        found = [
            await asyncio.to_thread(_status, _upload(url, visitor.session, size * MEGA))
            for size in (8, 9)
        ]
    return f"8 MB: {found[0]}, 9 MB: {found[1]}; {await _answers(url)}"


def _upload(url: str, session: str, size: int) -> Request:
    head = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.json"\r\n\r\n'
    # The same token in a header and in a cookie: what a page of another site cannot send.
    with urlopen(f"{url}/_stcore/health", timeout=60) as answer:
        token = SimpleCookie(answer.headers["Set-Cookie"])["_streamlit_xsrf"].value
    return Request(
        f"{url}/_stcore/upload_file/{session}/trial",
        head + b" " * (size - 256) + b"\r\n--x--\r\n",
        {"Content-Type": "multipart/form-data; boundary=x", "X-Xsrftoken": token,
         "Cookie": f"_streamlit_xsrf={token}"},
        method="PUT",
    )  # fmt: skip


def _status(request: Request) -> str:
    try:
        with urlopen(request, timeout=60) as answer:
            return str(HTTPStatus(answer.status))
    except HTTPError as refused:
        return str(HTTPStatus(refused.code))
    except OSError as broken:
        return type(broken).__name__


FAULTS: dict[str, Callable[[str], Awaitable[str]]] = {
    one.__name__: one for one in (deaf, long_links, uploads, idle, scenarios)
}


async def main() -> None:
    """Try and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("names", nargs="*", choices=[[], *FAULTS])
    given = parser.parse_args()
    for name in given.names or FAULTS:
        print(f"{name}: {await FAULTS[name](given.url)}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
