"""Which file is fetched, kept, checked or refused."""

from __future__ import annotations

import pytest

from benchloop_client.transfer.journal import Entry
from benchloop_client.transfer.plan import Claims, OnDisk, Wanted, decide

SHA = "a" * 64
WANTED = Wanted("G/x", "artifact J")
ENTRY = Entry(path="G/x", status="done", source="artifact J", size=5, sha256=SHA, etag='"1"', durable=True)
THERE = OnDisk("file", 5)


def changed(**values: object) -> Entry:
    return Entry(**{name: getattr(ENTRY, name) for name in ENTRY.__struct_fields__} | values)  # type: ignore[arg-type]


def test_what_is_not_there_is_fetched() -> None:
    assert decide(WANTED, ENTRY, OnDisk("absent"), skip_existing=True).action == "fetch"


@pytest.mark.parametrize("size", [0, 4, 6])
def test_a_file_of_another_size_is_fetched_again(size: int) -> None:
    assert decide(WANTED, ENTRY, OnDisk("file", size), skip_existing=True).action == "fetch"


@pytest.mark.parametrize(
    "entry", [None, changed(status="failed"), changed(status="placeholder"), changed(size=None), changed(source="artifact K")]
)
def test_mere_existence_is_never_trusted(entry: Entry | None) -> None:
    assert decide(WANTED, entry, THERE, skip_existing=True, resumed=True).action == "fetch"


def test_a_directory_is_a_conflict() -> None:
    assert decide(WANTED, ENTRY, OnDisk("other"), skip_existing=True).action == "conflict"


@pytest.mark.parametrize("how", ["skip_existing", "resumed"])
def test_what_the_journal_vouches_for_is_kept(how: str) -> None:
    assert decide(WANTED, ENTRY, THERE, **{how: True}).action == "keep"


def test_what_may_be_lost_by_a_crash_is_hashed_first() -> None:
    decision = decide(WANTED, changed(durable=False), THERE, skip_existing=True)
    assert (decision.action, decision.sha256) == ("rehash", SHA)


def test_without_trust_the_server_is_asked_whether_it_changed() -> None:
    decision = decide(WANTED, ENTRY, THERE)
    assert (decision.action, decision.etag) == ("fetch", '"1"')


def test_what_the_server_lists_unchanged_is_kept_without_asking() -> None:
    assert decide(Wanted("G/x", "artifact J", sha256=SHA.upper()), ENTRY, THERE).action == "keep"
    assert decide(Wanted("G/x", "artifact J", etag='"1"'), ENTRY, THERE).action == "keep"


@pytest.mark.parametrize("wanted", [Wanted("G/x", "artifact J", sha256="b" * 64), Wanted("G/x", "artifact J", etag='"2"')])
def test_another_version_is_fetched_even_if_trusted(wanted: Wanted) -> None:
    decision = decide(wanted, ENTRY, THERE, skip_existing=True)
    assert (decision.action, decision.etag) == ("fetch", None)


def test_two_things_on_one_path_are_a_conflict() -> None:
    claims = Claims()
    assert claims.claim(WANTED) is None
    assert claims.claim(WANTED) is None
    clash = claims.claim(Wanted("g/X", "artifact K"))
    assert clash is not None and clash.action == "conflict"
