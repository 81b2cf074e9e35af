"""Groups changed by hand: names, tags and notes that a push leaves alone; groups deleted, and what they shared with others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

from benchloop_server.features.reclaim import service as reclaim
from benchloop_server.kit.errors import DomainError
from benchloop_server.sql.access import audit
from benchloop_server.sql.tables import metadata, uploads
from tests.support.pushing import Sent, archive, document, push, sha
from tests.support.served import Served
from tests.support.stores import job

FILES = archive({"log.txt": b"hello"})
MEDIA = {"a.png": ("image/png", b"\x89PNG")}


def patch(served: Served, **changes: Any) -> Any:
    """Change group g1; the group."""
    answer = served.request("PATCH", "/openapi/groups/g1", json=changes)
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def full(job_id: str, group_id: str, text: str = "hello") -> Sent:
    """A job with everything; archive and image are the same in all of them."""
    return Sent(job_id, group_id=group_id, document=document(job_id, group_id, text=text), archive=FILES, media=MEDIA)


def contents(served: Served, job_id: str, **options: Any) -> list[int]:
    """Statuses of everything that the job holds; bodies that break off raise."""
    uri = f"blmedia/{job_id}/{sha(MEDIA['a.png'][1])}/a.png"
    paths = [f"jobs/{job_id}", f"jobs/{job_id}/trajectory", f"jobs/{job_id}/artifacts/download", f"getTrajV2/mediaFile?ossUri={uri}"]
    return [served.get(f"/openapi/{path}", **options).status for path in paths]


def stored(served: Served) -> set[str]:
    """The names of all blobs."""
    return {name for name, _ in served.services.blobs.aged(float("inf"))}


# ---- name, tags, note ---------------------------------------------------------------------------------------------------------------


def test_a_push_leaves_name_tags_and_note_alone(served: Served) -> None:
    push(served, Sent("j1"))
    made = patch(served, name=" nightly ", tags=["b", " a ", "b"], note="ünï\nline")
    assert (made["name"], made["tags"], made["note"]) == ("nightly", ["b", "a"], "ünï\nline")
    push(served, Sent("j2"))
    shown = json.loads(served.get("/openapi/groups/g1").data)
    assert (shown["name"], shown["tags"], shown["note"], shown["present"]) == ("nightly", ["b", "a"], "ünï\nline", 2)
    listed = json.loads(served.get("/openapi/groups").data)["groups"][0]
    assert (listed["name"], listed["tags"]) == ("nightly", ["b", "a"])


def test_what_is_left_out_stays_and_null_takes_back(served: Served) -> None:
    push(served, Sent("j1"))
    patch(served, name="n", tags=["t"], note="x")
    assert patch(served)["name"] == "n"
    assert patch(served, note=None)["note"] is None
    taken = patch(served, name=None, tags=[])
    assert (taken["name"], taken["tags"]) == ("g1", [])


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"name": "  "}, 422, "a name has 1 to 200"),
        ({"name": "x" * 201}, 422, "a name has 1 to 200"),
        ({"name": "a\nb"}, 422, "printable"),
        ({"tags": ["a,b"]}, 422, "no comma"),
        ({"tags": [""]}, 422, "1 to 64"),
        ({"tags": ["x" * 65]}, 422, "1 to 64"),
        ({"tags": [str(n) for n in range(33)]}, 422, "33 tags are too many"),
        ({"tags": "a"}, 400, "array"),
        ({"tags": None}, 400, "array"),
        ({"note": "x" * 10_001}, 422, "at most 10000 characters, not 10001"),
        ({"note": "a\0"}, 422, "NUL"),
        ({"title": "x"}, 400, "unknown field `title`"),
    ],
)
def test_edits_that_cannot_be_are_refused_and_change_nothing(served: Served, changes: Any, status: int, words: str) -> None:
    push(served, Sent("j1"))
    before = patch(served, name="n", tags=["t"], note="x")
    answer = served.request("PATCH", "/openapi/groups/g1", json=changes)
    assert (answer.status, words in json.loads(answer.data)["error"]) == (status, True), answer.data
    assert json.loads(served.get("/openapi/groups/g1").data) == before


def test_the_same_tag_many_times_is_one(served: Served) -> None:
    push(served, Sent("j1"))
    assert patch(served, tags=["a"] * 100)["tags"] == ["a"]


# ---- deleting -----------------------------------------------------------------------------------------------------------------------


def test_a_deleted_group_is_gone_with_all_that_was_its(served: Served) -> None:
    push(served, full("j1", "g1"), full("j2", "g2"))
    task = json.loads(served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": "g1"}).data)["task_id"]
    uid = json.loads(served.request("POST", "/openapi/behavior/tasks", json={"groupId": "g1"}).data)["uid"]
    served.request("POST", "/openapi/jobs/j1/report/trigger", json={})
    answer = served.request("DELETE", "/openapi/groups/g1")
    assert (answer.status, json.loads(answer.data)) == (200, {"group_id": "g1", "jobs": 1})
    for path in ("groups/g1", "jobs/j1", f"trajectory-download-tasks/{task}", f"behavior/tasks/{uid}", "groups/g1/job-ids"):
        assert served.get(f"/openapi/{path}").status == 404, path
    assert contents(served, "j1") == [404] * 4
    assert contents(served, "j2") == [200] * 4
    assert served.request("DELETE", "/openapi/groups/g1").status == 404


def test_no_row_of_a_deleted_group_is_left(served: Served) -> None:
    push(served, full("j1", "g1"))
    served.request("POST", "/openapi/groups/g1/report/trigger", json={})
    served.request("DELETE", "/openapi/groups/g1")
    with served.services.db.read() as connection:
        counts = {table.name: len(connection.execute(select(table)).all()) for table in metadata.sorted_tables}
    kept = {"workspaces", "users", "keys", "uploads", "counters", "audit", "judge_spending"}
    assert {name for name, count in counts.items() if count} == kept
    assert counts["uploads"] == 3


def test_a_deletion_is_in_the_trail(served: Served) -> None:
    push(served, Sent("j1"))
    patch(served, tags=["a"])
    served.request("DELETE", "/openapi/groups/g1")
    with served.services.db.read() as connection:
        rows = connection.execute(select(audit.c.action, audit.c.subject, audit.c.detail_json).order_by(audit.c.id)).all()
    assert [tuple(row) for row in rows[-2:]] == [("group.edit", "g1", '{"fields":["tags"]}'), ("group.delete", "g1", '{"jobs":1}')]


def test_another_workspaces_group_of_the_same_name_stays(served: Served) -> None:
    push(served, full("j1", "g1"))
    push(served, full("j1", "g1"), workspace="other")
    served.request("DELETE", "/openapi/groups/g1")
    reclaim.collect(served.services, grace_hours=0)
    assert contents(served, "j1", workspace="other") == [200] * 4
    assert contents(served, "j1") == [404] * 4


def test_a_deleted_group_can_be_pushed_again(served: Served) -> None:
    push(served, full("j1", "g1"))
    served.request("DELETE", "/openapi/groups/g1")
    push(served, full("j1", "g1"))
    assert contents(served, "j1") == [200] * 4


# ---- giving space back --------------------------------------------------------------------------------------------------------------


def test_what_another_group_shares_survives_and_the_rest_goes(served: Served) -> None:
    push(served, full("j1", "g1"))
    own = stored(served)
    push(served, full("j2", "g2"))
    served.request("DELETE", "/openapi/groups/g1")
    done = reclaim.collect(served.services, grace_hours=0)
    assert (done.uploads, done.waiting) == (1, 0)
    assert contents(served, "j2") == [200] * 4
    assert own <= stored(served), "the archive that g2 shares lies in the blob that g1's upload made"
    served.request("DELETE", "/openapi/groups/g2")
    done = reclaim.collect(served.services, grace_hours=0)
    assert (done.uploads, stored(served)) == (3, set())
    assert done.bytes > 0 and done.blobs == 2


def test_nothing_goes_before_its_grace_is_over(served: Served) -> None:
    push(served, full("j1", "g1"))
    served.request("DELETE", "/openapi/groups/g1")
    before = stored(served)
    done = reclaim.collect(served.services, grace_hours=1)
    assert (done.uploads, done.waiting, done.blobs, stored(served)) == (0, 3, 0, before)


def test_content_that_a_push_replaced_goes_too(served: Served) -> None:
    push(served, full("j1", "g1", text="first"))
    push(served, full("j1", "g1", text="second"))
    assert reclaim.collect(served.services, grace_hours=0).uploads == 1
    assert contents(served, "j1") == [200] * 4


def test_who_asks_for_an_unused_upload_keeps_it(served: Served) -> None:
    push(served, full("j1", "g1"))
    served.request("DELETE", "/openapi/groups/g1")
    assert _marked(served) == 3
    asked = {"kind": "archive", "sha256": [sha(FILES)]}
    assert json.loads(served.request("POST", "/openapi/uploads/check", json=asked).data) == {"missing": []}
    assert _marked(served) == 2
    assert served.request("PUT", f"/openapi/uploads/media/{sha(MEDIA['a.png'][1])}", body=MEDIA["a.png"][1]).status == 200
    assert _marked(served) == 1
    reclaim.collect(served.services, grace_hours=1)
    assert _marked(served) == 3


def test_an_upload_whose_blob_was_given_back_meanwhile_is_sent_again(served: Served) -> None:
    push(served, full("j1", "g1"))
    blobs = served.services.blobs
    names = stored(served)
    served.services.db.close()

    class Forgetful:
        """Says that it has every blob, and has none."""

        def put_bytes(self, sha256: str, data: bytes) -> bool:
            return False

        def exists(self, sha256: str) -> bool:
            return False

        def __getattr__(self, name: str) -> Any:
            return getattr(blobs, name)

    object.__setattr__(served.services, "blobs", Forgetful())
    other = archive({"other": b"x"})
    answer = served.request("PUT", f"/openapi/uploads/archive/{sha(other)}", body=other)
    assert (answer.status, json.loads(answer.data)["code"]) == (503, "unavailable")
    object.__setattr__(served.services, "blobs", blobs)
    assert served.request("PUT", f"/openapi/uploads/archive/{sha(other)}", body=other).status == 200
    assert names < stored(served)


def test_a_blob_store_of_another_database_is_left_alone(served: Served) -> None:
    push(served, full("j1", "g1"))
    with served.services.db.write() as connection:
        connection.execute(uploads.update().values(blob="0" * 64))
    before = stored(served)
    with pytest.raises(DomainError, match="belong together"):
        reclaim.collect(served.services, grace_hours=0)
    with served.services.db.write() as connection:
        connection.execute(uploads.delete())
    assert reclaim.collect(served.services, grace_hours=0).blobs == 0
    assert stored(served) == before


def test_a_job_pushed_into_a_deleted_group_is_refused(served: Served) -> None:
    push(served, Sent("j1"))
    served.request("DELETE", "/openapi/groups/g1")
    answer = served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("j1")]})
    assert (answer.status, json.loads(answer.data)["code"]) == (404, "not_found")


def _marked(served: Served) -> int:
    with served.services.db.read() as connection:
        return len(connection.execute(select(uploads).where(uploads.c.unused_since.is_not(None))).all())
