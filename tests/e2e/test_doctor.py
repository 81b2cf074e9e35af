"""`bl doctor` and `bl whoami` against servers that are well, old, closed, far away, or not what they seem."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import authority
from tests.support.documented import Documented
from tests.support.programs import CANARY, Bl, Result, canary_in
from tests.support.proxy import proxying
from tests.support.scripted import Scripted, error, of_json, scripted

ACCOUNT = {
    "user": "ada",
    "workspace": "lab",
    "key_name": "laptop",
    "key_hint": "blk_abcd",
    "scopes": ["read", "write"],
    "created_at": "2026-01-01T00:00:00Z",
    "expires_at": None,
    "server_time": "2026-01-01T00:00:00Z",
}
OURS = {"server": "benchloop-server", "version": "1.0.0", "api": 1, "features": ["whoami"]}


def ours(server: Scripted, account: dict[str, Any] | None = None) -> Scripted:
    """Make the server one of our kind."""
    server.on("GET /openapi/version", of_json(OURS))
    server.on("GET /openapi/whoami", of_json({**ACCOUNT, **(account or {})}))
    return server


def by_check(done: Result) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in done.json}


def looked(bl: Bl, *more: str, **env: str) -> tuple[Result, dict[str, dict[str, Any]]]:
    done = bl("doctor", "--format", "json", *more, **env)
    assert not canary_in(done.out, done.err)
    assert "Traceback" not in done.err
    return done, by_check(done)


def test_all_well_is_a_line_each_and_exit_0(server: Scripted, bl: Bl) -> None:
    ours(server)
    done = bl("doctor")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * len(lines)
    checks = [line.split()[1] for line in lines]
    wanted = ["program", "config", "host", "key", "proxy", "dns", "connect", "tls", "clock", "server", "access", "output", "disk"]
    assert checks == wanted
    assert "user ada, workspace lab, scopes read, write" in done.out
    assert f"{server.origin} (from: BENCHLOOP_HOST)" in done.out
    assert not canary_in(done.out, done.err)


def test_every_format_has_the_findings(server: Scripted, bl: Bl) -> None:
    ours(server)
    _, found = looked(bl)
    lines = bl("doctor", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["check"] for line in lines] == list(found)
    rows = list(csv.DictReader(io.StringIO(bl("doctor", "--format", "csv").out)))
    assert [(row["check"], row["status"]) for row in rows] == [(name, row["status"]) for name, row in found.items()]
    table = bl("doctor", "--format", "table", "--fields", "check,status").out.splitlines()
    assert [line.split() for line in table][-len(found) :] == [[name, row["status"]] for name, row in found.items()]
    assert bl("doctor", "--fields", "check").code == 2


def test_a_format_keeps_the_exit_code(home: Path) -> None:
    assert {Bl(home, "http://127.0.0.1:9")("doctor", "--format", name).code for name in ("text", "jsonl", "csv", "table")} == {4}


def test_the_look_itself_carries_no_key(server: Scripted, bl: Bl) -> None:
    bl("doctor")
    ours(server)
    assert next(seen.key for seen in server.seen if seen.path == "/openapi/version") is None


def test_a_refused_key_is_3(server: Scripted, bl: Bl) -> None:
    ours(server).on("GET /openapi/whoami", error(401))
    done, found = looked(bl)
    assert done.code == 3
    assert "refused the API key" in found["key"]["text"] and found["key"]["fix"]


def test_a_key_without_read_is_3(server: Scripted, bl: Bl) -> None:
    ours(server).on("GET /openapi/whoami", error(403, "scope read is missing"))
    done, found = looked(bl)
    assert (done.code, found["access"]["status"]) == (3, "fail")


def test_no_key_and_a_read_only_key_are_warnings(server: Scripted, home: Path) -> None:
    ours(server, {"scopes": ["read"]})
    done, found = looked(Bl(home, server.origin, key=None))
    assert (done.code, found["key"]["status"], found["access"]["status"]) == (0, "warn", "warn")


def test_an_old_server_is_a_warning(old: Documented, bl: Bl) -> None:
    done, found = looked(bl)
    assert (done.code, found["server"]["status"]) == (0, "warn")
    assert "accepted" in found["access"]["text"]
    assert old.server.asked("/openapi/jobs")[0].key == CANARY


def test_an_old_server_that_refuses_the_key_is_3(server: Scripted, bl: Bl) -> None:
    server.on("GET /openapi/jobs", error(401))
    assert looked(bl)[0].code == 3


def test_a_dead_port_is_4_and_the_disk_is_looked_at_all_the_same(home: Path) -> None:
    done, found = looked(Bl(home, "http://127.0.0.1:9"))
    assert done.code == 4
    assert found["connect"]["status"] == "fail" and found["connect"]["fix"]
    assert found["disk"]["status"] in {"ok", "warn"}
    assert "server" not in found


def test_an_unknown_name_is_4(home: Path) -> None:
    done, found = looked(Bl(home, "https://bench.invalid"))
    assert (done.code, found["dns"]["status"]) == (4, "fail")


def test_a_silent_port_is_4_in_bounded_time(home: Path, server: Scripted, bl: Bl) -> None:
    server.fallback = lambda _seen: of_json({}, delay=60)
    done, found = looked(bl)
    assert (done.code, found["answer"]["status"]) == (4, "fail")
    assert done.seconds < 25


@pytest.fixture
def secure() -> Iterator[Scripted]:
    issued = authority().issue("doctor", names=("127.0.0.1",), ends=dt.timedelta(days=5))
    with scripted("tls", context=issued.server_context()) as server:
        yield ours(server)


def test_an_unknown_authority_is_4_and_says_what_to_do(secure: Scripted, home: Path) -> None:
    done, found = looked(Bl(home, secure.origin))
    assert (done.code, found["tls"]["status"]) == (4, "fail")
    assert "--cacert" in found["tls"]["fix"]
    assert not secure.seen


def test_a_certificate_that_ends_soon_is_a_warning(secure: Scripted, home: Path) -> None:
    done, found = looked(Bl(home, secure.origin), "--cacert", str(authority().certificate))
    assert (done.code, found["tls"]["status"]) == (0, "warn")
    ends = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=5)
    assert f"signed by Tests of Benchloop, until {ends:%Y-%m-%d}" in found["tls"]["text"]
    assert found["cacert"]["text"] == f"{authority().certificate} (from: flag)"


def test_an_unusable_authority_is_1(secure: Scripted, home: Path) -> None:
    done, found = looked(Bl(home, secure.origin), "--cacert", "/nowhere.pem")
    assert (done.code, found["tls"]["status"]) == (1, "fail")


def test_tls_where_there_is_none_is_4(server: Scripted, home: Path) -> None:
    done, found = looked(Bl(home, f"https://127.0.0.1:{server.port}"))
    assert (done.code, found["tls"]["status"]) == (4, "fail")


@pytest.mark.parametrize(("wants", "code"), [(None, 0), ("joe:s3cret-word", 4)])
def test_the_way_through_a_proxy(secure: Scripted, home: Path, wants: str | None, code: int) -> None:
    with proxying(secure.port, wants=wants) as proxy:
        address = proxy.address
        done, found = looked(Bl(home, secure.origin), "--cacert", str(authority().certificate), "--proxy", address, NO_PROXY="")
    assert done.code == code, done
    assert f"{address} (from: flag)" in done.out
    assert "dns" not in found
    assert (found["proxy"]["status"] == "fail") is bool(wants)
    assert ("407" in found["proxy"]["text"]) is bool(wants)


def test_a_broken_configuration_is_1_with_its_line(home: Path, bl: Bl) -> None:
    path = home / ".benchloop" / "config.toml"
    path.parent.mkdir()
    path.write_text("[profile]\nhost = \n")
    done, found = looked(bl)
    assert (done.code, found["config"]["status"]) == (1, "fail")
    assert f"{path}:2" in found["config"]["text"]


def test_a_host_that_cannot_be_used_is_1(home: Path) -> None:
    done, found = looked(Bl(home, "http://bench.test"))
    assert (done.code, found["settings"]["status"]) == (1, "fail")
    assert "clear text" in found["settings"]["text"]


def test_a_key_that_others_can_read_is_a_warning(server: Scripted, home: Path) -> None:
    ours(server)
    path = home / ".benchloop" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[profile]\napi_key = "{CANARY}"\n')
    path.chmod(0o644)
    done, found = looked(Bl(home, server.origin, key=None))
    assert (done.code, found["config"]["status"]) == (0, "warn")
    assert found["config"]["fix"] == f"chmod 600 {path}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_keys_that_nothing_reads_are_a_warning(server: Scripted, home: Path, bl: Bl) -> None:
    ours(server)
    path = home / ".benchloop" / "config.toml"
    path.parent.mkdir(mode=0o700)
    path.write_text('[profile]\nhots = "x"\n')
    done, found = looked(bl)
    assert (done.code, found["config"]["status"]) == (0, "warn")
    assert "hots" in found["config"]["text"]


def test_an_output_dir_that_cannot_be_written_is_1(server: Scripted, bl: Bl, tmp_path: Path) -> None:
    ours(server)
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file" / "below"), "/proc/benchloop"):
        done, found = looked(bl, "-o", place)
        assert (done.code, found["output"]["status"]) == (1, "fail"), place


def test_an_output_dir_that_will_be_made_is_well_and_nothing_is_left(server: Scripted, bl: Bl, out: Path) -> None:
    ours(server)
    done, found = looked(bl, "-o", str(out / "a" / "b"))
    assert (done.code, found["output"]["status"]) == (0, "ok")
    assert list(out.iterdir()) == []


def test_whoami_is_one_json_array(server: Scripted, bl: Bl) -> None:
    ours(server)
    done = bl("whoami")
    assert done.code == 0, done
    assert done.json == [{"host": server.origin, "key_from": "BENCHLOOP_API_KEY", **ACCOUNT}]
    table = bl("whoami", "--format", "table")
    assert [part.strip() for part in table.out.splitlines()[6].split("  ", 1)] == ["scopes", "read, write"]


def test_whoami_of_an_old_server_is_1_and_of_a_refused_key_3(old: Documented, bl: Bl) -> None:
    done = bl("whoami")
    assert (done.code, done.out) == (1, "")
    assert "does not say whose key this is" in done.err
    ours(old.server).on("GET /openapi/whoami", error(401))
    assert bl("whoami").code == 3
    assert Bl(bl.home, "http://127.0.0.1:9")("whoami", "--retry", "0").code == 4
