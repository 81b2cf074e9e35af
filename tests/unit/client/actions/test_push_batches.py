"""Batches of a push: several under way at once, committed in the order of the run, few requests whatever the number of jobs."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions.push import Request, push
from benchloop_client.actions.push_batches import BATCH_JOBS
from benchloop_client.actions.work import Work
from benchloop_client.errors import ApiError, Cancelled, NetworkError
from tests.unit.client.actions.test_push_action import Store, _atif

_JOBS = 3 * BATCH_JOBS + 7


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more jobs than three batches hold."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(_JOBS):
        (folder / f"t{number:04}.json").write_bytes(_atif(number))
    return folder


class Watched(Store):
    """A store that does something at each bundle, and remembers how many came at once."""

    def __init__(self, at_bundle: Callable[[int], None] = lambda _number: None) -> None:
        super().__init__()
        self._at_bundle = at_bundle
        self._lock = threading.Lock()
        self._bundles = self._now = self.most = 0

    def uploads_bundle(self, body: Any) -> Any:
        with self._lock:
            self._bundles += 1
            number = self._bundles
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            self._at_bundle(number)
            return super().uploads_bundle(body)
        finally:
            with self._lock:
                self._now -= 1


def _push(store: Store, run: Path) -> Any:
    return push(Work(store), Request(run, group="g")).groups[0]  # type: ignore[arg-type]


def test_jobs_are_committed_in_the_order_of_the_run(many: Path) -> None:
    second = threading.Event()
    store = Watched(lambda number: second.set() if number > 1 else second.wait(60) and None)
    assert _push(store, many).new == _JOBS
    names = [job.facts.task_id for job in store.groups["g"].values()]
    assert names == sorted(names)
    assert store.most == 2


def test_requests_are_a_few_for_each_batch(many: Path) -> None:
    store = Store()
    _push(store, many)
    counts = Counter(store.requests)
    assert counts["jobs_put"] == 4
    assert counts["uploads_check"] <= 2 * 4
    assert counts["uploads_bundle"] <= 2 * 4
    assert counts["upload_put"] == counts["jobs_check"] == 0


def test_a_second_push_only_asks(many: Path) -> None:
    store = Store()
    _push(store, many)
    store.requests.clear()
    assert _push(store, many).unchanged == _JOBS
    assert Counter(store.requests) == {"group": 2, "group_put": 1, "jobs_check": 4}


def _reset(number: int) -> None:
    if number == 2:
        raise NetworkError("connection reset")


def test_the_error_of_a_batch_is_what_is_told_and_the_next_push_completes(many: Path) -> None:
    store, clean = Watched(_reset), Store()
    with pytest.raises(NetworkError, match="connection reset"):
        _push(store, many)
    assert len(store.groups["g"]) < _JOBS
    _push(store, many)
    _push(clean, many)
    assert store.jobs_of("g") == clean.jobs_of("g")


class Breaking(Store):
    """Keeps half of a bundle and then breaks off, or refuses what stands in the middle; remembers the items of each bundle."""

    def __init__(self, *, refuses: bool) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self._refuses = refuses

    def uploads_bundle(self, body: Any) -> Any:
        items = _items(b"".join(body.open()))
        self.sizes.append(len(items))
        bad = len(items) // 2 if len(self.sizes) == 1 else len(items)
        for item, data in items[:bad]:
            self._keep(item["kind"], item["sha256"], data, item["encoding"])
        if bad < len(items) and self._refuses:
            raise ApiError(422, "an item cannot be taken")
        if bad < len(items):
            # As the engine does: what is to be sent again is asked for first.
            return self.uploads_bundle(body.anew())
        return None


def _items(raw: bytes) -> list[tuple[dict[str, Any], bytes]]:
    found = []
    while raw:
        line, _, raw = raw.partition(b"\n")
        item = json.loads(line)
        found.append((item, raw[: item["length"]]))
        raw = raw[item["length"] :]
    return found


@pytest.mark.parametrize("refuses", [False, True])
def test_of_a_bundle_that_broke_off_only_the_rest_is_sent(tmp_path: Path, refuses: bool) -> None:
    for number in range(20):
        (tmp_path / f"t{number:04}.json").write_bytes(_atif(number))
    store = Breaking(refuses=refuses)
    assert _push(store, tmp_path).new == 20
    first = store.sizes[0]
    assert store.sizes == [first, first - first // 2 - refuses]
    assert store.requests.count("upload_put") == refuses


def test_a_cancel_ends_it_within_a_second(many: Path) -> None:
    store = Watched()
    store._at_bundle = lambda _number: store.cancel.set()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        _push(store, many)
    assert time.monotonic() - began < 30  # the run is read first, on whatever machine this is
    assert len(store.groups["g"]) < _JOBS
