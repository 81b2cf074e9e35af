"""The framing of answers: each way a body can end, what is refused, and the same reading as h11 of whatever arrives."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client._wire import Broken, Wire, limit_waits

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def answered(raw: bytes, *, method: bytes = b"GET", pieces: int = 1 << 20) -> tuple[int, dict[str, str], bytes, bool]:
    """Status, headers, body, and whether the connection can serve again, of an answer that arrives in pieces and then ends."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        limit_waits(ours, 5)

        def send() -> None:
            with suppress(OSError):  # whoever refuses the answer does not wait for its end
                for start in range(0, len(raw), pieces):
                    theirs.sendall(raw[start : start + pieces])
                theirs.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        wire = Wire(ours)
        back: list[bool] = []
        answer = wire.ask(method + b" / HTTP/1.1\r\nHost: x\r\n\r\n", None, no_body=method == b"HEAD")
        answer.give_back = lambda: back.append(True)
        body = b""
        while piece := answer.read(7):
            body += piece
        answer.close()
        thread.join(5)
        return answer.status, answer.headers, body, bool(back)


@pytest.mark.parametrize("pieces", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("raw", "body", "again"),
    [
        (GOOD, b"hello", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: x\r\n\r\n", b"hello", True),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", b"hello", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhello", b"hello", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", b"hello", True),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", b"", True),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD, b"hello", True),
        (b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + GOOD, b"hello", True),
        (GOOD + b"more", b"hello", False),
        (GOOD.replace(b"\r\n", b"\n"), b"hello", True),
    ],
)
def test_each_way_a_body_can_end(raw: bytes, body: bytes, again: bool, pieces: int) -> None:
    _, _, got, back = answered(raw, pieces=pieces)
    assert got == body
    # Whether bytes behind the answer are noticed depends on whether they came with it.
    assert back == again or raw.endswith(b"more")


def test_an_answer_to_head_has_no_body() -> None:
    assert answered(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", method=b"HEAD")[2:] == (b"", True)


def test_headers_have_lower_case_names_and_are_joined() -> None:
    raw = b"HTTP/1.1 200 OK\r\nX-A:  one \r\nx-a: two\r\nX-Fold: a\r\n  b\r\nContent-Length: 0\r\n\r\n"
    assert answered(raw)[1] == {"x-a": "one, two", "x-fold": "a b", "content-length": "0"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"<html>hello</html>\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nhel\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nhel\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX Y: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    ],
)
def test_what_is_short_or_makes_no_sense_is_refused(raw: bytes) -> None:
    with pytest.raises(Broken):
        answered(raw)


def test_a_reset_is_an_error_and_not_an_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()[:2]) as ours:
        theirs = server.accept()[0]
        limit_waits(ours, 5)
        theirs.sendall(b"HTTP/1.1 200 OK\r\n\r\nhel")
        answer = Wire(ours).ask(b"GET / HTTP/1.1\r\n\r\n", None)
        assert answer.read(3) == b"hel"
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        with pytest.raises(ConnectionError):
            answer.read(10)


def test_silence_ends_after_the_limit() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        limit_waits(ours, 0.2)
        with pytest.raises(TimeoutError):
            Wire(ours).ask(b"GET / HTTP/1.1\r\n\r\n", None)


def test_a_buffer_is_filled_as_far_as_the_body_goes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        limit_waits(ours, 5)
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        answer = Wire(ours).ask(b"GET / HTTP/1.1\r\n\r\n", None)
        theirs.sendall(b"0123456789HTTP/1.1 200")
        buffer = memoryview(bytearray(16))
        assert answer.fill(buffer, whole=True) == 10
        assert bytes(buffer[:10]) == b"0123456789"
        assert answer.fill(buffer) == 0


_LINES = st.sampled_from(
    [
        b"Content-Length: 5", b"Content-Length: 3", b"content-length: 5, 5", b"Content-Length: +5", b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: Chunked", b"Transfer-Encoding: identity", b"Connection: close", b"Connection: keep-alive, x", b"X-Empty:",
        b"X: a\tb", b"X-\xc3\xa4: 1", b" folded", b"X:\x001", b"No colon", b"Bad name: 1", b'ETag: "a"',
    ]
)  # fmt: skip
_BODIES = st.sampled_from(
    [
        b"", b"hello", b"hel", b"hello more", b"5\r\nhello\r\n0\r\n\r\n", b"5;ext=1\r\nhello\r\n0\r\nT: x\r\n\r\n", b"5\r\nhello",
        b"5\r\nhello\r\n", b"5\nhello\n0\n\n", b"Z\r\nhello\r\n0\r\n\r\n", b"05\r\nhello\r\n0\r\n\r\n", b"6\r\nhello\r\n0\r\n\r\n",
    ]
)  # fmt: skip
_STARTS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.0 200 OK",
        b"HTTP/1.1 206 Partial Content",
        b"HTTP/1.1 304 Not Modified",
        b"HTTP/1.1 200",
        b"HTTP/1.1 2000 x",
    ]
)


@settings(max_examples=150, deadline=None)
@given(start=_STARTS, lines=st.lists(_LINES, max_size=4), body=_BODIES, pieces=st.sampled_from([1, 2, 1 << 20]))
def test_whatever_is_read_h11_reads_in_the_same_way(start: bytes, lines: list[bytes], body: bytes, pieces: int) -> None:
    raw = b"\r\n".join([start, *lines, b"", body])
    expected = _by_h11(raw)
    try:
        status, _, got, again = answered(raw, pieces=pieces)
    except Broken:
        return  # Refusing more than h11 does is no harm: nothing is taken for whole.
    assert expected is not None, "read what h11 refuses"
    assert (status, got) == expected[:2]
    # h11 keeps no connection of HTTP/1.0, also where the server offers that.
    assert not again or expected[2] or start.startswith(b"HTTP/1.0"), "would use a connection again that h11 would close"


def _by_h11(raw: bytes) -> tuple[int, bytes, bool] | None:
    connection = h11.Connection(our_role=h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    connection.receive_data(b"")
    status, body = 0, b""
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return status, body, connection.their_state is h11.DONE
            elif event is h11.NEED_DATA or isinstance(event, h11.ConnectionClosed):
                return None
    except h11.RemoteProtocolError:
        return None
