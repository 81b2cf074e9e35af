"""Faults A5, A7, B5, B6, B8, D9, D10 and D11 of the original client, in the commands it has in common with ours.

Each test fails on a client that has the fault: run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` to see it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.documented import Documented, document
from tests.support.programs import Bl, files_below, interrupt, journal, wait_for
from tests.support.scripted import Answer, Scripted, Seen, error, html, of_json

# ---- A5, A7: artifacts --------------------------------------------------------------------------------------------------------------


def test_a5_a_placeholder_can_be_refused(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original, which has no such option: every loss is a success."""
    old.archives = {"J1": error(404, "none"), "J2": html()}
    done = bl("pull", "-g", "G1", "--with", "artifacts", "--no-placeholder", "-o", str(out))
    assert done.code == 1, str(done)
    assert list(files_below(out)) == ["G1/J3/J3.tgz"]
    assert [line["status"] for line in journal(out) if "path" in line].count("failed") == 2


def test_a5_a_placeholder_never_bears_the_name_of_another_kind_of_file(old: Documented, bl: Bl, out: Path) -> None:
    """A missing log is a failure. Fails on the original: a gzip archive of that name and exit 0."""
    old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": [{"name": "log.txt", "url": "/x"}]}))
    old.archives = {"J1": error(404, "none")}
    done = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert (done.code, files_below(out)) == (1, {}), str(done)


def test_a7_a_query_makes_no_other_file(old: Documented, bl: Bl, out: Path) -> None:
    """Names that differ only in what the documented download ignores. Fails on the original: the same bytes twice."""
    entries = [{"name": name, "url": f"/openapi/jobs/J1/artifacts/download?name={name}"} for name in ("a.tgz", "b.tgz")]
    old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": entries}))
    done = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert (done.code, files_below(out)) == (1, {}), str(done)


# ---- B5: exit codes -----------------------------------------------------------------------------------------------------------------

_EVERY = "metrics,trajectory,report,artifacts,tasks,jobs"
_PULLS = [("-g", "G1", "--with", _EVERY), ("-j", "J1,J2", "--with", _EVERY)]


@pytest.mark.parametrize("what", _PULLS)
def test_b5_pull_with_a_refused_key_is_3(server: Scripted, bl: Bl, out: Path, what: tuple[str, ...]) -> None:
    """Fails on the original: 1, after as many requests as there are steps."""
    server.fallback = lambda _seen: error(401, "no")
    done = bl("pull", *what, "-o", str(out))
    assert done.code == 3, str(done)


@pytest.mark.parametrize("what", _PULLS)
def test_b5_pull_from_a_host_that_is_down_is_4(home: Path, out: Path, what: tuple[str, ...]) -> None:
    """Fails on the original: 1."""
    done = Bl(home, "http://127.0.0.1:9")("--retry", "0", "pull", *what, "-o", str(out))
    assert done.code == 4, str(done)


def test_b5_a_key_refused_for_bytes_is_3_in_every_mode(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: 1 with -j and -g."""
    old.archives = dict.fromkeys(("J1", "J2", "J3"), error(401, "no"))
    for what in (("-j", "J1"), ("-g", "G1"), ("--task-id", "G1")):
        assert bl("artifacts", "download", *what, "-o", str(out)).code == 3


def test_b5_a_list_that_is_no_list_of_jobs_is_said(old: Documented, bl: Bl, out: Path) -> None:
    """`pull -j` with what only groups have, and with nothing. Fails on the original: 0 without a word."""
    done = bl("pull", "-j", "J1", "--with", "tasks,jobs", "-o", str(out))
    assert done.code == 0, str(done)
    assert "tasks and jobs" in done.err
    assert bl("pull", "-j", "J1", "--with", "", "-o", str(out)).code == 2


def test_b5_no_report_is_said(old: Documented, bl: Bl, out: Path) -> None:
    """Success and no file, as documented, and one line. Fails on the original: not a word."""
    for what in (("report", "download", "-g", "G1"), ("pull", "-g", "G1", "--with", "report")):
        done = bl(*what, "-o", str(out))
        assert (done.code, files_below(out)) == (0, {}), str(done)
        assert [line for line in done.err.splitlines() if line.startswith("no report for")] == [
            "no report for 1 group(s) and 3 job(s): no file written"
        ]


def test_b13_many_failing_jobs_are_a_line_each(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: one line of 8 kB."""
    old.fill("G9", [f"X{n}" for n in range(150)])
    old.server.on("GET /openapi/jobs/{j}/report", error(404, "there is no report of this job, nor was there ever one"))
    done = bl("report", "download", "-g", "G9", "-o", str(out))
    assert done.code == 1, str(done)
    assert max(map(len, done.err.splitlines())) < 300
    assert sum(f"G9:X{n}:" in done.err for n in range(150)) == 150


# ---- B6: failures that a program can read -------------------------------------------------------------------------------------------


def test_b6_failures_are_records_when_asked_for(old: Documented, bl: Bl) -> None:
    """Fails on the original, whose errors are free text only and whose nulls vanish."""
    server = old.server
    answers = {"J1": error(404, "none"), "J2": of_json(None), "J3": of_json({"reports": []})}
    server.on("GET /openapi/jobs/{j}/report", lambda seen: answers[seen.path_ids["j"]])
    done = bl("report", "get", "-j", "J1,J2,J3", "--errors", "json", "-q")
    assert (done.code, done.json) == (1, [{"reports": []}]), str(done)
    records = [json.loads(line) for line in done.err.splitlines()]
    assert sorted((record["id"], record["kind"], record["status"]) for record in records) == [
        ("J1", "not_found", 404),
        ("J2", "null_answer", None),
    ]


# ---- B8: what is not asked twice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["brm", "report"])
def test_b8_a_wish_is_sent_once_and_with_a_key_to_a_server_that_may_take_it_twice(server: Scripted, bl: Bl, name: str) -> None:
    """A gateway answers 504. Fails on the original: three requests without anything that tells them to be the same."""
    server.on("GET /openapi/behavior/steps", of_json({"steps": []}))
    server.fallback = lambda seen: error(504, "late") if seen.method == "POST" else error(404, "none")
    command = ("brm", "run", "-g", "G1") if name == "brm" else ("report", "trigger", "-j", "J1")
    done = bl(*command)
    assert done.code == 1, str(done)
    posts = [seen for seen in server.seen if seen.method == "POST"]
    assert len(posts) == 1
    assert posts[0].headers["idempotency-key"]


def test_b8_where_nothing_was_taken_it_is_asked_again(server: Scripted, bl: Bl) -> None:
    """429 says that the request was not taken. Fails on the original: one request, exit 1."""
    left = [error(429, "slow down", Retry_After="0")]

    def trigger(_seen: Seen) -> Answer:
        return left.pop() if left else of_json({"ok": True})

    server.on("POST /openapi/jobs/J1/report/trigger", trigger)
    done = bl("report", "trigger", "-j", "J1")
    assert (done.code, done.json) == (0, [{"ok": True}]), str(done)
    keys = {seen.headers["idempotency-key"] for seen in server.asked("/trigger")}
    assert (len(server.asked("/trigger")), len(keys)) == (2, 1)


# ---- D9 to D11 ----------------------------------------------------------------------------------------------------------------------


def test_d9_include_means_the_name_everywhere_and_case_counts(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on a client whose globs follow the system's habit with case."""
    done = bl("artifacts", "download", "-g", "G1", "--include", "j*", "-o", str(out))
    assert (done.code, files_below(out)) == (0, {}), str(done)
    assert bl("artifacts", "download", "-g", "G1", "--include", "J[12]*", "-o", str(out)).code == 0
    assert sorted(files_below(out)) == ["G1/J1/J1.tgz", "G1/J2/J2.tgz"]


def test_d10_a_trigger_can_be_waited_for(server: Scripted, bl: Bl) -> None:
    """Fails on the original: fire and forget."""
    looks: list[int] = []

    def report(_seen: Seen) -> Answer:
        looks.append(1)
        return of_json({"reports": [{"content": "# why"}] if len(looks) > 1 else []})

    server.on("POST /openapi/jobs/J1/report/trigger", of_json({"accepted": True}))
    server.on("GET /openapi/jobs/J1/report", report)
    done = bl("report", "trigger", "-j", "J1", "--wait", "--wait-timeout", "30")
    assert (done.code, done.json) == (0, [{"reports": [{"content": "# why"}]}]), str(done)


def test_d10_a_wait_ends_by_ctrl_c_within_a_second(server: Scripted, bl: Bl) -> None:
    """Whatever the pause between two looks. Fails on a client that sleeps through the signal; the original has no wait."""
    server.on("GET /openapi/behavior/steps", of_json({"steps": []}))
    server.on("POST /openapi/behavior/tasks", of_json({"uid": "U1"}))
    server.on("GET /openapi/behavior/tasks/U1", of_json({"status": "running"}))
    process = bl.start("brm", "run", "-g", "G1", "--wait")
    wait_for(lambda: len(server.asked("/behavior/tasks/U1")) >= 3, what="the third look")
    result, took = interrupt(process)
    assert (result.code, took < 1.0, "U1" in result.err) == (130, True, True), str(result)


def test_d10_pull_knows_weakness_reports_and_metadata(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: both are unknown to `--with`."""
    old.weaknesses = {"G1": "# weak", "J2": "# J2"}
    done = bl("pull", "-g", "G1", "--with", "rsi,metadata", "-o", str(out))
    assert done.code == 0, str(done)
    assert sorted(files_below(out)) == [*(f"G1/J{n}_metadata.json" for n in (1, 2)), "G1/J2_rsi.md", "G1/J3_metadata.json", "G1_rsi.md"]


@pytest.mark.parametrize("command", [("metrics", "get"), ("pull", "--with", "metrics")])
def test_d11_metrics_that_are_new_survive(old: Documented, bl: Bl, out: Path, command: tuple[str, ...]) -> None:
    """Group metrics beyond the documented names, in both parts. Fails on the original: dropped without a word."""
    given = {"zeta_rate": 0.5, "job_count": 3, "Alpha": None}
    tokens = {"avg_new_tokens": 7, "tokenized_job_count": 3}
    old.server.on("GET /openapi/groups/G1/metrics/overall", of_json({"run_metrics": given, "tokenized_metrics": [tokens]}))
    rows = [{"job_id": "J1", "run_metrics": {"brand_new": 1}}]
    old.server.on("GET /openapi/metrics", of_json({"metrics": rows, "total": 1, "tokenized_metrics": tokens}))
    done = bl(*command, "-g", "G1", *(("-o", str(out)) if command[0] == "pull" else ()))
    assert done.code == 0, str(done)
    files = files_below(out)
    overall, detail = (
        (json.loads(files[f"G1/{part}_metrics.json"]) for part in ("overall", "detail"))
        if files
        else (done.json[0]["overall"], done.json[0]["detail"])
    )
    assert list(overall["run_metrics"].items()) == [("job_count", 3), ("zeta_rate", 0.5), ("Alpha", None)]
    assert overall["tokenized_metrics"] == [tokens]
    assert (detail["metrics"], detail["tokenized_metrics"]) == (rows, tokens)


def test_jobs_download_takes_all(old: Documented, bl: Bl, out: Path) -> None:
    """The original's design document has the option, its program refuses it."""
    done = bl("jobs", "download", "-g", "G1", "--all", "-o", str(out))
    assert done.code == 0, str(done)
    assert len(json.loads(files_below(out)["G1/job_list.json"])["jobs"]) == 3


def test_pull_of_jobs_goes_side_by_side(old: Documented, bl: Bl, out: Path) -> None:
    """Fails on the original: one job after another."""
    names = [f"L{n}" for n in range(5)]
    old.fill("G9", names)
    old.trajectories = {name: of_json(document(name), delay=0.8) for name in names}
    done = bl("--concurrency", "5", "pull", "-j", ",".join(names), "--with", "trajectory", "-o", str(out))
    assert (done.code, len(files_below(out))) == (0, 5), str(done)
    asked = [seen.at for seen in old.server.asked("/trajectory")]
    assert max(asked) - min(asked) < 0.8 * 4
