"""Every route of the server's own description, asked by everyone: nobody, a wrong key, a revoked one, a stranger, a reader, the owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3

from benchloop_client.contract.operations import OPERATIONS
from benchloop_server.app import create_app
from benchloop_server.features.accounts import keys
from benchloop_server.features.accounts import service as accounts
from tests.support.pushing import Sent, archive, document, push, sha
from tests.support.served import Served, serving
from tests.support.stores import job, services_over, sqlite

SERVED = sorted(OPERATIONS)
WITH_KEY = [name for name in SERVED if OPERATIONS[name].scope != "public"]
#: Routes that name nothing of a workspace in their path or query: a stranger gets an answer about his own things.
WITHOUT_IDS = {"jobs", "job_stats", "groups", "group_put", "uploads_check", "uploads_bundle", "upload_put", "metrics", "whoami", "status"}

DOCUMENT = document("j1", "g1")
FILES = archive({"log.txt": b"hello"})
MEDIA = {"a.png": ("image/png", b"\x89PNG")}


@dataclass
class World:
    """A server with one job that has everything, and a key of each kind."""

    served: Served
    keys: dict[str, str]
    fields: dict[str, str]

    def ask(self, name: str, key: str | None) -> urllib3.BaseHTTPResponse:
        """Call the operation with what the owner would send."""
        operation = OPERATIONS[name]
        headers = {} if key is None else {"X-API-Key": key}
        path = operation.url_path(**{**self.fields, **OTHER_FIELDS.get(name, {})}) if "{" in operation.path else operation.path
        query = QUERIES.get(name, {})
        options: dict[str, Any] = {"body": BODIES[name]} if name in RAW else {"json": BODIES[name]} if name in BODIES else {}
        suffix = "?" + "&".join(f"{field}={value}" for field, value in query.items()) if query else ""
        return self.served.pool.request(operation.method, self.served.url + path + suffix, headers=headers, **options)


QUERIES: dict[str, dict[str, str]] = {
    "metrics": {"group_id": "g1"},
    "job_artifact_member": {"path": "log.txt"},
    "behavior_steps": {"group_id": "g1"},
    "behavior_tasks": {"group_id": "g1"},
    "media_file": {"ossUri": f"blmedia/j1/{sha(MEDIA['a.png'][1])}/a.png", "mime": "image/png"},
}
BODIES: dict[str, Any] = {
    "group_put": {"name": "again"},
    "jobs_check": {"jobs": [{"job_id": "j1", "fingerprint": "0" * 64}]},
    "jobs_put": {"jobs": [job("j9")]},
    "uploads_check": {"kind": "archive", "sha256": [sha(FILES)]},
    "uploads_bundle": b"",
    "upload_put": FILES,
    "download_task_create": {"group_id": "g1"},
    "group_patch": {"tags": ["seen"]},
    "job_report_trigger": {},
    "group_report_trigger": {"include_passed": True},
    "job_rsi_trigger": {},
    "group_rsi_trigger": {},
    "behavior_task_create": {"groupId": "g1", "scoringLimit": 3},
}
#: Ids other than those that all operations share: what is deleted is nobody else's.
OTHER_FIELDS = {"group_delete": {"group_id": "gone"}, **{name: {"kind": "artifacts"} for name in OPERATIONS if "_bulk" in name}}
RAW = {"uploads_bundle", "upload_put"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One server for the whole module; no test changes what another sees."""
    with serving(tmp_path_factory.mktemp("authorisation")) as served:
        push(served, Sent("j1", document=DOCUMENT, archive=FILES, media=MEDIA), Sent("gone", group_id="gone"))
        made = {kind: _key(served, kind) for kind in ("owner", "reader", "revoked", "stranger")}
        task = json.loads(served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": "g1"}).data)["task_id"]
        uid = json.loads(served.request("POST", "/openapi/behavior/tasks", json={"groupId": "g1"}).data)["uid"]
        export = json.loads(served.get("/openapi/groups/g1/trace-trajectory/download").data)
        name = export.get("download_job_name") or export["download_url"].rsplit("/", 1)[-1]
        ids = {"group_id": "g1", "job_id": "j1", "task_id": task, "uid": uid, "download_job_name": name}
        yield World(served, {**made, "wrong": keys.mint()}, {**ids, "kind": "archive", "sha256": sha(FILES)})


def _key(served: Served, kind: str) -> str:
    scopes = ("read",) if kind == "reader" else ("read", "write")
    key, row = accounts.create_key(served.services.db, kind, workspace="other" if kind == "stranger" else "default", scopes=scopes)
    if kind == "revoked":
        accounts.revoke_key(served.services.db, row.key_id)
    return key


def code(answer: urllib3.BaseHTTPResponse) -> str:
    """The code of an error body, whose whole shape is checked."""
    body = json.loads(answer.data)
    assert set(body) == {"error", "code", "request_id"}, body
    assert body["request_id"] == answer.headers["x-request-id"]
    assert "\n" not in body["error"] and body["error"]
    return str(body["code"])


@pytest.mark.parametrize("name", WITH_KEY)
@pytest.mark.parametrize("kind", [None, "wrong", "revoked"])
def test_without_a_valid_key_there_is_no_answer(world: World, name: str, kind: str | None) -> None:
    answer = world.ask(name, None if kind is None else world.keys[kind])
    assert (answer.status, code(answer)) == (401, "unauthenticated")


@pytest.mark.parametrize("name", sorted(set(WITH_KEY) - WITHOUT_IDS))
def test_what_belongs_to_another_workspace_does_not_exist(world: World, name: str) -> None:
    answer = world.ask(name, world.keys["stranger"])
    assert (answer.status, code(answer)) == (404, "not_found")


@pytest.mark.parametrize("name", ["jobs", "metrics", "groups", "job_stats"])
def test_lists_of_a_stranger_are_empty(world: World, name: str) -> None:
    answer = json.loads(world.ask(name, world.keys["stranger"]).data)
    assert answer.get("total", answer.get("present")) == 0


def test_a_stranger_has_no_uploads(world: World) -> None:
    answer = json.loads(world.ask("uploads_check", world.keys["stranger"]).data)
    assert answer == {"missing": [sha(FILES)]}


@pytest.mark.parametrize("name", WITH_KEY)
def test_a_reader_reads_and_cannot_write(world: World, name: str) -> None:
    answer = world.ask(name, world.keys["reader"])
    if OPERATIONS[name].scope == "read":
        assert answer.status == 200, answer.data
    else:
        assert (answer.status, code(answer)) == (403, "forbidden")


@pytest.mark.parametrize("name", SERVED)
def test_the_owner_gets_an_answer(world: World, name: str) -> None:
    answer = world.ask(name, world.keys["owner"])
    assert answer.status == 200, answer.data


@pytest.mark.parametrize("cookie", ["X-API-Key={}", "key={}", "api_key={}"])
def test_a_key_in_a_cookie_or_the_query_is_no_key(world: World, cookie: str) -> None:
    owner = world.keys["owner"]
    answer = world.served.pool.request(
        "GET", f"{world.served.url}/openapi/jobs?X-API-Key={owner}", headers={"Cookie": cookie.format(owner)}
    )
    assert answer.status == 401


def test_every_route_is_in_the_table_and_every_row_is_served(tmp_path: Path) -> None:
    with sqlite(tmp_path) as database:
        schema = create_app(services_over(database, tmp_path / "scratch")).app.openapi_schema.to_schema()  # type: ignore[attr-defined]
    described = {(verb.upper(), path): spec["operationId"] for path, item in schema["paths"].items() for verb, spec in item.items()}
    assert described == {(OPERATIONS[name].method, OPERATIONS[name].path): name for name in SERVED}


def test_routes_that_need_a_key_say_so(world: World) -> None:
    schema = json.loads(world.served.pool.request("GET", f"{world.served.url}/openapi.json").data)
    secured = {spec["operationId"] for item in schema["paths"].values() for spec in item.values() if spec.get("security")}
    assert secured == set(WITH_KEY)
