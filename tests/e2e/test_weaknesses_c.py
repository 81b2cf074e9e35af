"""Faults C1 to C5 of the original client: connections, probes, memory, work in a row, and what starting costs.

Each test fails on a client that has the fault: run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` to see it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.certificates import self_signed
from tests.support.documented import Documented, document
from tests.support.programs import Bl, Result
from tests.support.scripted import Answer, Scripted, of_json, scripted

#: What a command that asks nobody has no use for.
_NETWORK = {"httpx", "urllib3", "ssl", "requests", "asyncio"}
_PIECE = "x" * 1000


def test_c1_connections_are_kept(old: Documented, bl: Bl) -> None:
    """Fails on the original: forty connections for forty requests."""
    names = [f"K{n}" for n in range(40)]
    old.fill("G9", names)
    done = bl("--concurrency", "4", "metrics", "get", "-j", ",".join(names))
    assert (done.code, len(done.json)) == (0, 40), str(done)
    assert old.server.connections <= 5


def test_c2_no_request_but_those_for_data(home: Path) -> None:
    """Over TLS and with eight threads at once. Fails on a client that first tries whether the host speaks TLS."""
    with scripted("tls") as server:
        server.fallback = lambda seen: of_json({"job_id": seen.path.rpartition("/")[2]})
        done = Bl(home, server.origin)("metrics", "get", "-j", "1,2,3,4,5,6,7,8", SSL_CERT_FILE=str(self_signed().certificate))
        assert (done.code, len(done.json)) == (0, 8), str(done)
        assert sorted(seen.target for seen in server.asked()) == [f"/openapi/metrics/{n}" for n in range(1, 9)]
        assert len(server.seen) - len(server.asked()) <= 1


def _big(old: Documented, jobs: int, megabytes: int) -> None:
    """A group of jobs whose trajectories have so many MB each."""
    names = [f"B{n}" for n in range(jobs)]
    old.fill("BIG", names)
    steps = [{"step_id": n, "source": "agent", "message": _PIECE} for n in range(1, megabytes * 1000 + 1)]
    for name in names:
        old.trajectories[name] = of_json({**document(name), "steps": steps})
    lines = [b'{"job_id":"%b",%b\n' % (name.encode(), old.trajectories[name].body[1:]) for name in names]
    old.server.on("GET /openapi/export/BIG", Answer(200, b"".join(lines), {"Content-Type": "application/x-ndjson"}))
    whole = b'{"group_id":"BIG","trajectories":[%b]}' % b",".join(old.trajectories[name].body for name in names)
    old.server.on("GET /openapi/groups/BIG/trajectory", Answer(200, whole, {"Content-Type": "application/json"}))


@pytest.mark.parametrize(
    "command",
    [
        ("trajectory", "download", "-g", "BIG"),
        ("trajectory", "get", "-g", "BIG"),
        ("--concurrency", "5", "trajectory", "download", "--task-id", "BIG"),
    ],
    ids=["group", "get", "task"],
)
def test_c3_memory_does_not_grow_with_the_group(old: Documented, bl: Bl, out: Path, command: tuple[str, ...]) -> None:
    """Sixty MB in twelve documents. Fails on the original: 300 to 500 MB."""
    _big(old, 12, 5)
    done = bl.measured(*command, *(() if "get" in command else ("-o", str(out))))
    assert done.code == 0, str(done)[-500:]
    assert done.peak_bytes < 180e6


def test_c4_pull_fetches_jobs_side_by_side(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: one job after another, whatever --concurrency says."""
    old.server.on("GET /openapi/metrics/{j}", lambda seen: of_json({"job_id": seen.path_ids["j"]}, delay=0.8))
    done = bl("--concurrency", "6", "pull", "-j", "1,2,3,4,5,6", "--with", "metrics", "-o", str(out))
    assert done.code == 0, str(done)
    asked = [seen.at for seen in old.server.asked("/metrics/")]
    assert max(asked) - min(asked) < 0.8 * 3


@pytest.mark.parametrize("command", [("--help",), ("metrics", "get", "--help"), ("config", "set", "--host", "http://127.0.0.1:9")])
def test_c5_only_what_is_needed_is_loaded(server: Scripted, bl: Bl, command: tuple[str, ...]) -> None:
    """Fails on the original: the whole HTTP library for a page of help."""
    done = bl(*command, PYTHONPROFILEIMPORTTIME="1")
    assert done.code == 0, str(done)
    assert _loaded(done) & _NETWORK == set()
    assert server.seen == []


def _loaded(done: Result) -> set[str]:
    names = re.findall(r"^import time: +\d+ \| +\d+ \| +(\S+)$", done.err, re.MULTILINE)
    assert "os" in names, "the program did not say what it imports"
    return {name.partition(".")[0] for name in names}
