"""Who is asking: what the server says about the key."""

from __future__ import annotations

from typing import Any

from benchloop_client.actions.shapes import as_object
from benchloop_client.client import Client

#: The probe's group, which no server needs to have: an older server answers with an empty list, or refuses the key.
_NO_GROUP = "benchloop-doctor"


def whoami(client: Client) -> dict[str, Any]:
    """Whose key it is: user, workspace, key, scopes, the server's time. Raises `LocalError` for a server that does not say."""
    client.must_have("whoami", f"the server at {client.settings.origin} does not say whose key this is")
    return as_object(client.whoami(), "whoami")


def accepted(client: Client) -> dict[str, Any] | None:
    """As `whoami`, None for a server that takes the key without saying more. Raises `AuthError` for a refused key."""
    if client.has("whoami"):
        return whoami(client)
    client.jobs_page(_NO_GROUP, limit=1)
    return None
