"""Behaviour tasks as they are asked for: the steps of a group, tasks that are made once, cancelled, and what cannot be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import func, select, update

from benchloop_client.client import Client
from benchloop_client.settings import Flags, load
from benchloop_server.sql.tables import behaviour_tasks
from tests.support.served import Served
from tests.support.stores import job


def send(served: Served, *jobs: dict[str, Any], group: str = "g1") -> None:
    """Make the group and push."""
    assert served.request("PUT", f"/openapi/groups/{group}", json={"name": group}).status == 200
    assert served.request("POST", f"/openapi/groups/{group}/jobs", json={"jobs": list(jobs)}).status == 200


def stepped(served: Served) -> None:
    """Group g1 with jobs at steps 10, 20 and 30, and one at no step."""
    send(served, *(job(f"j{step}", step=step) for step in (30, 10, 20)), job("free"))


def read(served: Served, path: str) -> Any:
    """The JSON of a 200."""
    answer = served.get(f"/openapi/behavior/{path}")
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def ask(served: Served, **body: Any) -> tuple[int, Any]:
    """Status and JSON of E31 for group g1."""
    answer = served.request("POST", "/openapi/behavior/tasks", json={"groupId": "g1", "scoringLimit": 32, **body})
    return answer.status, json.loads(answer.data)


def test_the_steps_of_a_group(served: Served) -> None:
    stepped(served)
    send(served, job("k"), group="g2")
    assert read(served, "steps?group_id=g1") == {"group_id": "g1", "steps": [10, 20, 30], "samplingMode": "step", "hasStep": True}
    assert read(served, "steps?group_id=g2") == {"group_id": "g2", "steps": [], "samplingMode": "all_jobs", "hasStep": False}
    assert served.get("/openapi/behavior/steps?group_id=none").status == 404
    assert served.get("/openapi/behavior/steps").status == 400


def test_a_task_is_shown_everywhere_as_it_was_asked_for(served: Served) -> None:
    stepped(served)
    status, made = ask(served, steps=[20, 10, 20], sampleSize=512)
    assert status == 200
    assert {**made, "uid": "", "created_at": ""} == {
        "uid": "", "group_id": "g1", "status": "queued", "steps": [10, 20], "samplingMode": "step", "sampleSize": 512,
        "scoringLimit": 32, "progress": {"done": None, "total": None}, "created_at": "", "created_by": "admin",
        "finished_at": None, "error": None,
    }  # fmt: skip
    assert read(served, f"tasks/{made['uid']}") == made
    assert read(served, "tasks?group_id=g1") == {"group_id": "g1", "total": 1, "tasks": [made]}
    assert read(served, f"tasks/{made['uid']}/analysis") == {
        "uid": made["uid"], "status": "queued", "summary": None, "summaryData": None, "categoryScores": [], "behaviorPatterns": [],
        "patternsTotal": None, "model": None, "steps": None, "provenance": None, "samplingMode": "step", "error": None,
    }  # fmt: skip


def test_equal_wishes_over_equal_data_are_one_task(served: Served) -> None:
    stepped(served)
    first = ask(served, steps=[10, 20], sampleSize=8)
    assert ask(served, steps=[20, 10], sampleSize=8, samplingMode="step") == first
    others = [ask(served, steps=[10, 20], sampleSize=9), ask(served, steps=[10], sampleSize=8), ask(served, steps=[10, 20], scoringLimit=3)]
    assert len({task["uid"] for _, task in [first, *others]}) == 4
    listed = read(served, "tasks?group_id=g1")
    assert [task["uid"] for task in listed["tasks"]] == [task["uid"] for _, task in reversed([first, *others])]


def test_only_the_data_that_is_looked_at_counts(served: Served) -> None:
    stepped(served)
    first = ask(served, steps=[10])
    send(served, job("other", step=30))
    assert ask(served, steps=[10]) == first
    send(served, job("new", step=10))
    assert ask(served, steps=[10])[1]["uid"] != first[1]["uid"]


def test_a_task_that_failed_is_not_given_again(served: Served) -> None:
    stepped(served)
    first = ask(served, steps=[10])
    with served.services.db.write() as connection:
        connection.execute(update(behaviour_tasks).values(state="failed", live_key=None))
    assert ask(served, steps=[10])[1]["uid"] != first[1]["uid"]


def test_a_task_is_cancelled_once_and_may_be_asked_for_again(served: Served) -> None:
    stepped(served)
    first = ask(served, steps=[10])[1]
    path = f"/openapi/behavior/tasks/{first['uid']}/cancel"
    answers = [json.loads(served.request("POST", path).data) for _ in range(2)]
    assert answers[0] == answers[1] == read(served, f"tasks/{first['uid']}")
    assert (answers[0]["status"], answers[0]["finished_at"] is None) == ("cancelled", False)
    assert ask(served, steps=[10])[1]["uid"] != first["uid"]
    assert served.request("POST", "/openapi/behavior/tasks/none/cancel").status == 404


def test_a_group_without_steps_is_looked_at_whole(served: Served) -> None:
    send(served, job("j1"), job("j2"))
    status, made = ask(served, steps=[], samplingMode="all_jobs")
    assert (status, made["steps"], made["sampleSize"], made["samplingMode"]) == (200, [], None, "all_jobs")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "name 1 to 20 of them in `steps`; there are 10, 20, 30"),
        ({"steps": [10, 40, 50]}, 422, "has no step 40, 50; there are 10, 20, 30"),
        ({"steps": list(range(21))}, 422, "21 steps are too many for one task; name at most 20"),
        ({"steps": [10], "sampleSize": 0}, 422, "`sampleSize` has to be from 1"),
        ({"steps": [10], "scoringLimit": 0}, 422, "`scoringLimit` has to be from 1"),
        ({"steps": [10], "scoringLimit": 10**9}, 422, "`scoringLimit` has to be from 1"),
        ({"steps": [10], "samplingMode": "all_jobs"}, 422, "is looked at in samplingMode 'step'"),
        ({"steps": [10], "samplingMode": "some"}, 400, "Invalid enum value"),
        ({"steps": ["ten"]}, 400, "`int`, got `str`"),
        ({"steps": [10], "sample_size": 3}, 400, "unknown field `sample_size`"),
        ({"groupId": "none", "steps": [10]}, 404, "group 'none' does not exist"),
        ({"groupId": "g\0", "steps": [10]}, 422, "NUL"),
    ],
)
def test_what_cannot_be_asked_of_a_group_with_steps(served: Served, body: Any, status: int, words: str) -> None:
    stepped(served)
    found, answer = ask(served, **body)
    assert (found, words in answer["error"]) == (status, True), answer
    assert _count(served) == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"steps": [1]}, "has no steps, all of its jobs are looked at: leave `steps` out"),
        ({"sampleSize": 5}, "leave `sampleSize` out"),
        ({"samplingMode": "step"}, "is looked at in samplingMode 'all_jobs'"),
    ],
)
def test_what_cannot_be_asked_of_a_group_without(served: Served, body: Any, words: str) -> None:
    send(served, job("j1"))
    status, answer = ask(served, **body)
    assert (status, words in answer["error"]) == (422, True), answer


def test_an_empty_group_cannot_be_asked(served: Served) -> None:
    send(served)
    status, answer = ask(served)
    assert (status, answer["error"]) == (422, "group 'g1' has no jobs yet")


def test_what_does_not_exist(served: Served) -> None:
    for path in ("tasks/none", "tasks/none/analysis", "tasks?group_id=none"):
        assert served.get(f"/openapi/behavior/{path}").status == 404, path


def test_the_client_asks_and_reads(served: Served) -> None:
    stepped(served)
    with Client(load(Flags(host=served.url, api_key=served.key()), environ={})) as client:
        assert client.behavior_steps("g1")["steps"] == [10, 20, 30]
        task = client.behavior_task_create({"groupId": "g1", "steps": [10], "sampleSize": 512, "scoringLimit": 32})
        assert client.behavior_task(task["uid"]) == task == client.behavior_tasks("g1")["tasks"][0]
        assert client.behavior_analysis(task["uid"])["summary"] is None


def _count(served: Served) -> int:
    with served.services.db.read() as connection:
        return connection.execute(select(func.count()).select_from(behaviour_tasks)).scalar_one()
