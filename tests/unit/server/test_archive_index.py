"""The archive walker: what our client packs is indexed exactly, anything else is refused, and nothing can blow it up."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.features.artifacts.archive_index import (
    BLOCK,
    ArchiveIndex,
    ArchiveLimits,
    ArchiveWalker,
    decode_index,
    encode_index,
    member_bytes,
)
from benchloop_server.features.artifacts.tar_entry import BadArchive

LIMITS = ArchiveLimits(members=20_000, plain=1 << 33, ratio=400)
END = gzip.compress(b"\0" * 1024, mtime=0)


def entry(name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", pax: dict[str, str] | None = None) -> bytes:
    """One tar entry, plain: header or headers, content, padding."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.mode = len(content), kind, link, 0o644
    info.pax_headers = pax or {}
    return info.tobuf(tarfile.PAX_FORMAT) + content + b"\0" * (-len(content) % 512)


def member(name: str, content: bytes = b"", **options: object) -> bytes:
    """One tar entry as one gzip member."""
    return gzip.compress(entry(name, content, **options), mtime=0)  # type: ignore[arg-type]


def walk(archive: bytes, limits: ArchiveLimits | None = None, step: int = 70_000) -> ArchiveIndex:
    """The index of an archive that arrives in pieces of `step` bytes."""
    walker = ArchiveWalker(limits or LIMITS)
    for at in range(0, len(archive), step):
        walker.feed(archive[at : at + step])
    return walker.finish()


FILES = {"agent/log.txt": b"hello\n" * 5000, "empty": b"", "l" * 180 + "/ünï.json": b"{}", "new\nline": b"1", "x" * 512: b"a" * 512}
ARCHIVE = b"".join(member(name, content) for name, content in FILES.items()) + END


@pytest.mark.parametrize("step", [1, 7, 512, 100_000])
def test_members_are_indexed_whatever_the_pieces(step: int) -> None:
    index = walk(ARCHIVE, step=step)
    assert {m.path: (m.size, m.sha256) for m in index.members} == {
        name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in FILES.items()
    }
    assert sum(m.length for m in index.members) == len(ARCHIVE) - len(END)


def test_a_single_member_is_read_by_its_place() -> None:
    for m in walk(ARCHIVE).members:
        stored = ARCHIVE[m.offset : m.offset + m.length]
        assert b"".join(member_bytes(m, iter([stored[:9], stored[9:]]))) == FILES[m.path]


def test_a_flipped_byte_never_makes_a_whole_member() -> None:
    m = walk(ARCHIVE).members[0]
    stored = bytearray(ARCHIVE[m.offset : m.offset + m.length])
    for at in range(0, len(stored), 17):
        damaged = bytes(stored[:at]) + bytes([stored[at] ^ 1]) + bytes(stored[at + 1 :])
        try:
            assert b"".join(member_bytes(m, iter([damaged]))) == FILES[m.path]  # a bit of gzip's own header
        except BadArchive:
            continue


def test_the_archive_is_what_tarfile_reads() -> None:
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE)) as tar:
        assert tar.getnames() == [m.path for m in walk(ARCHIVE).members]


def test_blocks_digest_the_whole_archive() -> None:
    noise = hashlib.shake_128(b"seed").digest(2 * BLOCK)
    archive = member("noise", noise) + END
    blocks = walk(archive).blocks
    assert blocks == tuple(hashlib.sha256(archive[at : at + BLOCK]).hexdigest() for at in range(0, len(archive), BLOCK))
    assert len(blocks) == 3


def test_index_survives_storage() -> None:
    index = walk(ARCHIVE)
    assert decode_index(encode_index(index)) == index


def test_an_archive_without_files_is_empty() -> None:
    assert walk(END).members == ()


def test_more_zero_blocks_at_the_end_are_fine() -> None:
    assert walk(member("a") + gzip.compress(b"\0" * 10240)).members[0].path == "a"


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "parent": (lambda: member("../x", b"1") + END, "leads out"),
    "deep parent": (lambda: member("a/../../x", b"1") + END, "leads out"),
    "absolute": (lambda: member("/etc/passwd", b"1") + END, "absolute"),
    "dot": (lambda: member("./x", b"1") + END, "leads out"),
    "double slash": (lambda: member("a//x", b"1") + END, "leads out"),
    "backslash": (lambda: member("..\\x", b"1") + END, "backslash"),
    "nul": (lambda: member("x" * 101 + "a\0b", b"1") + END, "NUL"),
    "not utf-8": (lambda: gzip.compress(entry("abc", b"1").replace(b"abc", b"\xff\xfe\xfd", 1)) + END, "cannot be read"),
    "symlink": (lambda: member("a", kind=tarfile.SYMTYPE, link="/etc/passwd") + END, "symbolic link"),
    "hard link": (lambda: member("a", kind=tarfile.LNKTYPE, link="b") + END, "hard link"),
    "folder": (lambda: member("a", kind=tarfile.DIRTYPE) + END, "a folder"),
    "device": (lambda: member("a", kind=tarfile.BLKTYPE) + END, "only plain files"),
    "pipe": (lambda: member("a", kind=tarfile.FIFOTYPE) + END, "a pipe"),
    "sparse": (lambda: member("a", kind=tarfile.GNUTYPE_SPARSE) + END, "only plain files"),
    "sparse by pax": (lambda: member("a", b"1", pax={"GNU.sparse.major": "1"}) + END, "only plain files"),
    "pax link": (lambda: member("a", b"1", pax={"linkpath": "/etc"}) + END, "only plain files"),
    "pax leads out": (lambda: member("a", b"1", pax={"path": "../../x"}) + END, "leads out"),
    "pax size": (lambda: member("a", b"1", pax={"size": "-5"}) + END, "no number"),
    "twice": (lambda: member("a") + member("a") + END, "twice"),
    "file and folder": (lambda: member("a", b"1") + member("a/b", b"1") + END, "both as a file and as a folder"),
    "two entries in a member": (lambda: gzip.compress(entry("a", b"1") + entry("b", b"1")) + END, "more than one tar entry"),
    "half an entry": (lambda: gzip.compress(entry("a", b"1" * 700)[:900]) + END, "exactly one whole"),
    "dirty padding": (lambda: gzip.compress(entry("a", b"1")[:-1] + b"x") + END, "padded"),
    "no end": (lambda: member("a"), "zero blocks"),
    "cut": (lambda: (member("a", b"x" * 999) + END)[:-9], "cut"),
    "more after the end": (lambda: member("a") + END + member("b"), "after its end"),
    "garbage after the end": (lambda: member("a") + END + b"rest", "after its end"),
    "not gzip": (lambda: entry("a", b"1"), "not gzip"),
    "plain tgz of one member": (lambda: gzip.compress(entry("a") + entry("b") + b"\0" * 1024), "more than one tar entry"),
    "bad checksum": (lambda: gzip.compress(b"x" * 512) + END, "cannot be read"),
    "damaged gzip": (lambda: member("a", b"abc" * 500)[:-8] + b"\0" * 8 + END, "not gzip"),
    "nothing": (lambda: b"", "zero blocks"),
    "entry after a zero block": (lambda: gzip.compress(b"\0" * 512 + entry("a")) + END, "follows a zero block"),
    "empty member": (lambda: gzip.compress(b"") + END, "exactly one whole"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str) -> None:
    make, words = HOSTILE[name]
    for step in (1 << 20, 100):
        with pytest.raises(BadArchive, match=words):
            walk(make(), step=step)


def bomb(size: int) -> bytes:
    """A tar entry of `size` zero bytes, compressed about a thousand times, made without holding it."""
    squeeze = zlib.compressobj(9, wbits=31)
    info = tarfile.TarInfo("zeros")
    info.size = size
    parts = [squeeze.compress(info.tobuf(tarfile.PAX_FORMAT))]
    parts += [squeeze.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, squeeze.flush(), END])


def test_a_bomb_is_refused_by_its_ratio() -> None:
    with pytest.raises(BadArchive, match="times the bytes"):
        walk(bomb(256 << 20))


def test_limits_on_plain_bytes_and_count() -> None:
    with pytest.raises(BadArchive, match="more than 1000000 bytes"):
        walk(bomb(16 << 20), msgspec.structs.replace(LIMITS, plain=1_000_000))
    with pytest.raises(BadArchive, match="more than 3 files"):
        walk(ARCHIVE, msgspec.structs.replace(LIMITS, members=3))


@given(st.binary(max_size=2000), st.integers(0, len(ARCHIVE) - 1))
def test_random_bytes_never_do_anything_but_refuse(noise: bytes, at: int) -> None:
    for archive in (noise, ARCHIVE[:at] + noise + END, gzip.compress(noise) + END):
        try:
            walk(archive)
        except BadArchive:
            continue
