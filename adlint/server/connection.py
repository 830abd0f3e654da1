"""Messages ⇄ handlers: reads an editor's messages in a thread, answers them in another when it is told to.

Knows how requests, notifications and errors are told apart, and when each is allowed; not what any of them means.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from adlint.server import wire
from adlint.server.units import Json
from adlint.server.wire import HungUp, Refused

ERROR, WARNING, INFO = 1, 2, 3
Params = dict[str, Any]
Notified = Callable[[Params], None]
Asked = Callable[[object, Params], object]


@dataclass(frozen=True)
class Later:
    """A request whose answer takes an analysis; `answer` makes it. `pull`: it asks for what is found."""

    id: object
    buffer: str
    answer: Callable[[], object]
    pull: bool = False


class Connection:
    """A conversation: `new`, `ready`, `shutdown`, and in the end `exit`, or `gone` if it was no proper one."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self.state = "new"
        self.later: list[Later] = []
        self._reader, self._writer = reader, writer
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._waiting: dict[str, Callable[[object], None]] = {}
        self._asked = 0
        self._told: set[str] = set()
        self._notifications: Mapping[str, Notified] = {}
        self._requests: Mapping[str, Asked] = {}

    def begin(self, notifications: Mapping[str, Notified], requests: Mapping[str, Asked]) -> None:
        """Begin to listen, with a handler for each method."""
        self._notifications, self._requests = notifications, requests
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def ended(self) -> bool:
        return self.state in ("exit", "gone")

    @property
    def quiet(self) -> bool:
        """Whether no message waits."""
        return self._inbox.empty()

    def receive(self, patience: float | None) -> None:
        """Wait some seconds, or for ever, for a message; handle it and what else has come. Raises `HungUp`."""
        try:
            handle = self._inbox.get(timeout=patience)
        except Empty:
            return
        handle()
        self.drain()

    def drain(self) -> None:
        """Handle all messages that wait; raises `HungUp`."""
        while not self._inbox.empty():
            self._inbox.get()()

    def reply(self, name: object, result: object) -> None:
        wire.write(self._writer, {"id": name, "result": result})

    def refuse(self, name: object, code: int, text: str, data: object = None) -> None:
        error: Json = {"code": code, "message": text, **({} if data is None else {"data": data})}
        wire.write(self._writer, {"id": name, "error": error})

    def ask(self, method: str, params: object, then: Callable[[object], None] = lambda _: None) -> None:
        """Send a request to the editor, and do something with its result."""
        self._asked += 1
        name = f"adlint-{self._asked}"
        self._waiting[name] = then
        wire.write(self._writer, {"id": name, "method": method, "params": params})

    def notify(self, method: str, params: Json) -> None:
        wire.write(self._writer, {"method": method, "params": params})

    def tell(self, kind: int, text: str) -> None:
        """Show a message to the user, the same one only once until `forget`."""
        if text not in self._told:
            self._told.add(text)
            self.notify("window/showMessage", {"type": kind, "message": f"adlint: {text}"})

    def forget(self) -> None:
        """What was told may be told again."""
        self._told.clear()

    def _listen(self) -> None:
        """Read messages until the stream ends; runs in a thread of its own and does nothing else."""
        while True:
            try:
                message = wire.read(self._reader)
            except wire.Malformed as error:
                self._inbox.put(partial(self.refuse, None, wire.PARSE_ERROR, str(error)))
                continue
            except (wire.Broken, OSError, ValueError) as error:
                self._inbox.put(partial(self._hang_up, str(error)))
                return
            if message is None:
                self._inbox.put(partial(self._hang_up, ""))
                return
            self._inbox.put(partial(self._handle, message))

    def _hang_up(self, text: str) -> None:
        if self.state != "exit":
            self.state = "gone"
        if text:
            self.refuse(None, wire.PARSE_ERROR, text)

    def _handle(self, message: Params) -> None:
        method, given = message.get("method"), message.get("params")
        params = given if isinstance(given, dict) else {}
        try:
            if not isinstance(method, str):
                self._answered(message)
            elif "id" in message:
                self._request(message["id"], method, params)
            elif method == "exit":
                self.state = "exit" if self.state == "shutdown" else "gone"
            elif method in self._notifications and self.state == "ready":
                self._notifications[method](params)
        except HungUp:
            raise
        except Refused as error:
            self._problem(message, error.code, error.message)
        except Exception as error:
            text = f"{str(method)[:100]}: {type(error).__name__}: {error}"[:300]
            self._problem(message, wire.INVALID_PARAMS, text)

    def _request(self, name: object, method: str, params: Params) -> None:
        if _echoed(name) is None:
            raise Refused(wire.INVALID_REQUEST, "a request needs an id")
        if self.state == "new" and method != "initialize":
            raise Refused(wire.NOT_INITIALIZED, "not initialized")
        if self.state == "shutdown" or (self.state != "new" and method == "initialize"):
            raise Refused(wire.INVALID_REQUEST, f"{method[:100]} comes too late")
        if method not in self._requests:
            raise Refused(wire.METHOD_NOT_FOUND, f"unknown method {method[:100]}")
        result = self._requests[method](name, params)
        if isinstance(result, Later):
            self.later.append(result)
        else:
            self.reply(name, result)

    def _problem(self, message: Params, code: int, text: str) -> None:
        if "id" in message and "method" in message:
            self.refuse(_echoed(message["id"]), code, text)
        else:
            self.notify("window/logMessage", {"type": WARNING, "message": text})

    def _answered(self, message: Params) -> None:
        """Take an answer of the editor's to what it was asked."""
        name = message.get("id")
        then = self._waiting.pop(name, None) if isinstance(name, str) else None
        if then is not None:
            if "error" not in message:
                then(message.get("result"))
        elif "result" not in message and "error" not in message:
            self.refuse(_echoed(name), wire.INVALID_REQUEST, "no method")


def _echoed(name: object) -> object:
    """Return the id of a request as an error repeats it: None for what cannot be one."""
    return name if isinstance(name, (int, str)) and not isinstance(name, bool) else None
