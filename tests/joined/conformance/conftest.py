"""The two kinds of servers that the statements are tried on: ours, filled once, and a scripted one in every shape."""

from __future__ import annotations

import io
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3

from benchloop_client import client, settings
from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.contract import trajectory
from benchloop_client.samples.generator import write_run
from tests.joined.conformance import protocol
from tests.joined.conformance.protocol import SHAPES, Protocol, Shape
from tests.joined.conformance.running import KEY, Bl
from tests.support import pushing
from tests.support.scripted import Answer, Handler, Scripted, Seen, error, scripted
from tests.support.served import Served, serving

_KEPT_TRIALS = 4
_PNG = b"\x89PNG\r\n\x1a\n-pixels"


@dataclass(frozen=True)
class Held:
    """What a server holds: a group of training steps with its jobs and task ids, a group without steps whose first job has media and whose
    last has no archive, an empty group, a download task of each of the first two, and a behaviour task.
    """

    group: str
    jobs: tuple[str, ...]
    tasks: tuple[str, ...]
    plain: str
    plain_jobs: tuple[str, ...]
    empty: str
    task: str
    task_jobs: tuple[str, ...]
    media_task: str
    uid: str
    steps: tuple[int, ...]


@dataclass
class World:
    """One server to talk to; `raw` asks it directly, so that what `bl` makes of an answer can be told from the answer."""

    name: str
    url: str
    key: str
    held: Held
    bl: Bl
    server: Scripted | None = None
    protocol: Protocol | None = None

    def raw(self, path: str, **query: Any) -> Any:
        """The JSON that a plain GET gets."""
        answer = self.ask("GET", path, fields=query)
        assert answer.status == 200, (path, answer.status, answer.data[:300])
        return json.loads(answer.data)

    def ask(self, method: str, path: str, **options: Any) -> urllib3.BaseHTTPResponse:
        """Any request."""
        headers = {"X-API-Key": self.key, **options.pop("headers", {})}
        with urllib3.PoolManager(retries=False, timeout=30) as pool:
            answer = pool.request(method, self.url + path, headers=headers, **options)
        if self.server is not None:
            del self.server.seen[-1:]
        return answer

    def asked(self, fragment: str = "/openapi/") -> list[tuple[str, str, dict[str, str]]]:
        """(method, path, query) of each request of `bl`; of our own server, which keeps no list, nothing is known."""
        assert self.server is not None
        return [(seen.method, seen.path, seen.query) for seen in self.server.asked(fragment)]

    @property
    def scripted(self) -> Scripted:
        """The scripted server behind it."""
        assert self.server is not None
        return self.server

    def on(self, route: str, answer: Answer | Handler) -> None:
        """Script one call anew."""
        self.scripted.on(route, answer)

    def refuse(self, *routes: str, status: int = 401) -> None:
        """Let these calls, or every call, answer with an error."""
        for route in routes:
            self.on(route, error(status, "refused"))
        if not routes:
            self.scripted.answer = lambda _seen: error(status, "refused")  # type: ignore[method-assign]


def fails_for_want_of_job_ids(world: World, *argv: str) -> bool:
    """Whether the server's job rows have an `id` only, which is enough for `bl jobs` but not for a fan-out; then the command failed."""
    if world.protocol is None or not world.protocol.shape.alias:
        return False
    done = world.bl(*argv)
    assert done.code == 1, str(done)
    assert "job_id" in done.err
    return True


@pytest.fixture(scope="session")
def _ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Held]]:
    folder = tmp_path_factory.mktemp("conformance")
    with serving(folder / "data") as served:
        yield served, _filled(served, folder)


@pytest.fixture(scope="session")
def _scripted() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def bl(monkeypatch: pytest.MonkeyPatch, clean_environment: Path) -> Bl:
    """The client without a server."""
    return Bl(monkeypatch, clean_environment)


@pytest.fixture
def ours(_ours: tuple[Served, Held], bl: Bl) -> World:
    """Our server."""
    served, held = _ours
    return World("ours", served.url, served.key(), held, bl.but(host=served.url, key=served.key()))


@pytest.fixture
def in_shape(_scripted: Scripted, bl: Bl) -> Callable[[Shape], World]:
    """Make a scripted server of a shape."""

    def made(shape: Shape) -> World:
        _scripted.seen.clear()
        _scripted._routes.clear()
        _scripted.__dict__.pop("answer", None)
        _scripted.fallback = _nothing
        return World(shape.name, _scripted.origin, KEY, _SCRIPTED, bl.but(host=_scripted.origin), _scripted, Protocol(_scripted, shape))

    return made


@pytest.fixture
def old(in_shape: Callable[[Shape], World]) -> World:
    """A scripted server in the plainest shape."""
    return in_shape(SHAPES[0])


@pytest.fixture(params=[shape.name for shape in SHAPES])
def foreign(request: pytest.FixtureRequest, in_shape: Callable[[Shape], World]) -> World:
    """The scripted server in one shape after another."""
    return in_shape(next(shape for shape in SHAPES if shape.name == request.param))


@pytest.fixture(params=["ours", *(shape.name for shape in SHAPES)])
def world(request: pytest.FixtureRequest) -> World:
    """Our server, then the scripted one in every shape."""
    if request.param == "ours":
        found: World = request.getfixturevalue("ours")
        return found
    return request.getfixturevalue("in_shape")(next(shape for shape in SHAPES if shape.name == request.param))  # type: ignore[no-any-return]


@pytest.fixture(params=["ours", "scripted"])
def each(request: pytest.FixtureRequest) -> World:
    """Our server, then the scripted one in its plainest shape."""
    found: World = request.getfixturevalue("ours" if request.param == "ours" else "old")
    return found


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output folder that does not exist yet."""
    return tmp_path / "out"


_SCRIPTED = Held(
    group=protocol.GROUP,
    jobs=protocol.JOBS,
    tasks=("task-0", "task-1", "task-2"),
    plain=protocol.PLAIN,
    plain_jobs=protocol.PLAIN_JOBS,
    empty=protocol.EMPTY,
    task=protocol.TASK,
    task_jobs=protocol.JOBS[:3],
    media_task=protocol.MEDIA_TASK,
    uid=protocol.UID,
    steps=(100, 200),
)


def _nothing(seen: Seen) -> Answer:
    return error(404, f"nothing at {seen.path}")


def _filled(served: Served, folder: Path) -> Held:
    """Push a few trials of the sample run as a user does, and two jobs of a group without steps."""
    run_folder = write_run(folder / "run", step=100)
    trials = sorted(path for path in run_folder.iterdir() if path.is_dir())
    for trial in trials[_KEPT_TRIALS:]:
        shutil.rmtree(trial)
    _push(served, str(run_folder), "--group", "g1", "--step", "100")
    media = {"a.png": ("image/png", _PNG)}
    plain = [
        pushing.Sent("q1", "plain", document=_with_media("q1"), archive=pushing.archive({"a.txt": b"a"}), media=media),
        pushing.Sent("q2", "plain", document=pushing.document("q2", "plain")),
    ]
    pushing.push(served, *plain)
    assert served.request("PUT", "/openapi/groups/empty", json={"name": "empty"}).status == 200
    jobs = tuple(json.loads(served.get("/openapi/groups/g1/job-ids").data)["job_ids"])
    tasks = tuple(row["task_id"] for row in json.loads(served.get("/openapi/groups/g1/eval_tasks").data)["tasks"])
    wish = {"groupId": "g1", "steps": [100], "scoringLimit": 32, "sampleSize": 512}
    uid = json.loads(served.request("POST", "/openapi/behavior/tasks", json=wish).data)["uid"]
    return Held("g1", jobs, tasks, "plain", ("q1", "q2"), "empty", _task(served, "g1"), jobs, _task(served, "plain"), uid, (100,))


def _with_media(job: str) -> bytes:
    found = json.loads(pushing.document(job, "plain"))
    uri = f"blmedia/{job}/{pushing.sha(_PNG)}/a.png"
    found["steps"][0]["extra"] = {"media": [{"path": "a.png", "trace_media": {"oss_uri": uri, "mime_type": "image/png"}}]}
    return trajectory.encode(found)


def _task(served: Served, group: str) -> str:
    answer = served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": group})
    assert answer.status in (200, 201), answer.data
    found: str = json.loads(answer.data)["task_id"]
    return found


def _push(served: Served, *argv: str) -> None:
    said = io.StringIO()
    environ = {"BENCHLOOP_HOST": served.url, "BENCHLOOP_API_KEY": served.key()}

    def opened(found: settings.Settings, cancel: threading.Event) -> client.Client:
        return client.Client(found, cancel)

    env = Env(None, io.BytesIO(), said, time.monotonic, lambda flags: settings.load(flags, environ), opened)
    assert run(["push", *argv], env) == 0, said.getvalue()
