"""Which jobs are meant: the filters of the job list, also frozen into download tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from benchloop_client.contract.outcome import OUTCOMES
from benchloop_client.contract.resources import Status
from benchloop_server.kit.conditions import Conditions
from benchloop_server.kit.errors import bad_request

STATUSES: tuple[str, ...] = get_args(Status)
#: Free texts of which several can be asked for, as a comma list. Ids are not among them: a task id may hold a comma.
_SEVERAL = ("model", "agent", "error_type", "fail_reason", "sub_fail_reason")
_BIGGEST_STEP = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """All given facts have to fit; None means any. `group_id` None means every group of the workspace.

    `status`, `outcome`, `step`, `model`, `agent`, `error_type`, `fail_reason` and `sub_fail_reason` may be comma lists: one of the values
    has to fit.
    """

    group_id: str | None = None
    template: str | None = None
    status: str | None = None
    instance_id: str | None = None
    outcome: str | None = None
    task_id: str | None = None
    model: str | None = None
    agent: str | None = None
    step: int | str | None = None
    error_type: str | None = None
    reward_valid: bool | None = None
    fail_reason: str | None = None
    sub_fail_reason: str | None = None

    def conditions(self) -> Conditions:
        """Column names and the values they have to have.

        An empty text means not given, except for the group. `status` also takes outcomes, because the documented client can ask for
        nothing else. Raises `DomainError` (400) for a word that is neither, and for a step that is no number.
        """
        given: Conditions = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) not in {None, ""}}
        if self.group_id is not None:
            given["group_id"] = self.group_id
        for name in _SEVERAL:
            if name in given:
                given[name] = _one_of(_texts(str(given[name])))
        if "step" in given:
            given["step"] = _one_of(_steps(str(given["step"])))
        outcomes = _outcomes(given.pop("status", None), given.pop("outcome", None))
        return {**given, **outcomes}


def _outcomes(status: object, outcome: object) -> Conditions:
    """Conditions on lifecycle and outcome: `status` is words of the one or of the other."""
    found: Conditions = {}
    if outcome is not None:
        found["outcome"] = _one_of(_words("outcome", outcome, OUTCOMES))
    if status is None:
        return found
    words = _words("status", status, (*STATUSES, *OUTCOMES))
    if all(word in STATUSES for word in words):
        return {**found, "status": _one_of(words)}
    if any(word in STATUSES for word in words):
        raise bad_request(f"`status` {status!r} mixes states of the lifecycle with outcomes; ask for one kind at a time")
    if outcome is not None and found["outcome"] != _one_of(words):
        raise bad_request(f"`status` {status!r} and `outcome` {outcome!r} exclude each other")
    return {"outcome": _one_of(words)}


def _words(name: str, text: object, known: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(_parts(str(text)))) or (str(text),)
    for word in words:
        if word not in known:
            raise bad_request(f"`{name}` {word!r} is none of {', '.join(known)}")
    return words


def _texts(text: str) -> tuple[str, ...]:
    """The parts of a comma list, and the whole of it: a text may hold a comma itself."""
    return tuple(dict.fromkeys((text, *_parts(text))))


def _steps(text: str) -> tuple[int, ...]:
    parts = _parts(text)
    if not parts or not all(part.isascii() and part.isdigit() and len(part) <= 16 and int(part) <= _BIGGEST_STEP for part in parts):
        raise bad_request(f"`step` {text!r} is no training step, nor several with commas between them, such as 10,20")
    return tuple(dict.fromkeys(map(int, parts)))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _one_of(values: Iterable[str | int]) -> str | int | tuple[str | int, ...]:
    several = tuple(values)
    return several[0] if len(several) == 1 else several
