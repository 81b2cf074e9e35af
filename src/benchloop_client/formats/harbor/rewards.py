"""What a Harbor result says about rewards: every key, the primary one, and whether it may be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchloop_client.formats.jsonfile import mapping, number, text

#: Exceptions after which Harbor itself says that no reward is valid: the environment never ran, or the verifier failed. Used only for
#: legacy results, which do not record the policy; an unknown type says nothing.
_NO_VALID_REWARD = frozenset(
    {
        "AddTestsDirError",
        "DownloadVerifierDirError",
        "EnvironmentBuildTimeoutError",
        "EnvironmentStartTimeoutError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "SandboxBuildFailedError",
        "VerifierOutputParseError",
        "VerifierTimeoutError",
    }
)


@dataclass(frozen=True, slots=True)
class Reward:
    """All reward keys of a trial, and the primary one with its value and validity."""

    rewards: dict[str, float | None]
    key: str | None
    value: float | None
    valid: bool | None


def read_reward(result: dict[str, Any], exception: dict[str, Any], wanted: str | None) -> Reward:
    """The rewards in a trial's result. `wanted` is the caller's `--reward-key`; it wins where the trial has that key."""
    given = mapping(mapping(result.get("verifier_result")).get("rewards"))
    rewards = {key: _finite(value) for key, value in given.items()}
    key = primary_key(rewards, wanted)
    value = rewards[key] if key is not None else None
    return Reward(rewards, key, value, _validity(result, exception, value))


def primary_key(rewards: dict[str, float | None], wanted: str | None) -> str | None:
    """The key asked for if it is there, else `reward`, else the only key, else none."""
    for key in (wanted, "reward"):
        if key is not None and key in rewards:
            return key
    return next(iter(rewards)) if len(rewards) == 1 else None


def _finite(value: Any) -> float | None:
    amount = number(value)
    return amount if amount is not None and math.isfinite(amount) else None


def _validity(result: dict[str, Any], exception: dict[str, Any], value: float | None) -> bool | None:
    """What the result says, else what the exception's policy says, else None.

    A legacy result with a reward and no word about it leaves the question open: its reward still grades, but is not called valid. No
    reward after an exception, or after one of the failures above, is not valid.
    """
    said = result.get("reward_valid")
    if isinstance(said, bool):
        return said
    if value is None:
        return False if exception else None
    allowed = mapping(exception.get("policy")).get("has_valid_reward")
    if isinstance(allowed, bool):
        return allowed
    return False if text(exception.get("exception_type")) in _NO_VALID_REWARD else None
