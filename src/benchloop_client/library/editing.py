"""Calls that change what a server holds by hand, and the one that says who asks."""

from __future__ import annotations

from typing import Any

from benchloop_client.actions import account
from benchloop_client.actions.groups import must_edit
from benchloop_client.actions.shapes import as_object
from benchloop_client.library.connected import Connected

Record = dict[str, Any]


class Editing(Connected):
    """These need a server of our kind; with another one they raise `LocalError` before anything is done."""

    def whoami(self) -> Record:
        """Whose key this is: `{user, workspace, key_name, scopes, expires_at, server_time, ...}`."""
        return account.whoami(self.api)

    def edit_group(self, group_id: str, **changes: Any) -> Record:
        """Change `name`, `tags` (a list that replaces all of them) or `note` of a group; what is not named stays. Returns the group."""
        must_edit(self._work())
        return as_object(self.api.group_patch(group_id, changes), f"group {group_id}")

    def delete_group(self, group_id: str) -> Record:
        """Delete a group with all of its jobs, for good; the record says how many those were."""
        must_edit(self._work())
        return as_object(self.api.group_delete(group_id), f"group {group_id}")
