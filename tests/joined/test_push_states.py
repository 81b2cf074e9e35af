"""Any order and any repetition of the same pushes ends in the same state: an idempotent upsert, against a model in a dictionary."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.attempts import Numbered, renumber
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.metrics import service as metrics
from tests.support.stores import job, make_group, principal, put, services_over, sqlite

IDS = st.sampled_from([f"j{number}" for number in range(6)])
FACTS = st.fixed_dictionaries(
    {"task_id": st.sampled_from(["a", "b"]), "reward": st.sampled_from([None, 0.0, 0.5, 1.0])},
    optional={"step": st.sampled_from([0, 1]), "started_at": st.sampled_from([f"2026-01-01T00:00:0{second}Z" for second in range(3)])},
)


class Pushes(RuleBasedStateMachine):
    """Batches of jobs and repetitions of earlier batches; the model keeps the last facts of each job."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, dict[str, Any]] = {}
        self.batches: list[list[dict[str, Any]]] = []
        self.open = ExitStack()

    @initialize()
    def start(self) -> None:
        folder = Path(self.open.enter_context(tempfile.TemporaryDirectory()))
        self.services = services_over(self.open.enter_context(sqlite(folder)), folder / "scratch")
        make_group(self.services)

    def teardown(self) -> None:
        self.open.close()

    @rule(batch=st.dictionaries(IDS, FACTS, min_size=1, max_size=4))
    def push(self, batch: dict[str, dict[str, Any]]) -> None:
        self.send([job(job_id, **facts) for job_id, facts in batch.items()])

    @rule(data=st.data())
    def push_again(self, data: st.DataObject) -> None:
        if self.batches:
            self.send(data.draw(st.sampled_from(self.batches)))

    def send(self, batch: list[dict[str, Any]]) -> None:
        self.batches.append(batch)
        states = put(self.services, *batch)
        for each, state in zip(batch, states, strict=True):
            before = self.model.get(each["job_id"])
            assert state == ("new" if before is None else "unchanged" if before == each["facts"] else "updated")
            self.model[each["job_id"]] = each["facts"]

    @invariant()
    def rows_are_the_model(self) -> None:
        page = jobs.page(self.services, principal(), JobFilter(group_id="g1"), part=Window(limit=100))
        assert [each.job_id for each in page.jobs] == list(self.model)
        for each in page.jobs:
            facts = self.model[each.job_id]
            assert (each.task_id, each.reward, each.step) == (facts["task_id"], facts["reward"], facts.get("step"))
        assert {each.job_id: each.attempt for each in page.jobs} == _numbers(self.model)

    @invariant()
    def numbers_are_the_model(self) -> None:
        summary = metrics.eval_summary(self.services, principal(), "g1")
        rewards = [facts["reward"] for facts in self.model.values()]
        assert summary.outcomes.passed == rewards.count(1.0)
        assert (summary.outcomes.partial, summary.outcomes.failed) == (rewards.count(0.5), rewards.count(0.0))


def _numbers(model: dict[str, dict[str, Any]]) -> dict[str, int]:
    seconds = {job_id: facts.get("started_at") for job_id, facts in model.items()}
    known = [
        Numbered(job_id, facts["task_id"], facts.get("step"), None if seconds[job_id] is None else int(seconds[job_id][-2]), None, 0)
        for job_id, facts in model.items()
    ]
    return renumber(known)


Pushes.TestCase.settings = settings(max_examples=20, stateful_step_count=10, deadline=None)
TestPushes = Pushes.TestCase
