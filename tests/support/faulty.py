"""A proxy on 127.0.0.1 in front of a real server that hurts the bodies passing through it, where and how a test says, and counts them."""

from __future__ import annotations

import re
import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

How = Literal["hold", "reset", "cut", "flip", "stall", "longer", "shorter", "refuse"]

_PIECE = 1 << 16
_HEAD_LIMIT = 1 << 17
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d+)[ \t]*\r$")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding:[ \t]*chunked[ \t]*\r$")
_CLOSES = re.compile(rb"(?im)^connection:[ \t]*close[ \t]*\r$")
_AT_HEADS = frozenset({"longer", "shorter", "refuse"})
#: Longest time that anything is held back, so that no test waits without an end.
_LONGEST = 30.0


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault, due when `at` bytes of bodies have passed in its direction (`up`: from the client). `by`: how much a length lies; or
    what `Retry-After` says, none if negative.

    hold: say so in `struck` and wait for `release`. reset, cut: end the connection there, rudely or as if all had been sent. flip: one bit
    of that byte. stall: nothing comes any more. longer, shorter: the next answer announces another length than it has. refuse: 429 for the
    next request.
    """

    at: int
    how: How
    up: bool = False
    by: int = 1


class _Ended(Exception):
    """This pair of connections is over."""


class _Side:
    """One end of a pair: a socket with what was read too much of it."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self._kept = b""

    def head(self) -> bytes:
        """Up to and with the empty line; raises `_Ended` where nothing comes."""
        while b"\r\n\r\n" not in self._kept:
            piece = self.link.recv(_PIECE)
            if not piece or len(self._kept) > _HEAD_LIMIT:
                raise _Ended
            self._kept += piece
        head, _, self._kept = self._kept.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def some(self, most: int) -> bytes:
        """At least one byte; raises `_Ended` where nothing comes."""
        piece, self._kept = self._kept[:most], self._kept[most:]
        piece = piece or self.link.recv(min(most, _PIECE))
        if not piece:
            raise _Ended
        return piece

    def line(self) -> bytes:
        """Up to and with the next line end."""
        while b"\n" not in self._kept:
            piece = self.link.recv(_PIECE)
            if not piece:
                raise _Ended
            self._kept += piece
        line, _, self._kept = self._kept.partition(b"\n")
        return line + b"\n"

    def reset(self) -> None:
        """End it as a router does that lost its memory."""
        with suppress(OSError):
            self.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.link.close()


class Faulty:
    """Listens on `port` and leads to the port `leads_to`, which may change. `down` and `up`: bytes of bodies that have passed."""

    def __init__(self, leads_to: int) -> None:
        self.leads_to = leads_to
        self.struck = threading.Event()
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._strikes: list[Strike] = []
        self.down = self.up = self.requests = 0
        #: How many faults have come about.
        self.hits = 0
        self._links: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        # What waits in the kernel counts as passed: not much may.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def origin(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def arm(self, *strikes: Strike) -> None:
        """Begin to count anew, with these faults to come."""
        self.release()
        with self._lock:
            self._strikes = sorted(strikes, key=lambda strike: strike.at)
            self.down = self.up = self.requests = self.hits = 0
            self.struck.clear()
            self._released = threading.Event()

    def calm(self) -> None:
        """No faults any more; what is held back or stalls ends. The counts go on."""
        with self._lock:
            self._strikes = []
        self.release()

    def release(self) -> None:
        """Let what is held back go on."""
        self._released.set()

    def close(self) -> None:
        """Stop listening, and end every connection."""
        self.calm()
        self._listener.close()
        with self._lock:
            links = list(self._links)
        for link in links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self.leads_to), 10) as server:
            for link in (client, server):
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.settimeout(_LONGEST * 4)
            with self._lock:
                self._links |= {client, server}
            try:
                sides = _Side(client), _Side(server)
                while self._exchange(*sides):
                    pass
            except _Ended:
                pass
            finally:
                with self._lock:
                    self._links -= {client, server}

    def _exchange(self, client: _Side, server: _Side) -> bool:
        """One request and its answer; whether the connection is used for another."""
        head = client.head()
        with self._lock:
            self.requests += 1
        refusal = self._due("refuse", up=False)
        if refusal is not None:
            after = b"" if refusal.by < 0 else b"Retry-After: %d\r\n" % refusal.by
            body = b'{"error":"too many requests","code":"crowded"}'
            client.link.sendall(b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: application/json\r\n")
            client.link.sendall(after + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            return False
        server.link.sendall(head)
        self._body(head, client, server, up=True)
        method = head.split(b" ", 1)[0]
        while (answer := server.head()).startswith(b"HTTP/1.1 100"):
            client.link.sendall(answer)
        return self._answer(answer, method, client, server)

    def _answer(self, head: bytes, method: bytes, client: _Side, server: _Side) -> bool:
        empty = method == b"HEAD" or head[9:12] in {b"204", b"304"}
        length = _LENGTH.search(head)
        lie = None if empty or length is None or int(length[1]) < 2 else self._due("longer", "shorter", up=False)
        if lie is not None and length is not None:
            told = int(length[1]) + lie.by if lie.how == "longer" else max(0, int(length[1]) - 1 - lie.by % (int(length[1]) - 1))
            head = head[: length.start(1)] + b"%d" % told + head[length.end(1) :]
        client.link.sendall(head)
        if not empty:
            size = int(length[1]) if length is not None else None
            self._pass_on(head, size, server, client, up=False)
        return (lie is None or lie.how == "shorter") and not _CLOSES.search(head)

    def _body(self, head: bytes, source: _Side, target: _Side, *, up: bool) -> None:
        length = _LENGTH.search(head)
        if length is not None or _CHUNKED.search(head):
            self._pass_on(head, int(length[1]) if length else None, source, target, up=up)

    def _pass_on(self, head: bytes, size: int | None, source: _Side, target: _Side, *, up: bool) -> None:
        if size is not None:
            self._some(size, source, target, up=up)
        elif _CHUNKED.search(head):
            while True:
                line = source.line()
                target.link.sendall(line)
                size = int(line.split(b";")[0], 16)
                self._some(size, source, target, up=up)
                target.link.sendall(source.line())
                if not size:
                    return
        else:
            while True:
                self._piece(source.some(_PIECE), source, target, up=up)

    def _some(self, size: int, source: _Side, target: _Side, *, up: bool) -> None:
        while size:
            piece = source.some(size)
            size -= len(piece)
            self._piece(piece, source, target, up=up)

    def _piece(self, piece: bytes, source: _Side, target: _Side, *, up: bool) -> None:
        """Pass a piece on, and do to it what is due."""
        while piece:
            strike, place = self._counted(len(piece), up=up)
            if strike is None:
                target.link.sendall(piece)
                return
            if strike.how == "flip":
                piece = piece[:place] + bytes([piece[place] ^ (1 << strike.by % 8)]) + piece[place + 1 :]
                with self._lock:
                    self._count(-(len(piece) - place - 1), up=up)
                target.link.sendall(piece[: place + 1])
                piece = piece[place + 1 :]
                continue
            with self._lock:
                self._count(-(len(piece) - place), up=up)
            target.link.sendall(piece[:place])
            piece = piece[place:]
            self._stop(strike, source, target)

    def _stop(self, strike: Strike, source: _Side, target: _Side) -> None:
        """Everything that happens between two bytes."""
        if strike.how == "hold":
            released = self._released
            self.struck.set()
            released.wait(_LONGEST)
            return
        if strike.how == "stall":
            self._until_gone(source.link, target.link)
        if strike.how == "reset":
            source.reset()
            target.reset()
        raise _Ended

    def _until_gone(self, *links: socket.socket) -> None:
        released = self._released
        for _ in range(int(_LONGEST * 20)):
            if released.wait(0.05):
                return
            readable, _, _ = select.select(links, [], [], 0)
            for link in readable:
                with suppress(OSError):
                    if not link.recv(1, socket.MSG_PEEK):
                        return

    def _counted(self, size: int, *, up: bool) -> tuple[Strike | None, int]:
        """Count `size` bytes; the first fault that is due among them, and where."""
        with self._lock:
            before = self.up if up else self.down
            self._count(size, up=up)
            for strike in self._strikes:
                if strike.up == up and strike.how not in _AT_HEADS and strike.at < before + size:
                    self._strikes.remove(strike)
                    self.hits += 1
                    return strike, max(0, strike.at - before)
        return None, 0

    def _count(self, size: int, *, up: bool) -> None:
        if up:
            self.up += size
        else:
            self.down += size

    def _due(self, *how: How, up: bool) -> Strike | None:
        with self._lock:
            for strike in self._strikes:
                if strike.how in how and strike.up == up and strike.at <= self.down:
                    self._strikes.remove(strike)
                    self.hits += 1
                    return strike
        return None


@contextmanager
def faulty(leads_to: int) -> Iterator[Faulty]:
    """A proxy for the length of a `with` block."""
    proxy = Faulty(leads_to)
    try:
        yield proxy
    finally:
        proxy.close()
