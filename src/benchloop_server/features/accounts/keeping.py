"""Keys as people keep them on a page: the workspace's own, made, looked at and revoked by who has a right to."""

from __future__ import annotations

from benchloop_client.contract.errors import Code
from benchloop_server.features.accounts import repository, service
from benchloop_server.features.accounts.repository import KeyRow
from benchloop_server.kit.errors import DomainError, not_found, unprocessable
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import trail

#: A workspace with more keys than this has its oldest ones listed by the command line only.
MOST_LISTED = 500
LONGEST_DAYS = 36_500


def listed(services: Services, principal: Principal) -> list[KeyRow]:
    """The keys of the caller's workspace, newest first; those that no longer work come last. Uses noted so far are written down first."""
    uses = services.uses.take()
    if uses:
        with services.db.write() as connection:
            repository.note_use(connection, uses)
    with services.db.read() as connection:
        return repository.keys_of(connection, principal, limit=MOST_LISTED)


def make(services: Services, principal: Principal, name: str, *, scopes: tuple[str, ...], days: int | None) -> tuple[str, KeyRow]:
    """A new key for the caller, shown once. Raises `DomainError`: 403 for a scope that the caller lacks, 422 for what cannot be."""
    lacking = [scope for scope in scopes if scope in service.SCOPES and scope not in principal.scopes]
    if lacking:
        raise DomainError(Code.FORBIDDEN, f"your own key has no `{lacking[0]}` scope, so it can give none")
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise unprocessable(f"a key lives for 1 to {LONGEST_DAYS} days")
    text, row = service.create_key(
        services.db,
        name,
        user=principal.user,
        workspace=principal.workspace_id,
        scopes=scopes,
        days=days,
        clock=services.clock,
    )
    with services.db.write() as connection:
        trail.record(connection, principal, trail.Event("key.create", row.key_id, {"name": row.name}), at=services.clock())
    return text, row


def may_revoke(principal: Principal, user: str) -> bool:
    """One's own keys, and with `admin` those of everybody in the workspace."""
    return user == principal.user or "admin" in principal.scopes


def revoke(services: Services, principal: Principal, key_id: str) -> None:
    """The key is worth nothing from now on. Raises `DomainError`: 404 for a key of another workspace, 403 for somebody else's."""
    now = services.clock()
    with services.db.write() as connection:
        user = repository.owner_of(connection, principal, key_id)
        if user is None:
            raise not_found("key", key_id)
        if not may_revoke(principal, user):
            raise DomainError(Code.FORBIDDEN, "this is somebody else's key; revoking it needs the `admin` scope")
        repository.revoke(connection, key_id, at=now)
        trail.record(connection, principal, trail.Event("key.revoke", key_id), at=now)
