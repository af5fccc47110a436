"""The app as it is served: its style and its title stand in the head of every page.

Streamlit sends a style like everything else, after the first paint, and the page moves when it
comes; and a chat tool reads a link's title from the head, without running scripts.

Run with ``python -m streamlit run serve.py``.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from pages.ui.frame import chrome, draw, page, session

_INDEX = Path(st.__file__).parent / "static" / "index.html"


def head() -> str:
    """What is added to the head of every page."""
    [home] = page.pages([session.HOME])
    told = {"og:title": draw.NAME, "og:description": home.lead}
    tags = [f'<meta property="{name}" content="{escape(words)}">' for name, words in told.items()]
    return "".join([f"<style>{chrome.STYLE.read_text(encoding='utf-8')}</style>", *tags])


def routes(base: str = "") -> list[Route]:
    """One for the address of each page, below the path that the server is under."""
    html = _INDEX.read_text(encoding="utf-8").replace("</head>", f"{head()}</head>")

    async def index(request: Request) -> HTMLResponse:
        return HTMLResponse(html, headers={"Cache-Control": "no-cache"})

    under = f"/{base.strip('/')}".rstrip("/")
    names = [name for name in page.named() if name != session.HOME]
    return [Route(f"{under}/{name}", index) for name in ("", *names)]


app = st.App("app.py", routes=routes(st.get_option("server.baseUrlPath")))
