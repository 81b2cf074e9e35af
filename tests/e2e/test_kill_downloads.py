"""`bl` killed at any moment of a download: nothing half-done has a final name, and the same command ends where a clean one ends."""

from __future__ import annotations

import random
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchloop_client.samples import write_large
from tests.support.programs import Bl, Server, finish, serving

_JOBS, _BYTES = 120, 60_000
_KILLS = 4
_GROUP = "G"

pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True)
class Loaded:
    """A server with a group and a download task of all its jobs."""

    bl: Bl
    task: str
    root: Path

    def command(self, what: str) -> list[str]:
        """The command line of a case."""
        return {
            "document": ["trajectory", "download", "-g", _GROUP],
            "artifacts": ["artifacts", "download", "-g", _GROUP],
            "zip": ["trajectory", "download", "--task-id", self.task],
            "pull": ["pull", "-g", _GROUP, "--with", "trajectory,artifacts,metadata"],
        }[what]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """A generated run, pushed."""
    root = tmp_path_factory.mktemp("kill-downloads")
    write_large(root / "run", _JOBS, _BYTES)
    with serving(root / "data") as server:
        bl = _client(server, root)
        assert bl("push", str(root / "run"), "--group", _GROUP, timeout=200).code == 0
        task = bl("download-tasks", "create", "-g", _GROUP).json[0]["task_id"]
        yield Loaded(bl, task, root)


def _client(server: Server, root: Path) -> Bl:
    (root / "home").mkdir()
    return Bl(root / "home", server.origin, server.key())


def _content(path: Path) -> object:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _tree(root: Path) -> dict[str, object]:
    """What has a final name."""
    names = {path: path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and not path.name.endswith(".part")}
    return {name: _content(path) for path, name in names.items() if not name.startswith(".") and "/." not in name}


@pytest.mark.parametrize("what", ["document", "artifacts", "zip", "pull"])
def test_row_24_killed_at_any_moment(loaded: Loaded, tmp_path: Path, what: str) -> None:
    """SIGKILL: what has a final name is right, and the next run ends as a clean one, with nothing left over."""
    command, dice = loaded.command(what), random.Random(what)
    clean = loaded.bl(*command, "-o", str(tmp_path / "clean"), timeout=120)
    assert clean.code == 0, clean
    right = _tree(tmp_path / "clean")
    for number in range(_KILLS):
        process = loaded.bl.start(*command, "-o", str(tmp_path / "killed"))
        time.sleep(clean.seconds * (number + dice.random()) / _KILLS)
        finish(process)
        assert _tree(tmp_path / "killed").items() <= right.items()
    done = loaded.bl(*command, "-o", str(tmp_path / "killed"), timeout=120)
    assert done.code == 0, done
    assert _tree(tmp_path / "killed") == right
    assert [path.name for path in (tmp_path / "killed").rglob("*.part")] == []
    assert loaded.bl("verify", str(tmp_path / "killed")).code == 0
