"""TLS inside TLS: what a server behind a proxy that is itself spoken to in https sends and gets, and how that can go wrong."""

from __future__ import annotations

import random
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from benchloop_client._calls import Body, Call
from benchloop_client._http import Http
from benchloop_client._tunnel import Layered
from benchloop_client.errors import NetworkError
from benchloop_client.settings import Flags, load
from tests.support.certificates import authority
from tests.support.proxy import Proxy, proxying
from tests.unit.client.scripted import Answer, Asked, Scripted, as_json, scripted

DATA = random.Random(3).randbytes(3_000_001)


def _context(name: str) -> ssl.SSLContext:
    return authority().issue(f"tunnel-{name}", names=("127.0.0.1",) if name == "proxy" else (name,)).server_context()


def _answer(asked: Asked, raw: Any) -> Answer | None:
    if asked.method == "PUT":
        return as_json({"length": len(asked.body), "same": asked.body == DATA})
    if asked.path.endswith("/cut"):
        raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3000001\r\n\r\n" + DATA[:500_000])
        raw.close_connection = True
        return None
    return Answer(200, DATA, {"Content-Type": "application/octet-stream"})


@contextmanager
def _through(*, server: str = "bench.test", timeout: float = 10, answer: Any = _answer) -> Iterator[tuple[Http, Proxy, Scripted]]:
    """Requests to `https://bench.test` through a proxy that speaks TLS."""
    with scripted(answer, context=_context(server)) as behind, proxying(behind.port, context=_context("proxy")) as proxy:
        trusted = str(authority().certificate)
        flags = Flags(host="https://bench.test", api_key="k", proxy=proxy.address, cacert=trusted, timeout=timeout, retry=0)
        http = Http(load(flags, {"HOME": "/nonexistent"}), threading.Event())
        try:
            yield http, proxy, behind
        finally:
            http.close()


def test_large_bodies_pass_in_both_directions_over_one_connection() -> None:
    with _through() as (http, proxy, behind):
        for _ in range(2):
            with http.open(Call("GET", "/file")) as stream:
                assert b"".join(bytes(block) for block in stream.blocks()) == DATA
        assert http.json(Call("PUT", "/file", body=Body.of(DATA))) == {"length": len(DATA), "same": True}
    assert len(behind.asked) == 3
    assert [line.split(" ")[:2] for line in proxy.lines] == [["CONNECT", "bench.test:443"]]
    assert "x-api-key" not in "".join(proxy.heads).lower()


def test_a_body_that_ends_early_is_no_body() -> None:
    with _through() as (http, _, _behind), http.open(Call("GET", "/cut")) as stream, pytest.raises(NetworkError):
        for _ in stream.blocks():
            pass


def test_the_certificate_of_the_server_inside_is_looked_at() -> None:
    with _through(server="other.test") as (http, _, behind), pytest.raises(NetworkError, match=r"(?i)certificate|hostname"):
        http.json(Call("GET", "/file"))
    assert behind.asked == []


def test_a_server_inside_that_says_nothing_is_given_up() -> None:
    over = threading.Event()

    def silent(_asked: Asked, _raw: Any) -> Answer | None:
        over.wait(20)
        return None

    begun = time.monotonic()
    with _through(timeout=0.5, answer=silent) as (http, _, _behind):
        with pytest.raises(NetworkError):
            http.json(Call("GET", "/file"))
        over.set()
    assert time.monotonic() - begun < 10


def test_a_partner_that_hangs_up_during_the_handshake_is_an_error_of_tls() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.close()
        with pytest.raises((ssl.SSLError, OSError)):
            Layered(near, ssl.create_default_context(), "bench.test")


def test_the_end_of_the_inner_connection_is_an_end() -> None:
    near, far = socket.socketpair()
    context = ssl.create_default_context(cafile=str(authority().certificate))

    def serve() -> None:
        with suppress(OSError), _context("bench.test").wrap_socket(far, server_side=True) as inner:
            inner.sendall(inner.recv(100).upper())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    near.settimeout(10)
    layered = Layered(near, context, "bench.test")
    layered.sendall(b"hello")
    room = memoryview(bytearray(100))
    assert layered.recv_into(room, 3) == 3
    assert bytes(room[:3]) + layered.recv(100) == b"HELLO"
    assert layered.recv(100) == b""
    layered.close()
    thread.join(10)
