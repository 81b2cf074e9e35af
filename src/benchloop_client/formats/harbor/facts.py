"""The facts of one trial, from its result or, while it runs, from its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchloop_client.contract.resources import JobFacts, Phase, Source
from benchloop_client.formats.harbor import READER, READER_VERSION
from benchloop_client.formats.harbor.layout import agent_key
from benchloop_client.formats.harbor.rewards import read_reward
from benchloop_client.formats.jsonfile import count, listing, mapping, number, text
from benchloop_client.formats.records import ReadOptions
from benchloop_client.formats.times import utc

_PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
_MESSAGE_LIMIT = 4000
_TOKENS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens")


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """The parsed JSON files of one trial; `result` is None while it runs."""

    name: str
    config: dict[str, Any]
    lock: dict[str, Any]
    result: dict[str, Any] | None


def trial_facts(trial: TrialFiles, run_id: str, options: ReadOptions) -> JobFacts:
    """The facts of a trial.

    `task_id` and `instance_id` are Harbor's task name, `template` its dataset (`source`). `trial_key` is the run's id and the trial's
    name, both known from the start, so a running trial keeps its job id when it ends. Harbor numbers no attempts: start times order them.
    """
    result = trial.result
    base: dict[str, Any] = {
        "trial_key": f"{run_id}/{trial.name}",
        "task_id": task_name(trial),
        "instance_id": task_name(trial),
        "template": _dataset(trial),
        "step": options.step,
        "source": Source(format="harbor", reader=READER, reader_version=READER_VERSION, location=trial.name),
        **_agent(trial, options),
    }
    if result is None:
        return JobFacts(status="running", meta=_meta(trial, {}), **base)
    exception = _exception(result)
    reward = read_reward(result, exception, options.reward_key)
    cancelled = exception.get("exception_type") == "CancelledError" and reward.value is None
    return JobFacts(
        status="cancelled" if cancelled else "completed",
        error_type=_error_type(exception),
        error_message=_shortened(text(exception.get("exception_message"))),
        reward=reward.value,
        reward_key=reward.key,
        rewards=reward.rewards,
        reward_valid=reward.valid,
        started_at=utc(result.get("started_at")),
        finished_at=utc(result.get("finished_at")),
        phases=_phases(result),
        meta=_meta(trial, exception),
        **_usage(result),
        **base,
    )


def task_name(trial: TrialFiles) -> str:
    """The task's name: as in the result, and before there is one as the lock or the configuration tell it."""
    task = mapping(trial.config.get("task"))
    named = (
        text((trial.result or {}).get("task_name")),
        text(mapping(trial.lock.get("task")).get("name")),
        text(task.get("name")),
    )
    path = text(task.get("path"))
    return next(filter(None, named), None) or (Path(path).name if path else "") or trial.name.rpartition("__")[0] or trial.name


def _dataset(trial: TrialFiles) -> str | None:
    return (
        text((trial.result or {}).get("source"))
        or text(mapping(trial.config.get("task")).get("source"))
        or text(mapping(trial.lock.get("task")).get("source"))
    )


def _agent(trial: TrialFiles, options: ReadOptions) -> dict[str, Any]:
    info = mapping((trial.result or {}).get("agent_info"))
    key = agent_key(trial.config)
    model = mapping(info.get("model_info"))
    recorded = "/".join(filter(None, (text(model.get("provider")), text(model.get("name"))))) or None
    return {
        "agent": text(info.get("name")) or key.agent,
        "agent_version": text(info.get("version")),
        "model": options.model or key.model or recorded,
    }


def _exception(result: dict[str, Any]) -> dict[str, Any]:
    """The trial's exception, else the first one of its steps."""
    own = mapping(result.get("exception_info"))
    of_steps = (mapping(mapping(step).get("exception_info")) for step in listing(result.get("step_results")))
    return own or next(filter(None, of_steps), {})


def _error_type(exception: dict[str, Any]) -> str | None:
    return (text(exception.get("exception_type")) or "UnknownError") if exception else None


def _shortened(message: str | None) -> str | None:
    """Very long messages are cut in the fact, visibly; the whole one is in `result.json` of the archive."""
    if message is None or len(message) <= _MESSAGE_LIMIT:
        return message
    return f"{message[:_MESSAGE_LIMIT]}… ({len(message)} characters, whole in result.json)"


def _usage(result: dict[str, Any]) -> dict[str, Any]:
    """Tokens and cost of the trial; a multi-step trial has them per step only, and what no step records stays None."""
    own = mapping(result.get("agent_result"))
    parts = [own] if own else [mapping(mapping(step).get("agent_result")) for step in listing(result.get("step_results"))]
    usage: dict[str, Any] = {}
    for key in _TOKENS:
        known = [amount for amount in (count(part.get(key)) for part in parts) if amount is not None]
        usage[key] = sum(known) if known else None
    costs = [cost for cost in (number(part.get("cost_usd")) for part in parts) if cost is not None]
    usage["cost_usd"] = sum(costs) if costs else None
    return usage


def _phases(result: dict[str, Any]) -> dict[str, Phase]:
    found = {}
    for name in _PHASES:
        spans = [mapping(result.get(name))]
        if not spans[0]:
            spans = [mapping(mapping(step).get(name)) for step in listing(result.get("step_results"))]
        starts = [moment for moment in (utc(span.get("started_at")) for span in spans) if moment]
        ends = [moment for moment in (utc(span.get("finished_at")) for span in spans) if moment]
        if starts or ends:
            found[name] = Phase(started_at=min(starts, default=None), finished_at=max(ends, default=None))
    return found


def _meta(trial: TrialFiles, exception: dict[str, Any]) -> dict[str, Any]:
    """What else a reader of the job may want, without the configuration: that stays in the archive, it can hold environment values."""
    result = trial.result or {}
    steps = [mapping(step) for step in listing(result.get("step_results"))]
    meta = {
        "trial_name": trial.name,
        "trial_id": result.get("id"),
        "task_checksum": result.get("task_checksum"),
        "task_digest": mapping(trial.lock.get("task")).get("digest"),
        "task_ref": result.get("task_id"),
        "verifier_environment_mode": result.get("verifier_environment_mode"),
        "model_usage": mapping(result.get("agent_result")).get("model_usage"),
        "exception_policy": exception.get("policy"),
        "exception_at": utc(exception.get("occurred_at")),
        "trial_steps": [_step_meta(step) for step in steps] or None,
    }
    return {key: value for key, value in meta.items() if value is not None}


def _step_meta(step: dict[str, Any]) -> dict[str, Any]:
    verdict = mapping(step.get("verifier_result"))
    return {
        "step_name": step.get("step_name"),
        "rewards": verdict.get("rewards"),
        "error_type": _error_type(mapping(step.get("exception_info"))),
    }
