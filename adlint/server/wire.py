"""Bytes ⇄ messages: JSON-RPC 2.0 in frames with a `Content-Length`. Knows no method by name."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, NOT_INITIALIZED = -32602, -32603, -32002
REQUEST_CANCELLED, CONTENT_MODIFIED, SERVER_CANCELLED = -32800, -32801, -32802
LARGEST = 100_000_000
_LONGEST_HEADER = 8_192


class Malformed(Exception):
    """What was read is no message; the next frame may be one."""


class Broken(Exception):
    """What was read is no frame, so that nobody can tell where the next one begins."""


class HungUp(Exception):
    """Nobody reads what is written."""


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """Return the next message, None at the end of the stream; raises `Malformed` and `Broken`."""
    length = _length(stream)
    if length is None:
        return None
    body = bytearray()
    while len(body) < length:
        part = stream.read(length - len(body))
        if not part:
            return None
        body += part
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON: {error}"[:200]) from None
    if not isinstance(message, dict):
        raise Malformed("a message must be an object")
    return message


def _length(stream: BinaryIO) -> int | None:
    """Read a header and return the number of bytes that follow, None at the end of the stream."""
    length = None
    while True:
        line = stream.readline(_LONGEST_HEADER)
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise Broken("a header without an end")
        name, _, value = line.strip().partition(b":")
        if not name:
            break
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit() or len(digits) > 12 or int(digits) > LARGEST:
                raise Broken(f"a message of {digits.decode('latin-1')[:40]} bytes")
            length = int(digits)
    if length is None:
        raise Broken("a header without Content-Length")
    return length


def write(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Send a message; raises `HungUp`."""
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode("utf-8")
    try:
        stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream.flush()
    except (OSError, ValueError) as error:  # ValueError: the stream is closed
        raise HungUp(str(error)) from None
