"""The keys of a workspace: made (shown once), looked over, revoked."""

from __future__ import annotations

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_server.features.accounts import keeping
from benchloop_server.features.accounts.service import DEFAULT_SCOPES, SCOPES
from benchloop_server.kit.errors import unprocessable
from benchloop_server.pages.page import Asked, Done, Page
from benchloop_server.pages.routing import action, page

_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")


def keys(asked: Asked) -> Page:
    """All of them."""
    rows = keeping.listed(asked.services, asked.principal)
    now = asked.services.clock()
    shown = [
        {
            **{name: getattr(row, name) for name in ("key_id", "name", "user", "hint", *_TIMES)},
            "scopes": row.scopes.split(","),
            "ended": row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now),
            "mine": row.key_id == asked.principal.key_id,
            "revocable": row.revoked_at is None and keeping.may_revoke(asked.principal, row.user),
        }
        for row in rows
    ]
    return Page(
        template="keys.html",
        title="Keys",
        line=f"Workspace {asked.principal.workspace_id}. A key opens the whole workspace; of a key itself only a hash is kept.",
        data={
            "rows": shown,
            "scopes": [scope for scope in SCOPES if scope in asked.principal.scopes],
            "usual": DEFAULT_SCOPES,
            "most": keeping.MOST_LISTED,
        },
        commands=["benchloop-server key list", "benchloop-server key create --name NAME"],
        routes=["/openapi/whoami"],
    )


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """The form: `days` empty for ever."""

    name: str
    scopes: list[str] = msgspec.field(default_factory=list)
    days: str = ""


def create(asked: Asked) -> Done:
    """A key, told to its maker and to nobody again."""
    wanted = asked.sent(NewKey)
    days = wanted.days.strip()
    if days and not (days.isascii() and days.isdigit() and len(days) <= 6):
        raise unprocessable("days has to be a whole number, or empty for a key without an end")
    text, row = keeping.make(
        asked.services, asked.principal, wanted.name.strip(), scopes=tuple(wanted.scopes), days=int(days) if days else None
    )
    return Done(data={"key": text, "key_id": row.key_id, "name": row.name})


def revoke(asked: Asked) -> Done:
    """A key is worth nothing any more."""
    keeping.revoke(asked.services, asked.principal, asked.ids["key_id"])
    return Done(location="/keys")


ROUTES: list[HTTPRouteHandler] = [page("/keys", keys), action("/keys", create), action("/keys/{key_id:str}/revoke", revoke)]
