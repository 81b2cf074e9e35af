"""The words of reports: what each reason, tier and fault side means to somebody who sees it for the first time."""

from __future__ import annotations

from benchloop_analysis.records import Tier

#: Reason → what it means in a few words, and what would change such a verdict.
REASONS: dict[str, tuple[str, str]] = {
    "verifier_error": (
        "The grading did not work.",
        "Grade the same result again. A test report that is written to its end replaces this verdict.",
    ),
    "environment_error": (
        "The machine or network that the agent was given broke.",
        "Run the job again in a sound environment. If it fails there as well, the reason lies elsewhere.",
    ),
    "harness_error": (
        "The program that runs the agent broke.",
        "Repair the harness and run the job again. If it fails as well, the reason lies elsewhere.",
    ),
    "model_api_error": (
        "The model's service refused or failed.",
        "Run the job again while the service answers. If it fails as well, the reason lies elsewhere.",
    ),
    "limit_exhausted": (
        "The agent ran into a limit of time, turns, tokens or cost.",
        "Run the job again with a higher limit. A limit is a symptom: look at what the time went to.",
    ),
    "agent_process": (
        "The agent worked in a way that led nowhere.",
        "The same pattern in attempts that passed would show that it does not decide.",
    ),
    "tool_use": (
        "The agent used its tools wrongly.",
        "The same call, accepted by the tool, or a sign that the tool itself was at fault.",
    ),
    "task_understanding": (
        "The agent did not do what the task asked for.",
        "A look at the task's text that shows that it asks for something else, or leaves it open.",
    ),
    "wrong_solution": (
        "The agent's result was graded and is not correct.",
        "A test report that shows other failures, or evidence that the tests are wrong.",
    ),
    "integrity_suspected": (
        "The agent may have worked on the grading instead of the task.",
        "A person who reads the cited steps and finds a harmless reason.",
    ),
    "task_defect_suspected": (
        "The task itself may be broken.",
        "One valid attempt that passes.",
    ),
    "unknown": (
        "Nothing in the record says why.",
        "More of a record: a trajectory, a test report, or the harness's log.",
    ),
}

#: In place of what a reason means where nobody can tell whose fault it is.
DOUBTED = "Whose fault that is, this job alone does not tell."

#: Sub-reasons that reports of groups speak of in a sentence of their own; the others read well enough as they are.
SUBS: dict[str, str] = {
    "verifier_timeout": "the tests were stopped before they ended",
    "verifier_bootstrap_failed": "the tests never began: what they need could not be installed or started",
    "verifier_no_report": "there is no sign that any test ran",
    "verifier_crash": "the grading program crashed",
    "reward_missing": "no reward was written",
    "reward_conflict": "the reward and the test report say different things",
    "verifier_flaky": "the same result was graded differently",
    "task_defect_suspected": "the task itself may be broken",
    "sandbox_lost": "the sandbox was gone in the middle of the run",
    "oom_killed": "memory ran out",
    "disk_full": "the disk was full",
    "network_unavailable": "the network could not be reached",
    "dependency_unavailable": "a package could not be had",
    "env_permission_denied": "access to something that the task names was denied",
    "agent_setup_failed": "the agent could not be installed or started",
    "agent_crashed": "the agent's program crashed",
    "trajectory_missing": "no trajectory was recorded",
    "trajectory_corrupt": "the trajectory cannot be read",
    "tool_bridge_fault": "calls were distorted on their way to the tool",
    "rate_limited": "the model's service asked to slow down until the run ended",
    "service_error": "the model's service failed",
    "auth_or_quota": "the model's service refused the key, or its quota was used up",
    "wall_clock_timeout": "the time was up",
    "max_turns": "the turns were used up",
    "token_or_cost_budget": "the budget was used up",
    "context_exhausted": "the context window was full",
    "output_truncated": "the model's answer was cut off in the middle of a call",
    "empty_final_turn": "the agent's last turn holds neither text nor a call",
    "idle_calls": "calls that do nothing and return nothing",
    "loop_exact": "the same call, again and again, with the same result",
    "loop_error_retry": "the same failing call, again and again",
    "loop_alternating": "two calls in turn, again and again, with the same results",
    "edit_oscillation": "a file changed back and forth",
    "monologue": "turn after turn without a call",
    "no_action": "no call that could have changed anything",
    "gave_up": "the agent said that it gives up",
    "refused": "the agent declined the task",
    "waited_for_user": "the agent ended with a question to nobody",
    "premature_submit": "the agent ended far sooner than others at this task",
    "unverified_success_claim": "success was claimed without a check after the last change",
    "lost_context": "work was done again after the context had been shortened",
    "malformed_call": "calls that the tool could not read",
    "unknown_tool": "calls of tools that do not exist",
    "repeated_edit_failure": "edits of one file failed several times",
    "ignored_tool_error": "an error that the agent passed over",
    "interactive_hang": "a program that waits for input which never comes",
    "wrong_arguments": "the right action with wrong arguments",
    "wrong_tool": "another action than the one asked for",
    "self_inflicted_damage": "the agent removed what it needed later",
    "required_artifact_missing": "a file that the task asks for is not there",
    "wrong_output_format": "the result has the wrong form",
    "explicit_constraint_violated": "something was done that the task forbids",
    "wrong_target": "none of the files that the task names was touched",
    "policy_violation": "a change was made before it was allowed",
    "instruction_file_ignored": "a file that the task says to read was never opened",
    "build_or_syntax_broken": "the result does not build or parse",
    "runtime_crash": "the result crashes when it runs",
    "all_tests_failed": "no test passed",
    "partial_pass": "some tests passed, some did not",
    "near_miss": "almost all tests passed",
    "performance_threshold": "the result is too slow or not accurate enough",
    "answer_mismatch": "the answer differs from the expected one",
    "wrong_final_state": "the state at the end is not the expected one",
    "incomplete_goal": "something that was asked for was not done",
    "unintended_action": "something was done that nobody asked for",
    "no_write": "nothing was changed though something should have been",
    "failed_check": "the check at the end did not pass",
    "no_evidence": "nothing in the record says why",
    "trajectory_too_short": "the trajectory is too short to judge",
    "conflicting_evidence": "the evidence points in different directions",
}

TIERS: dict[Tier, str] = {
    "A": "a recorded fact",
    "B": "the shape of the run",
    "C": "words found in the run",
    "D": "what is left when nothing else explains it",
}

SIDES: dict[str, str] = {
    "model": "the agent",
    "harness": "the harness, not the agent",
    "environment": "the environment, not the agent",
    "model_api": "the model's service, not the agent",
    "grader": "the grading, not the agent",
    "task": "the task, not the agent",
    "unknown": "not known",
}


def reason(fail_reason: str) -> str:
    """A sentence about the reason; a reason of somebody's own rules is spelled out."""
    known = REASONS.get(fail_reason)
    return known[0] if known is not None else f"{spelled(fail_reason).capitalize()}."


def would_change(fail_reason: str) -> str:
    """What would change a verdict of this reason."""
    known = REASONS.get(fail_reason)
    return known[1] if known is not None else "Evidence against the rule that fired."


def sub(sub_fail_reason: str) -> str:
    """The sub-reason as a part of a sentence."""
    return SUBS.get(sub_fail_reason, spelled(sub_fail_reason))


def spelled(name: str) -> str:
    """`loop_exact` as `loop exact`."""
    return name.replace("_", " ").strip() or "no name"


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 job`, `2 jobs`, `12,345 jobs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def percent(value: float | None) -> str:
    """`6.5 %`; a dash where there is nothing to share."""
    return "–" if value is None else f"{100 * value:.1f} %"
