"""A behaviour task over many rows, over each database: 2,000 jobs of 20 training steps that were observed before."""

from __future__ import annotations

import random

import msgspec
import pytest
from sqlalchemy import insert, update

from benchloop_analysis.behaviours import CATALOGUE, CATALOGUE_VERSION, Features
from benchloop_client.contract.analysis import BehaviorTaskCreate
from benchloop_client.contract.compression import frame
from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.kit.services import Services
from benchloop_server.sql.tables import job_features, jobs, verdicts
from tests.support.analysing import work_off
from tests.support.stores import job, make_group, principal, put

ANN = principal()
STEPS, TASKS, ATTEMPTS = 20, 50, 2
#: A behaviour that goes with reward within the task, and one that goes with easy tasks alone.
HELPS, EASY = 1, 2

pytestmark = pytest.mark.timeout(300)


def _features(passed: bool, ease: float, chance: random.Random) -> bytes:
    values: list[float | None] = [None] * len(CATALOGUE)
    values[HELPS] = float(chance.random() < (0.75 if passed else 0.25))
    values[EASY] = float(chance.random() < ease)
    steps = tuple((7,) if value else () for value in values)
    return frame(msgspec.json.encode(Features(version=CATALOGUE_VERSION, values=tuple(values), steps=steps, n_steps=12)))


def _fill(services: Services) -> None:
    """The jobs, as if they had been pushed and analysed."""
    chance = random.Random(3)
    make_group(services)
    for step in range(STEPS):
        rows = []
        for task in range(TASKS):
            ease = 0.15 + 0.7 * (task / TASKS)
            rows += [(f"s{step}-t{task}-{attempt}", f"t{task}", ease, chance.random() < ease) for attempt in range(ATTEMPTS)]
        put(services, *(job(name, task_id=task, step=step, reward=float(passed), status="completed") for name, task, _, passed in rows))
        with services.db.write() as connection:
            same = {"workspace_id": "default", "fingerprint": "f" * 64}
            ids = [name for name, *_ in rows]
            marked = update(jobs).where(jobs.c.job_id.in_(ids)).values(fingerprint="f" * 64, trajectory_sha256="0" * 64, reward_valid=True)
            connection.execute(marked)
            judged = {**same, "rules_digest": "", "context": "", "stale": False, "judged_at": 0}
            connection.execute(insert(verdicts), [{**judged, "job_id": name} for name in ids])
            seen = {**same, "catalogue_version": CATALOGUE_VERSION, "observed_at": 0}
            connection.execute(
                insert(job_features),
                [{**seen, "job_id": name, "features": _features(passed, ease, chance)} for name, _, ease, passed in rows],
            )


def test_what_helps_is_told_from_what_is_easy(services: Services) -> None:
    _fill(services)
    asked = BehaviorTaskCreate(group_id="g1", steps=list(range(STEPS)), sample_size=60)
    uid = behaviour.create(services, ANN, asked).uid
    work_off(services)
    found = behaviour.analysis(services, ANN, uid)
    assert (found.status, found.error) == ("succeeded", None)
    assert found.provenance is not None
    samples = found.provenance["samples"]
    assert [(sample["step"], sample["requested"]) for sample in samples] == [(step, 60) for step in range(STEPS)]
    assert all(60 <= sample["jobs"] < 100 for sample in samples)
    by_id = {pattern["id"]: pattern for pattern in found.behavior_patterns}
    helps, easy = by_id[CATALOGUE[HELPS].id], by_id[CATALOGUE[EASY].id]
    assert (helps["status"], easy["status"]) == ("supported", "no_evidence")
    assert helps["rd_ci"]["low"] > 0.2
    assert easy["pooled_p"] < 0.01
    assert {step for example in helps["examples"] for step in example["steps"]} == {7}
    assert found.model is not None
    assert found.model["predicts"] is True, found.model["says"]
