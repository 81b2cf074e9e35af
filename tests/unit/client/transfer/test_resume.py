"""Parts that last: what a later try finds of an earlier one, in this process, in another, and after a crash."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchloop_client.errors import DiskFull, IntegrityError, LocalError
from benchloop_client.transfer import owners, states
from benchloop_client.transfer.files import Expect
from benchloop_client.transfer.resume import EVERY_BYTES, Part, Parts

ETAG = '"v1"'


def begun(root: Path, data: bytes = b"0123456789", *, offset: int | None = None) -> None:
    """An earlier try that wrote `data` and broke off after a checkpoint at `offset`."""
    with Parts(root).open("s", "a/b") as part:
        part.begin(etag=ETAG, total=20)
        part.write(data)
        part.checkpoint(len(data) if offset is None else offset, force=True)


def test_a_later_try_goes_on_behind_the_last_checkpoint(tmp_path: Path) -> None:
    with Parts(tmp_path).open("s", "a/b") as part:
        part.begin(etag=ETAG, total=20)
        part.write(b"0123456789")
        part.checkpoint(10, items=3, note={"seen": "x"}, force=True)
        part.write(b"lost")
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.fits(10, ETAG)
        assert (part.size, part.state.items, part.state.note) == (10, 3, {"seen": "x"})
        part.write(b"abcdefghij")
        placed = part.finish("a/b", expect=Expect(20, hashlib.sha256(b"0123456789abcdefghij").hexdigest()))
    assert placed.path.read_bytes() == b"0123456789abcdefghij"
    assert list((tmp_path / ".benchloop" / "parts").iterdir()) == []


@pytest.mark.parametrize(("offset", "etag"), [(9, ETAG), (10, '"v2"'), (0, ETAG), (10, None)])
def test_only_what_follows_exactly_fits(tmp_path: Path, offset: int, etag: str | None) -> None:
    begun(tmp_path)
    with Parts(tmp_path).open("s", "a/b") as part:
        assert not part.fits(offset, etag)


@pytest.mark.parametrize("etag", [None, "", 'W/"weak"'])
def test_what_has_no_strong_version_is_not_kept(tmp_path: Path, etag: str | None) -> None:
    with Parts(tmp_path).open("s", "a/b") as part:
        part.begin(etag=etag)
        part.write(b"0123456789")
        part.checkpoint(10, force=True)
    assert list((tmp_path / ".benchloop" / "parts").iterdir()) == []


def test_another_source_or_path_has_another_part(tmp_path: Path) -> None:
    begun(tmp_path)
    store = Parts(tmp_path)
    assert store.peek("s", "a/b") is not None
    assert store.peek("s", "a/c") is None
    assert store.peek("t", "a/b") is None


def test_a_part_in_use_is_left_to_its_user(tmp_path: Path) -> None:
    begun(tmp_path)
    store = Parts(tmp_path)
    with store.open("s", "a/b") as first, store.open("s", "a/b") as second:
        assert (first.state.offset, second.state.offset) == (10, 0)
        assert first.path != second.path


def test_the_part_of_a_killed_process_is_taken_over_once(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from benchloop_client.transfer.resume import Parts\n"
        "part = Parts(Path(sys.argv[1])).open('s', 'a/b'); part.begin(etag='\"v1\"', total=20); part.write(b'0123456789')\n"
        "part.checkpoint(10, force=True); part.write(b'more'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60)
    stores = [Parts(tmp_path), Parts(tmp_path)]
    parts = [store.open("s", "a/b") for store in stores]
    assert sorted(part.state.offset for part in parts) == [0, 10]
    for part in parts:
        part.abandon()


def test_a_torn_last_line_is_not_believed(tmp_path: Path) -> None:
    begun(tmp_path)
    state = next((tmp_path / ".benchloop" / "parts").glob("*.state"))
    with state.open("ab") as file:
        file.write(b'{"etag":"\\"v1\\"","offset":15,"si')
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.state.offset == 10


def test_a_part_shorter_than_its_checkpoint_is_not_believed(tmp_path: Path) -> None:
    begun(tmp_path)
    os.truncate(next((tmp_path / ".benchloop" / "parts").glob("*.part")), 5)
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.state.offset == 0


def test_after_a_restart_of_the_machine_only_what_was_synced_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)
    monkeypatch.setattr(owners, "boot", lambda: "another")
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.state.offset == 0


def test_a_state_that_names_a_file_elsewhere_is_no_state(tmp_path: Path) -> None:
    begun(tmp_path)
    victim = tmp_path / "victim.part"
    victim.write_bytes(b"precious")
    state = next((tmp_path / ".benchloop" / "parts").glob("*.state"))
    lines = state.read_bytes().split(b"\n")
    state.write_bytes(b"\n".join([b'{"part":"../../victim.part","source":"s","path":"a/b"}', *lines[1:]]))
    assert states.read(state) is None
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.state.offset == 0
    assert victim.read_bytes() == b"precious"


def test_wrong_content_is_not_kept(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(IntegrityError), Parts(tmp_path).open("s", "a/b") as part:
        part.finish("a/b", expect=Expect(20))
    assert not (tmp_path / "a" / "b").exists()
    assert list((tmp_path / ".benchloop" / "parts").iterdir()) == []


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / ".benchloop").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / ".benchloop" / "parts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LocalError):
        Parts(tmp_path / "out").open("s", "a/b")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_checkpoints_come_now_and_then(tmp_path: Path) -> None:
    written = 0
    with Parts(tmp_path).open("s", "a/b") as part:
        part.begin(etag=ETAG)
        for _ in range(64):
            part.write(b"x" * (EVERY_BYTES // 8))
            written += part.checkpoint(part.size)
        part.abandon()
    assert 7 <= written <= 24


@pytest.mark.parametrize("error", [DiskFull("no space left"), RuntimeError("stopped")])
def test_a_try_that_ends_in_order_keeps_the_last_place_it_asked_for(tmp_path: Path, error: Exception) -> None:
    """Also one for which no checkpoint was due yet, and without the half of a piece that still fitted on the disk."""
    with pytest.raises(type(error)), Parts(tmp_path).open("s", "a/b", digest=False) as part:
        part.begin(etag=ETAG, total=20)
        part.write(b"0123456789")
        assert not part.checkpoint(100, items=3, note={"seen": "x"})
        part.write(b"half")
        raise error
    with Parts(tmp_path).open("s", "a/b", digest=False) as part:
        assert (part.state.offset, part.size, part.state.items, part.state.note) == (100, 10, 3, {"seen": "x"})
        assert part.path.read_bytes() == b"0123456789"


def test_a_new_version_forgets_the_last_place(tmp_path: Path) -> None:
    with Parts(tmp_path).open("s", "a/b", digest=False) as part:
        part.begin(etag=ETAG, total=20)
        part.write(b"0123456789")
        part.checkpoint(100)
        part.begin(etag=ETAG, total=20)
    assert list((tmp_path / ".benchloop" / "parts").iterdir()) == []


def test_a_part_without_a_digest_says_so(tmp_path: Path) -> None:
    with Parts(tmp_path).open("s", "a/b", digest=False) as part:
        part.begin(etag=ETAG)
        part.write(b"abc")
        assert part.finish("a/b").sha256 is None


def _whole(part: Part) -> bytes:
    return b"".join(part.read())


def test_holes_are_filled_in_any_order(tmp_path: Path) -> None:
    data = os.urandom(1000)
    with Parts(tmp_path).open("s", "a/b") as part:
        part.begin(etag=ETAG, total=1000)
        part.reserve(1000)
        part.write_at(data[:300], 0, hashes=True)
        part.write_at(data[700:], 700)
        part.checkpoint(600, note={"holes": [[300, 700]]}, force=True)
    with Parts(tmp_path).open("s", "a/b") as part:
        assert part.size == 1000
        part.write_at(data[300:700], 300)
        part.hash_rest()
        assert _whole(part) == data
        assert part.finish("a/b", expect=Expect(1000, hashlib.sha256(data).hexdigest())).size == 1000
