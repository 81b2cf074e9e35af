"""The original client, unopened, against our server: every command it shares with ours exits 0 and brings the same data as ours."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.support.programs import Bl, files_below, serving

_VERSION = "0.2.23"
#: The original needs tens of milliseconds of a core for each request.
_LONG = 240
#: Jobs of a run that are enough for several pages and for every kind of job.
_FEW = 12
_PULL = "metrics,trajectory,artifacts,tasks,jobs"


def _cache() -> Path:
    return Path(os.environ.get("BENCHLOOP_TEST_CACHE") or Path("/var/tmp") / f"benchloop-tests-{os.getuid()}")


def _installed() -> str | None:
    """Path of the original's program: as `BENCHLOOP_TEST_ORIGINAL` says, else from the cache, else installed there now."""
    given = os.environ.get("BENCHLOOP_TEST_ORIGINAL")
    if given:
        return given
    venv = _cache() / f"original-{_VERSION}"
    venv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (venv.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return str(venv / "bin" / "bl") if (venv / "whole").exists() or _install(venv) else None


def _install(venv: Path) -> bool:
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        [
            str(venv / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--retries",
            "1",
            f"benchloop-client=={_VERSION}",
        ],
    )
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True, timeout=100)
    except (subprocess.SubprocessError, OSError):
        return False
    (venv / "whole").touch()
    return True


@pytest.fixture(scope="module")
def original() -> str:
    """The original's program."""
    found = _installed()
    if found is None:
        missing(f"benchloop-client=={_VERSION} cannot be had here")
    return str(found)


@dataclass(frozen=True)
class Pair:
    """Both clients on one server, which holds one run."""

    ours: Bl
    theirs: Bl
    groups: list[str]
    jobs: list[str]
    task: str

    def arguments(self, command: str) -> list[str]:
        """A command line with this run's ids in place of G, J and T."""
        named = {"G": ",".join(self.groups), "J": ",".join(self.jobs), "T": self.task}
        return [named.get(word, word) for word in command.split()]


def _some(source: Path, folder: Path, *, count: int) -> Path:
    """A run with the first few jobs of another: trial folders of Harbor, or attempts in tau-bench's one file."""
    shutil.copytree(source, folder, ignore=lambda place, names: sorted(name for name in names if (Path(place) / name).is_dir())[count:])
    for path in folder.glob("*/gpt-*.json"):
        path.write_text(json.dumps(json.loads(path.read_text("utf-8"))[: 2 * count]), "utf-8")
    return folder


@pytest.fixture(
    scope="module",
    params=[
        ("harbor-kimi/kimi_k2.5", _FEW),
        ("tau-bench", _FEW),
        pytest.param(("harbor-kimi/kimi_k2.5", None), marks=pytest.mark.soak),
        pytest.param(("tau-bench", None), marks=pytest.mark.soak),
    ],
    ids=["harbor", "tau", "all-harbor", "all-tau"],
)
def pair(request: pytest.FixtureRequest, original: str, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both clients, and a server filled by `bl push`: with some jobs of each run, or (`make soak`) with all of them."""
    root = tmp_path_factory.mktemp("pair")
    name, count = request.param
    run = _some(shared_data / name, root / "run", count=count) if count else shared_data / name
    with serving(root / "data") as server:
        ours = server.bl(root / "ours")
        pushed = ours("push", str(run), "--allow-secrets", timeout=180)
        assert pushed.code == 0, str(pushed)
        groups = [row["group_id"] for row in pushed.json]
        rows = ours("jobs", "get", "-g", groups[0], "--all").json[0]["jobs"]
        bare = [row["job_id"] for row in rows if row["n_steps"] is None]
        jobs = list(dict.fromkeys([*bare[:1], *(row["job_id"] for row in rows)]))[:6]
        task = ours("download-tasks", "create", "-g", groups[0]).json[0]["task_id"]
        theirs = Bl(root / "theirs", server.origin, ours.key, program=original)
        theirs.home.mkdir()
        _no_update_check(theirs)
        yield Pair(ours, theirs, groups, jobs, task)


def _no_update_check(client: Bl) -> None:
    """The original asks a public index at each start unless its cache is fresh."""
    path = client.home / "cache" / "benchloop" / "version-check.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"checked_at": time.time(), "latest_version": _VERSION}), encoding="utf-8")


_PRINTS = [
    "metrics get -g G",
    "metrics get -g G --scope overall",
    "metrics get -g G --scope detail",
    "metrics get -j J",
    "trajectory get -j J",
    "trajectory get -g G",
    "overview get -g G",
    "overview get -g G --scope summary",
    "overview get -j J",
    "tasks get -g G",
    "tasks get -g G --page 2 --page-size 7",
    "tasks get -g G --all",
    "tasks get -g G --all --search e",
    "jobs get -g G",
    "jobs get -g G --page 2 --page-size 10",
    "jobs get -g G --all",
    "jobs get -g G --all --page-size 7",
    "jobs get -g G --all --status completed",
    "artifacts download -g G --list-only",
    "artifacts download -j J --list-only",
    "artifacts download --task-id T --list-only",
]
_WRITES = [
    "metrics download -g G",
    "metrics download -j J",
    "trajectory download -g G",
    "trajectory download -j J",
    "trajectory download --task-id T",
    "metadata download --task-id T",
    "tasks download -g G",
    "jobs download -g G",
    "artifacts download -g G",
    "artifacts download -j J",
    "artifacts download --task-id T",
    "artifacts download --task-id T --include *a*",
    f"pull -g G --with {_PULL}",
    f"pull -j J --with {_PULL}",
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", _PRINTS)
def test_original_prints_what_ours_prints(pair: Pair, command: str) -> None:
    """A command that prints: exit 0, and the values that ours prints (ours lists the files in an archive where the answer counts them)."""
    arguments = pair.arguments(command)
    theirs, ours = pair.theirs(*arguments, timeout=_LONG), pair.ours(*arguments)
    assert (theirs.code, ours.code) == (0, 0), f"{theirs}\n{ours}"
    assert "[error]" not in theirs.err + ours.err
    assert _shared(theirs.json) == _shared(ours.json)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", _WRITES)
def test_original_writes_what_ours_writes(pair: Pair, command: str, tmp_path: Path) -> None:
    """A command that writes: exit 0, the same files, JSON equal as values and archives byte for byte."""
    arguments = pair.arguments(command)
    theirs = pair.theirs(*arguments, "-o", str(tmp_path / "theirs"), timeout=_LONG)
    ours = pair.ours(*arguments, "-o", str(tmp_path / "ours"))
    assert (theirs.code, ours.code) == (0, 0), f"{theirs}\n{ours}"
    assert theirs.out == ours.out == ""
    left, right = files_below(tmp_path / "theirs"), files_below(tmp_path / "ours")
    assert left
    assert sorted(left) == sorted(right)
    for name, body in left.items():
        _same(name, body, right[name])


def _shared(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Elements without `members`: our `--list-only` names the files inside an archive where the listing only counts them."""
    return [{key: value for key, value in element.items() if key != "members"} for element in elements]


def _same(name: str, theirs: bytes, ours: bytes) -> None:
    if name.endswith(".json"):
        assert json.loads(theirs) == _without_extras(json.loads(ours), json.loads(theirs)), name
    elif name.endswith(".zip"):
        _same_zip(theirs, ours)
    else:
        assert theirs == ours, name


def _same_zip(theirs: bytes, ours: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(theirs)) as left, zipfile.ZipFile(io.BytesIO(ours)) as right:
        assert right.testzip() is None
        assert left.namelist() == right.namelist()
        for name in left.namelist():
            _same(name, left.read(name), right.read(name))


def _without_extras(ours: Any, theirs: Any) -> Any:
    """A manifest of ours says more than 0.2.23's; nothing else may."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and "successful_jobs" in theirs:
        return {key: value for key, value in ours.items() if key in theirs or key != "source_failures"}
    return ours
