"""Which hosts are this server, and which origins are its own pages."""

from __future__ import annotations

import pytest

from benchloop_server.kit.browsers import Browsers, is_loopback, is_same_origin

OURS = Browsers(names=frozenset({"bench.example"}))


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]:8765", "10.1.2.3", "bench.example", "BENCH.example:443"]
)
def test_known_hosts(host: str) -> None:
    assert OURS.knows(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "bench.example.evil.example", "localhost.evil.example", "a b", "127.0.0.1@evil.example", "bench.example:x"]
)
def test_unknown_hosts(host: str) -> None:
    assert not OURS.knows(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost:1", True), ("127.9.9.9", True), ("[::1]", True), ("10.0.0.1", False), ("bench.example", False), ("", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://127.0.0.1:8765", "127.0.0.1:8765", True),
        ("https://bench.example", "bench.example", True),
        ("https://bench.example", "bench.example:443", True),
        ("http://127.0.0.1:8765", "127.0.0.1:8766", False),
        ("https://evil.example", "bench.example", False),
        ("null", "bench.example", False),
        (None, "bench.example", False),
        ("file://", "bench.example", False),
        ("javascript://bench.example", "bench.example", False),
    ],
)
def test_origins(origin: str | None, host: str, expected: bool) -> None:
    assert is_same_origin(origin, host) is expected
