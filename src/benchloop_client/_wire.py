"""HTTP/1.1 on one connection: a request as bytes out, the head of its answer in, then the body piece by piece, framed strictly."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

#: A head larger than this is no answer of an API.
_LONGEST_HEAD = 128 * 1024
_LONGEST_CHUNK_LINE = 4096
_FIRST_READ = 64 * 1024
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\0\r\n]*)?")
_WINDOWS = sys.platform == "win32"
#: One call for all that fits, where bytes come fast; a time limit ends it with what is there (not so on Windows).
_WHOLE = 0 if _WINDOWS else socket.MSG_WAITALL


class Broken(Exception):
    """The connection ended or made no sense. `begun`: some of an answer had arrived before."""

    def __init__(self, words: str, *, begun: bool = True) -> None:
        super().__init__(words)
        self.begun = begun


class Socket(Protocol):
    """What a connection needs of a socket, plain or secured."""

    def recv(self, size: int, /) -> bytes: ...

    def recv_into(self, buffer: memoryview, size: int, /) -> int: ...

    def sendall(self, data: bytes, /) -> None: ...

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Wire:
    """One open connection. `served`: how many answers came over it. A wait ends after the socket's time limit with `TimeoutError`."""

    def __init__(self, sock: Socket) -> None:
        self.sock = sock
        self.served = 0
        self._rest = b""

    def ask(self, head: bytes, body: Iterable[bytes] | None, *, no_body: bool = False) -> Answer:
        """Send a request and return once the head of its answer is in. `no_body`: the answer to a HEAD.

        Raises `Broken`, `TimeoutError`, and what else the socket raises.
        """
        refused = self._send(head, body)
        try:
            return self._answer(no_body=no_body)
        except (Broken, OSError) as error:
            if refused is not None and not (isinstance(error, Broken) and error.begun):
                raise refused from None
            raise

    def _send(self, head: bytes, body: Iterable[bytes] | None) -> OSError | None:
        """Send everything. A server that refuses a body before its end may have said why: then the failure is returned, not raised."""
        try:
            self.sock.sendall(head)
        except BlockingIOError:
            raise TimeoutError("the request could not be sent in time") from None
        for piece in body or ():
            try:
                self.sock.sendall(piece)
            except BlockingIOError:
                raise TimeoutError("the request could not be sent in time") from None
            except ConnectionError as error:
                return error
        return None

    def _answer(self, *, no_body: bool) -> Answer:
        while True:
            raw = self._head()
            status, version, headers = parsed(raw)
            if status >= 200:
                break
            if status == 101:
                raise Broken("the server changes the protocol")
        self.served += 1
        keeps, length = _keeps(version, headers), _length(headers.get("content-length"))
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.strip().lower() != "chunked":
            raise Broken(f"transfer coding {coding[:20]!r} is not known")
        if no_body or status in {204, 304}:
            return Answer(self, status, headers, _Length(self, 0), keeps=keeps)
        if coding is not None:
            return Answer(self, status, headers, _Chunks(self), keeps=keeps and length is None)
        if length is None:
            return Answer(self, status, headers, _ToTheEnd(self), keeps=False)
        return Answer(self, status, headers, _Length(self, length), keeps=keeps)

    def _head(self) -> bytes:
        raw = self._rest
        while True:
            found = raw.find(b"\r\n\r\n")
            end = found + 4
            if found < 0:
                match = _HEAD_END.search(raw)
                end = match.end() if match else -1
            if end >= 0:
                self._rest = raw[end:]
                return raw[:end]
            if len(raw) > _LONGEST_HEAD:
                raise Broken("the head of the answer does not end")
            more = self.receive(_FIRST_READ)
            if not more:
                raise Broken("the server closed the connection without an answer", begun=bool(raw))
            raw += more

    def take(self, most: int) -> bytes:
        """Up to `most` bytes, what was read already first; empty at the end of the connection."""
        rest = self._rest
        if not rest:
            return self.receive(most)
        self._rest = rest[most:]
        return rest[:most] if self._rest else rest

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int:
        """Read into `buffer`, what was read already first; 0 at the end of the connection. `whole`: rather wait until it is full."""
        if self._rest:
            piece = self.take(len(buffer))
            buffer[: len(piece)] = piece
            return len(piece)
        try:
            if whole and isinstance(self.sock, socket.socket) and not isinstance(self.sock, ssl.SSLSocket):
                return self.sock.recv_into(buffer, len(buffer), _WHOLE)
            return self.sock.recv_into(buffer, len(buffer))
        except BlockingIOError:
            raise TimeoutError("nothing arrived in time") from None

    def line(self) -> bytes:
        """One line without its end, of the framing of chunks."""
        raw = self._rest
        while True:
            end = raw.find(b"\r\n")
            if end >= 0:
                self._rest = raw[end + 2 :]
                return raw[:end]
            if len(raw) > _LONGEST_CHUNK_LINE:
                raise Broken("a line between chunks does not end")
            more = self.receive(_FIRST_READ)
            if not more:
                raise Broken("the body ended before its last chunk")
            raw += more

    def receive(self, most: int) -> bytes:
        """Up to `most` bytes from the socket."""
        try:
            return self.sock.recv(most)
        except BlockingIOError:
            raise TimeoutError("nothing arrived in time") from None

    @property
    def clean(self) -> bool:
        """Nothing is left over that belongs to no answer."""
        return not self._rest

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


class _Body(Protocol):
    over: bool

    def read(self, most: int) -> bytes: ...

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int: ...


class Answer:
    """The head of an answer, header names in lower case, equal ones joined by commas; and its body, still to be read."""

    def __init__(self, wire: Wire, status: int, headers: dict[str, str], body: _Body, *, keeps: bool) -> None:
        self.wire = wire
        self.status = status
        self.headers = headers
        self._body = body
        self._keeps = keeps
        #: Takes the connection back; set by who lent it.
        self.give_back: Callable[[], None] = wire.close
        self._over = False

    def read(self, most: int) -> bytes:
        """Up to `most` bytes of the body as they are on the wire, empty at its end. Raises `Broken` for an early end, `TimeoutError`."""
        return self._body.read(most)

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int:
        """As `read`, into a buffer; 0 at the end. `whole`: rather wait until it is full."""
        return self._body.fill(buffer, whole=whole)

    def close(self) -> None:
        """Give the connection back if it can serve again, else close it."""
        if self._over:
            return
        self._over = True
        if self._keeps and self._body.over and self.wire.clean:
            self.give_back()
        else:
            self.wire.close()


class _Length:
    """A body of known length."""

    def __init__(self, wire: Wire, length: int) -> None:
        self._wire = wire
        self._left = length
        self._length = length
        self.over = not length

    def read(self, most: int) -> bytes:
        if not self._left:
            return b""
        piece = self._wire.take(min(most, self._left))
        self._count(len(piece))
        return piece

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int:
        if not self._left:
            return 0
        got = self._wire.fill(buffer[: self._left] if len(buffer) > self._left else buffer, whole=whole)
        self._count(got)
        return got

    def _count(self, got: int) -> None:
        if not got:
            raise Broken(f"{self._length - self._left} of {self._length} bytes")
        self._left -= got
        self.over = not self._left


class _Chunks:
    """A body in chunks, whose end is a chunk of none and a trailer that is of no interest."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._left = 0
        self._first = True
        self.over = False

    def read(self, most: int) -> bytes:
        if not self._ready():
            return b""
        piece = self._wire.take(min(most, self._left))
        self._count(len(piece))
        return piece

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int:
        if not self._ready():
            return 0
        got = self._wire.fill(buffer[: self._left] if len(buffer) > self._left else buffer, whole=whole)
        self._count(got)
        return got

    def _ready(self) -> bool:
        """Whether more of a chunk is to come; reads the lines between chunks."""
        if self._left or self.over:
            return not self.over
        if not self._first and self._wire.line():
            raise Broken("a chunk is longer than it says")
        self._first = False
        match = _CHUNK.fullmatch(self._wire.line())
        if match is None:
            raise Broken("a chunk has no usable length")
        self._left = int(match.group(1), 16)
        if not self._left:
            while self._wire.line():
                continue
            self.over = True
        return not self.over

    def _count(self, got: int) -> None:
        if not got:
            raise Broken("the body ended inside a chunk")
        self._left -= got


class _ToTheEnd:
    """A body that ends with the connection: nothing tells whether it is whole."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.over = False

    def read(self, most: int) -> bytes:
        piece = b"" if self.over else self._wire.take(most)
        self.over = not piece
        return piece

    def fill(self, buffer: memoryview, *, whole: bool = False) -> int:
        got = 0 if self.over else self._wire.fill(buffer, whole=whole)
        self.over = not got
        return got


def parsed(raw: bytes) -> tuple[int, int, dict[str, str]]:
    """Status, minor version and headers of a head. Raises `Broken`."""
    first, *lines = raw.replace(b"\r\n", b"\n").rstrip(b"\n").lstrip(b"\n").split(b"\n")
    match = _STATUS.fullmatch(first)
    if match is None:
        raise Broken("the answer is not HTTP/1.1")
    headers: dict[str, str] = {}
    last = ""
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is not None:
            last, value = field.group(1).decode("ascii").lower(), field.group(2).decode("latin-1")
            headers[last] = f"{headers[last]}, {value}" if last in headers else value
        elif last and line[:1] in b" \t" and b"\0" not in line and b"\r" not in line:
            headers[last] = f"{headers[last]} {line.strip().decode('latin-1')}".strip()
        else:
            raise Broken("the answer has a line that is no header")
    return int(match.group(2)), int(match.group(1)), headers


def limit_waits(sock: socket.socket, seconds: float) -> None:
    """Let every single send and receive wait at most `seconds`, in the kernel where it can: that halves the system calls."""
    if _WINDOWS:
        sock.settimeout(seconds)
        return
    sock.settimeout(None)
    whole = int(seconds)
    packed = struct.pack("ll", whole, int((seconds - whole) * 1e6) or (0 if whole else 1))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, packed)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, packed)


def _length(text: str | None) -> int | None:
    """The announced length of a body. Raises `Broken` for one that means nothing; equal ones count once."""
    if text is None:
        return None
    values = {part.strip() for part in text.split(",")}
    value = values.pop()
    if values or not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise Broken("the announced length makes no sense")
    return int(value)


def _keeps(version: int, headers: dict[str, str]) -> bool:
    said = headers.get("connection")
    if said is None:
        return version == 1
    tokens = {token.strip().lower() for token in said.split(",")}
    return "close" not in tokens and (version == 1 or "keep-alive" in tokens)
