"""Behaviour tasks worked off: what local runs say is said, samples stay, and jobs that cannot be looked at are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from benchloop_analysis.behaviours import CATALOGUE, CATALOGUE_VERSION, Features
from benchloop_client import Client, analyze
from benchloop_client.contract.compression import decode
from benchloop_client.samples.generator import write_samples
from benchloop_server.sql.tables import behaviour_parts, behaviour_tasks, job_features, jobs, work
from tests.support.analysing import work_off
from tests.support.pushing import Sent, document, push
from tests.support.served import Served, serving
from tests.support.stores import job


def two_kinds(tasks: int = 12, attempts: int = 4) -> list[Sent]:
    """Attempts at tasks of which half passed, with documents."""
    return [
        Sent(
            f"t{task:02}-{attempt}",
            task_id=f"t{task:02}",
            reward=float(attempt % 2),
            document=document(f"t{task:02}-{attempt}", "g1", task_id=f"t{task:02}", steps=3 + attempt, text=f"{task} {attempt}"),
        )
        for task in range(tasks)
        for attempt in range(attempts)
    ]


def ask(served: Served, **body: Any) -> str:
    """The uid of a new task about group g1."""
    answer = served.request("POST", "/openapi/behavior/tasks", json={"groupId": "g1", **body})
    assert answer.status == 200, answer.data
    return str(json.loads(answer.data)["uid"])


def read(served: Served, uid: str, part: str = "") -> Any:
    """E33, or with `part` E34."""
    answer = served.get(f"/openapi/behavior/tasks/{uid}{part}")
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def test_a_group_is_studied(served: Served) -> None:
    push(served, *two_kinds())
    uid = ask(served, scoringLimit=7)
    assert read(served, uid)["status"] == "queued"
    work_off(served.services)
    task, found = read(served, uid), read(served, uid, "/analysis")
    assert (task["status"], task["error"], task["progress"]) == ("succeeded", None, {"done": 48, "total": 48})
    assert task["finished_at"] > task["created_at"]
    assert (found["status"], found["samplingMode"]) == ("succeeded", "all_jobs")
    numbers = found["summaryData"]
    assert (numbers["n"], numbers["valid_n"], numbers["tasks"], numbers["mixed_tasks"]) == (48, 48, 12, 12)
    assert found["summary"] == numbers["markdown"]
    assert 0 < len(found["behaviorPatterns"]) <= 7 <= found["patternsTotal"]
    assert {score["category"] for score in found["categoryScores"]} == {behaviour.category for behaviour in CATALOGUE}
    assert found["provenance"]["catalogue_version"] == CATALOGUE_VERSION
    assert found["provenance"]["samples"][0]["jobs"] == 48
    assert ask(served, scoringLimit=7) == uid


def test_examples_cite_steps_that_the_job_has(served: Served) -> None:
    push(served, *two_kinds(tasks=24))
    uid = ask(served)
    work_off(served.services)
    cited = [(example["job"], step) for one in read(served, uid, "/analysis")["behaviorPatterns"] for example in one["examples"]
             for step in example["steps"]]  # fmt: skip
    assert cited
    for job_id, step in cited:
        steps = json.loads(served.get(f"/openapi/jobs/{job_id}/trajectory").data)["steps"]
        assert step in {each["step_id"] for each in steps}


@pytest.mark.parametrize("place", ["harbor-kimi", "tau-bench/historical_trajectories/gpt-4o-airline.json"])
def test_a_server_says_what_a_local_run_says(shared_data: Path, tmp_path: Path, place: str) -> None:
    run = shared_data / place
    with analyze(run, processes=1, brm=True) as local:
        expected = local.groups[0].brm
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        (group,) = client.push(run, secrets="allow").groups
        task = client.create_behavior_task(group.group_id)
        work_off(served.services)
        found = client.behavior_analysis(task["uid"])
    assert expected is not None
    assert found["summaryData"]["tasks"] > 0
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))


def test_steps_are_sampled_each_and_the_curves_have_them(tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        for step in (100, 200):
            client.push(tmp_path / "runs" / f"step-{step}", group="g1", step=step)
        task = client.create_behavior_task("g1", steps=[100, 200], sample_size=8)
        work_off(served.services)
        found = client.behavior_analysis(task["uid"])
        assert client.behavior_task(task["uid"])["status"] == "succeeded"
    samples = found["provenance"]["samples"]
    assert [(sample["step"], sample["requested"]) for sample in samples] == [(100, 8), (200, 8)]
    assert found["samplingMode"] == "step"
    assert all(sample["jobs"] >= 8 and sample["weights"] for sample in samples)
    assert [point["step"] for point in found["steps"]["points"]] == [100, 200]


def test_jobs_that_cannot_be_looked_at_are_counted(served: Served) -> None:
    push(served, *two_kinds())
    extra = [job("runs", status="running"), job("bare", reward=1.0)]
    assert served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": extra}).status == 200
    uid = ask(served)
    work_off(served.services)
    found = read(served, uid, "/analysis")
    assert found["summaryData"]["n"] == 48
    assert "1 had not ended, 1 have no trajectory" in found["summaryData"]["warnings"][-1]
    assert found["summaryData"]["warnings"][-1] in found["summary"]


def test_invalid_rewards_are_left_out_and_counted(served: Served) -> None:
    push(served, *two_kinds())
    with served.services.db.write() as connection:
        connection.execute(update(jobs).where(jobs.c.job_id == "t00-0").values(reward_valid_recorded=False))
    uid = ask(served)
    work_off(served.services)
    numbers = read(served, uid, "/analysis")["summaryData"]
    assert (numbers["n"], numbers["valid_n"], numbers["invalid_n"]) == (48, 47, 1)


def test_a_group_in_which_there_is_nothing_to_look_at(served: Served) -> None:
    assert served.request("PUT", "/openapi/groups/g1", json={"name": "g1"}).status == 200
    assert served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("bare")]}).status == 200
    uid = ask(served)
    work_off(served.services)
    task = read(served, uid)
    assert (task["status"], task["error"]) == ("failed", "there is no job to look at: 1 have no trajectory")
    assert read(served, uid, "/analysis")["error"] == task["error"]
    assert ask(served) != uid


class Stopping:
    """Hands that end the work when it wants something computed."""

    def each(self, *_: Any, **__: Any) -> Any:
        raise ConnectionError("nobody computes here")


def test_a_sample_stays_when_the_group_changes(served: Served) -> None:
    push(served, *two_kinds())
    work_off(served.services)
    uid = ask(served)
    with served.services.db.write() as connection:
        connection.execute(update(job_features).values(catalogue_version="old"))
    work_off(served.services, hands=Stopping())
    assert read(served, uid)["status"] == "queued"
    more = two_kinds(14)[-8:]
    push(served, *more, Sent("t00-0", task_id="t00", reward=1.0, document=document("t00-0", "g1", task_id="t00", text="changed")))
    with served.services.db.write() as connection:
        connection.execute(update(work).where(work.c.kind == "study").values(due_at=0))
    work_off(served.services)
    found = read(served, uid, "/analysis")
    assert found["provenance"]["samples"][0]["jobs"] == 48
    assert found["summaryData"]["n"] == 47
    assert "1 were deleted or pushed again after the sample was drawn" in found["summary"]


def test_a_cancelled_task_has_no_result_and_keeps_its_word(served: Served) -> None:
    push(served, *two_kinds())
    uid = ask(served)
    assert served.request("POST", f"/openapi/behavior/tasks/{uid}/cancel").status == 200
    work_off(served.services)
    assert (read(served, uid)["status"], read(served, uid, "/analysis")["summary"]) == ("cancelled", None)
    done = ask(served)
    work_off(served.services)
    assert json.loads(served.request("POST", f"/openapi/behavior/tasks/{done}/cancel").data)["status"] == "succeeded"


def test_a_group_takes_its_tasks_along(served: Served) -> None:
    push(served, *two_kinds(4))
    uid = ask(served)
    work_off(served.services)
    ask(served, scoringLimit=3)
    assert served.request("DELETE", "/openapi/groups/g1").status in {200, 204}
    with served.services.db.read() as connection:
        for table in (behaviour_tasks, behaviour_parts, job_features):
            assert connection.execute(select(table)).all() == []
        assert connection.execute(select(work.c.kind).where(work.c.kind == "study")).all() == []
    assert served.get(f"/openapi/behavior/tasks/{uid}").status == 404


def test_what_jobs_did_is_observed_with_their_verdicts(served: Served) -> None:
    push(served, *two_kinds(2))
    work_off(served.services)
    with served.services.db.read() as connection:
        rows = connection.execute(select(job_features)).all()
    assert len(rows) == 8
    for row in rows:
        assert (row.catalogue_version, row.error) == (CATALOGUE_VERSION, None)
        assert msgspec.json.decode(b"".join(decode([row.features])), type=Features).n_steps == 3 + int(row.job_id[-1])
