"""What a behaviour task may ask of a group: the rules of E31, each refusal a sentence. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec

from benchloop_client.contract.analysis import LARGEST, MAX_STEPS, SAMPLE_SIZE, BehaviorTaskCreate, SamplingMode
from benchloop_client.contract.resources import Group
from benchloop_client.contract.version import __version__
from benchloop_server.kit.errors import unprocessable

_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A task as it is kept: `steps` ascending, each once, empty in mode `all_jobs`; `sample_size` per step, None in mode `all_jobs`."""

    group_id: str
    sampling_mode: SamplingMode
    steps: tuple[int, ...]
    sample_size: int | None
    scoring_limit: int

    def live_key(self, data_digest: str) -> str:
        """The same for equal wishes over equal data. Another version of this program may see more in them."""
        wish = [self.group_id, self.sampling_mode, self.steps, self.sample_size, self.scoring_limit, data_digest, __version__]
        return hashlib.sha256(msgspec.json.encode(wish)).hexdigest()


def mode_of(group: Group) -> SamplingMode:
    """A group whose jobs belong to training steps is looked at step by step."""
    return "step" if group.steps else "all_jobs"


def plan_of(asked: BehaviorTaskCreate, group: Group) -> Plan:
    """What is asked, checked against the group. Raises `DomainError` (422) with what to do about it."""
    mode = mode_of(group)
    thing = f"group {group.group_id!r}"
    if not group.present:
        raise unprocessable(f"{thing} has no jobs yet")
    if asked.sampling_mode not in {None, mode}:
        why = "its jobs belong to steps" if mode == "step" else "its jobs belong to no steps"
        raise unprocessable(f"{thing} is looked at in samplingMode {mode!r}, not {asked.sampling_mode!r}: {why}")
    _check_number("scoringLimit", asked.scoring_limit)
    if mode == "step":
        steps, sample_size = _steps(thing, asked, group), asked.sample_size if asked.sample_size is not None else SAMPLE_SIZE
        _check_number("sampleSize", sample_size)
        return Plan(group_id=group.group_id, sampling_mode=mode, steps=steps, sample_size=sample_size, scoring_limit=asked.scoring_limit)
    for name, given in (("steps", asked.steps), ("sampleSize", asked.sample_size is not None)):
        if given:
            raise unprocessable(f"{thing} has no steps, all of its jobs are looked at: leave `{name}` out")
    return Plan(group_id=group.group_id, sampling_mode=mode, steps=(), sample_size=None, scoring_limit=asked.scoring_limit)


def _steps(thing: str, asked: BehaviorTaskCreate, group: Group) -> tuple[int, ...]:
    steps = tuple(sorted(set(asked.steps)))
    if not steps:
        raise unprocessable(f"{thing} has steps: name 1 to {MAX_STEPS} of them in `steps`; there are {_listed(group.steps)}")
    if len(steps) > MAX_STEPS:
        raise unprocessable(f"{len(steps)} steps are too many for one task; name at most {MAX_STEPS}")
    unknown = sorted(set(steps) - set(group.steps))
    if unknown:
        raise unprocessable(f"{thing} has no step {_listed(unknown)}; there are {_listed(group.steps)}")
    return steps


def _check_number(name: str, number: int) -> None:
    if not 1 <= number <= LARGEST:
        raise unprocessable(f"`{name}` has to be from 1 to {LARGEST}, not {number}")


def _listed(steps: list[int]) -> str:
    more = len(steps) - _SHOWN
    return ", ".join(map(str, steps[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
