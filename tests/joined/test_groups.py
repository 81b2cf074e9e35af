"""Groups over the wire: created, replaced, listed; and who changed them is kept."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from benchloop_server.sql.access import audit
from tests.support.served import Served
from tests.support.stores import job


def put(served: Served, group_id: str, **facts: Any) -> dict[str, Any]:
    """Create or replace; the group."""
    answer = served.request("PUT", f"/openapi/groups/{group_id}", json={"name": group_id, **facts})
    assert answer.status == 200, answer.data
    shown: dict[str, Any] = json.loads(answer.data)
    return shown


def test_a_group_shows_what_was_said_and_what_is_there(served: Served) -> None:
    source = {"format": "harbor", "reader": "harbor", "reader_version": 1}
    made = put(served, "g1", expected=3, model="m", started_at="2026-01-01T08:00:00+08:00", source=source, extra={"k": [1]})
    assert (made["present"], made["steps"], made["started_at"]) == (0, [], "2026-01-01T00:00:00.000000Z")
    assert (made["source"]["format"], made["extra"], made["created_by"]) == ("harbor", {"k": [1]}, "admin")
    served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("a", step=2), job("b", step=1), job("c")]})
    shown = json.loads(served.get("/openapi/groups/g1").data)
    assert (shown["present"], shown["expected"], shown["steps"]) == (3, 3, [1, 2])
    assert shown["updated_at"] > made["updated_at"] and shown["created_at"] == made["created_at"]


def test_a_second_put_replaces_the_facts(served: Served) -> None:
    first = put(served, "g1", model="m", expected=1)
    second = put(served, "g1", name="other")
    assert (second["name"], second["model"], second["expected"]) == ("other", None, None)
    assert second["created_at"] == first["created_at"]


def test_groups_are_listed_newest_first_in_pages(served: Served) -> None:
    for number in range(5):
        put(served, f"g{number}")
    first = json.loads(served.get("/openapi/groups?limit=3").data)
    second = json.loads(served.get(f"/openapi/groups?limit=3&cursor={first['next_cursor']}").data)
    assert [group["group_id"] for group in first["groups"] + second["groups"]] == ["g4", "g3", "g2", "g1", "g0"]
    assert (first["total"], second["total"], second["next_cursor"]) == (5, 5, None)


def test_times_and_counts_of_a_group_are_checked(served: Served) -> None:
    for facts, words in (({"expected": -1}, b"`expected`"), ({"finished_at": "soon"}, b"`finished_at`"), ({"model": "a\0"}, b"`model`")):
        answer = served.request("PUT", "/openapi/groups/g1", json={"name": "g", **facts})
        assert (answer.status, words in answer.data) == (422, True)
    assert served.get("/openapi/groups/g1").status == 404


def test_changes_leave_a_trail_without_the_key(served: Served) -> None:
    put(served, "g1")
    served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("a")]})
    served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": "g1"})
    with served.services.db.read() as connection:
        rows = connection.execute(select(audit).order_by(audit.c.id)).all()
    assert [(row.action, row.user) for row in rows] == [(action, "admin") for action in ("group.put", "jobs.put", "download_task.create")]
    assert not any(served.key() in str(row) for row in rows)
