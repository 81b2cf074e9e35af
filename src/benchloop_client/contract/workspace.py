"""A workspace as people see and change it: who a key is, and the name, tags and note that somebody gave a group."""

from __future__ import annotations

import msgspec

from benchloop_client.contract.resources import Record, Sent

MAX_TAGS, MAX_TAG, MAX_NAME, MAX_NOTE = 32, 64, 200, 10_000


class WhoAmI(Record, frozen=True, kw_only=True):
    """Whose key was sent. `key_hint` is how the key begins; `expires_at` null: never. Times are RFC 3339 UTC."""

    user: str
    workspace: str
    key_name: str
    key_hint: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    server_time: str


class GroupPatch(Sent, frozen=True, kw_only=True):
    """What to change of a group by hand; what is left out stays. No push changes any of it.

    `name`: 1 to 200 characters; null: the run's own name again. `tags` replaces all of them: at most 32, each 1 to 64 characters without
    commas; the same tag twice is one. `note`: at most 10,000 characters; null: none.
    """

    name: str | msgspec.UnsetType | None = msgspec.UNSET
    tags: list[str] | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType | None = msgspec.UNSET


class GroupDeleted(Record, frozen=True, kw_only=True):
    """A group that is gone, with its `jobs` (how many), download tasks and requests for analysis."""

    group_id: str
    jobs: int
