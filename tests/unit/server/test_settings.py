"""Settings: options over variables over defaults; cursors and limits of the database next to them."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_server.kit import cursors
from benchloop_server.kit.db import Database
from benchloop_server.kit.errors import DomainError
from benchloop_server.settings import BadSetting, load
from benchloop_server.wiring import connect, make_private, open_services


def test_the_default_folder_is_the_users_data_directory(tmp_path: Path) -> None:
    settings = load({"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "xdg")})
    assert settings.data == tmp_path / "xdg" / "benchloop"
    assert (settings.host, settings.port) == ("127.0.0.1", 8765)
    assert settings.database == ""
    assert settings.blobs == str(tmp_path / "xdg" / "benchloop" / "blobs")


def test_options_win_over_variables(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "BENCHLOOP_SERVER_PORT": "99",
        "BENCHLOOP_SERVER_DATA": str(tmp_path / "a"),
        "AWS_REGION": "x",
        "B": "y",
    }
    settings = load(environ, data=tmp_path / "b", port=0, host=None)
    assert (settings.data, settings.port, dict(settings.aws)) == (tmp_path / "b", 0, {"AWS_REGION": "x"})
    assert load(environ).port == 99


@pytest.mark.parametrize("port", ["-1", "70000", "eighty", "８０"])
def test_a_bad_port_is_named(port: str) -> None:
    with pytest.raises(BadSetting, match=port):
        load({"HOME": "/", "BENCHLOOP_SERVER_PORT": port})


def test_folders_are_made_for_their_owner_only(tmp_path: Path) -> None:
    services = open_services(load({}, data=tmp_path / "x" / "data"))
    services.db.close()
    for name in ("", "blobs", "scratch"):
        assert stat.S_IMODE((tmp_path / "x" / "data" / name).stat().st_mode) == 0o700
    (tmp_path / "shared").mkdir(mode=0o755)
    make_private(tmp_path / "shared")
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "sqlite+nothing:///x"])
def test_other_databases_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadSetting, match="database URL"):
        connect(load({}, data=tmp_path, database=url))


def test_a_data_folder_may_have_any_name(tmp_path: Path) -> None:
    data = tmp_path / "a%20b ?#ü&x=1"
    open_services(load({}, data=data)).db.close()
    assert (data / "benchloop.sqlite3").is_file()


def test_a_writer_waits_for_another_and_sees_what_it_wrote(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.sqlite3'}")
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (n INTEGER)")
    with pytest.raises(RuntimeError, match="undo"), database.write() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        raise RuntimeError("undo")
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    database.close()


@given(st.integers(0, 2**60), st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=128))
def test_a_cursor_comes_back(micros: int, name: str) -> None:
    assert cursors.unpack(cursors.pack(micros, name)) == (micros, name)


@given(st.text(max_size=60))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with contextlib.suppress(DomainError):
        micros, name = cursors.unpack(text)
        assert isinstance(micros, int) and "\0" not in name
