"""One editor's session: who is told what, and when.

A thread reads messages; everything else happens in one other, so that nothing needs a lock. While a text is analysed,
messages go on being answered every few milliseconds, and the analysis is abandoned as soon as one of them outdates it.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from adlint import __version__, linter
from adlint.catalog import load
from adlint.config import FILES, Settings
from adlint.explanation import explanation
from adlint.guard import in_deep_stack
from adlint.server import actions, answers, wire
from adlint.server.actions import EXPLAIN, Offer
from adlint.server.answers import Analysis, Wording
from adlint.server.capabilities import Editor
from adlint.server.connection import ERROR, INFO, Asked, Connection, Later, Notified
from adlint.server.texts import PYTHON, Buffer, Text, path_of
from adlint.server.units import Json, Units
from adlint.server.wire import HungUp, Refused
from adlint.server.workspace import Wishes, Workspace
from adlint.source import NOTEBOOKS, Source, Unreadable
from adlint.tape.resolver import Abandoned, Nothing

SHORTEST, LONGEST = 0.03, 0.3
"""Seconds from the last keystroke to the analysis: half of what the last one took, within these."""
WATCHED = ("**/pyproject.toml", "**/adlint.toml", "**/.gitignore", "**/*.py")


def serve(reader: BinaryIO, writer: BinaryIO) -> int:
    """Talk to an editor until it says goodbye or hangs up; return the exit status that the protocol demands."""
    session = Session(reader, writer)
    return in_deep_stack(session.run)


class Session:
    """The state of a conversation."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._wire = Connection(reader, writer)
        self._buffers: dict[str, Buffer] = {}
        self._analyses: dict[str, Analysis] = {}
        self._due: dict[str, float] = {}
        self._unsaved: set[str] = set()
        self._cancelled: set[object] = set()
        self._running: tuple[Buffer, object] | None = None
        self._workspace = Workspace(lambda text: self._wire.tell(ERROR, text))
        self._wording = Wording(Units(), self._uri, self._other)
        self._uris: dict[str, str] = {}
        self._editor = Editor()
        self._stamp = 0
        self._took = 0.0
        self._untidy = False

    def _notifications(self) -> dict[str, Notified]:
        return {
            "initialized": self._initialized,
            "$/cancelRequest": lambda given: self._cancelled.add(_key(given.get("id"))),
            "textDocument/didOpen": self._opened,
            "textDocument/didChange": self._changed,
            "textDocument/didSave": self._saved,
            "textDocument/didClose": lambda given: self._closed(_uri(given["textDocument"])),
            "notebookDocument/didOpen": self._notebook_opened,
            "notebookDocument/didChange": self._notebook_changed,
            "notebookDocument/didSave": self._saved,
            "notebookDocument/didClose": lambda given: self._closed(_uri(given["notebookDocument"])),
            "workspace/didChangeConfiguration": self._configured,
            "workspace/didChangeWatchedFiles": lambda given: self._forget(),
            "workspace/didChangeWorkspaceFolders": self._folders_changed,
        }

    def _requests(self) -> dict[str, Asked]:
        return {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "textDocument/hover": self._hover,
            "textDocument/diagnostic": self._pulled,
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": self._resolved,
            "workspace/executeCommand": self._executed,
        }

    # The loop

    def run(self) -> int:
        """Answer messages, and analyse what is due when none waits; return the exit status."""
        self._wire.begin(self._notifications(), self._requests())
        gc.disable()  # cycles are collected when nobody waits
        while not self._wire.ended:
            try:
                if self._wire.later:
                    self._serve(self._wire.later.pop(0))
                elif self._due and min(self._due.values()) <= time.monotonic():
                    self._push(min(self._due, key=lambda uri: self._due[uri]))
                else:
                    self._wire.receive(self._patience())
            except HungUp:
                break
        return 0 if self._wire.state == "exit" else 1

    def _patience(self) -> float | None:
        """Return how long to wait for a message, None for ever; tidies up if there is nothing else to do."""
        if self._due:
            return max(min(self._due.values()) - time.monotonic(), 0.0)
        if self._untidy and self._wire.quiet:
            gc.collect()
            if not gc.get_freeze_count():
                gc.freeze()  # what is loaded by now stays
            self._untidy = False
        return None

    # The conversation begins and ends

    def _initialize(self, _: object, given: dict[str, Any]) -> object:
        self._editor = editor = Editor.of(given)
        related = bool(editor.says("textDocument", "publishDiagnostics", "relatedInformation"))
        versioned = bool(editor.says("workspace", "workspaceEdit", "documentChanges"))
        self._wording = replace(self._wording, units=editor.units, related=related, versioned=versioned)
        folders = given.get("workspaceFolders")
        uris = [_uri(one) for one in folders] if isinstance(folders, list) else [given.get("rootUri")]
        options = given.get("initializationOptions")
        wishes = self._read(options.get("settings") if isinstance(options, dict) else None)
        self._workspace.wishes = {"": wishes}
        self._add_folders(uri for uri in uris if isinstance(uri, str))
        self._wire.state = "ready"
        return {"capabilities": editor.answer(), "serverInfo": {"name": "adlint", "version": __version__}}

    def _initialized(self, _: dict[str, Any]) -> None:
        if self._editor.says("workspace", "didChangeWatchedFiles", "dynamicRegistration"):
            watchers = [{"globPattern": pattern} for pattern in WATCHED]
            self._register("workspace/didChangeWatchedFiles", {"watchers": watchers})
        if self._editor.says("workspace", "didChangeConfiguration", "dynamicRegistration"):
            self._register("workspace/didChangeConfiguration", {"section": "adlint"})
        self._ask_for_wishes()
        self._warm()

    def _register(self, method: str, options: Json) -> None:
        registration = {"id": f"adlint/{method}", "method": method, "registerOptions": options}
        self._wire.ask("client/registerCapability", {"registrations": [registration]})

    def _warm(self) -> None:
        """Load what the first analysis will need, unless a message is there already."""
        if self._wire.quiet:
            linter.lint(Source("warm.py", "import torch\ntorch.ones(1).backward()\n"))
            self._untidy = True

    def _shutdown(self, *_: object) -> None:
        self._wire.state = "shutdown"
        self._due.clear()

    # Folders and settings

    def _add_folders(self, uris: Iterable[str]) -> None:
        for uri in uris:
            if path := path_of(uri):
                path = path.rstrip(os.sep) or path
                self._workspace.wishes.setdefault(path, self._workspace.wishes[""])
                self._uris[path] = uri

    def _folders_changed(self, given: dict[str, Any]) -> None:
        event = given["event"]
        for one in event["removed"]:
            path = path_of(_uri(one))
            if path:
                self._workspace.wishes.pop(path.rstrip(os.sep) or path, None)
        self._add_folders(_uri(one) for one in event["added"])
        self._ask_for_wishes()
        self._forget()

    def _read(self, given: object) -> Wishes:
        wishes, wrong = Wishes.read(given)
        for text in wrong:
            self._wire.tell(ERROR, text)
        return wishes

    def _configured(self, given: dict[str, Any]) -> None:
        self._wire.forget()
        if self._editor.says("workspace", "configuration"):
            self._ask_for_wishes()
            return
        table = given.get("settings")
        table = table.get("adlint", table) if isinstance(table, dict) else {}
        wishes = self._read(table)
        self._workspace.wishes = dict.fromkeys(self._workspace.wishes, wishes)
        self._forget()

    def _ask_for_wishes(self) -> None:
        if not self._editor.says("workspace", "configuration"):
            return
        paths = list(self._workspace.wishes)
        items = [{"section": "adlint", **({"scopeUri": self._uris[path]} if path else {})} for path in paths]

        def take(result: object) -> None:
            if isinstance(result, list) and len(result) == len(paths):
                read = {path: self._read(one) for path, one in zip(paths, result, strict=True) if one is not None}
                if any(self._workspace.wishes.get(path) != wishes for path, wishes in read.items()):
                    self._workspace.wishes.update(read)
                    self._forget()

        self._wire.ask("workspace/configuration", {"items": items}, take)

    def _forget(self) -> None:
        """Look everything up anew, and tell the editor what that changes."""
        self._wire.forget()
        self._workspace.forget()
        for uri in self._buffers:
            self._renew(uri)
            self._schedule(uri, 0.0)
        self._refresh()

    def _refresh(self) -> None:
        if self._editor.pulls and self._editor.says("workspace", "diagnostics", "refreshSupport"):
            self._wire.ask("workspace/diagnostic/refresh", None)

    # Texts

    def _opened(self, given: dict[str, Any]) -> None:
        text = Text.opened(given["textDocument"])
        if text.language == PYTHON and not text.uri.endswith(NOTEBOOKS):
            self._take(Buffer.of_file(text, self._next()))
            self._schedule(text.uri, 0.0)

    def _changed(self, given: dict[str, Any]) -> None:
        buffer = self._buffers.get(_uri(given["textDocument"]))
        if buffer is None or buffer.cells is not None:
            return
        version = given["textDocument"].get("version")
        text = buffer.texts[0][1].changed(given["contentChanges"], version, self._wording.units)
        self._typed(Buffer.of_file(text, self._next()))

    def _notebook_opened(self, given: dict[str, Any]) -> None:
        texts = map(Text.opened, given["cellTextDocuments"])
        buffer = Buffer.of_notebook(given["notebookDocument"], texts, self._next())
        self._take(buffer)
        self._schedule(buffer.uri, 0.0)

    def _notebook_changed(self, given: dict[str, Any]) -> None:
        old = self._buffers.get(_uri(given["notebookDocument"]))
        if old is not None and old.cells is not None:
            new = old.changed(given["change"], self._wording.units, self._next())
            self._typed(new)
            for _, text in old.texts:
                if not new.holds(text.uri):
                    self._publish(text, [])

    def _typed(self, buffer: Buffer) -> None:
        """Take a changed text, and lint it a little later, unless the user wants that on saving only."""
        self._take(buffer)
        if self._workspace.wishes_for(buffer.path).run == "onSave":
            self._unsaved.add(buffer.uri)
        else:
            self._schedule(buffer.uri, min(max(self._took / 2, SHORTEST), LONGEST))

    def _take(self, buffer: Buffer) -> None:
        self._buffers[buffer.uri] = buffer
        self._unsaved.discard(buffer.uri)
        self._workspace.forget(buffer.uri)
        self._outdate(buffer.path, LONGEST)

    def _outdate(self, path: str | None, delay: float) -> None:
        """Lint again, a little later, what depends on a file."""
        for uri, analysis in self._analyses.items():
            if path in analysis.read and uri in self._buffers:
                self._renew(uri)
                self._schedule(uri, delay)

    def _renew(self, uri: str) -> None:
        self._buffers[uri] = replace(self._buffers[uri], stamp=self._next())

    def _saved(self, given: dict[str, Any]) -> None:
        """Lint again what a saved file has changed, be it one of the settings."""
        uri = _uri(given.get("textDocument") or given["notebookDocument"])
        self._workspace.forget()
        self._outdate(path_of(uri), 0.0)
        if uri in self._unsaved:
            self._unsaved.discard(uri)
            self._renew(uri)
        if uri in self._buffers and not self._known(self._buffers[uri]):
            self._schedule(uri, 0.0)
        if os.path.basename(path_of(uri) or "") in FILES:
            self._forget()

    def _closed(self, uri: str) -> None:
        buffer = self._buffers.pop(uri, None)
        self._analyses.pop(uri, None)
        self._due.pop(uri, None)
        self._unsaved.discard(uri)
        self._workspace.forget()
        if buffer:
            self._outdate(buffer.path, LONGEST)  # what was not saved of it no longer counts
        for _, text in buffer.texts if buffer else ():
            self._publish(text, [])

    def _next(self) -> int:
        self._stamp += 1
        return self._stamp

    def _holding(self, uri: str) -> Buffer | None:
        """Return what a text is part of."""
        return self._buffers.get(uri) or next((one for one in self._buffers.values() if one.holds(uri)), None)

    # Analyses

    def _schedule(self, uri: str, delay: float) -> None:
        """Lint a text and send what is found after some seconds, unless the editor asks for that itself."""
        if not self._editor.pulls or self._buffers[uri].cells is not None:
            self._due[uri] = time.monotonic() + delay

    def _push(self, uri: str) -> None:
        del self._due[uri]
        buffer = self._buffers[uri]
        try:
            found = self._wording.diagnostics(self._analyse(buffer))
        except Abandoned:
            if self._buffers.get(uri) is buffer and self._wire.state == "ready":
                self._due.setdefault(uri, time.monotonic())
        except HungUp:
            raise
        except Exception as error:
            self._wire.notify("window/logMessage", {"type": ERROR, "message": linter.failed("", error).message})
        else:
            for _, text in buffer.texts:
                self._publish(text, found[text.uri])

    def _publish(self, text: Text, found: list[Json]) -> None:
        version = {} if text.version is None else {"version": text.version}
        self._wire.notify("textDocument/publishDiagnostics", {"uri": text.uri, **version, "diagnostics": found})

    def _known(self, buffer: Buffer) -> Analysis | None:
        known = self._analyses.get(buffer.uri)
        return known if known and known.buffer is buffer else None

    def _analyse(self, buffer: Buffer, request: object = None) -> Analysis:
        """Return what is found in a text; raises `Abandoned` if a message makes it worthless meanwhile."""
        if known := self._known(buffer):
            return known
        settings = self._workspace.settings(buffer.path)
        before = self._analyses.get(buffer.uri)
        if buffer.uri in self._unsaved and before:
            analysis = Analysis(buffer, settings, kept=answers.kept(before, buffer, "as last saved"))
        elif self._is_out(buffer, settings):
            analysis = Analysis(buffer, settings)
        else:
            analysis = self._lint(buffer, settings, request)
            if analysis.broken and before:
                moved = answers.kept(before, buffer, "before the text became unreadable")
                analysis = replace(analysis, kept=moved)
        self._analyses[buffer.uri] = analysis
        return analysis

    def _is_out(self, buffer: Buffer, settings: Settings) -> bool:
        wishes = self._workspace.wishes_for(buffer.path)
        return not wishes.enable or bool(buffer.path and self._workspace.leaves_out(buffer.path, settings))

    def _lint(self, buffer: Buffer, settings: Settings, request: object) -> Analysis:
        began = time.monotonic()
        with self._busy(buffer, request):
            follower = self._workspace.follower(buffer, settings, self._buffers, self._abandoned)
            if "\0" in buffer.source.text:
                found = [linter.unreadable(buffer.source.filename, "the file contains a NUL character")]
            else:
                found = linter.lint(buffer.source, settings, resolver=follower or _Waiting(self._abandoned))
        self._took = time.monotonic() - began
        return Analysis(buffer, settings, tuple(found), frozenset(follower.uses.read if follower else ()))

    @contextmanager
    def _busy(self, buffer: Buffer, request: object) -> Iterator[None]:
        self._running, self._untidy = (buffer, request), True
        try:
            yield
        finally:
            self._running = None

    def _abandoned(self) -> bool:
        """Answer what has come in; tell whether it makes the running analysis worthless."""
        if self._wire.quiet:
            return False
        try:
            self._wire.drain()
        except HungUp:
            self._wire.state = "gone"
        if self._running is None:
            return False
        buffer, request = self._running
        if (
            self._wire.state != "ready"
            or self._buffers.get(buffer.uri) is not buffer
            or (request is not None and request in self._cancelled)
        ):
            return True
        return request is None and any(one.buffer != buffer.uri for one in self._wire.later)

    # Requests

    def _serve(self, request: Later) -> None:
        """Answer a request that needs an analysis."""
        try:
            if _key(request.id) in self._cancelled:
                raise Abandoned
            result = request.answer()
        except Abandoned:
            if _key(request.id) in self._cancelled:
                self._wire.refuse(request.id, wire.REQUEST_CANCELLED, "cancelled")
            elif request.pull:  # the editor asks again by itself: the text has changed
                self._wire.refuse(request.id, wire.SERVER_CANCELLED, "outdated", {"retriggerRequest": False})
            else:
                self._wire.refuse(request.id, wire.CONTENT_MODIFIED, "outdated")
        except Refused as error:
            self._wire.refuse(request.id, error.code, error.message)
        except HungUp:
            raise
        except Exception as error:
            self._wire.refuse(request.id, wire.INTERNAL_ERROR, linter.failed("", error).message)
        else:
            self._wire.reply(request.id, result)
        if not self._wire.later:
            self._cancelled.clear()

    def _pulled(self, name: object, given: dict[str, Any]) -> object:
        uri, previous = _uri(given["textDocument"]), given.get("previousResultId")
        buffer = self._buffers.get(uri)
        if buffer is None or buffer.cells is not None:  # what is found in notebooks is sent unasked
            return {"kind": "full", "items": []}

        def answer() -> object:
            now = self._buffers.get(uri)
            if now is None:
                return {"kind": "full", "items": []}
            analysis = self._analyse(now, name)
            if previous == str(now.stamp):
                return {"kind": "unchanged", "resultId": previous}
            return {"kind": "full", "resultId": str(now.stamp), "items": self._wording.diagnostics(analysis)[uri]}

        return Later(name, uri, answer, pull=True)

    def _hover(self, _: object, given: dict[str, Any]) -> object:
        uri = _uri(given["textDocument"])
        buffer = self._holding(uri)
        if buffer is None:
            return None
        return answers.hover(buffer, buffer.position(uri, given["position"], self._wording.units), self._wording.units)

    def _actions(self, name: object, given: dict[str, Any]) -> object:
        uri, only = _uri(given["textDocument"]), (given.get("context") or {}).get("only")
        buffer = self._holding(uri)
        if buffer is None:
            return []
        units = self._wording.units
        first, last = (buffer.position(uri, given["range"][end], units).line for end in ("start", "end"))

        def answer() -> object:
            if self._buffers.get(buffer.uri) is not buffer:
                raise Abandoned
            analysis = self._analyse(buffer, name)
            offers = actions.offers(analysis, uri, first, last, only, self._wishes_unsafe(buffer))
            return [action for offer in offers if (action := self._offered(offer, analysis, name))]

        return Later(name, buffer.uri, answer)

    def _offered(self, offer: Offer, analysis: Analysis, name: object) -> Json | None:
        """Return an action as the editor is sent it: with its edit, or with what it takes to work that out later."""
        action: Json = {"title": offer.title, "kind": offer.kind}
        if offer.finding:
            action["diagnostics"] = [self._wording.diagnostic(offer.finding, analysis.buffer)]
        if offer.command:
            return {
                **action,
                "command": {"title": offer.title, "command": offer.command[0], "arguments": [offer.command[1]]},
            }
        if offer.preferred:
            action["isPreferred"] = True
        if offer.silences:
            edit = self._wording.silencing(analysis, offer.silences)
        elif self._editor.resolves:
            return {**action, "data": {"uri": analysis.buffer.uri, "stamp": analysis.buffer.stamp, **offer.task()}}
        else:
            edit = self._mended(analysis, offer, name)
        return {**action, "edit": edit} if edit else None

    def _mended(self, analysis: Analysis, offer: Offer, name: object) -> Json | None:
        """Return the edit of a fix, once it is seen to do what it promises."""
        buffer, settings = analysis.buffer, analysis.settings
        with self._busy(buffer, name):
            follower = self._workspace.follower(buffer, settings, self._buffers, self._abandoned)
            result = linter.fix(
                buffer.source,
                settings,
                offer.unsafe,
                resolver=follower or _Waiting(self._abandoned),
                wanted=offer.wanted,
                rounds=1 if offer.span else linter.ROUNDS,
            )
        return self._wording.mending(buffer, result.text) if result.applied else None

    def _resolved(self, name: object, action: dict[str, Any]) -> object:
        task = action.get("data")
        if not isinstance(task, dict):
            return action
        offer = Offer.of(task)
        uri = _uri(task)

        def answer() -> object:
            buffer = self._buffers.get(uri)
            if buffer is None or buffer.stamp != task.get("stamp"):
                raise Abandoned
            edit = self._mended(self._analyse(buffer, name), offer, name)
            if edit is None:
                self._wire.tell(INFO, "the fix is withdrawn: linting again showed that it would not mend the finding")
                return action
            return {**action, "edit": edit}

        return Later(name, uri, answer)

    def _executed(self, _: object, given: dict[str, Any]) -> object:
        words = given.get("arguments")
        if given.get("command") != EXPLAIN or not isinstance(words, list) or not words:
            raise Refused(wire.INVALID_PARAMS, "unknown command")
        try:
            rule = load().rule(str(words[0]))
        except KeyError:
            raise Refused(wire.INVALID_PARAMS, "unknown rule") from None
        if not self._editor.explains:
            text = f"{rule.name} ({rule.id}): {rule.summary}. {' '.join(rule.why.split())} {rule.url}"
            self._wire.notify("window/showMessage", {"type": INFO, "message": text})
        return explanation(rule, load())

    def _wishes_unsafe(self, buffer: Buffer) -> bool:
        return self._workspace.wishes_for(buffer.path).unsafe_fixes

    # Other files

    def _uri(self, filename: str) -> str:
        known = next((uri for uri in self._buffers if path_of(uri) == filename), None)
        return known or Path(filename).absolute().as_uri()

    def _other(self, filename: str) -> Source | None:
        known = next((one for uri, one in self._buffers.items() if path_of(uri) == filename), None)
        try:
            return known.source if known else Source.read(filename)
        except (OSError, Unreadable):
            return None


class _Waiting(Nothing):
    """A project of one file, for which nobody may wait any more."""

    def __init__(self, abandoned: Callable[[], bool]) -> None:
        self._abandoned = abandoned

    def abandoned(self) -> bool:
        return self._abandoned()


def _uri(given: Any) -> str:
    uri = given["uri"]
    if not isinstance(uri, str):
        raise Refused(wire.INVALID_PARAMS, "no URI")
    return uri


def _key(name: object) -> object:
    """Return the id of a request so that it can be looked up, whatever an editor sends."""
    return name if isinstance(name, (int, str)) else None
