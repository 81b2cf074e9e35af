"""Small groups for tests: a catalogue of five behaviours, of which the first does something, and jobs made by hand or by lot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchloop_analysis.behaviours.records import Behaviour, Features
from benchloop_analysis.brm.table import Observed, Table, TableBuilder

CATALOGUE = (
    Behaviour(id="V9", name="helps", category="verification", prior=1, definition="Does what helps."),
    Behaviour(id="E9", name="useless", category="exploration", prior=1, definition="Goes with easy tasks alone."),
    Behaviour(id="F9", name="ratio", category="efficiency", kind="ratio", prior=-1, definition="A share."),
    Behaviour(id="V8", name="at_the_end", category="verification", timing="terminal", prior=1, definition="Restates the outcome."),
    Behaviour(id="I9", name="cheats", category="integrity", prior=-1, definition="Suspicion: cheats."),
)


def job(name: str, task: str, reward: float | None, values: Sequence[float | None], **more: object) -> Observed:
    """One job. `more`: step, agent, model, reward_valid, n_steps, actions, landmarks, weight."""
    length = int(more.pop("n_steps", 10))  # type: ignore[call-overload]
    features = Features(
        version="t",
        values=tuple(values),
        steps=tuple(() for _ in values),
        n_steps=length,
        actions=str(more.pop("actions", "")),
        landmarks=more.pop("landmarks", {}),  # type: ignore[arg-type]
    )
    given = {"agent": "a", "model": "m", "step": None, "reward_valid": None, **more}
    return Observed(job_id=name, task_id=task, reward=reward, features=features, **given)  # type: ignore[arg-type]


def table(jobs: Sequence[Observed]) -> Table:
    """The table of these jobs."""
    builder = TableBuilder(CATALOGUE, "t")
    for one in jobs:
        builder.add(one)
    return builder.build()


def jobs(
    tasks: int = 64,
    attempts: int = 8,
    *,
    strength: float = 1.5,
    steps: Sequence[int | None] = (None,),
    seed: int = 0,
    reward: str = "binary",
) -> list[Observed]:
    """Attempts at tasks whose ease makes behaviour and reward alike; only `helps` does anything. `m` in the actions goes with it."""
    random = np.random.default_rng(seed)
    found = []
    for task in range(tasks):
        ease = random.normal(-0.3, 1.0)
        for step in steps:
            for attempt in range(attempts):
                odds = 1 / (1 + np.exp(-ease))
                helps, useless, cheats = (float(random.random() < odds) for _ in range(3))
                passed = float(random.random() < 1 / (1 + np.exp(-ease - strength * (helps - 0.5))))
                given = passed if reward == "binary" else passed + 0.3 * random.normal()
                values = (helps, useless, float(random.random()), passed, cheats * (random.random() < 0.1))
                actions = "".join(random.choice(list("rw"), 8)) + ("mr" if helps else "ww")
                length = int(random.integers(6, 30))
                landmarks = {m: (*values[:3], None, *values[4:]) for m in (4, 8) if m < length}
                found.append(
                    job(
                        f"j{task}-{step}-{attempt}",
                        f"t{task}",
                        given,
                        values,
                        step=step,
                        n_steps=length,
                        actions=actions,
                        landmarks=landmarks,
                    )
                )
    return found
