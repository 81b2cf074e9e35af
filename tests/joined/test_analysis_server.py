"""The analysis on the server: the same verdicts as on the local run, made once, made again where that is due, and gone with their jobs."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from benchloop_client import Client, analyze
from benchloop_client.samples.generator import write_samples
from benchloop_server import settings, wiring
from benchloop_server.adapters.hands_processes import ProcessHands
from benchloop_server.kit.hands import Program
from benchloop_server.kit.rules import Rules
from benchloop_server.sql.tables import analysis_requests, jobs, uploads, verdict_texts, verdicts
from tests.conftest import ROOT
from tests.support.analysing import work_off
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served, serving
from tests.support.stores import job

#: The fields of a job's verdict that both sides print.
FIELDS = (
    *(
        "fail_reason",
        "sub_fail_reason",
        "tier",
        "fault_side",
        "says",
        "outcome",
        "reward_valid",
        "evidence",
        "reward_evidence",
        "secondary",
    ),
    *("integrity", "first_signal_step", "wasted_steps", "wasted_seconds", "n_steps", "n_calls", "tests", "ruleset_version"),
)


def _assert_same(client: Client, path: Path, group_id: str, **options: Any) -> None:
    """Every verdict, and the numbers of the group, as the local analysis of the same run has them."""
    with analyze(path, processes=1, **options) as local:
        (group,) = local.groups
        rows = {row["job_id"]: row for row in group.jobs()}
        report = group.report_dict()
    assert rows
    for job_id, row in rows.items():
        answer = client.job_report(job_id)
        assert answer["status"] == "succeeded"
        assert {name: answer["report"][name] for name in FIELDS} == {name: row[name] for name in FIELDS}, job_id
        assert {name: answer[name] for name in ("fail_reason", "evidence", "wasted_steps")} == {
            name: row[name] for name in ("fail_reason", "evidence", "wasted_steps")
        }
    served = client.group_report(group_id)
    assert served["status"] == "succeeded"
    assert served["headline"] == report["headline"]
    for name in ("rewards", "failed", "unknown", "pass_at_k", "by_task", "wasted_steps", "ruleset_versions"):
        assert served["report"][name] == report[name], name
    shares = [[(one["fail_reason"], one["share"], one["wasted_seconds"]) for one in said["reasons"]] for said in (served["report"], report)]
    assert shares[0] == shares[1]
    found = [[(one["name"], one["says"], one["jobs"]) for one in said["findings"]] for said in (served["report"], report)]
    assert found[0] == found[1]


def test_verdicts_are_those_of_the_local_analysis(tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        run = tmp_path / "runs" / "step-100"
        (group,) = client.push(run).groups
        work_off(served.services)
        _assert_same(client, run, group.group_id)


@pytest.mark.parametrize("place", ["harbor-kimi", "tau-bench/historical_trajectories/gpt-4o-airline.json"])
def test_verdicts_on_real_runs_are_those_of_the_local_analysis(shared_data: Path, tmp_path: Path, place: str) -> None:
    run = shared_data / place
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        (group,) = client.push(run, secrets="allow").groups
        work_off(served.services)
        _assert_same(client, run, group.group_id)


# ---- what is judged, and when -------------------------------------------------------------------------------------------------------

TESTS = {"verifier/ctrf.json": b'{"results": {"summary": {"tests": 2, "passed": 1, "failed": 1}, "tests": []}}'}
RULES = """
name: ours
version: 1
rules:
  - id: ours-question
    reason: agent_process
    sub: asked_at_the_end
    tier: B
    says: The run ends with a question.
    match: ends_with_question
    source: [ours]
"""


def _push(served: Served, *job_ids: str, **facts: Any) -> None:
    """Jobs without contents, each with these facts, a task each."""
    served.request("PUT", "/openapi/groups/g1", json={"name": "g1"})
    batch = [job(job_id, task_id=facts.get("task_id", job_id), **{"reward": 0.0, **facts}) for job_id in job_ids]
    answer = served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": batch})
    assert answer.status == 200, answer.data


def _judged(served: Served) -> dict[str, int]:
    """Job → when it was judged."""
    with served.services.db.read() as connection:
        return {row.job_id: row.judged_at for row in connection.execute(select(verdicts.c.job_id, verdicts.c.judged_at))}


def _client(served: Served) -> Client:
    return Client(served.url, served.key())


def test_a_push_has_only_the_new_jobs_judged(served: Served) -> None:
    _push(served, "a", "b")
    work_off(served.services)
    before = _judged(served)
    assert set(before) == {"a", "b"}
    _push(served, "a", "b", "c")
    work_off(served.services)
    after = _judged(served)
    assert set(after) == {"a", "b", "c"} and {name: after[name] for name in before} == before
    with _client(served) as client:
        assert client.group_report("g1")["report"]["present"] == client.group_report("g1")["report"]["analysed"] == 3


def test_a_changed_job_is_judged_again_and_shows_nothing_old_meanwhile(served: Served) -> None:
    _push(served, "a", "b", error_type="AgentTimeoutError", reward=None)
    work_off(served.services)
    with _client(served) as client:
        assert client.job("a")["fail_reason"] == client.job_report("a")["fail_reason"] != None  # noqa: E711
        _push(served, "a", reward=1.0)
        between = client.job_report("a")
        assert (between["status"], between["reports"], between["report"]) == ("queued", [], None)
        assert client.job_report("b")["status"] == "succeeded"
        assert client.job("a")["fail_reason"] is None
        assert client.group_report("g1")["status"] == "queued" and client.group_report("g1")["reports"]
        work_off(served.services)
        assert client.job_report("a")["status"] == client.group_report("g1")["status"] == "succeeded"
        assert client.job_report("a")["says"] == "The job passed."


def test_a_verdict_on_older_content_is_not_kept(served: Served) -> None:
    """The job changes while it is judged: what was found about the old content is thrown away, and the new one is judged."""
    _push(served, "a", error_type="AgentTimeoutError", reward=None)
    changed: list[int] = []

    class Late:
        def each(self, program: Program, tasks: Any, *, blobs: Any, waiting: Any) -> Any:
            for task in tasks:
                found = program.load()(blobs, task)
                if not changed:
                    _push(served, "a", reward=1.0)
                    changed.append(1)
                yield found

    work_off(served.services, hands=Late())
    assert changed
    with _client(served) as client:
        while client.job_report("a")["status"] != "succeeded":
            work_off(served.services)
        assert client.job("a")["outcome"] == "passed" and client.job("a")["fail_reason"] is None


def test_include_passed_says_about_which_jobs_a_request_is(served: Served) -> None:
    """After a change of the rules the jobs that did not pass are judged anew, and with `include_passed` all of them."""
    _push(served, "lost", "broken")
    _push(served, "won", reward=1.0)
    work_off(served.services)
    before = _judged(served)
    served.use(dataclasses.replace(served.services, rules=Rules((("ours.yaml", RULES),))))
    with _client(served) as client:
        asked = client.trigger_group_report("g1")
        assert (asked["include_passed"], asked["jobs"]) == (False, 2)
        work_off(served.services)
        after = _judged(served)
        assert after["won"] == before["won"] and all(after[name] > before[name] for name in ("lost", "broken"))
        assert client.job_report("won")["status"] == client.group_report("g1")["status"] == "succeeded"
        assert any("different versions" in notice for notice in client.group_report("g1")["report"]["notices"])
        everything = client.trigger_group_report("g1", include_passed=True)
        assert (everything["include_passed"], everything["jobs"]) == (True, 3)
        work_off(served.services)
        assert _judged(served)["won"] > before["won"] and _judged(served)["lost"] == after["lost"]
        assert not any("different versions" in notice for notice in client.group_report("g1")["report"]["notices"])


def test_further_attempts_have_the_failed_ones_of_their_task_judged_again(served: Served) -> None:
    """A passing attempt turns up: the failed one is compared with it now; attempts at other tasks stay as they are."""
    own = {"document": document("a", "g1", text="one"), "archive": archive(TESTS)}
    push(served, Sent("a", **own))
    served.request(
        "POST",
        "/openapi/groups/g1/jobs",
        json={
            "jobs": [
                {
                    **Sent("a", **own).upsert(),
                    "fingerprint": "0" * 64,
                    "facts": {"trial_key": "a", "task_id": "task", "status": "completed", "reward": 0.0},
                }
            ]
        },
    )
    _push(served, "other")
    work_off(served.services)
    before = _judged(served)
    with _client(served) as client:
        assert client.job_report("a")["report"]["sibling"] is None
        push(served, Sent("b", document=document("b", "g1", text="two", steps=9)))
        work_off(served.services)
        assert client.job_report("a")["report"]["sibling"]["sibling"] == "b"
        assert client.job_rsi("a")["report"]["sibling"] == "b"
    after = _judged(served)
    assert after["a"] > before["a"] and after["other"] == before["other"]


def test_validity_that_the_source_records_stands(served: Served) -> None:
    """What the analysis says of the reward shows where the source says nothing; outcome and statistics follow."""
    crash = {"error_type": "VerifierTimeoutError", "error_message": "the verifier did not end"}
    _push(served, "silent", **crash)
    _push(served, "sure", reward_valid=True, **crash)
    with _client(served) as client:
        assert [client.job(name)["outcome"] for name in ("silent", "sure")] == ["failed", "failed"]
        work_off(served.services)
        silent, sure = client.job("silent"), client.job("sure")
        assert (silent["reward_valid"], silent["outcome"]) == (False, "errored")
        assert (sure["reward_valid"], sure["outcome"]) == (True, "failed")
        assert client.job_report("silent")["reward_valid"] is client.job_report("sure")["reward_valid"] is False
        summary = client.overview("g1", scope="summary")["summary"]
        assert summary["reward_validity"] == {"valid": 1, "invalid": 1, "unknown": 0, "missing": 0}
        assert summary["reward"]["n"] == 1
        assert [row["job_id"] for row in client.jobs("g1", reward_valid=False)] == ["silent"]
        counted = {(row["fail_reason"], row["sub_fail_reason"]): row["jobs"] for row in summary["fail_reasons"]}
        assert sum(counted.values()) == 2
        for reason, sub in counted:
            assert {row["job_id"] for row in client.jobs("g1", fail_reason=reason, sub_fail_reason=sub)} <= {"silent", "sure"}
        assert list(client.jobs("g1", sub_fail_reason="no-such")) == []


# ---- asked for ----------------------------------------------------------------------------------------------------------------------


def test_a_trigger_where_all_is_done_does_nothing(served: Served) -> None:
    _push(served, "a", "b")
    work_off(served.services)
    before = _judged(served)
    with _client(served) as client:
        for answer in (
            client.trigger_job_report("a"),
            client.trigger_group_report("g1", include_passed=True),
            client.trigger_group_rsi("g1"),
        ):
            assert answer["status"] == "succeeded"
    assert work_off(served.services) == 0
    assert _judged(served) == before


def test_other_rules_are_applied_when_somebody_asks(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(RULES)
    data = tmp_path / "data"
    with serving(data) as served:
        push(served, Sent("a", document=document("a", "g1")))
        served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("b", reward=0.0, task_id="b")]})
        work_off(served.services)
        before = _judged(served)
    with serving(data, environ={"BENCHLOOP_SERVER_RULES": str(file)}) as served, _client(served) as client:
        assert served.services.rules == Rules(((file.name, RULES),))
        old = client.job_report("b")
        assert old["status"] == "succeeded" and "ours" not in old["ruleset_version"]
        work_off(served.services)
        assert _judged(served) == before, "nobody asked"
        assert client.trigger_job_report("b")["status"] == "queued"
        assert client.job_report("b")["reports"] == old["reports"], "the old report is there until there is a new one"
        work_off(served.services)
        assert "ours-1" in client.job_report("b")["ruleset_version"]
        assert _judged(served)["a"] == before["a"]
        first = client.trigger_group_report("g1", include_passed=True)
        assert first["status"] == "queued" and client.trigger_group_report("g1", include_passed=True) == first
        work_off(served.services)
        assert _judged(served)["a"] > before["a"]
        assert list(client.group_report("g1")["report"]["ruleset_versions"]) == [client.job_report("a")["ruleset_version"]]
    with served.services.db.read() as connection:
        assert set(connection.execute(select(analysis_requests.c.state)).scalars()) == {"done"}


@pytest.mark.parametrize("text", ["name: x", "rules: [", "{}"])
def test_rules_that_cannot_be_used_keep_the_server_from_starting(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(settings.BadSetting, match=r"bad\.yaml"):
        wiring.rules_of(settings.load({"BENCHLOOP_SERVER_RULES": str(file)}, data=tmp_path))


def test_a_folder_of_rules(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b.yaml").write_text(RULES)
    (tmp_path / "rules" / "notes.txt").write_text("no rules")
    found = wiring.rules_of(settings.load({"BENCHLOOP_SERVER_RULES": str(tmp_path / "rules")}, data=tmp_path))
    assert [name for name, _ in found.texts] == ["b.yaml"]


def test_a_job_that_cannot_be_judged_says_so_and_is_tried_again_when_asked(served: Served) -> None:
    push(served, Sent("a", document=document("a", "g1")), Sent("b", document=document("b", "g1"), task_id="task"))
    _damage(served, "a")
    work_off(served.services)
    with _client(served) as client:
        broken, fine = client.job_report("a"), client.job_report("b")
        assert (broken["status"], broken["reports"], fine["status"]) == ("failed", [], "succeeded")
        assert "could not be analysed" in broken["error"]
        group = client.group_report("g1")["report"]
        assert (group["present"], group["analysed"]) == (2, 1)
        _damage(served, "a", back=True)
        assert client.trigger_job_report("a")["status"] == "queued"
        work_off(served.services)
        assert client.job_report("a")["status"] == "succeeded"


def _damage(served: Served, job_id: str, *, back: bool = False) -> None:
    """Let the row of the job's trajectory name bytes that are not its own."""
    with served.services.db.write() as connection:
        sha = connection.execute(select(jobs.c.trajectory_sha256).where(jobs.c.job_id == job_id)).scalar_one()
        offset = uploads.c.blob_offset - 1 if back else uploads.c.blob_offset + 1
        connection.execute(update(uploads).where(uploads.c.sha256 == sha).values(blob_offset=offset))


def test_verdicts_go_with_their_group(served: Served) -> None:
    _push(served, "a", "b")
    work_off(served.services)
    assert served.request("DELETE", "/openapi/groups/g1").status == 200
    with served.services.db.read() as connection:
        for table in (verdicts, verdict_texts):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0
    assert work_off(served.services) == 0


def test_another_workspace_sees_and_changes_nothing(served: Served) -> None:
    _push(served, "a")
    work_off(served.services)
    for path in ("jobs/a/report", "groups/g1/report", "jobs/a/rsi", "groups/g1/rsi"):
        assert served.get(f"/openapi/{path}", workspace="other").status == 404
        assert served.request("POST", f"/openapi/{path}/trigger", json={}, workspace="other").status == 404


# ---- processes ----------------------------------------------------------------------------------------------------------------------


def _environ(served: Served) -> dict[str, str]:
    return {**settings.for_child(settings.load({}, data=served.data)), "PYTHONPATH": str(ROOT)}


def test_several_processes_find_what_one_finds(served: Served) -> None:
    names = [f"j{number:03}" for number in range(70)]
    push(served, *(Sent(name, document=document(name, "g1", task_id=name), task_id=name) for name in names))
    work_off(served.services, hands=ProcessHands(2, _environ(served)))
    with _client(served) as client:
        assert client.group_report("g1")["report"]["analysed"] == len(names)
        assert client.job_report(names[-1])["report"]["n_steps"] == 3


def test_a_job_that_kills_its_process_stops_no_other(served: Served) -> None:
    hands = ProcessHands(2, _environ(served))
    program = Program("tests.support.analysing", "dies_of_x")
    assert list(hands.each(program, [b"a", b"x", b"b", b"c"], blobs=served.services.blobs, waiting=lambda: None)) == [
        b"A",
        None,
        b"B",
        b"C",
    ]


def test_what_waits_can_end_everything(served: Served) -> None:
    hands = ProcessHands(2, _environ(served))
    began = time.monotonic()

    def waiting() -> None:
        if time.monotonic() - began > 0.5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        list(hands.each(Program("tests.support.analysing", "sleeps"), [b"60", b"60"], blobs=served.services.blobs, waiting=waiting))
    assert time.monotonic() - began < 20
