"""Headers of tar entries: what is read the short way is what `tarfile` reads, and nothing that it refuses is read at all."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass, field
from random import Random

import pytest

from benchloop_client.transfer.archive import _header
from benchloop_server.features.artifacts import tar_entry

_CHECKSUM = slice(148, 155)


@dataclass(frozen=True)
class _File:
    path: str
    size: int
    executable: bool = False
    source: bytes = field(default=b"")


def _files(dice: Random) -> _File:
    name = "".join(dice.choice("ab/_.c") for _ in range(dice.randint(1, 99)))
    return _File(name, dice.randrange(1 << 33), dice.random() < 0.5)


def _spoilt(header: bytes, dice: Random) -> bytes:
    """A byte or two changed, most often with a checksum that fits."""
    changed = bytearray(header)
    for _ in range(dice.randint(1, 2)):
        changed[dice.randrange(512)] = dice.choice([0, 32, 47, 48, 49, 56, 255, dice.randrange(256)])
    if dice.random() < 0.7:
        changed[_CHECKSUM] = b"%06o\0" % (sum(changed) - sum(changed[148:156]) + 8 * 32)
    return bytes(changed)


def _by_tarfile(header: bytes) -> tuple[str, int, bytes] | None:
    try:
        info = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    return info.name, info.size, info.type


@pytest.mark.parametrize("seed", range(10))
def test_the_short_way_reads_what_tarfile_reads(seed: int) -> None:
    dice = Random(seed)
    short = 0
    for number in range(400):
        header = _header(_files(dice))
        if number % 2:
            header = _spoilt(header, dice)
        found = tar_entry._plain_file(header)
        if found is not None:
            short += 1
            assert (found.name, found.size, found.type) == _by_tarfile(header)
    assert short > 100
