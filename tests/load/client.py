"""A visitor without a browser: it opens a page over the raw WebSocket and moves the batch."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from socket import IPPROTO_TCP, TCP_QUICKACK
from types import TracebackType
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE = 60.0
# A run that gave way to another, which is the one that is waited for: a fragment's callback asks
# for others by name.
_GAVE_WAY = ForwardMsg.FINISHED_EARLY_FOR_RERUN


class FailedError(RuntimeError):
    """A page that shows an exception, or a run that ended in none."""


@dataclass
class Visitor:
    """One session.

    Parameters
    ----------
    url : str
        Of the app, with its path if it has one.
    page : str
        Name of the page in its address; empty for the first.
    query : str
        Behind the question mark.
    cookie : str
        That a proxy knows the session by.
    """

    url: str
    page: str = ""
    query: str = ""
    cookie: str = ""
    took: list[float] = field(default_factory=list)
    _moves: int = 0

    async def __aenter__(self) -> Self:
        secure = ssl.create_default_context()
        # A certificate that was made for the trial.
        secure.check_hostname, secure.verify_mode = False, ssl.CERT_NONE
        self.socket: ClientConnection = await connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            max_size=None,
            open_timeout=PATIENCE,
            ping_interval=None,
            compression=None,
            ssl=secure if self.url.startswith("https") else None,
            additional_headers={"Cookie": self.cookie} if self.cookie else None,
        )
        self.state = ClientState(page_name=self.page, query_string=self.query)
        self.slider, self.fragment, self.session = "", "", ""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.socket.close()

    async def open(self) -> float:
        """Milliseconds of the first run."""
        return await self._run(BackMsg(rerun_script=self.state))

    async def move(self) -> float:
        """Move the batch there or back; milliseconds to the last element that is sent."""
        self._moves += 1
        message = BackMsg(rerun_script=self.state)
        message.rerun_script.fragment_id = self.fragment
        widget = message.rerun_script.widget_states.widgets.add()
        widget.id = self.slider
        widget.string_array_value.data[:] = [("28", "32")[self._moves % 2]]
        took = await self._run(message)
        self.took.append(took)
        return took

    async def _run(self, message: BackMsg) -> float:
        start = last = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while True:
                self._acknowledge()
                answer = ForwardMsg.FromString(await self.socket.recv(decode=False))
                kind = answer.WhichOneof("type")
                if kind == "new_session":
                    self.session = self.session or answer.new_session.initialize.session_id
                elif kind == "delta":
                    last = time.perf_counter()
                    self._look(answer)
                elif kind == "session_event" and answer.session_event.HasField(
                    "script_compilation_exception"
                ):
                    raise FailedError(self.page)
                elif kind == "script_finished" and answer.script_finished != _GAVE_WAY:
                    return 1e3 * (last - start)

    def _look(self, answer: ForwardMsg) -> None:
        element = answer.delta.new_element
        if element.WhichOneof("type") == "exception":
            raise FailedError(f"{self.page}?{self.query[:200]}: {element.exception.type}")
        if element.slider.label == "Batch":
            self.slider, self.fragment = element.slider.id, answer.delta.fragment_id

    def _acknowledge(self) -> None:
        # A delayed acknowledgement would add 40 ms that no browser waits for.
        socket = self.socket.transport.get_extra_info("socket")
        socket.setsockopt(IPPROTO_TCP, TCP_QUICKACK, 1)
