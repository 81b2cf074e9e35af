"""Files appear whole under their final names, inside the output directory, or not at all."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_client.errors import DiskFull, IntegrityError, LocalError
from benchloop_client.transfer.files import Expect, contained, digest_of, json_bytes, place, place_json, reformat_json

DATA = b"some content\n" * 1000
SHA = hashlib.sha256(DATA).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.rglob("*") if entry.is_file())


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    placed = place(tmp_path / "G" / "J" / "a.tgz", [DATA[:7], b"", DATA[7:]], root=tmp_path, expect=Expect(len(DATA), SHA))
    assert (placed.size, placed.sha256, placed.durable) == (len(DATA), SHA, False)
    assert placed.path.read_bytes() == DATA
    assert names(tmp_path) == ["a.tgz"]


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    assert place(tmp_path / "x", [], root=tmp_path).size == 0


def test_syncing_is_reported(tmp_path: Path) -> None:
    assert place(tmp_path / "x", [DATA], root=tmp_path, fsync=True).durable
    assert place(tmp_path / "y", [bytes(1 << 20)] * 8, root=tmp_path).durable


@pytest.mark.parametrize("expect", [Expect(len(DATA) + 1), Expect(len(DATA) - 1), Expect(sha256="0" * 64), Expect(0)])
def test_what_was_not_announced_leaves_the_old_file(tmp_path: Path, expect: Expect) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(IntegrityError):
        place(tmp_path / "x", [DATA], root=tmp_path, expect=expect)
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_interrupts_leaves_no_part(tmp_path: Path, error: type[BaseException]) -> None:
    def broken() -> Iterator[bytes]:
        yield DATA
        assert any(name.endswith(".part") for name in names(tmp_path))
        raise error

    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(error):
        place(tmp_path / "x", broken(), root=tmp_path)
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a/../x", "."])
def test_paths_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / "out"
    root.mkdir()
    with pytest.raises(LocalError):
        place(root / name, [DATA], root=root)
    assert names(tmp_path) == []


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "out", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    with pytest.raises(LocalError, match="link"):
        place(root / "link" / "new" / "x", [DATA], root=root)
    assert list(outside.iterdir()) == []


def test_a_link_at_the_name_itself_is_replaced_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "out", tmp_path / "outside"
    root.mkdir()
    outside.write_bytes(b"theirs")
    (root / "x").symlink_to(outside)
    place(root / "x", [DATA], root=root)
    assert outside.read_bytes() == b"theirs"
    assert (root / "x").read_bytes() == DATA and not (root / "x").is_symlink()


def test_links_inside_and_a_linked_root_are_fine(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "out").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "b").symlink_to("a")
    place(tmp_path / "out" / "b" / "x", [DATA], root=tmp_path / "out")
    assert (tmp_path / "real" / "a" / "x").read_bytes() == DATA


def test_a_relative_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place(Path("G/x"), [DATA], root=Path())
    assert (tmp_path / "G" / "x").read_bytes() == DATA
    with pytest.raises(LocalError):
        contained(Path("../x"), root=Path())


def test_harmless_names_are_not_refused(tmp_path: Path) -> None:
    for name in ("a..b", ".foo", "foo.bar.", "..."):
        assert place(tmp_path / name, [DATA], root=tmp_path).path.exists()


def test_the_longest_names_work(tmp_path: Path) -> None:
    for name in ("n" * 255, "ü" * 127):
        assert place(tmp_path / name, [DATA], root=tmp_path).path.read_bytes() == DATA
    assert len(names(tmp_path)) == 2


def test_a_directory_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(LocalError, match="directory"):
        place(tmp_path / "x", [DATA], root=tmp_path)


def test_a_file_where_a_folder_is_needed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "G").write_bytes(b"file")
    with pytest.raises(LocalError, match="cannot be written"):
        place(tmp_path / "G" / "x", [DATA], root=tmp_path)


def test_a_full_disk_is_told_apart_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk."""
    (tmp_path / "x").write_bytes(b"old")
    code = f"""
import resource, signal
from pathlib import Path
from benchloop_client.errors import DiskFull
from benchloop_client.transfer.files import Expect, place
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
root = Path({str(tmp_path)!r})
try:
    place(root / "x", [b"y" * 3000] * 3, root=root, expect=Expect(9000))
except DiskFull as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "no space left for x: 9000 bytes needed" in done.stdout, done.stderr
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_the_error_of_a_full_device_is_disk_full(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"x"
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"x")

    with pytest.raises(DiskFull, match="free"):
        place(tmp_path / "x", chunks(), root=tmp_path)


def test_two_writers_of_one_name_both_end_whole(tmp_path: Path) -> None:
    def slow() -> Iterator[bytes]:
        yield b"first"
        place(tmp_path / "x", [DATA], root=tmp_path)
        yield b"!"

    place(tmp_path / "x", slow(), root=tmp_path)
    assert (tmp_path / "x").read_bytes() == b"first!"
    assert names(tmp_path) == ["x"]


def test_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(DATA)
    assert digest_of(tmp_path / "x") == (len(DATA), SHA)


def test_json_looks_as_documented(tmp_path: Path) -> None:
    value = {"é": ["日本", 1.5, None, True, {}, []]}
    assert json_bytes(value) == (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    assert json_bytes(value, pretty=False) == (json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n").encode()
    assert json.loads(place_json(tmp_path / "x", value, root=tmp_path).path.read_bytes()) == value


def test_json_survives_what_real_data_holds() -> None:
    value = {"half": "a\ud83db", "nan": float("nan"), "inf": [float("inf")], "big": 10**40}
    for pretty in (True, False):
        text = json_bytes(value, pretty=pretty)
        assert b"a\\ud83db" in text and b"NaN" not in text
        assert json.loads(text) == {"half": "a\ud83db", "nan": None, "inf": [None], "big": 10**40}


def test_json_nested_too_deep_is_one_sentence() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(LocalError, match="deep"):
        json_bytes(value)


def test_reformatting_leaves_numbers_and_order() -> None:
    raw = b'{"b":1.10,"a":12345678901234567890123,"c":1e400}'
    assert reformat_json(raw) == b'{\n  "b": 1.10,\n  "a": 12345678901234567890123,\n  "c": 1e400\n}'
    assert reformat_json(reformat_json(raw), pretty=False) == raw
    with pytest.raises(IntegrityError):
        reformat_json(b'{"a": ')


def test_the_limits_of_this_process_were_left_alone() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
