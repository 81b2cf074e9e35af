"""How each attempt of the sample runs ends, and which failures there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ends: its rewards (None: the verifier gave none), their validity, and the exception if there was one.

    `solved` says which moves it makes, `cut` how many of them it comes to (None: all), `finished` whether the trial ended at all.
    """

    rewards: dict[str, float] | None
    valid: bool = True
    exception: str | None = None
    message: str = ""
    solved: bool = False
    cut: int | None = None
    finished: bool = True


PASS = Ending({"reward": 1.0}, solved=True)
WRONG = Ending({"reward": 0.0})
PARTIAL = Ending({"reward": 2 / 3, "checks_passed": 2.0})
TIMEOUT = Ending({"reward": 0.0}, exception="AgentTimeoutError", message="the agent did not finish within 900 seconds", cut=3)
TIMEOUT_SOLVED = Ending(
    {"reward": 1.0}, exception="AgentTimeoutError", message="the agent did not finish within 900 seconds", solved=True, cut=3
)
API_ERROR = Ending(
    None, valid=False, exception="ApiOverloadedError", message="the model's API answered 529 five times in a row", solved=True, cut=1
)
OVERFLOW = Ending(
    {"reward": 0.0}, exception="ContextWindowExceededError", message="the prompt has 131,908 tokens, the model takes 131,072", cut=2
)
NO_REWARD = Ending(
    None, valid=False, exception="RewardFileNotFoundError", message="no reward file at /logs/verifier/reward.txt", solved=True
)
BAD_REWARD = Ending(
    {"reward": 0.0}, valid=False, exception="VerifierOutputParseError", message="reward.json is cut off in line 1", solved=True
)
RUNNING = Ending(None, solved=True, cut=2, finished=False)

#: Endings by training step and task, one an attempt. The agent learns between the steps; one verifier is broken at first.
PLAN: dict[int, dict[str, tuple[Ending, ...]]] = {
    100: {
        "csv-dedupe": (WRONG, PASS, WRONG),
        "pagination-bug": (WRONG, WRONG, PASS),
        "unit-converter": (PARTIAL, PARTIAL, Ending({"reward": 1 / 3, "checks_passed": 1.0})),
        "slow-report": (WRONG, PASS),
        "log-search": (OVERFLOW, OVERFLOW, PASS),
        "chart-reading": (WRONG, PASS, API_ERROR),
        "service-restart": (NO_REWARD, BAD_REWARD, TIMEOUT),
        "slugify": (PASS, WRONG),
    },
    200: {
        "csv-dedupe": (PASS, PASS, WRONG),
        "pagination-bug": (PASS, PASS, PASS),
        "unit-converter": (Ending({"reward": 1.0, "checks_passed": 3.0}, solved=True), PARTIAL, PARTIAL),
        "slow-report": (PASS, PASS),
        "log-search": (PASS, OVERFLOW, PASS),
        "chart-reading": (PASS, PASS, API_ERROR),
        "service-restart": (TIMEOUT_SOLVED, TIMEOUT, RUNNING),
        "slugify": (PASS, PASS),
    },
}
