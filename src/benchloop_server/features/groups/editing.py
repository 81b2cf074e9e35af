"""Groups changed by hand: a name, tags and a note that no push touches, and the end of a group."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.resources import Group
from benchloop_client.contract.workspace import MAX_NAME, MAX_NOTE, MAX_TAG, MAX_TAGS, GroupDeleted, GroupPatch
from benchloop_server.features.groups import repository, service
from benchloop_server.kit.errors import unprocessable
from benchloop_server.kit.facts import check_texts
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail


def patch(services: Services, principal: Principal, group_id: str, *, changes: GroupPatch) -> Group:
    """Change what is given and nothing else; the group as it is now. Raises `DomainError`: 404, or 422 for what cannot be."""
    values = _values(group_id, changes)
    now = services.clock()
    with services.db.write() as connection:
        service.hold(connection, principal, group_id)
        if values:
            repository.edit(connection, principal, group_id, values=values, now=now)
            trail.record(connection, principal, trail.Event("group.edit", group_id, {"fields": _given(changes)}), at=now)
        return service.find(connection, principal, group_id)


def delete(services: Services, principal: Principal, group_id: str) -> GroupDeleted:
    """The group is gone, whole, when this returns. Raises `DomainError` (404)."""
    now = services.clock()
    with services.db.write() as connection:
        service.hold(connection, principal, group_id)
        jobs = repository.remove(connection, principal, group_id, now=now)
        trail.record(connection, principal, trail.Event("group.delete", group_id, {"jobs": jobs}), at=now)
    return GroupDeleted(group_id=group_id, jobs=jobs)


def _given(changes: GroupPatch) -> list[str]:
    return [name for name in ("name", "tags", "note") if getattr(changes, name) is not msgspec.UNSET]


def _values(group_id: str, changes: GroupPatch) -> dict[str, Any]:
    thing = f"group {group_id!r}"
    values: dict[str, Any] = {}
    if changes.name is not msgspec.UNSET:
        values["given_name"] = None if changes.name is None else _name(thing, changes.name)
    if changes.tags is not msgspec.UNSET:
        values["tags_json"] = msgspec.json.encode(_tags(thing, changes.tags)).decode()
    if changes.note is not msgspec.UNSET:
        values["note"] = _note(thing, changes.note)
    return values


def _name(thing: str, name: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise unprocessable(f"{thing}: a name has 1 to {MAX_NAME} printable characters")
    return name


def _tags(thing: str, tags: list[str]) -> list[str]:
    kept = list(dict.fromkeys(tag.strip() for tag in tags))
    for tag in kept:
        if not 0 < len(tag) <= MAX_TAG or not tag.isprintable() or "," in tag:
            raise unprocessable(f"{thing}: tag {tag!r} cannot be: a tag has 1 to {MAX_TAG} printable characters and no comma")
    if len(kept) > MAX_TAGS:
        raise unprocessable(f"{thing}: {len(kept)} tags are too many; a group has at most {MAX_TAGS}")
    return kept


def _note(thing: str, note: str | None) -> str | None:
    if note is not None and len(note) > MAX_NOTE:
        raise unprocessable(f"{thing}: a note has at most {MAX_NOTE} characters, not {len(note)}")
    check_texts(thing, [("note", note)])
    return note or None
