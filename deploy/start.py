"""Serves the app with a log of one JSON object a line, which holds nothing of a scenario.

``python deploy/start.py`` takes the place of ``streamlit run serve.py``, and the same options. What
went wrong is logged by its kind and place: messages may quote what somebody typed, so that neither
they nor the values of variables are written.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web import cli

ROOT = Path(__file__).parents[1]


class Line(logging.LogRecord):
    """A record that reads as its time, level and place, the page, an error's kind and frames."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        error = self.exc_info if isinstance(self.exc_info, tuple) else None
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(self.created, UTC).isoformat(timespec="milliseconds"),
            "level": self.levelname,
            "at": f"{self.name}:{self.lineno}",
            "page": page(),
        }
        if error and error[0]:
            told |= {"error": error[0].__qualname__, "frames": frames(error[2])}
        self.exc_info = self.exc_text = self.stack_info = None
        self.msg, self.args = json.dumps(told), ()

    def getMessage(self) -> str:  # noqa: N802
        """The line."""
        return str(self.msg)


def frames(trace: TracebackType | None) -> list[str]:
    """File, line and function of each call, the innermost last."""
    summary = traceback.extract_tb(trace)
    return [f"{_short(one.filename)}:{one.lineno} {one.name}" for one in summary]


def _short(file: str) -> str:
    """A path below the checkout, or below where packages are installed."""
    path = Path(file)
    if path.is_relative_to(ROOT):
        return str(path.relative_to(ROOT))
    return file.rpartition("site-packages/")[2]


def page() -> str:
    """The name of the page that is run; empty where none is, and for the first."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return ""
    found = context.pages_manager.get_pages().get(context.page_script_hash)
    return str(found.get("url_pathname", "")) if found else ""


def _fallen(given: threading.ExceptHookArgs) -> None:
    error = (given.exc_type, given.exc_value or given.exc_type(), given.exc_traceback)
    logging.getLogger("ledger").error("", exc_info=error)


def main() -> None:
    """Serve until it is stopped."""
    os.environ["STREAMLIT_LOGGER_MESSAGE_FORMAT"] = "%(message)s"
    os.environ["STREAMLIT_LOGGER_ENABLE_RICH"] = "false"
    logging.setLogRecordFactory(Line)
    threading.excepthook = _fallen
    cli.main(["run", str(ROOT / "serve.py"), *sys.argv[1:]])


if __name__ == "__main__":
    main()
