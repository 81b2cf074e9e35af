"""Calls that change what a server holds by hand, and those that say who asks and whether all is well."""

from __future__ import annotations

from typing import Any

from benchloop_client.actions import account
from benchloop_client.actions.doctor import Patient, examine
from benchloop_client.actions.findings import Finding
from benchloop_client.actions.groups import must_edit
from benchloop_client.actions.shapes import as_object
from benchloop_client.client import Client as Api
from benchloop_client.library.connected import Connected
from benchloop_client.settings import resolve

Record = dict[str, Any]


class Editing(Connected):
    """All but `doctor` need a server of our kind; with another one they raise `LocalError` before anything is done."""

    def doctor(self) -> list[Finding]:
        """As `bl doctor`: configuration, connection, key, server and disk looked at, with the way out of what is not well. Raises nothing
        of it: `finding.status` is ok, warn or fail.
        """
        patient = Patient(resolve(self._flags), self.settings, lambda settings: Api(settings, self.cancel), self.cancel)
        return list(examine(patient))

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
