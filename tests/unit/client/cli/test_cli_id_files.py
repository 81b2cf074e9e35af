"""Ids from files and from stdin. B11 of the research."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest

from benchloop_client.cli.ids import parse


def ids(*values: str, stdin: str | None = None) -> tuple[str, ...]:
    typed = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="ascii") if stdin is not None else None
    return parse(values, "job id", stdin=typed, say=lambda _line: None)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "ids.txt"
    path.write_bytes("\ufeffJ1, J2\r\n\n  J3\tJ1 @J4 名\n".encode())
    return str(path)


def test_b11_stdin_is_split_on_white_space_and_commas() -> None:
    assert ids("-", stdin="J1,J2 J3\nJ1,,\t名\r\n") == ("J1", "J2", "J3", "名")


def test_b11_a_file_is_split_as_stdin_is(file: str) -> None:
    assert ids(f"@{file}") == ("J1", "J2", "J3", "@J4", "名")


def test_b11_several_files_and_ids_come_in_the_order_given(file: str, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("J9")
    assert ids("J0", f"@{tmp_path / 'more'}", f"J5,@{file}", "J0") == ("J0", "J9", "J5", "J1", "J2", "J3", "@J4", "名")


def test_an_id_may_begin_with_the_sign() -> None:
    assert ids("@@J1", "a,@@b") == ("@J1", "a", "@b")


@pytest.mark.parametrize("name", ["", "/nowhere/at/all", "/"])
def test_a_file_that_cannot_be_read_is_a_usage_error(name: str) -> None:
    with pytest.raises(click.BadParameter):
        ids(f"@{name}")


def test_a_file_of_other_bytes_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"J1\xff")
    with pytest.raises(click.BadParameter, match="UTF-8"):
        ids(f"@{tmp_path / 'f'}")


def test_an_empty_file_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(" ,\n")
    with pytest.raises(click.BadParameter, match="at least one"):
        ids(f"@{tmp_path / 'f'}")


def test_b11_stdin_is_read_once_only() -> None:
    with pytest.raises(click.BadParameter, match="once"):
        ids("-", "-", stdin="J1")
