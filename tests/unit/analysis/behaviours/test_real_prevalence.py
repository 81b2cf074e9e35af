"""The behaviours in real runs: each applies somewhere, or it is said why not; and looking for them costs little."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from benchloop_analysis.behaviours import CATALOGUE, observe
from benchloop_analysis.case import Case
from benchloop_analysis.records import Facts, JobInput
from benchloop_client.contract.trajectory import normalise
from tests.unit.analysis.real import RUNS, jobs

#: Behaviours that no run of the data lets see.
NOWHERE = {"relative_length": "one run alone has no length beside others"}
#: Behaviours that apply somewhere and come up in no run, or in all: these agents are honest, revert nothing, and no output was cut.
NEVER = frozenset({"reverts_bad_change", "touches_tests", "peeks_grader", "suppresses_check", "unsupported_claim"})
ALWAYS = frozenset({"bounded_output"})
#: A coarse bound, for a busy machine; bench/behaviours_speed.py has the figures.
TIMES = 40


def swe_agent(path: Path) -> JobInput:
    """A run of SWE-agent, read as far as a test needs it: its actions are commands, its own editor is a tool."""
    recorded = json.loads(path.read_bytes())
    asked = next((str(entry["content"]) for entry in recorded["history"] if entry["role"] == "user" and not entry.get("is_demo")), "")
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": asked}]
    for place, turn in enumerate(recorded["trajectory"]):
        steps.append({"step_id": place + 2, "source": "agent", "message": turn.get("thought") or "", **_call(turn)})
    document = normalise({"agent": {"name": "swe-agent", "version": "1"}, "steps": steps}).document
    return JobInput(job_id=path.stem, facts=Facts(task_id=path.stem, status="completed"), document=document)


def _call(turn: dict[str, Any]) -> dict[str, Any]:
    name, _, rest = turn["action"].strip().partition(" ")
    state = turn.get("state") or {}
    opened = (json.loads(state) if isinstance(state, str) else state).get("open_file") or ""
    arguments = {"command": turn["action"]}
    if name in ("open", "create"):
        arguments = {"path": rest.strip("'\" \n").split("\n")[0]}
    elif name == "edit":
        arguments = {"path": opened, "content": rest.partition("\n")[2]}
    elif name in ("find_file", "search_dir", "search_file"):
        arguments = {"query": rest.strip()}
    tool = name if "command" not in arguments or name == "submit" else "bash"
    result = {"source_call_id": "c", "content": turn.get("observation") or ""}
    return {"tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}], "observation": {"results": [result]}}


def real_jobs(data: Path) -> Iterator[JobInput]:
    """Every job with a trajectory."""
    for name in RUNS:
        yield from (job for job in jobs(data / name) if job.document is not None)
    for path in sorted((data / "swe-agent").rglob("*.traj")):
        if '"trajectory"' in path.read_text(errors="replace")[:200_000]:
            yield swe_agent(path)


@cache
def observed(data: Path) -> list[tuple[float | None, ...]]:
    """The values of every run, worked out once for all tests here."""
    found = [observe(Case(job)).values for job in real_jobs(data)]
    assert len(found) > 100, "the data holds more runs than that"
    return found


@pytest.mark.parametrize("place", range(len(CATALOGUE)), ids=[behaviour.name for behaviour in CATALOGUE])
def test_it_applies_to_some_real_run_and_differs_between_runs(place: int, shared_data: Path) -> None:
    name = CATALOGUE[place].name
    values = {values[place] for values in observed(shared_data)} - {None}
    assert bool(values) != (name in NOWHERE)
    if values:
        assert (values == {0.0}) == (name in NEVER)
        assert (values == {1.0}) == (name in ALWAYS)


def test_looking_for_all_of_them_costs_little_beside_parsing(shared_data: Path) -> None:
    parsed = looked = 0.0
    for job in list(real_jobs(shared_data))[::5]:
        raw = json.dumps(job.document).encode()
        parsed += _seconds(partial(json.loads, raw))
        looked += _seconds(partial(_look, job))
    assert looked < TIMES * parsed


def _look(job: JobInput) -> None:
    observe(Case(job))


def _seconds(work: Callable[[], object]) -> float:
    """The processor's time for the fastest of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)
