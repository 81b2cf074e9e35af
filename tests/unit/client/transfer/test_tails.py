"""What is kept of a long item: it survives a kill, is only used where it belongs, and is never a reason to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchloop_client.transfer.resume import Part, Parts
from benchloop_client.transfer.tails import Tail

DATA = os.urandom(64) * 4096
#: In a process of its own, which dies without a word: 40 pieces of 256 KiB of an item that begins at byte 100.
DIES = """
import os, sys
from pathlib import Path
from benchloop_client.transfer.resume import Parts
from benchloop_client.transfer.tails import Tail
part = Parts(Path(sys.argv[1])).open("s", "a")
tail = Tail(part)
tail.version = '"v"'
tail.begin(100, 1 << 24)
piece = Path(sys.argv[2]).read_bytes()
for _ in range(40):
    tail.add(piece)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """What something else is made in."""
    return Parts(tmp_path).open("s", "a", digest=False)


def begun(part: Part, data: bytes = b"0123456789", *, length: int = 20) -> None:
    """An earlier try got so far with the item at byte 100."""
    tail = Tail(part)
    tail.version = '"v"'
    tail.begin(100, length)
    tail.add(data)
    tail.keep()


def found(part: Part, start: int = 100, etag: str | None = '"v"') -> bytes:
    """What a later try finds."""
    tail = Tail(part)
    tail.take_up(start, etag)
    data = b"".join(tail.read())
    assert len(data) == tail.have
    tail.keep()
    return data


def test_after_a_kill_it_is_there_up_to_the_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "piece").write_bytes(DATA)
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "out"), str(tmp_path / "piece")], check=False, timeout=60)
    with Parts(tmp_path / "out").open("s", "a") as part:
        data = found(part)
    assert len(data) > 40 * len(DATA) - (5 << 20)
    assert data == (DATA * 40)[: len(data)]


@pytest.mark.parametrize(("start", "etag"), [(101, '"v"'), (0, '"v"'), (100, '"w"')])
def test_that_of_another_place_or_version_is_removed(part: Part, start: int, etag: str) -> None:
    begun(part)
    assert found(part, start, etag) == b""
    assert found(part) == b""


def test_a_later_try_adds_only_what_is_new(part: Part) -> None:
    begun(part)
    tail = Tail(part)
    tail.take_up(100, None)
    tail.begin(100, 20)
    for piece in (b"0123", b"456789abc", b"def"):
        tail.add(piece)
    tail.keep()
    assert found(part) == b"0123456789abcdef"


def test_of_a_whole_one_the_last_byte_is_asked_for_again(part: Part) -> None:
    begun(part, b"0123456789", length=10)
    assert found(part) == b"012345678"


def test_the_next_item_begins_anew(part: Part) -> None:
    begun(part)
    tail = Tail(part)
    tail.take_up(100, None)
    tail.version = '"v"'
    tail.begin(200, 20)
    tail.add(b"xyz")
    tail.keep()
    assert found(part, 200) == b"xyz"


def test_where_it_cannot_be_written_the_work_goes_on(tmp_path: Path, part: Part) -> None:
    folder = tmp_path / ".benchloop" / "parts"
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    tail = Tail(part)
    tail.begin(100, 20)
    tail.add(b"0123456789")
    assert tail.have == 0
    folder.unlink()
    aside.rename(folder)
