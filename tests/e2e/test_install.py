"""A plain installation: the wheel, with nothing beside it but what the client says it needs, has a working `bl`."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.architecture.source import ROOT

#: What `pip install` of the plain client brings, on any supported Python.
CLIENT_NEEDS = {"backports-zstd", "click", "msgspec", "rich", "tomli", "tomlkit"}
_EVERY_MODULE = """
import importlib, pkgutil, benchloop_client
for module in pkgutil.walk_packages(benchloop_client.__path__, "benchloop_client."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            # These need the extra [analysis].
            missing = isinstance(error, ModuleNotFoundError) and error.name in {"numpy", "yaml", "scipy"}
            assert ".analyze" in module.name and (missing or "benchloop_client[analysis]" in str(error)), (module.name, error)
"""


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _needs(lines: list[str]) -> Iterator[str]:
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _plain(requirement.name)


def _closure(names: set[str]) -> set[str]:
    reached: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += _needs(metadata.distribution(name).requires or [])
    return reached


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def venv(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and, linked from this one, only what the wheel's metadata asks for."""
    folder = tmp_path_factory.mktemp("plain")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "bin" / "python"),
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
        str(wheel),
    ]
    subprocess.run(install, check=True, timeout=60)
    for name in _closure(set(_needs(_metadata(wheel)))):
        _link(metadata.distribution(name), site)
    return folder


def _metadata(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    return [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]


def _link(distribution: metadata.Distribution, site: Path) -> None:
    for file in distribution.files or []:
        target = site / str(file)
        if ".." not in file.parts and not target.exists() and Path(str(file.locate())).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(str(file.locate()))


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)


def test_the_plain_wheel_asks_for_the_clients_needs_only(wheel: Path) -> None:
    plain = {_plain(Requirement(line).name) for line in _metadata(wheel) if "extra ==" not in line}
    assert plain == CLIENT_NEEDS


def test_the_wheel_holds_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"benchloop_analysis", "benchloop_client", "benchloop_server"}


def test_the_wheel_holds_what_pages_are_drawn_with(wheel: Path) -> None:
    server = ROOT / "src" / "benchloop_server"
    files = {path.relative_to(ROOT / "src").as_posix() for room in ("templates", "static") for path in (server / room).rglob("*.*")}
    with zipfile.ZipFile(wheel) as archive:
        assert len(files) > 10 and files <= set(archive.namelist())


@pytest.mark.parametrize("name", ["bl", "bmcli"])
def test_help_and_version_work(venv: Path, name: str) -> None:
    assert _run(venv / "bin" / name, "--version").stdout == f"bmcli {metadata.version('benchloop_client')}\n"
    assert "pull" in _run(venv / "bin" / name, "--help").stdout


def test_every_module_of_the_client_is_importable(venv: Path) -> None:
    done = _run(venv / "bin" / "python", "-c", _EVERY_MODULE)
    assert done.returncode == 0, done.stderr


def test_the_server_says_what_it_lacks(venv: Path) -> None:
    done = _run(venv / "bin" / "benchloop-server", "--help")
    assert done.returncode != 0
    assert "[server]" in done.stderr and "Traceback" not in done.stderr
