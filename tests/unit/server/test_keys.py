"""The text of keys: prefix, length, checksum; and that none is ever kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.features.accounts import keys, service
from benchloop_server.kit.errors import DomainError
from benchloop_server.sql import migrate
from tests.support.stores import sqlite


def test_a_key_has_its_prefix_and_is_well_formed() -> None:
    made = {keys.mint() for _ in range(50)}
    assert len(made) == 50
    assert all(key.startswith("blk_") and len(key) == 53 and keys.is_well_formed(key) for key in made)


def test_a_typing_error_is_seen() -> None:
    key = keys.mint()
    wrong = key[:10] + ("A" if key[10] != "A" else "B") + key[11:]
    assert not any(keys.is_well_formed(text) for text in (wrong, key[:-1], key + "0", key[4:], "", "blk_"))


@given(st.text(max_size=80))
def test_any_text_is_a_key_or_not(text: str) -> None:
    assert keys.is_well_formed("blk_" + text) in {True, False}


def test_only_the_hash_is_kept(tmp_path: Path) -> None:
    with sqlite(tmp_path) as database:
        migrate.upgrade(database)
        key, row = service.create_key(database, "ci", scopes=("write", "read"))
        assert (row.scopes, row.workspace_id, row.user) == ("read,write", "default", "admin")
        found = service.identify(database, key)
        assert found is not None and found.scopes == {"read", "write"}
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_revoked_key_is_nobody_and_stays_listed(tmp_path: Path) -> None:
    with sqlite(tmp_path) as database:
        migrate.upgrade(database)
        key, row = service.create_key(database, "ci")
        other, _ = service.create_key(database, "second", user="bob")
        service.revoke_key(database, row.key_id)
        service.revoke_key(database, row.key_id)
        assert service.identify(database, key) is None
        assert service.identify(database, other) is not None
        assert [(each.name, each.revoked_at is None) for each in service.list_keys(database)] == [("ci", False), ("second", True)]
        with pytest.raises(DomainError, match="key 'nope' does not exist"):
            service.revoke_key(database, "nope")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": " "}, "name of a key"),
        ({"name": "a\nb"}, "name of a key"),
        ({"user": ""}, "user of a key"),
        ({"workspace": "../x"}, "workspace '../x'"),
        ({"scopes": ("root",)}, "not root"),
        ({"scopes": ()}, "not none"),
    ],
)
def test_bad_keys_are_not_made(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with sqlite(tmp_path) as database:
        migrate.upgrade(database)
        with pytest.raises(DomainError, match=words):
            service.create_key(database, **{"name": "ci", **options})  # type: ignore[arg-type]
        assert service.list_keys(database) == []
