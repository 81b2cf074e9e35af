"""Keys: made and revoked by the operator on the command line, looked up on every request."""

from __future__ import annotations

import contextlib
import secrets
import threading

from benchloop_client.contract.ids import MINTED
from benchloop_client.contract.workspace import WhoAmI
from benchloop_server.features.accounts import keys, repository
from benchloop_server.features.accounts.repository import KeyRow
from benchloop_server.kit.clock import Clock, format_optional, format_time, system_clock
from benchloop_server.kit.db import Connection, Database, DatabaseError
from benchloop_server.kit.errors import not_found, unprocessable
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.kit.uses import Uses

SCOPES = ("read", "write", "admin")
DEFAULT_SCOPES = ("read", "write")
DEFAULT_WORKSPACE = "default"
DEFAULT_USER = "admin"
_HINT = 8
_DAY = 24 * 3600 * 1_000_000


def identify(database: Database, key: str, *, clock: Clock = system_clock, uses: Uses | None = None) -> Principal | None:
    """Whose key this is; None for one that is malformed, unknown, revoked or past its end. A use is noted in `uses`."""
    if not keys.is_well_formed(key):
        return None
    now = clock()
    with database.read() as connection:
        principal = repository.principal_by_hash(connection, keys.digest(key), now=now)
    if principal is not None and uses is not None and uses.note(principal.key_id, now):
        threading.Thread(target=_write_down, args=(database, uses), name="uses", daemon=True).start()
    return principal


def _write_down(database: Database, uses: Uses) -> None:
    """Beside the request that found it to be time: a busy database holds nobody up."""
    with contextlib.suppress(DatabaseError), database.write() as connection:
        repository.note_use(connection, uses.take())


def owner(connection: Connection, key_id: str, *, now: int) -> Principal | None:
    """Who owns the key with this id; None when it is unknown, revoked or past its end. Inside the caller's transaction."""
    return repository.principal_by_id(connection, key_id, now=now)


def create_key(
    database: Database,
    name: str,
    *,
    user: str = DEFAULT_USER,
    workspace: str = DEFAULT_WORKSPACE,
    scopes: tuple[str, ...] = DEFAULT_SCOPES,
    days: int | None = None,
    clock: Clock = system_clock,
) -> tuple[str, KeyRow]:
    """A new key and its row; `days`: how long it lives, None for ever. The key itself is kept nowhere. Raises `DomainError` for a bad name,
    workspace or scope.
    """
    _check(name, user=user, workspace=workspace, scopes=scopes)
    key, now = keys.mint(), clock()
    row = KeyRow(
        key_id=f"key-{secrets.token_hex(6)}",
        workspace_id=workspace,
        user=user,
        name=name,
        hint=key[:_HINT],
        scopes=",".join(scope for scope in SCOPES if scope in scopes),
        created_at=now,
        expires_at=None if days is None else now + days * _DAY,
    )
    with database.write() as connection:
        repository.add_key(connection, row, digest=keys.digest(key))
    return key, row


def whoami(services: Services, principal: Principal) -> WhoAmI:
    """What is known of the caller's key."""
    with services.db.read() as connection:
        key = repository.find_key(connection, principal)
    if key is None:
        raise not_found("key", principal.key_id)
    return WhoAmI(
        user=key.user,
        workspace=key.workspace_id,
        key_name=key.name,
        key_hint=key.hint,
        scopes=key.scopes.split(","),
        created_at=format_time(key.created_at),
        expires_at=format_optional(key.expires_at),
        server_time=format_time(services.clock()),
    )


def list_keys(database: Database) -> list[KeyRow]:
    """Every key, oldest first."""
    with database.read() as connection:
        return repository.all_keys(connection)


def revoke_key(database: Database, key_id: str, *, clock: Clock = system_clock) -> None:
    """From the next request on the key is worth nothing. Raises `DomainError` (404) when there is none with this id."""
    with database.write() as connection:
        if not repository.revoke(connection, key_id, at=clock()):
            raise not_found("key", key_id)


def _check(name: str, *, user: str, workspace: str, scopes: tuple[str, ...]) -> None:
    for kind, value in (("name", name), ("user", user)):
        if not value.strip() or len(value) > 200 or not value.isprintable():
            raise unprocessable(f"the {kind} of a key has to be 1 to 200 printable characters")
    if not MINTED.match(workspace):
        raise unprocessable(f"workspace {workspace!r} cannot be used: letters, digits, `.`, `_` and `-` only")
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise unprocessable(f"scopes are {', '.join(SCOPES)}, not {', '.join(unknown) or 'none'}")
