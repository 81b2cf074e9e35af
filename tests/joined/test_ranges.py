"""Parts of bodies: any range of any body is the slice of the whole, in every coding, and conditions are answered as the standard says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served, serving

ZSTD = {"Accept-Encoding": "zstd"}
PLAIN: dict[str, str] = {}
BODIES = [
    ("jobs/j1/trajectory", PLAIN),
    ("jobs/j1/trajectory", ZSTD),
    ("jobs/j2/trajectory", PLAIN),
    ("groups/g1/trajectory", PLAIN),
    ("groups/g1/trajectory", ZSTD),
    ("groups/g1/trajectory/lines", PLAIN),
    ("groups/g1/trajectory/lines", ZSTD),
    ("EXPORT", PLAIN),
    ("EXPORT", ZSTD),
    ("jobs/j1/artifacts/download", PLAIN),
    ("groups/g1/bulk/trajectories", PLAIN),
    ("groups/g1/bulk/artifacts", PLAIN),
    ("groups/g1/bulk/metadata", PLAIN),
    ("groups/g1/bulk/artifacts/index", PLAIN),
    ("groups/g1/bulk/artifacts/index", ZSTD),
    ("TASK/trajectories", PLAIN),
    ("TASK/artifacts", PLAIN),
    ("TASK/metadata", PLAIN),
]
NAMES = [f"{path} {'zstd' if headers else 'plain'}" for path, headers in BODIES]


@dataclass
class World:
    """A server with seven jobs, among them large ones, and the whole of each body as it was first answered."""

    served: Served
    export: str
    task: str
    wholes: dict[int, tuple[bytes, str]] = field(default_factory=dict)

    def ask(self, number: int, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        """(status, body, headers) of body `number`."""
        path, coding = BODIES[number]
        path = path.replace("EXPORT", self.export).replace("TASK", f"/openapi/download-tasks/{self.task}/bulk")
        sent = {**coding, **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = self.served.request(method, path if path.startswith("/") else f"/openapi/{path}", headers=sent)
        return answer.status, answer.data, {name.lower(): value for name, value in answer.headers.items()}

    def whole(self, number: int) -> tuple[bytes, str]:
        """The whole body and its ETag."""
        if number not in self.wholes:
            status, body, headers = self.ask(number)
            assert (status, int(headers["content-length"]), headers["accept-ranges"]) == (200, len(body), "bytes")
            self.wholes[number] = body, headers["etag"]
        return self.wholes[number]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One server for the whole module; nothing changes in it."""
    with serving(tmp_path_factory.mktemp("ranges")) as served:
        noise = random.Random(3)
        for n in range(7):
            text = noise.randbytes(40_000 if n in {1, 4} else 30).hex()
            size = 5_000_000 if n == 5 else 3000
            files = {f"{k}.bin": noise.randbytes(size if k == 1 else 100) for k in range(3)}
            lacks = n == 2
            push(served, Sent(f"j{n}", document=None if lacks else document(f"j{n}", "g1", steps=9, text=text), archive=archive(files)))
        task = json.loads(served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": "g1"}).data)["task_id"]
        export = json.loads(served.get("/openapi/groups/g1/trace-trajectory/download").data)["download_url"]
        yield World(served, export, task)


@pytest.mark.parametrize("number", range(len(BODIES)), ids=NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_range_is_the_slice_of_the_whole(world: World, number: int, data: st.DataObject) -> None:
    whole, etag = world.whole(number)
    start = data.draw(st.integers(0, len(whole) - 1))
    stop = data.draw(st.integers(start + 1, min(len(whole), start + 3000)) | st.integers(start + 1, len(whole) + 5))
    status, body, headers = world.ask(number, Range=f"bytes={start}-{stop - 1}", If_Range=etag)
    assert (status, body == whole[start:stop]) == (206, True)
    assert headers["content-range"] == f"bytes {start}-{min(stop, len(whole)) - 1}/{len(whole)}"
    assert headers["etag"] == etag


@pytest.mark.parametrize("number", range(len(BODIES)), ids=NAMES)
def test_the_kinds_of_ranges(world: World, number: int) -> None:
    whole, _ = world.whole(number)
    size = len(whole)
    for text, part in (
        ("bytes=0-0", whole[:1]),
        (f"bytes={size - 1}-", whole[-1:]),
        ("bytes=-7", whole[-7:]),
        (f"bytes=-{size + 9}", whole),
    ):
        status, body, _ = world.ask(number, Range=text)
        assert (status, body == part) == (206, True)
    for text in ("bytes=0-1,5-6", "lines=1-2", "bytes=x-", "bytes=5-3"):
        status, body, headers = world.ask(number, Range=text)
        assert (status, body == whole, "content-range" in headers) == (200, True, False)
    for text in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
        status, _, headers = world.ask(number, Range=text)
        assert (status, headers["content-range"]) == (416, f"bytes */{size}")


@pytest.mark.parametrize("number", range(len(BODIES)), ids=NAMES)
def test_a_range_of_another_version_is_the_whole(world: World, number: int) -> None:
    whole, etag = world.whole(number)
    for tag in (f"W/{etag}", '"other"', etag.strip('"'), "Wed, 21 Oct 2015 07:28:00 GMT"):
        status, body, headers = world.ask(number, Range="bytes=5-", If_Range=tag)
        assert (status, body == whole, "content-range" in headers) == (200, True, False)


@pytest.mark.parametrize("number", range(len(BODIES)), ids=NAMES)
def test_head_is_the_answer_without_its_body(world: World, number: int) -> None:
    whole, etag = world.whole(number)
    _, _, get = world.ask(number)
    status, body, head = world.ask(number, "HEAD", Range="bytes=1-2")
    assert (status, body, int(head["content-length"]), head["etag"]) == (200, b"", len(whole), etag)
    kept = {"content-type", "content-length", "content-encoding", "accept-ranges", "etag", "vary", "cache-control"}
    assert {name: head.get(name) for name in kept} == {name: get.get(name) for name in kept}
    assert world.ask(number, "HEAD", If_None_Match=etag)[0] == 304


def test_codings_have_versions_of_their_own(world: World) -> None:
    tags = {NAMES[number]: world.whole(number)[1] for number in range(len(BODIES)) if not BODIES[number][0].startswith("TASK")}
    assert len(set(tags.values())) == len(tags)


def test_head_of_what_is_not_there(world: World) -> None:
    for path, status in (("groups/nope/bulk/artifacts", 404), ("jobs/j2/artifacts/download", 200), ("uploads/check", 405)):
        answer = world.served.request("HEAD", f"/openapi/{path}")
        assert (answer.status, answer.data) == (status, b"")
