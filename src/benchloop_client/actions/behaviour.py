"""Behaviour tasks: started after a look at what the group allows, waited for, listed, and their findings in the documented shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from benchloop_client.actions.events import Noted
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.waiting import Look, Patience, Wait, judged
from benchloop_client.actions.work import Work
from benchloop_client.contract.analysis import MAX_STEPS, SAMPLE_SIZE, SCORING_LIMIT
from benchloop_client.errors import ApiError, IntegrityError, UsageError

__all__ = ["SAMPLE_SIZE", "SCORING_LIMIT", "Wish", "element", "list_element", "run"]

T = TypeVar("T")
_STEPS_A_LINE = 12


@dataclass(frozen=True, slots=True)
class Wish:
    """A task that is asked for. `sample_size` is jobs a step, and only sent where the group has steps."""

    group_id: str
    steps: tuple[int, ...] = ()
    sample_size: int = SAMPLE_SIZE
    scoring_limit: int = SCORING_LIMIT


class StepsWanted(UsageError):
    """The steps do not fit the group; `details` are lines with those that there are."""

    def __init__(self, message: str, available: Sequence[int]) -> None:
        super().__init__(message)
        pieces = [available[start : start + _STEPS_A_LINE] for start in range(0, len(available), _STEPS_A_LINE)]
        self.details = tuple("available steps: " + ", ".join(map(str, piece)) for piece in pieces)


@dataclass(frozen=True, slots=True)
class Steps:
    """What a group offers: `by_step` groups are looked at step by step, the others as a whole."""

    by_step: bool
    available: tuple[int, ...]

    @classmethod
    def of(cls, answer: Any) -> Steps:
        """From an E30 answer in any of its shapes. Raises `IntegrityError` for one that is no object."""
        if not isinstance(answer, dict):
            raise IntegrityError("the answer about the group's steps is not an object")
        rows = answer.get("steps")
        found = [_step(row) for row in rows] if isinstance(rows, list) else []
        available = tuple(dict.fromkeys(step for step in found if step is not None))
        return cls(_by_step(answer, available), available)

    @property
    def mode(self) -> str:
        """The word for it."""
        return "step" if self.by_step else "all_jobs"


def run(work: Work, wish: Wish, *, patience: Patience | None = None) -> tuple[list[Any], Report]:
    """Start the task; returns its record (the answer and `group_id`, `samplingMode`, `task_id`) and what failed.

    With `patience` it waits until the task has been worked off; the record then has the state's fields as well. Raises `UsageError` for
    what the group does not allow, before anything is asked for.
    """
    steps = Steps.of(_plainly(lambda: work.client.behavior_steps(wish.group_id)))
    request = _request(wish, steps)
    answer = _plainly(lambda: work.client.behavior_task_create(request))
    record = dict(answer) if isinstance(answer, dict) else {"result": answer}
    record.setdefault("group_id", wish.group_id)
    record.setdefault("samplingMode", steps.mode)
    uid = record.get("uid")
    if uid is not None:
        record.setdefault("task_id", uid)
    work.watch(Noted(f"brm task submitted: {uid or '(unknown)'} (group={wish.group_id}, mode={steps.mode})"))
    if patience is None:
        return [record], Report(1)
    if not isinstance(uid, str) or not uid:
        return [record], Report(0, (Failure(wish.group_id, IntegrityError("the answer names no uid; there is nothing to wait for")),))
    came = Wait(work, [uid], lambda task: _look(work, task), patience=patience, what="the behaviour task", unit="tasks").until_done()
    return [record | came.answers.get(0, {})], Report(1 - len(came.failures), tuple(came.failures.values()))


def element(work: Work, task_id: str, *, scope: str, layout: Layout) -> Iterator[bytes]:
    """What is known of a task as text; `scope` is overall, detail, status or all."""
    yield layout.value(_plainly(lambda: _scoped(work, task_id, scope)))


def found(work: Work, task_id: str, *, layout: Layout) -> Iterator[bytes]:
    """`{task_id, status, error, summary, behaviorPatterns, categoryScores, model, ...}` of a task as text: the whole answer of E34."""
    answer = _plainly(lambda: work.client.behavior_analysis(task_id))
    yield layout.value({"task_id": task_id, **(answer if isinstance(answer, dict) else {"result": answer})}) + b"\n"


def cancel_element(work: Work, task_id: str, *, layout: Layout) -> Iterator[bytes]:
    """End the task, if it has not ended; its state as text, as of scope `status`."""
    answer = _plainly(lambda: work.client.behavior_task_cancel(task_id))
    yield layout.value(_status_of(answer, task_id))


def list_element(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """`{group_id, total, tasks}` as text: every task of a group, `task_id` being its `uid`."""
    tasks = _listed(work, group_id)
    yield layout.value({"group_id": group_id, "total": len(tasks), "tasks": tasks})


def list_rows(work: Work, group_id: str, *, layout: Layout) -> Iterator[bytes]:
    """The behaviour tasks of a group, each as text with a line end."""
    for task in _listed(work, group_id):
        yield layout.value(task) + b"\n"


def _listed(work: Work, group_id: str) -> list[Any]:
    return [_named(task) for task in _tasks(_plainly(lambda: work.client.behavior_tasks(group_id)))]


def _request(wish: Wish, steps: Steps) -> dict[str, Any]:
    """The body of E31. Raises `UsageError`, in the documented order of checks."""
    group_id = wish.group_id
    if steps.by_step and not wish.steps:
        raise StepsWanted(f"group {group_id} has steps: name 1 to {MAX_STEPS} of them with --steps", steps.available)
    if len(wish.steps) > MAX_STEPS and steps.by_step:
        raise UsageError(f"--steps names {len(wish.steps)} steps; at most {MAX_STEPS} go into one task")
    unknown = [step for step in wish.steps if step not in steps.available]
    if steps.by_step and unknown:
        raise StepsWanted(f"group {group_id} has no step {', '.join(map(str, unknown))}", steps.available)
    if wish.steps and not steps.by_step:
        raise UsageError(f"group {group_id} has no steps, all of its jobs are looked at: leave --steps out")
    _positive("--scoring-limit", wish.scoring_limit)
    request: dict[str, Any] = {"groupId": group_id, "steps": list(wish.steps), "scoringLimit": wish.scoring_limit}
    if steps.by_step:
        _positive("--sample-size", wish.sample_size)
        request["sampleSize"] = wish.sample_size
    return request


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{name} must be greater than 0")


def _by_step(answer: Mapping[str, Any], available: Sequence[int]) -> bool:
    """The first of the documented fields that applies decides."""
    for name in ("samplingMode", "sampling_mode"):
        mode = answer.get(name)
        if isinstance(mode, str) and mode:
            return mode == "step"
    for name in ("hasStep", "has_step"):
        has = answer.get(name)
        if isinstance(has, bool):
            return has
    return bool(available)


def _step(row: Any) -> int | None:
    """A step as servers write it: a whole number, or an object with one; anything else is none."""
    if isinstance(row, dict):
        try:
            return int(row["step"])
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
    if isinstance(row, bool) or not isinstance(row, (int, float)) or row != row or row in (float("inf"), float("-inf")):
        return None
    return int(row) if row == int(row) else None


def _look(work: Work, uid: str) -> Look:
    state = _plainly(lambda: _status(work, uid))
    return judged(state, there=False, words=_words(state))


def _words(state: Mapping[str, Any]) -> str:
    progress = state.get("progress")
    progress = progress if isinstance(progress, dict) else {}
    done, total = progress.get("done"), progress.get("total")
    how_far = f", {done} of {total} jobs" if isinstance(done, int) and isinstance(total, int) else ""
    return f"{state.get('status') or 'no status'}{how_far}"


def _scoped(work: Work, task_id: str, scope: str) -> dict[str, Any]:
    if scope == "status":
        return _status(work, task_id)
    answer = work.client.behavior_analysis(task_id)
    analysis = answer if isinstance(answer, dict) else {}
    about = {"task_id": task_id, "uid": analysis.get("uid", task_id)}
    overall = {**about, "summary": analysis.get("summary"), "categoryScores": analysis.get("categoryScores")}
    detail = {**about, "behaviorPatterns": analysis.get("behaviorPatterns")}
    if scope != "all":
        return overall if scope == "overall" else detail
    status = _status(work, task_id)
    found = {"task_id": task_id, "uid": status["uid"], "status": status, "overall": overall, "detail": detail}
    mode = next((analysis[name] for name in ("samplingMode", "sampling_mode") if analysis.get(name) is not None), None)
    return found if mode is None else {**found, "samplingMode": mode}


def _status(work: Work, task_id: str) -> dict[str, Any]:
    return _status_of(work.client.behavior_task(task_id), task_id)


def _status_of(answer: Any, task_id: str) -> dict[str, Any]:
    found = dict(answer) if isinstance(answer, dict) else {"result": answer}
    found.setdefault("uid", task_id)
    found["task_id"] = task_id
    return found


def _tasks(answer: Any) -> list[Any]:
    """The tasks in an E32 answer: a bare list, a `tasks` list, or one task."""
    if isinstance(answer, list):
        return answer
    if not isinstance(answer, dict):
        return []
    tasks = answer.get("tasks")
    return tasks if isinstance(tasks, list) else [answer]


def _named(task: Any) -> Any:
    return {**task, "task_id": task["uid"]} if isinstance(task, dict) and task.get("uid") is not None else task


def _plainly(ask: Callable[[], T]) -> T:
    """What `ask` answers; a server's error is told in the server's own words alone, as documented for these commands."""
    try:
        return ask()
    except ApiError as error:
        error.message = error.detail
        error.args = (error.detail,)
        raise
