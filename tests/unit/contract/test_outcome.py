"""The outcome rule: every combination of the separate facts has one word, and none is made up."""

from __future__ import annotations

import pytest

from benchloop_client.contract.outcome import OUTCOMES, outcome

CASES = [
    ("completed", 1.0, True, None, "passed"),
    ("completed", 1.5, None, None, "passed"),
    ("completed", 0.6, True, None, "partial"),
    ("completed", 0.0, True, None, "failed"),
    ("completed", -1.0, True, None, "failed"),
    ("completed", 0.0, True, "AgentTimeoutError", "failed"),
    ("completed", 1.0, True, "AgentTimeoutError", "passed"),
    ("completed", None, False, "VerifierTimeoutError", "errored"),
    ("completed", 0.0, False, "VerifierTimeoutError", "errored"),
    ("completed", 1.0, False, None, "ungraded"),
    ("completed", None, None, None, "ungraded"),
    ("cancelled", None, None, "CancelledError", "errored"),
    ("running", 1.0, True, None, None),
    ("pending", None, None, None, None),
]


@pytest.mark.parametrize(("status", "reward", "valid", "error", "word"), CASES)
def test_the_rule(status: str, reward: float | None, valid: bool | None, error: str | None, word: str | None) -> None:
    assert outcome(status=status, reward=reward, reward_valid=valid, error_type=error) == word


def test_every_word_has_a_case() -> None:
    assert {case[4] for case in CASES} == {*OUTCOMES, None}
