"""Faults A9, B8, B9, B11, B13, B15 of the original client: what comes in, from a server or a pipe, and is not as it should be.

Each test fails on a client that has the fault: run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` to see it, or, where the original
passes, on the variant that its docstring names.
"""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest

from tests.support.documented import Documented, document, tgz
from tests.support.programs import CANARY, Bl, files_below
from tests.support.scripted import Answer, binary, error, of_json, scripted

# ---- A9: a trajectory names what is fetched -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    ["../../groups/G1", "/openapi/groups/G1", "http://{elsewhere}/steal", "//{elsewhere}/steal", "x&ossUri=y#z?a=b", "a\r\nX-Evil: 1"],
)
def test_a9_a_trajectory_cannot_choose_where_the_key_goes(old: Documented, bl: Bl, out: Path, uri: str) -> None:
    """Whatever it names is a value of one query. Fails on a variant that asks for a full address as it stands."""
    with scripted() as elsewhere:
        named = uri.replace("{elsewhere}", elsewhere.origin.removeprefix("http://"))
        step = {"step_id": 3, "source": "agent", "message": "", "extra": {"trace_media": {"oss_uri": named, "mime_type": "image/png"}}}
        old.trajectories["J1"] = of_json({**document("J1"), "steps": [step]})
        old.server.on("GET /openapi/getTrajV2/mediaFile", binary(b"png", "image/png"))
        done = bl("trajectory", "download", "--task-id", "G1", "-o", str(out))
        assert elsewhere.seen == []
    assert done.code == 0, str(done)
    data = ("/trajectory", "/meta", "/trajectory-download-tasks/G1")
    asked = [seen for seen in old.server.asked() if not seen.path.endswith(data)]
    assert [(seen.path, seen.query.get("ossUri")) for seen in asked] == [("/openapi/getTrajV2/mediaFile", named)]
    assert "x-evil" not in asked[0].headers


# ---- B8: what is repeated, and when it ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_b8_the_pause_that_a_server_asks_for_is_kept(old: Documented, bl: Bl, status: int) -> None:
    """Fails on the original: 429 is final, and 503 is asked again after half a second."""
    left = [error(status, "slow down", Retry_After="2")]
    old.server.on("GET /openapi/metrics/J1", lambda _seen: left.pop() if left else of_json({"job_id": "J1"}))
    done = bl("metrics", "get", "-j", "J1")
    assert (done.code, len(done.json)) == (0, 1), str(done)
    first, second = (seen.at for seen in old.server.asked("/metrics/J1"))
    assert 1.9 <= second - first < 8


def test_b8_bytes_are_asked_for_again_too(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: 503 on artifact bytes is final."""
    left = [error(503, "restarting")]
    old.server.on("GET /openapi/jobs/J1/artifacts/download", lambda _seen: left.pop() if left else binary(tgz({"a": b"a"})))
    done = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert (done.code, files_below(out)) == (0, {"J1/J1.tgz": tgz({"a": b"a"})}), str(done)


def test_b8_a_body_that_drips_comes_to_an_end(old: Documented, bl: Bl) -> None:
    """A byte every 0.4 s for a minute. Fails on the original, which waits for all of it."""
    body = json.dumps({"job_id": "J1", "pad": "x" * 130}).encode()
    old.server.on("GET /openapi/metrics/J1", Answer(body=body, headers={"Content-Type": "application/json"}, piece=1, pause=0.4))
    began = time.monotonic()
    done = bl("--timeout", "2", "--retry", "0", "metrics", "get", "-j", "J1")
    assert done.code == 4, str(done)
    assert time.monotonic() - began < 30


# ---- B9: the export of a group ------------------------------------------------------------------------------------------------------


def test_b9_nobody_waits_for_an_export_that_is_not_needed(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original of 0.2.25, which asks every 15 s, and on any client that takes `failed` for `not yet`."""
    old.server.on("GET /openapi/groups/G1/trace-trajectory/download", of_json({"status": "failed", "message": "shard 7 broke"}))
    done = bl("trajectory", "download", "-g", "G1", "-o", str(out), timeout=40)
    assert done.code == 0 or "shard 7 broke" in done.err, str(done)
    assert done.seconds < 15


def test_b9_every_job_is_there_once_or_counted_as_lost(old: Documented, bl: Bl, out: Path) -> None:
    """A job whose trajectory is lost is told. Fails on the original of 0.2.25: it is an empty list and exit 0."""
    old.trajectories["J2"] = error(404, "no trajectory of J2")
    lines = old.export_of("G1").splitlines(keepends=True)
    old.server.on("GET /openapi/export/G1", binary(lines[0] + lines[2] + lines[0], "application/x-ndjson"))
    kept = [document("J1"), document("J3")]
    old.server.on("GET /openapi/groups/G1/trajectory", of_json({"group_id": "G1", "trajectories": kept}))
    done = bl("trajectory", "download", "-g", "G1", "-o", str(out))
    files = files_below(out)
    found = [each["trajectory_id"] for each in json.loads(files["G1/trajectory.json"])["trajectories"]] if files else []
    assert len(found) == len(set(found))
    assert set(found) == {"J1", "J2", "J3"} or "1 of 3 job(s)" in done.err, str(done)


# ---- B11: ids ----------------------------------------------------------------------------------------------------------------------


def test_b11_a_pipe_may_hold_commas(old: Documented, bl: Bl) -> None:
    """Fails on the original: `J1,J2` is one id."""
    done = bl("metrics", "get", "-j", "-", stdin="J1,J2\nJ3 J1\n")
    assert (done.code, [each["job_id"] for each in done.json]) == (0, ["J1", "J2", "J3"]), str(done)


def test_b11_a_pipe_cannot_hold_groups_and_jobs(old: Documented, bl: Bl) -> None:
    """Fails on the original: the second of them gets nothing, and nobody is told."""
    done = bl("metrics", "get", "-g", "-", "-j", "-", stdin="J1\n")
    assert (done.code, done.out) == (2, ""), str(done)


def test_b11_ids_come_from_a_file(old: Documented, bl: Bl, tmp_path: Path) -> None:
    """Fails on the original, whose design document has it and whose program has not."""
    (tmp_path / "ids.txt").write_text("J1, J2\n\nJ3\n")
    done = bl("metrics", "get", "-j", f"@{tmp_path / 'ids.txt'}")
    assert (done.code, len(done.json)) == (0, 3), str(done)


# ---- B13: progress ------------------------------------------------------------------------------------------------------------------


def test_b13_what_failed_counts_as_done(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: `2/3` is the last that is heard."""
    done = bl("trajectory", "download", "-j", "J1,BAD,J2", "-o", str(out))
    assert done.code == 1
    assert any("3/3" in line for line in done.err.splitlines() if line.startswith("[progress]")), str(done)


def test_b13_verbose_shows_requests(old: Documented, bl: Bl) -> None:
    """With status and without the key. Fails on the original: `-v` changes nothing."""
    done = bl("-v", "metrics", "get", "-j", "J1")
    lines = [line for line in done.err.splitlines() if line.startswith("[debug]") and "/openapi/metrics/J1" in line]
    assert any("200" in line for line in lines), str(done)
    assert CANARY not in done.err


# ---- B15: JSON that is deep, or no JSON ----------------------------------------------------------------------------------------------

_DEEP = b'{"job_id":"J1","x":' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.mark.parametrize(
    "command", [("metrics", "get", "-j", "J1,J2"), ("trajectory", "get", "-j", "J1,J2"), ("report", "get", "-j", "J1,J2")]
)
def test_b15_depth_is_a_failure_in_words_or_none(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """Five thousand levels. Fails on the original: `maximum recursion depth exceeded`, whatever that may be."""
    for route in ("metrics/J1", "jobs/J1/trajectory", "jobs/J1/report"):
        old.server.on(f"GET /openapi/{route}", Answer(body=_DEEP, headers={"Content-Type": "application/json"}))
    done = bl(*command)
    assert "Traceback" not in done.err
    assert "recursion" not in done.err
    assert len(done.json) == 1 and (done.code, "J1" in done.err) == (1, True), str(done)


@pytest.mark.parametrize("action", ["get", "download"])
def test_b15_what_we_write_is_json(old: Documented, bl: Bl, out: Path, action: str) -> None:
    """`NaN` becomes null, and numbers stay as they were written. Fails on the original: `NaN` and `100000.0`."""
    body = b'{"job_id":"J1","metrics":{"a":NaN,"b":-Infinity,"c":[Infinity]}}'
    plain = b'{"job_id":"J2","metrics":{"a":1.0E5,"b":123456789012345678901234567890,"c":0.10}}'
    for name, answer in (("J1", body), ("J2", plain)):
        old.server.on(f"GET /openapi/metrics/{name}", Answer(body=answer, headers={"Content-Type": "application/json"}))
        old.server.on(f"GET /openapi/jobs/{name}/trajectory", Answer(body=answer, headers={"Content-Type": "application/json"}))
    done = bl("--no-pretty", "trajectory", action, "-j", "J1,J2", *(("-o", str(out)) if action == "download" else ()))
    assert done.code == 0, str(done)
    text = done.out + "".join(data.decode() for data in files_below(out).values())
    assert "NaN" not in text and "Infinity" not in text
    assert plain.decode()[1:-1] in text


def test_b15_half_an_emoji_in_a_zip(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: the job is lost."""
    text = json.dumps(document("J1")).replace("hello", "\\ud83d").encode()
    old.trajectories["J1"] = Answer(body=text, headers={"Content-Type": "application/json"})
    done = bl("trajectory", "download", "--task-id", "G1", "-o", str(out))
    assert done.code == 0, str(done)
    with zipfile.ZipFile(next(out.glob("*.zip"))) as archive:
        documents = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("trajectories/")]
    assert len(documents) == 3
