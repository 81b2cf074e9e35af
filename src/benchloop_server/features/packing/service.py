"""When a group is packed, and packing it: pieces are copied with their digests checked, then their rows say the new places.

Nothing is removed here. A reader in the middle of a stream keeps reading the old blobs, which `benchloop-server gc` gives back when they
have been out of use for its grace. A crash between two steps leaves a blob that no row names, or rows that are already right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import structlog

from benchloop_server.features.packing import repository
from benchloop_server.features.packing.repository import SHELVES, Piece, Shelf
from benchloop_server.kit.db import Connection
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.kit.staging import Staged
from benchloop_server.kit.verified import DamagedBlob, Place, read_whole
from benchloop_server.kit.work import Run
from benchloop_server.sql import work

KIND = "pack"
_MICROS = 1_000_000
_RANK = 20
#: Pieces in a pack at most, and rows that are changed while other writers wait.
_PIECES = 50_000
_ROWS = 1_000
_log = structlog.get_logger("benchloop_server.work")


def after_push(services: Services, connection: Connection, principal: Principal, *, group_id: str, now: int) -> None:
    """Have the group packed once it has come to rest, in the transaction that changed it. Each push puts it off."""
    upkeep = services.upkeep
    complete = repository.is_complete(connection, principal.workspace_id, group_id)
    quiet = min(upkeep.settled_seconds, upkeep.quiet_seconds) if complete else upkeep.quiet_seconds
    due_at = now + int(quiet * _MICROS)
    wish = work.Wish(workspace_id=principal.workspace_id, kind=KIND, key=group_id, due_at=due_at, rank=_RANK)
    work.enqueue(connection, wish, now=now)


def pack(services: Services, run: Run) -> None:
    """Pack the group that is the key of the work. Done twice it finds nothing to do."""
    for shelf in SHELVES:
        _pack_shelf(services, run, shelf)


@dataclass(slots=True)
class _Open:
    """A pack in the making: its bytes, and which piece begins where."""

    staged: Staged
    moved: list[tuple[Piece, int]] = field(default_factory=list)


def _pack_shelf(services: Services, run: Run, shelf: Shelf) -> None:
    loose = _loose(services, run, shelf)
    if len(loose) < 2:
        return
    done, total = 0, loose.total()
    largest = services.upkeep.pack_bytes // 4
    wanted = (piece for piece in _read(services, run, shelf) if piece.place.blob in loose and piece.place.length <= largest)
    for portion in _portions(wanted, services.upkeep.pack_bytes):
        with Staged(services.scratch) as staged:
            pack = _Open(staged)
            for piece in portion:
                run.check()
                _copy(services, pack, piece)
            _publish(services, run, shelf, pack)
            done += staged.size
            run.progress(done, total)


def _loose(services: Services, run: Run, shelf: Shelf) -> Counter[str]:
    """The blobs that hold less of this shelf than half a pack, and how many bytes of it; too large pieces have blobs of their own."""
    size: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for piece in _read(services, run, shelf):
        size[piece.place.blob] += piece.place.length
        number[piece.place.blob] += 1
    enough = services.upkeep.pack_bytes // 2
    return Counter({blob: held for blob, held in size.items() if held < enough and number[blob] < _PIECES // 2})


def _read(services: Services, run: Run, shelf: Shelf) -> Iterator[Piece]:
    """The pieces of the shelf, each once."""
    seen: set[bytes] = set()
    after: repository.Mark | None = None
    while True:
        # A transaction a page: one that stays open for the hours of a large group would keep the database from tidying up.
        with services.db.read() as connection:
            page, after = repository.pieces(connection, run.item.workspace_id, run.item.key, shelf=shelf, after=after)
        if after is None:
            return
        for piece in page:
            name = bytes.fromhex(piece.sha256)
            if name not in seen:
                seen.add(name)
                yield piece


def _portions(pieces: Iterator[Piece], limit: int) -> Iterator[list[Piece]]:
    """The pieces in lists of at most `limit` bytes and `_PIECES` pieces."""
    portion: list[Piece] = []
    size = 0
    for piece in pieces:
        if portion and (size + piece.place.length > limit or len(portion) == _PIECES):
            yield portion
            portion, size = [], 0
        portion.append(piece)
        size += piece.place.length
    if portion:
        yield portion


def _copy(services: Services, pack: _Open, piece: Piece) -> None:
    """Add the piece, once all of it is there and right; a damaged one stays where it is, where readers are told."""
    try:
        data = b"".join(read_whole(services.blobs, piece.place))
    except DamagedBlob:
        return
    pack.moved.append((piece, pack.staged.size))
    pack.staged.write(data)


def _publish(services: Services, run: Run, shelf: Shelf, pack: _Open) -> None:
    """Make the pack durable, then let the rows say so."""
    if not pack.moved:
        return
    name = pack.staged.store(services.blobs)
    moved = [(piece, Place(name, offset, piece.place.length, piece.place.sha256)) for piece, offset in pack.moved]

    for first in range(0, len(moved), _ROWS):
        run.commit(partial(_move, services, run, shelf, moved=moved[first : first + _ROWS]))
    _log.info("packed", group=run.item.key, kind=shelf.kind, index=shelf.index, pieces=len(moved), bytes=pack.staged.size, blob=name)


def _move(services: Services, run: Run, shelf: Shelf, connection: Connection, *, moved: list[tuple[Piece, Place]]) -> None:
    repository.hold_blobs(connection)
    name = moved[0][1].blob
    if not services.blobs.exists(name):
        raise OSError("the pack was given back before it was in use")
    if old := {piece.place.blob for piece, _ in moved} - {name}:
        repository.retire(connection, old, now=services.clock())
    repository.move(connection, run.item.workspace_id, shelf, moved=moved)
