"""Wrong results and bad behaviour under way: each fault B1 to B4, B6, B7 and B12 seen in the original client has tests that fail on it.

Run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` these tests fail on it, but for those whose docstring names another variant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.documented import Documented, document, tgz
from tests.support.programs import Bl, files_below, interrupt, leftovers, wait_for
from tests.support.scripted import Answer, Scripted, Seen, binary, error, html, of_json, redirect, scripted

_ONE_TIME = "2026-01-01T00:00:00Z"


def _many(count: int) -> list[str]:
    return [f"J{n:05}" for n in range(count)]


# ---- B1: jobs that share one creation time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3_000, 10_000])
def test_b1_equal_times_list_completely(old: Documented, bl: Bl, count: int) -> None:
    """A batch made in one second. Fails on the original: more than 1,000 equal times cannot be listed."""
    old.fill("G9", _many(count), created_at=_ONE_TIME)
    result = bl("jobs", "get", "-g", "G9", "--all")
    assert result.code == 0, str(result)
    found = result.json[0]
    assert found["total"] == count
    assert [row["job_id"] for row in found["jobs"]] == _many(count)


def test_b1_equal_times_download_completely(old: Documented, bl: Bl, out: Path) -> None:
    """The same into a file. Fails on the original."""
    old.fill("G9", _many(3_000), created_at=_ONE_TIME)
    result = bl("jobs", "download", "-g", "G9", "-o", str(out))
    assert result.code == 0, str(result)
    assert len(json.loads(files_below(out)["G9/job_list.json"])["jobs"]) == 3_000


@pytest.mark.parametrize("shift", [7, -7])
def test_b1_list_that_changes_under_way(old: Documented, bl: Bl, shift: int) -> None:
    """Jobs come or go at the front between pages: each job that is there throughout is listed once, or the command fails loudly.

    Fails on a pager that trusts offsets alone (a plain `while page: skip += len(page)`).
    """
    names = _many(2_500)
    old.fill("G9", names[7:] if shift > 0 else names)
    pages: list[int] = []

    def listing(seen: Seen) -> Answer:
        if len(pages) == 1:
            old.fill("G9", names if shift > 0 else names[7:])
        pages.append(1)
        return old._jobs(seen)

    old.server.on("GET /openapi/jobs", listing)
    result = bl("jobs", "get", "-g", "G9", "--all")
    listed = [row["job_id"] for row in result.json[0]["jobs"]] if result.code == 0 else []
    assert len(listed) == len(set(listed))
    assert result.code == 1 or set(names[7:]) <= set(listed), str(result)[-500:]


# ---- B2: a server that caps its pages and does not say a total ----------------------------------------------------------------------


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize(("command", "name", "key"), [("jobs", "job_list", "jobs"), ("tasks", "task_list", "tasks")])
def test_b2_capped_pages_are_read_to_the_end(old: Documented, bl: Bl, out: Path, command: str, name: str, key: str, totals: bool) -> None:
    """At most 30 rows a page whatever is asked for, with and without `total`. Without, it fails on the original: 30 of 500 and exit 0."""
    old.fill("G9", _many(500))
    old.cap, old.totals = 30, totals
    result = bl(command, "download", "-g", "G9", "-o", str(out))
    assert result.code == 0, str(result)
    found = json.loads(files_below(out)[f"G9/{name}.json"])
    assert len(found[key]) == found["total"] == 500


def test_b2_capped_pages_of_metrics(old: Documented, bl: Bl) -> None:
    """The same for metrics. Fails on the original."""
    old.fill("G9", _many(500))
    old.cap, old.totals = 100, False
    result = bl("metrics", "get", "-g", "G9", "--scope", "detail")
    assert result.code == 0, str(result)
    assert len(result.json[0]["detail"]["metrics"]) == 500


# ---- B3: Ctrl-C -----------------------------------------------------------------------------------------------------------------------


def _slow(old: Documented, seconds: float, count: int = 40) -> list[str]:
    jobs = [f"S{n}" for n in range(count)]
    old.fill("SLOW", jobs)
    for job in jobs:
        old.trajectories[job] = of_json(document(job), delay=seconds)
        old.archives[job] = binary(tgz({"job.txt": job.encode() * 2000}), delay=seconds / 2, piece=50, pause=seconds / 20)
    return jobs


def _command(name: str, jobs: list[str], out: Path) -> list[str]:
    ids = [item for job in jobs for item in ("-j", job)]
    return {
        "trajectory": ["trajectory", "download", *ids],
        "trajectory get": ["trajectory", "get", *ids],
        "artifacts": ["artifacts", "download", "-g", "SLOW"],
        "artifacts task": ["artifacts", "download", "--task-id", "SLOW"],
        "trajectory task": ["trajectory", "download", "--task-id", "SLOW"],
        "pull": ["pull", *ids],
    }[name] + ([] if name.endswith("get") else ["-o", str(out)])


@pytest.mark.parametrize("name", ["trajectory", "trajectory get", "artifacts", "artifacts task", "trajectory task", "pull"])
def test_b3_ctrl_c_stops_within_a_second(old: Documented, bl: Bl, out: Path, name: str) -> None:
    """40 slow jobs, Ctrl-C in the middle. Fails on the original (but for `pull`, which is serial there): it makes all requests first."""
    jobs = _slow(old, 1.0)
    process = bl.start("--concurrency", "4", *_command(name, jobs, out))
    wait_for(lambda: len(old.server.asked("/trajectory")) + len(old.server.asked("/artifacts/download")) >= 6 or process.poll() is not None)
    before = len(old.server.asked())
    result, took = interrupt(process)
    assert result.code == 130, str(result)
    assert took < 1.0
    assert len(old.server.asked()) - before <= 8, "it went on asking"
    assert "Traceback" not in result.err
    assert leftovers(out) == []


def test_b3_interrupted_work_is_resumed(old: Documented, bl: Bl, out: Path) -> None:
    """What had arrived before Ctrl-C is not fetched again. Fails on a client that keeps no state (the original's task downloads)."""
    jobs = _slow(old, 0.3, count=20)
    arguments = ["--concurrency", "4", *_command("artifacts task", jobs, out)]
    process = bl.start(*arguments)
    wait_for(lambda: len(list(out.rglob("*.tgz"))) >= 4 or process.poll() is not None)
    result, _ = interrupt(process)
    assert result.code == 130, str(result)
    kept = len(files_below(out))
    assert 4 <= kept < 20
    old.archives.clear()
    before = len(old.server.asked("/artifacts/download"))
    again = bl(*arguments)
    assert again.code == 0, str(again)
    assert len(files_below(out)) == 20
    assert len(old.server.asked("/artifacts/download")) - before <= 20 - kept


def test_b3_interrupted_task_zip_is_resumed(old: Documented, bl: Bl, out: Path) -> None:
    """The trajectories of a frozen list: no ZIP before it is whole, and its parts are kept. Fails on the original: it starts from zero."""
    jobs = _slow(old, 0.3, count=20)
    arguments = ["--concurrency", "4", *_command("trajectory task", jobs, out)]
    process = bl.start(*arguments)
    wait_for(lambda: len(old.server.asked("/trajectory")) >= 12 or process.poll() is not None)
    result, _ = interrupt(process)
    assert result.code == 130, str(result)
    assert list(out.glob("*.zip")) == []
    before = len(old.server.asked("/trajectory"))
    again = bl(*arguments)
    assert again.code == 0, str(again)
    assert sorted(files_below(out)) == ["SLOW_trajectories.zip"]
    assert len([seen for seen in old.server.asked("/trajectory")[before:] if seen.path.endswith("/trajectory")]) <= 16


def test_b3_second_ctrl_c_is_harmless(old: Documented, bl: Bl, out: Path) -> None:
    """Two signals in a row end it as well, without a traceback. Fails on the original."""
    jobs = _slow(old, 2.0)
    process = bl.start("--concurrency", "4", *_command("artifacts task", jobs, out))
    wait_for(lambda: len(old.server.asked("/artifacts/download")) >= 4 or process.poll() is not None)
    process.send_signal(2)
    time.sleep(0.02)
    result, took = interrupt(process)
    assert result.code in (130, -2), str(result)
    assert took < 1.0
    assert "Traceback" not in result.err
    assert leftovers(out) == []


# ---- B4: a rejected key is rejected for all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [("metrics", "get"), ("trajectory", "download"), ("artifacts", "download"), ("overview", "get"), ("pull",)]
)
def test_b4_first_rejection_stops_the_rest(server: Scripted, bl: Bl, out: Path, command: tuple[str, ...]) -> None:
    """60 ids and a dead key. Fails on the original: 60 requests, and `pull` exits with 1."""
    server.fallback = lambda _seen: error(401, "unknown key")
    ids = [item for n in range(60) for item in ("-j", f"J{n}")]
    result = bl("--concurrency", "4", "-o", str(out), *command, *ids)
    assert result.code == 3, str(result)
    assert result.out == ""
    assert len(server.asked()) <= 8
    assert files_below(out) == {}


def test_b4_rejection_in_the_middle_of_artifacts(old: Documented, bl: Bl, out: Path) -> None:
    """The key dies between listing and bytes. Fails on the original: exit 1 and every job asked."""
    old.fill("G9", _many(60))
    old.server.on("GET /openapi/jobs/{j}/artifacts/download", error(401, "key revoked"))
    result = bl("--concurrency", "4", "artifacts", "download", "-g", "G9", "-o", str(out))
    assert result.code == 3, str(result)
    assert len(old.server.asked("/artifacts/download")) <= 8


# ---- B6: what came out can be matched to what went in -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("trajectory", "get"), ("overview", "get", "--scope", "summary")])
def test_b6_null_answer_is_reported(old: Documented, bl: Bl, command: tuple[str, ...]) -> None:
    """`null` for one of two ids is said, or stands beside its id. `trajectory` fails on the original: it vanishes without a word."""
    option = "-j" if command[0] == "trajectory" else "-g"
    if option == "-j":
        old.trajectories["J1"] = of_json(None)
    else:
        old.fill("J1", ["a"])
        old.fill("J2", ["b"])
        old.server.on(
            "GET /openapi/groups/{g}/eval_summary", lambda seen: of_json(None if seen.path_ids["g"] == "J1" else {"group_id": "J2"})
        )
    result = bl(*command, option, "J1", option, "J2")
    assert result.code in (0, 1), str(result)
    assert "J1" in result.err or [row["group_id"] for row in result.json] == ["J1", "J2"], str(result)


def test_b6_null_trajectory_is_no_file(old: Documented, bl: Bl, out: Path) -> None:
    """`null` for one of two downloads is named. Fails on a client that writes the body `null` and counts it as done."""
    old.trajectories["J1"] = of_json(None)
    result = bl("trajectory", "download", "-j", "J1", "-j", "J2", "-o", str(out))
    assert result.code == 1, str(result)
    assert [line for line in result.err.splitlines() if "J1" in line and "null" in line], str(result)
    assert sorted(files_below(out)) == ["J2_trajectory.json"]


def test_b6_poisoned_record_spares_the_others(old: Documented, bl: Bl) -> None:
    """One document with half an emoji among three. Fails on the original: a traceback and no output at all."""
    old.trajectories["J2"] = Answer(200, json.dumps(document("J2", "\ud83d")).encode(), {"Content-Type": "application/json"})
    result = bl("trajectory", "get", "-j", "J1,J2,J3")
    assert result.code == 0, str(result)
    assert [row["trajectory_id"] for row in result.json] == ["J1", "J2", "J3"]


# ---- B7: redirects and pages where JSON belongs -------------------------------------------------------------------------------------

_ROUTES = [
    (("metrics", "get", "-j", "J1"), "/openapi/metrics/{j}"),
    (("jobs", "get", "-g", "G1"), "/openapi/jobs"),
    (("tasks", "get", "-g", "G1"), "/openapi/groups/{g}/eval_tasks"),
    (("trajectory", "get", "-j", "J1"), "/openapi/jobs/{j}/trajectory"),
    (("overview", "get", "-j", "J1"), "/openapi/jobs/{j}"),
]


@pytest.mark.parametrize(("command", "route"), _ROUTES)
def test_b7_redirect_with_a_json_body_is_no_answer(old: Documented, bl: Bl, command: tuple[str, ...], route: str) -> None:
    """302 to a login page of another origin with JSON in the body. Fails on the original: a record of nulls and exit 0."""
    with scripted() as gateway:
        gateway.on("GET /login", html())
        old.server.on(f"GET {route}", redirect(f"{gateway.origin}/login", body=b'{"redirect": true}'))
        result = bl(*command)
    assert result.code == 3, str(result)
    assert "redirect" not in result.out


@pytest.mark.parametrize(("command", "route"), _ROUTES)
def test_b7_page_on_a_json_route_is_one_line(old: Documented, bl: Bl, command: tuple[str, ...], route: str) -> None:
    """HTML with 200. Fails on the original: the whole page in the error."""
    old.server.on(f"GET {route}", html("<html>" + "<p>filler</p>" * 500))
    result = bl("--retry", "0", *command)
    assert result.code == 1, str(result)
    assert "filler" not in result.err + result.out
    assert max(len(line) for line in result.err.splitlines()) < 400


# ---- B12: --skip-existing looks at more than a name ---------------------------------------------------------------------------------


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _unjournalled(path: Path) -> None:
    path.write_bytes(path.read_bytes())
    for line in (path.parents[1] / ".benchloop", path.parent / ".benchloop"):
        (line / "journal.jsonl").unlink(missing_ok=True)


@pytest.mark.parametrize("damage", [_truncated, _emptied, _unjournalled])
@pytest.mark.parametrize(
    ("command", "name"), [(("artifacts", "download"), "J1/J1.tgz"), (("trajectory", "download"), "J1_trajectory.json")]
)
def test_b12_skip_existing_refetches_damage(
    old: Documented, bl: Bl, out: Path, command: tuple[str, ...], name: str, damage: Callable[[Path], None]
) -> None:
    """A file cut by a byte, emptied, or of unknown origin is fetched again. Fails on the original: any file of that name will do."""
    arguments = [*command, "-j", "J1", "-o", str(out)]
    assert bl(*arguments).code == 0
    whole = files_below(out)[name]
    damage(out / name)
    route = "/artifacts/download" if command[0] == "artifacts" else "/trajectory"
    before = len(old.server.asked(route))
    result = bl(*arguments, "--skip-existing")
    assert result.code == 0, str(result)
    assert files_below(out)[name] == whole
    assert len(old.server.asked(route)) > before


@pytest.mark.parametrize(
    ("command", "name"), [(("artifacts", "download"), "J1/J1.tgz"), (("trajectory", "download"), "J1_trajectory.json")]
)
def test_b12_folder_of_that_name_is_not_the_file(old: Documented, bl: Bl, out: Path, command: tuple[str, ...], name: str) -> None:
    """A folder where the file belongs is an error that names it. Fails on the original: skipped, exit 0."""
    (out / name).mkdir(parents=True)
    result = bl(*command, "-j", "J1", "-o", str(out), "--skip-existing")
    assert result.code == 1, str(result)
    assert name.rsplit("/", 1)[-1] in result.err
    assert "Traceback" not in result.err


def test_b12_whole_files_are_skipped(old: Documented, bl: Bl, out: Path) -> None:
    """What is whole and known is not asked for again. Fails on a client that refetches everything."""
    arguments = ["artifacts", "download", "-g", "G1", "-o", str(out)]
    assert bl(*arguments).code == 0
    before = len(old.server.asked("/artifacts/download"))
    result = bl(*arguments, "--skip-existing")
    assert result.code == 0, str(result)
    assert len(old.server.asked("/artifacts/download")) == before
