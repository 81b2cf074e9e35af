"""Which files are fetched, kept and rewritten, run after run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchloop_client.actions.destination import Content, Destination, beside, in_group
from benchloop_client.actions.layout import Layout
from benchloop_client.errors import IntegrityError, LocalError, NetworkError
from benchloop_client.transfer.files import Expect

Make = Callable[..., Destination]


class _Source:
    """Bytes with a version, and how often they were asked for."""

    def __init__(self, data: bytes = b"data", etag: str | None = '"1"') -> None:
        self.data, self.etag, self.opened, self.closed = data, etag, 0, 0

    def __call__(self, etag: str | None) -> Content:
        self.opened += 1
        if etag is not None and etag == self.etag:
            return Content((), unchanged=True, close=self._close)
        return Content((self.data,), etag=self.etag, close=self._close)

    def _close(self) -> None:
        self.closed += 1


def test_a_finished_file_is_asked_after_by_its_version(destination: Make) -> None:
    source = _Source()
    for kept in (False, True):
        with destination() as target:
            assert target.save("G/a.tgz", "s", source).kept is kept
            target.finish()
    source.data, source.etag = b"newer", '"2"'
    with destination() as target:
        outcome = target.save("G/a.tgz", "s", source)
    assert not outcome.kept
    assert outcome.path.read_bytes() == b"newer"
    assert source.opened == source.closed == 3


def test_skip_existing_trusts_the_journal_and_not_the_name(destination: Make, tmp_path: Path) -> None:
    source = _Source()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.tgz").write_bytes(b"cut")
    with destination(skip_existing=True) as target:
        assert not target.save("a.tgz", "s", source).kept
    with destination(skip_existing=True) as target:
        assert target.save("a.tgz", "s", source).kept
    (tmp_path / "out" / "a.tgz").write_bytes(b"dat")
    with destination(skip_existing=True) as target:
        assert not target.save("a.tgz", "s", source).kept
    assert (tmp_path / "out" / "a.tgz").read_bytes() == b"data"


def test_a_file_of_the_same_size_but_other_bytes_is_noticed(destination: Make, tmp_path: Path) -> None:
    with destination() as target:
        target.save("a.tgz", "s", _Source())
    (tmp_path / "out" / "a.tgz").write_bytes(b"DATA")
    with destination(skip_existing=True) as target:
        assert not target.save("a.tgz", "s", _Source()).kept
    assert (tmp_path / "out" / "a.tgz").read_bytes() == b"data"


def test_a_run_that_broke_off_is_taken_up_without_asking_again(destination: Make) -> None:
    source = _Source(etag=None)
    with destination() as target:
        target.save("a.tgz", "s", source)
    with destination() as target:
        assert target.resumed
        assert target.save("a.tgz", "s", source).kept
        target.finish()
    with destination() as target:
        assert not target.resumed
        assert not target.save("a.tgz", "s", source).kept
    assert source.opened == 2


def test_what_is_made_of_many_jobs_is_asked_after_in_a_run_that_is_taken_up(destination: Make) -> None:
    source = _Source(etag='"1"')
    for before in (0, 1):
        with destination() as target:
            target.ask_again("G/trajectory.json")
            target.save("G/trajectory.json", "s", source)
            assert source.opened == before + 1


def test_another_run_does_not_take_over_what_a_broken_one_left(destination: Make) -> None:
    source = _Source(etag=None)
    for run in ("one", "two"):
        with destination(run=run) as target:
            assert not target.save("a.tgz", "s", source).kept


def test_a_placeholder_is_fetched_again(destination: Make) -> None:
    with destination() as target:
        assert target.save("a.tgz", "s", lambda _etag: Content((b"x",), status="placeholder")).status == "placeholder"
    with destination(skip_existing=True) as target:
        outcome = target.save("a.tgz", "s", _Source())
    assert (outcome.kept, outcome.status) == (False, "done")


def test_a_failure_leaves_the_old_file_and_is_in_the_journal(destination: Make, tmp_path: Path) -> None:
    def broken(_etag: str | None) -> Content:
        def chunks() -> Iterator[bytes]:
            yield b"ha"
            raise NetworkError("gone", broken_body=True)

        return Content(chunks())

    with destination() as target:
        target.save("a.tgz", "s", _Source())
        target.finish()
    with destination() as target:
        with pytest.raises(NetworkError):
            target.save("a.tgz", "s", broken)
        entry = target.journal.get("a.tgz")
    assert entry is not None
    assert (entry.status, entry.error) == ("failed", "network: gone")
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_file()] == ["a.tgz"]
    assert (tmp_path / "out" / "a.tgz").read_bytes() == b"data"


def test_announced_size_and_digest_are_checked(destination: Make, tmp_path: Path) -> None:
    for expect in (Expect(size=5), Expect(sha256="0" * 64)):
        with destination() as target, pytest.raises(IntegrityError):
            target.save("a.tgz", "s", lambda _etag, expect=expect: Content((b"data",), expect))  # type: ignore[misc]
    assert not (tmp_path / "out" / "a.tgz").exists()


def test_two_files_that_would_overwrite_each_other_are_refused(destination: Make) -> None:
    with destination() as target:
        target.save("a.tgz", "s", _Source())
        with pytest.raises(LocalError, match=r"A\.tgz"):
            target.save("A.tgz", "other", _Source())


def test_another_layout_is_another_file(destination: Make) -> None:
    with destination(skip_existing=True) as target:
        assert not target.save_json("a.json", "s", lambda: (b"{}",)).kept
    with destination(skip_existing=True) as target:
        assert target.save_json("a.json", "s", lambda: (b"{}",)).kept
        assert (target.root / "a.json").read_bytes() == b"{}\n"
        target.layout = Layout(pretty=False)
        assert target.laid_out("s") != "s"


def test_ids_cannot_lead_out_of_the_folder() -> None:
    assert in_group("../x", "a/b") == "..%2Fx/a%2Fb"
    assert beside("C:\\x", "_report.md") == "C%3A%5Cx_report.md"


def test_a_relative_root_is_where_files_land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Destination(Path("out"), layout=Layout()) as target:
        outcome = target.save("G/a.tgz", "s", _Source())
    assert outcome.path == Path("out/G/a.tgz")
    assert (tmp_path / "out" / "G" / "a.tgz").read_bytes() == b"data"
