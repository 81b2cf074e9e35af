"""A failed run beside one of the same task that passed: where their calls part, and what the one did that the other did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchloop_analysis.records import Event, Phase, Struct, Trajectory

#: Calls of a passing run that are kept for comparison.
CALLS = 400
_TEXT = 100
_TARGETS = 2
_CHECKS = frozenset({"test", "build"})
#: Calls that do nothing to the task are no place where two runs part.
_IDLE = frozenset({"plan", "noop"})


class Call(Struct, frozen=True, kw_only=True):
    """A call as it is compared: `signature` says what it does and on what, `text` shows it (at most 100 characters, from the run)."""

    step_id: int
    signature: str
    text: str


class Outline(Struct, frozen=True, kw_only=True):
    """What is kept of a run that passed: its first calls, and the sums that a comparison needs. Small enough to store for each task."""

    job_id: str
    calls: tuple[Call, ...]
    n_steps: int
    n_calls: int
    n_errors: int
    kinds: Mapping[str, int]
    phases: str
    seconds: float | None
    checked_after_change: bool | None


class Comparison(Struct, frozen=True, kw_only=True):
    """How a run differs from the passing run `sibling`.

    `same` calls in a row were alike from the beginning; then this run did `mine` and the other `theirs` (None: it had ended). `differences`
    are sentences.
    """

    sibling: str
    same: int
    mine: Call | None
    theirs: Call | None
    differences: tuple[str, ...]
    sibling_steps: int
    sibling_seconds: float | None


def outline(job_id: str, trajectory: Trajectory) -> Outline:
    """What to keep of a run."""
    return Outline(
        job_id=job_id,
        calls=tuple(calls(trajectory.events))[:CALLS],
        n_steps=trajectory.n_steps,
        n_calls=trajectory.n_calls,
        n_errors=trajectory.n_errors,
        kinds=trajectory.kinds,
        phases=trajectory.phases,
        seconds=trajectory.seconds,
        checked_after_change=checked_after_change(trajectory.events),
    )


def calls(events: Iterable[Event]) -> Iterator[Call]:
    """The calls as they are compared; those that do nothing to the task are left out."""
    for event in events:
        if event.tool is not None and event.kind not in _IDLE:
            yield Call(step_id=event.step_id, signature=signature(event), text=shown(event))


def signature(event: Event) -> str:
    """What a call does and on what: its kind, the programs or tool, and the files by their names; arguments do not count."""
    what = "+".join(dict.fromkeys(command.program for command in event.commands)) if event.commands else event.tool or ""
    names = sorted({path.rstrip("/").rpartition("/")[2] for path in event.paths} - {""})
    return f"{event.kind} {what} {' '.join(names[:_TARGETS])}".strip()


def shown(event: Event) -> str:
    """The call on one line: the command, or the tool and what it is asked about."""
    if event.command is not None:
        said = event.command
    else:
        first = next((value for value in event.arguments.values() if isinstance(value, str) and value), "")
        said = f"{event.tool} {first}".strip()
    return said if len(said) <= _TEXT else said[: _TEXT - 1] + "…"


def checked_after_change(events: Iterable[Event]) -> bool | None:
    """Whether something was run or tested after the last change to a file; None where nothing was changed."""
    found: bool | None = None
    for event in events:
        phase: Phase = event.phase
        if phase == "I":
            found = False
        elif phase == "V" and found is False and event.kind in {"test", "build", "run"}:
            found = True
    return found


def compare(trajectory: Trajectory, sibling: Outline) -> Comparison:
    """The run of `trajectory`, which failed, beside one that passed."""
    mine = list(calls(trajectory.events))
    same = 0
    for own, other in zip(mine, sibling.calls, strict=False):
        if own.signature != other.signature:
            break
        same += 1
    return Comparison(
        sibling=sibling.job_id,
        same=same,
        mine=mine[same] if same < len(mine) else None,
        theirs=sibling.calls[same] if same < len(sibling.calls) else None,
        differences=tuple(_differences(trajectory, sibling)),
        sibling_steps=sibling.n_steps,
        sibling_seconds=sibling.seconds,
    )


def _differences(trajectory: Trajectory, sibling: Outline) -> Iterable[str]:
    """What differs in kind, not in small numbers."""
    checked = checked_after_change(trajectory.events)
    if checked is False and sibling.checked_after_change:
        yield "The passing run ran or tested its work after its last change; this run did not."
    if checked is None and sibling.checked_after_change is not None:
        yield "The passing run changed files; this run changed none."
    own_checks, other_checks = _count(trajectory.kinds, _CHECKS), _count(sibling.kinds, _CHECKS)
    if other_checks > 0 and own_checks == 0:
        yield f"The passing run ran tests or builds ({other_checks} of its calls); this run ran none."
    if trajectory.n_calls and sibling.n_calls:
        own, other = trajectory.n_errors / trajectory.n_calls, sibling.n_errors / sibling.n_calls
        if trajectory.n_errors >= 3 and own >= 2 * other:
            here, there = f"{trajectory.n_errors} of {trajectory.n_calls} calls", f"{sibling.n_errors} of {sibling.n_calls}"
            yield f"{here} of this run ended in an error, {there} of the passing run."
    if trajectory.n_steps >= 2 * sibling.n_steps > 0:
        yield f"This run took {trajectory.n_steps} steps, the passing run {sibling.n_steps}."
    if 0 < 2 * trajectory.n_steps <= sibling.n_steps:
        yield f"This run ended after {trajectory.n_steps} steps, the passing run went on for {sibling.n_steps}."


def _count(kinds: Mapping[str, int], wanted: frozenset[str]) -> int:
    return sum(kinds.get(kind, 0) for kind in wanted)
