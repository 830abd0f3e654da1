"""An editor for the tests: sends messages of the language server protocol, waits for others, applies edits.

It talks to a process (`Client.spawned`) or to a session in a thread of this process (`Client.beside`). All waiting ends
after `PATIENCE` seconds. It counts positions by encoding lines, as an editor may, not as the server does.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from adlint.server.session import serve

PATIENCE = 20.0
Message = dict[str, Any]
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def frame(message: object) -> bytes:
    """Return a message as it is sent."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def frames(data: bytes) -> list[Message]:
    """Return all messages that were sent."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


class Client:
    """One editor. `log` holds all messages that came, `settings` answers questions for the configuration."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self.log: list[Message] = []
        self.settings: Callable[[Message], object] = lambda item: None
        self.exit: int | None = None
        self._reader, self._writer = reader, writer
        self._unseen: list[Message] = []
        self._came = threading.Condition()
        self._asked = 0
        self._sending = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    @classmethod
    @contextmanager
    def spawned(cls, *, cwd: str | None = None) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
        """Talk to a server in a process of its own."""
        command = (sys.executable, "-m", "adlint", "server")
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=cwd) as process:
            assert process.stdout
            assert process.stdin
            try:
                yield cls(process.stdout, process.stdin), process
            finally:
                process.kill()

    @classmethod
    @contextmanager
    def beside(cls) -> Iterator[Client]:
        """Talk to a server in a thread."""
        (theirs, mine), (my_in, their_out) = os.pipe(), os.pipe()
        server_in, server_out = os.fdopen(theirs, "rb", 0), os.fdopen(their_out, "wb")
        client_in, client_out = os.fdopen(my_in, "rb"), os.fdopen(mine, "wb")
        client = cls(client_in, client_out)

        def run() -> None:
            with server_out:
                client.exit = serve(server_in, server_out)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield client
        finally:
            client.hang_up()
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _listen(self) -> None:
        while head := self._reader.readline():
            assert self._reader.readline() == b"\r\n"
            message = json.loads(self._reader.read(int(head.split(b":")[1])))
            assert message["jsonrpc"] == "2.0"
            if "method" in message and "id" in message:
                asked = message["method"] == "workspace/configuration"
                result = [self.settings(item) for item in message["params"]["items"]] if asked else None
                self.send({"id": message["id"], "result": result})
            with self._came:
                self.log.append(message)
                self._unseen.append(message)
                self._came.notify_all()

    def hang_up(self) -> None:
        """Close the stream to the server."""
        try:
            self._writer.close()
        except OSError:
            pass

    def send(self, message: Message) -> None:
        self.raw(frame({"jsonrpc": "2.0", **message}))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are; a server that has left does not hear them."""
        with self._sending:
            try:
                self._writer.write(data)
                self._writer.flush()
            except (OSError, ValueError):
                pass

    def wait(self, wanted: Callable[[Message], bool], patience: float = PATIENCE) -> Message:
        """Return the first message of a kind that was not returned before; raises TimeoutError."""
        end = time.monotonic() + patience
        with self._came:
            while True:
                for message in self._unseen:
                    if wanted(message):
                        self._unseen.remove(message)
                        return message
                left = end - time.monotonic()
                if left <= 0 or not self._came.wait(left):
                    raise TimeoutError(f"only {self.log[-3:]}")

    def notify(self, method: str, params: object = None) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: object = None) -> int:
        """Send a request and return its id."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        return self._asked

    def answer(self, name: object) -> Message:
        """Return the answer to a request."""
        return self.wait(lambda m: "method" not in m and m["id"] == name)

    def ask(self, method: str, params: object = None) -> Any:
        """Send a request and return its result."""
        answer = self.answer(self.request(method, params))
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method: str, params: object = None) -> int:
        """Send a request and return the code of the error that it is answered with."""
        code: int = self.answer(self.request(method, params))["error"]["code"]
        return code

    def notified(self, method: str, patience: float = PATIENCE) -> Any:
        """Return the parameters of the next notification of a kind."""
        return self.wait(lambda m: m.get("method") == method, patience)["params"]

    def begin(self, capabilities: object = None, **params: object) -> Any:
        """Initialize; return the result. `pulls`, `related` and so on are in `capabilities`."""
        given = {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **params}
        result = self.ask("initialize", given)
        self.notify("initialized", {})
        return result

    def leave(self) -> None:
        """Say goodbye."""
        assert self.ask("shutdown") is None
        self.notify("exit")

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, text: str, version: int) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def pushed(self, uri: str, version: int | None = None, patience: float = PATIENCE) -> list[Message]:
        """Return the diagnostics that are sent next for a text, or for a version of it."""

        def wanted(message: Message) -> bool:
            params = message.get("params")
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params["uri"] == uri
                and version in (None, params.get("version"))
            )

        found: list[Message] = self.wait(wanted, patience)["params"]["diagnostics"]
        return found

    def pushes(self, uri: str) -> list[Message]:
        """Return the parameters of all diagnostics that were sent for a text."""
        sent = [m["params"] for m in self.log if m.get("method") == "textDocument/publishDiagnostics"]
        return [params for params in sent if params["uri"] == uri]

    def pull(self, uri: str, previous: str | None = None) -> Any:
        given = {"textDocument": {"uri": uri}, **({"previousResultId": previous} if previous else {})}
        return self.ask("textDocument/diagnostic", given)

    def actions(self, uri: str, line: int, only: list[str] | None = None, last: int | None = None) -> list[Message]:
        """Return what is offered for a line, or for lines until `last`, counted from 0."""
        place = {"start": {"line": line, "character": 0}, "end": {"line": last or line, "character": 0}}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        given = {"textDocument": {"uri": uri}, "range": place, "context": context}
        result: list[Message] = self.ask("textDocument/codeAction", given)
        return result

    def settle(self) -> None:
        """Wait until the server has handled all that was sent before."""
        self.refused("adlint/nothing")


def names(found: Sequence[Message]) -> list[tuple[int, str]]:
    """Return the line, counted from 0, and the code of each diagnostic."""
    return [(item["range"]["start"]["line"], item["code"]) for item in found]


def index(text: str, place: Message, encoding: str = "utf-16") -> int:
    """Return the index in a text of an editor's position."""
    codec, width = _CODECS[encoding]
    lines: list[str] = _LINE.findall(text)
    if not lines or lines[-1].endswith(("\r", "\n")):
        lines.append("")
    line = lines[place["line"]]
    data = line.rstrip("\r\n").encode(codec)[: place["character"] * width]
    return sum(map(len, lines[: place["line"]])) + len(data.decode(codec))


def covered(text: str, place: Message, encoding: str = "utf-16") -> str:
    """Return the part of a text that an editor's range covers."""
    return text[index(text, place["start"], encoding) : index(text, place["end"], encoding)]


def applied(text: str, edits: Sequence[Message], encoding: str = "utf-16") -> str:
    """Return a text after an editor's edits, which must not overlap."""
    ends = [[index(text, e["range"][end], encoding) for end in ("start", "end")] for e in edits]
    last = len(text) + 1
    for (start, end), edit in sorted(zip(ends, edits, strict=True), key=lambda one: one[0], reverse=True):
        assert start <= end <= last
        text, last = text[:start] + edit["newText"] + text[end:], start
    return text


def edits_of(action: Message) -> dict[str, list[Message]]:
    """Return the edits of an action by the texts they belong to."""
    edit = action["edit"]
    if "changes" in edit:
        return dict(edit["changes"])
    return {change["textDocument"]["uri"]: change["edits"] for change in edit["documentChanges"]}
