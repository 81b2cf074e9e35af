"""The groups of the workspace: listed, looked at, and changed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchloop_client import paging
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.shapes import as_object
from benchloop_client.actions.work import Work


def listed(work: Work) -> Iterator[dict[str, Any]]:
    """All groups, newest first."""
    yield from paging.all_groups(work.client)


def element(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """One group's object as text."""
    yield layout.value(work.client.group(group_id))


@dataclass(frozen=True, slots=True)
class Tags:
    """What to do to a group's tags: take `removed` ones out (or all, with `cleared`), then append `added` ones that are not there."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    cleared: bool = False

    def of(self, present: list[str]) -> list[str]:
        """The tags that come of it, each once."""
        kept = [] if self.cleared else [tag for tag in present if tag not in self.removed]
        return list(dict.fromkeys([*kept, *self.added]))


#: Given a group as it is, what to change of it (see `contract.workspace.GroupPatch`).
Changes = Callable[[dict[str, Any]], dict[str, Any]]


def edited(work: Work, group_id: str, changes: Changes, *, layout: Layout) -> Iterator[bytes]:
    """Change a group; the text of what it is now. Raises `LocalError` for a server whose groups cannot be changed."""
    must_edit(work)
    now = as_object(work.client.group(group_id), f"group {group_id}")
    yield layout.value(as_object(work.client.group_patch(group_id, changes(now)), f"group {group_id}"))


def retagged(tags: Tags) -> Changes:
    """The changes that `tags` mean for a group."""
    return lambda group: {"tags": tags.of([str(tag) for tag in group.get("tags") or ()])}


def deleted(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """Delete a group for good; the text of what it held. Raises `LocalError` for a server whose groups cannot be deleted."""
    must_edit(work)
    yield layout.value(as_object(work.client.group_delete(group_id), f"group {group_id}"))


def must_edit(work: Work) -> None:
    """Raise `LocalError` for a server whose groups cannot be changed."""
    work.client.must_have("group-edit", f"groups at {work.client.settings.origin} cannot be changed from here")


def count_jobs(work: Work, group_id: str) -> int | None:
    """How many jobs a group holds, None where the server does not say. Raises `NotFound` for an unknown group."""
    present = as_object(work.client.group(group_id), f"group {group_id}").get("present")
    return present if isinstance(present, int) else None
