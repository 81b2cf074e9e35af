"""TLS inside a connection that is itself TLS, for servers behind a proxy that is spoken to in https."""

from __future__ import annotations

import socket
import ssl

_PIECE = 1 << 16


class Layered:
    """A secured connection over the secured socket `outer`; raises as sockets do, `ssl.SSLError` included."""

    def __init__(self, outer: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._outer = outer
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._exchange()
        self._flush()

    def recv(self, size: int, /) -> bytes:
        """Up to `size` bytes, empty at the end."""
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                self._exchange()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def recv_into(self, buffer: memoryview, size: int, /) -> int:
        """Read into `buffer`; 0 at the end."""
        piece = self.recv(min(size, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._tls.write(rest) :]
            except ssl.SSLWantReadError:
                self._exchange()
            self._flush()

    def fileno(self) -> int:
        """The descriptor of the connection underneath."""
        return self._outer.fileno()

    def settimeout(self, seconds: float) -> None:
        """How long each wait may take."""
        self._outer.settimeout(seconds)

    def close(self) -> None:
        """Close both."""
        self._outer.close()

    def _exchange(self) -> None:
        self._flush()
        piece = self._outer.recv(_PIECE)
        if piece:
            self._in.write(piece)
        else:
            self._in.write_eof()

    def _flush(self) -> None:
        piece = self._out.read()
        if piece:
            self._outer.sendall(piece)
