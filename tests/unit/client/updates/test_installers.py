"""Which index is asked: pip's and uv's variables and files in their own order of precedence, credentials apart from the address."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from benchloop_client.updates.installers import Index, Place, configured

_OWN = "http://127.0.0.1:8099/own/"
_OTHER = "http://127.0.0.1:8099/other/"


def place(tmp_path: Path, *, system: str = "linux", installer: str = "pip", **variables: str) -> Place:
    """An installation with a home and an environment of its own; no folder of this machine is looked at."""
    return Place({"XDG_CONFIG_DIRS": str(tmp_path / "xdg"), **variables}, tmp_path / "home", tmp_path / "venv", system, installer)


def write(path: Path, text: str) -> None:
    """A file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def url(found: Index | None) -> str | None:
    """The address of what was found."""
    return found.url if found else None


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX"])
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_each_variable_names_the_index(tmp_path: Path, name: str, installer: str) -> None:
    assert url(configured(place(tmp_path, installer=installer, **{name: "http://127.0.0.1:8099/own"}))) == _OWN


def test_who_installed_us_is_asked_first(tmp_path: Path) -> None:
    both = {"PIP_INDEX_URL": _OWN, "UV_DEFAULT_INDEX": _OTHER}
    assert url(configured(place(tmp_path, **both))) == _OWN
    assert url(configured(place(tmp_path, installer="uv", **both))) == _OTHER


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX"])
def test_uv_may_give_an_index_a_name(tmp_path: Path, name: str) -> None:
    assert url(configured(place(tmp_path, **{name: f"corp={_OWN} rest={_OTHER}" if name == "UV_INDEX" else f"corp={_OWN}"}))) == _OWN


@pytest.mark.parametrize("where", ["xdg/pip/pip.conf", "home/.pip/pip.conf", "home/.config/pip/pip.conf", "venv/pip.conf", "given.conf"])
def test_each_file_of_pip_is_read(tmp_path: Path, where: str) -> None:
    write(tmp_path / where, f"[global]\nindex-url = {_OWN}\n")
    more = {"PIP_CONFIG_FILE": str(tmp_path / where)} if where == "given.conf" else {}
    assert url(configured(place(tmp_path, **more))) == _OWN


def test_the_environments_file_wins_over_the_users_and_a_variable_over_both(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/pip/pip.conf", f"[global]\nindex-url = {_OTHER}\n")
    write(tmp_path / "venv/pip.conf", f"[global]\nindex_url = {_OWN}\n")
    assert url(configured(place(tmp_path))) == _OWN
    assert url(configured(place(tmp_path, PIP_INDEX_URL=_OTHER))) == _OTHER


def test_the_section_of_the_command_wins(tmp_path: Path) -> None:
    write(tmp_path / "venv/pip.conf", f"[global]\nindex-url = {_OTHER}\n[install]\nindex-url = {_OWN}\n")
    assert url(configured(place(tmp_path))) == _OWN


def test_files_on_windows_and_macos(tmp_path: Path) -> None:
    write(tmp_path / "roaming/pip/pip.ini", f"[global]\nindex-url = {_OWN}\n")
    assert url(configured(place(tmp_path, system="win32", APPDATA=str(tmp_path / "roaming")))) == _OWN
    write(tmp_path / "home/Library/Application Support/pip/pip.conf", f"[global]\nindex-url = {_OTHER}\n")
    assert url(configured(place(tmp_path, system="darwin"))) == _OTHER


@pytest.mark.parametrize(
    "text",
    [
        f'[[index]]\nurl = "{_OTHER}"\n[[index]]\nurl = "{_OWN}"\ndefault = true\n',
        f'index-url = "{_OWN}"\n[[index]]\nurl = "{_OTHER}"\n',
        f'[[index]]\nurl = "{_OTHER}"\nexplicit = true\n[[index]]\nurl = "{_OWN}"\n',
        f'[pip]\nindex-url = "{_OWN}"\n',
    ],
)
@pytest.mark.parametrize("where", ["home/.config/uv/uv.toml", "xdg/uv/uv.toml", "given.toml"])
def test_uvs_files_are_read(tmp_path: Path, text: str, where: str) -> None:
    write(tmp_path / where, text)
    more = {"UV_CONFIG_FILE": str(tmp_path / where)} if where == "given.toml" else {}
    assert url(configured(place(tmp_path, installer="uv", **more))) == _OWN


def test_uv_without_config_files(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/uv/uv.toml", f'index-url = "{_OTHER}"\n')
    assert url(configured(place(tmp_path, installer="uv", UV_NO_CONFIG="1", PIP_INDEX_URL=_OWN))) == _OWN


@pytest.mark.parametrize("given", [{"PIP_NO_INDEX": "1"}, {"UV_NO_INDEX": "true", "installer": "uv"}])
def test_who_wants_no_index_is_not_asked(tmp_path: Path, given: dict[str, str]) -> None:
    assert configured(place(tmp_path, **given)) is None


def test_files_that_want_no_index(tmp_path: Path) -> None:
    write(tmp_path / "venv/pip.conf", f"[global]\nindex-url = {_OWN}\nno-index = true\n")
    assert configured(place(tmp_path)) is None
    write(tmp_path / "home/.config/uv/uv.toml", "no-index = true\n")
    assert configured(place(tmp_path, installer="uv")) is None


def test_broken_files_and_other_shapes_say_nothing(tmp_path: Path) -> None:
    write(tmp_path / "venv/pip.conf", "index-url = no section\n\x00")
    write(tmp_path / "home/.pip/pip.conf", f"[global]\nindex-url = {_OWN}\n")
    write(tmp_path / "home/.config/uv/uv.toml", "index = 7\nindex-url = [")
    write(tmp_path / "xdg/uv/uv.toml", "index = [1, {}, {url = 3}]\npip = 4\n")
    assert url(configured(place(tmp_path, installer="uv"))) == _OWN


def test_files_of_the_working_directory_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "here/uv.toml", f'index-url = "{_OTHER}"\n')
    write(tmp_path / "here/pip.conf", f"[global]\nindex-url = {_OTHER}\n")
    monkeypatch.chdir(tmp_path / "here")
    assert url(configured(place(tmp_path, installer="uv", PIP_INDEX_URL=_OWN))) == _OWN


def test_with_nothing_said_it_is_the_installed_pips_own_default(tmp_path: Path) -> None:
    models = pytest.importorskip("pip._internal.models.index")
    assert url(configured(place(tmp_path))) == models.PyPI.simple_url.rstrip("/") + "/"
    assert url(configured(place(tmp_path, PIP_CONFIG_FILE="/dev/null"))) is not None


@pytest.mark.parametrize("bad", ["file:///srv/index", "../index", "ftp://127.0.0.1/", "http://", "http://[bad/", "not an address"])
def test_what_is_no_web_address_is_not_asked(tmp_path: Path, bad: str) -> None:
    assert configured(place(tmp_path, PIP_INDEX_URL=bad)) is None


def test_credentials_stand_in_a_header_and_not_in_the_address() -> None:
    found = Index.of("https://me:p%40ss@index.test/simple")
    assert found is not None
    assert found.url == "https://index.test/simple/"
    assert found.authorization == f"Basic {base64.b64encode(b'me:p@ss').decode()}"
    assert "p@ss" not in repr(found)
    assert str(found.authorization) not in repr(found)


def test_credentials_do_not_travel_in_clear_text() -> None:
    assert Index.of("http://me:secret@index.test/simple") is None
    assert Index.of("http://me:secret@127.0.0.1:8099/simple") is not None
