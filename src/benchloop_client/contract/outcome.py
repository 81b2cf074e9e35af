"""The rule that turns a job's separate facts into one word. Its version is stored beside each word, so that a changed rule can be told."""

from __future__ import annotations

from typing import Literal

RULE_VERSION = 1

Outcome = Literal["passed", "partial", "failed", "errored", "ungraded"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "partial", "failed", "errored", "ungraded")


def outcome(*, status: str, reward: float | None, reward_valid: bool | None, error_type: str | None) -> Outcome | None:
    """passed: reward at least 1; partial: between 0 and 1; failed: 0 or less; errored: an error and no valid reward; ungraded: neither.

    None while the job has not ended. A reward known to be invalid does not grade; a reward whose validity is unknown does.
    """
    if status in {"pending", "running"}:
        return None
    if reward is None or reward_valid is False:
        return "errored" if error_type else "ungraded"
    if reward >= 1:
        return "passed"
    return "partial" if reward > 0 else "failed"
