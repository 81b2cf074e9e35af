"""Whether the server can do its work: the database answers with the right schema, and the blob store takes and gives bytes."""

from __future__ import annotations

import hashlib

from benchloop_client.contract.errors import Code
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from benchloop_server.sql import migrate

_PROBE = b"benchloop-server: the blob store can be written and read\n"


def check_ready(services: Services) -> None:
    """Raise `DomainError` (503) naming the part that does not work."""
    for part, check in (("database", _check_database), ("blob store", _check_blobs)):
        try:
            check(services)
        except Exception as error:
            raise DomainError(Code.UNAVAILABLE, f"the {part} cannot be used ({type(error).__name__})") from error


def _check_database(services: Services) -> None:
    migrate.check(services.db)


def _check_blobs(services: Services) -> None:
    name = hashlib.sha256(_PROBE).hexdigest()
    services.blobs.put_bytes(name, _PROBE)
    if b"".join(services.blobs.read(name)) != _PROBE:
        raise OSError("the blob store gave other bytes than it got")
