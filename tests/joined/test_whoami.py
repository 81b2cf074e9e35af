"""Whose key it is, and keys that end by themselves; and the client's calls that change a group."""

from __future__ import annotations

import json

import pytest

from benchloop_client.client import Client
from benchloop_client.errors import AuthError, NotFound
from benchloop_client.settings import Flags, load
from benchloop_server.features.accounts import service as accounts
from benchloop_server.kit.clock import parse_time, system_clock
from tests.support.pushing import Sent, push
from tests.support.served import Served


def client(served: Served, key: str) -> Client:
    """The client with this key."""
    return Client(load(Flags(host=served.url, api_key=key), environ={}))


def test_a_key_says_whose_it_is(served: Served) -> None:
    key, row = accounts.create_key(served.services.db, "laptop", user="ann", workspace="team", scopes=("read",))
    with client(served, key) as asking:
        shown = asking.whoami()
    assert abs(parse_time(shown.pop("server_time")) - system_clock()) < 60_000_000
    assert parse_time(shown.pop("created_at")) == row.created_at
    assert shown == {"user": "ann", "workspace": "team", "key_name": "laptop", "key_hint": key[:8], "scopes": ["read"], "expires_at": None}


def test_a_key_without_the_read_scope_is_refused(served: Served) -> None:
    key, _ = accounts.create_key(served.services.db, "push only", scopes=("write",))
    answer = served.request("GET", "/openapi/whoami", headers={"X-API-Key": key})
    assert (answer.status, json.loads(answer.data)["code"]) == (403, "forbidden")


def test_a_key_ends_when_its_days_are_over(served: Served) -> None:
    alive, row = accounts.create_key(served.services.db, "alive", days=1)
    ended, _ = accounts.create_key(served.services.db, "ended", days=1, clock=lambda: system_clock() - 25 * 3600 * 1_000_000)
    with client(served, alive) as asking:
        assert parse_time(asking.whoami()["expires_at"]) == row.expires_at
    with client(served, ended) as asking, pytest.raises(AuthError):
        asking.whoami()


def test_the_client_edits_and_deletes_groups(served: Served) -> None:
    push(served, Sent("j1"))
    with client(served, served.key()) as asking:
        assert all(asking.has(feature) for feature in ("whoami", "group-edit", "filters"))
        changed = asking.group_patch("g1", {"name": "n", "tags": ["t"], "note": None})
        assert (changed["name"], changed["tags"], changed["note"]) == ("n", ["t"], None)
        assert asking.group_delete("g1") == {"group_id": "g1", "jobs": 1}
        with pytest.raises(NotFound):
            asking.group_delete("g1")
