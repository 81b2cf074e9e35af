"""The verdict: precedence, validity of the reward apart from the reason, unknown without evidence, suspicions on the side."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchloop_analysis import ruleset
from benchloop_analysis.job_report import job_report
from benchloop_analysis.markdown_job import job_markdown
from benchloop_analysis.records import Facts, JobAnalysis, Verdict
from tests.unit.analysis.small import ALL_FAILED, ONE_LEFT, PASSED, analysed, call, graded, job, say, service, sh, tau

NOTHING_RAN = "/tests/test.sh: line 19: uvx: command not found\n"
LOOP = [sh("python a.py", "7")] * 4


def test_a_broken_grading_comes_first_and_the_rest_stands_beside_it() -> None:
    found = analysed(graded(*LOOP, log=NOTHING_RAN, error_type="AgentTimeoutError")).verdict
    assert (found.fail_reason, found.sub_fail_reason, found.fault_side, found.reward_valid) == (
        "verifier_error",
        "verifier_bootstrap_failed",
        "grader",
        False,
    )
    assert [label.rule_id for label in found.secondary] == ["wall-clock-timeout", "loop-exact"]
    assert found.outcome == "errored"
    assert found.reward_evidence == found.evidence


def test_a_limit_is_told_with_what_the_run_was_doing() -> None:
    found = analysed(graded(*LOOP, error_type="AgentTimeoutError")).verdict
    assert found.sub_fail_reason == "wall_clock_timeout"
    assert [label.rule_id for label in found.secondary] == ["loop-exact", "all-tests-failed"]
    assert found.reward_valid is True


def test_a_call_that_took_half_of_the_time_is_the_environments() -> None:
    steps = [sh("sleep 1"), sh("make all"), say("x")]
    steps[0]["timestamp"], steps[1]["timestamp"], steps[2]["timestamp"] = (
        "2026-05-04T00:00:05Z",
        "2026-05-04T00:00:10Z",
        "2026-05-04T00:15:00Z",
    )
    found = analysed(job(*steps, error_type="AgentTimeoutError")).verdict
    assert (found.fault_side, found.wasted_seconds) == ("environment", 890.0)
    assert found.evidence[-1].quote == "make all"


def test_a_job_that_passed_has_no_reason_but_may_be_suspected() -> None:
    found = analysed(graded(call("Edit", file_path="/app/tests/test_a.py"), log=PASSED, reward=1.0)).verdict
    assert (found.fail_reason, found.sub_fail_reason, found.tier, found.evidence) == (None, None, None, ())
    assert (found.outcome, found.reward_valid) == ("passed", True)
    assert [label.rule_id for label in found.integrity] == ["test-tampering"]


def test_a_pass_that_was_never_tested_is_no_pass() -> None:
    found = analysed(graded(log=NOTHING_RAN, reward=1.0)).verdict
    assert (found.fail_reason, found.reward_valid, found.outcome) == ("verifier_error", False, "ungraded")


def test_nothing_is_unknown_only_where_nothing_is_evidence() -> None:
    long = analysed(job(sh("python a.py", "1"), sh("python b.py", "2"), say("Done."))).verdict
    assert (long.fail_reason, long.sub_fail_reason, long.evidence, long.fault_side) == ("unknown", "no_evidence", (), "unknown")
    assert analysed(job(sh("python a.py"))).verdict.sub_fail_reason == "trajectory_too_short"
    assert analysed(job()).verdict.sub_fail_reason == "no_evidence"


@pytest.mark.parametrize("facts", [{"status": "running"}, {"status": "pending"}, {"reward": None}])
def test_a_job_that_runs_or_was_never_graded_has_no_reason(facts: dict[str, Any]) -> None:
    found = analysed(job(*LOOP, **facts)).verdict
    assert (found.fail_reason, found.evidence) == (None, ())


@pytest.mark.parametrize(
    ("log", "recorded", "valid"),
    [
        (ALL_FAILED, None, True),
        ("hello.txt is missing", None, None),
        ("hello.txt is missing", True, True),
        (ALL_FAILED, False, False),
        (NOTHING_RAN, True, False),
        (PASSED, True, False),
    ],
)
def test_whether_the_reward_is_valid(log: str, recorded: bool | None, valid: bool | None) -> None:
    assert analysed(graded(log=log, reward_valid=recorded)).verdict.reward_valid is valid


def test_the_first_sign_and_what_was_wasted() -> None:
    found = analysed(graded(sh("ls", "a"), *LOOP, log=ONE_LEFT, seconds=10)).verdict
    assert (found.first_signal_step, found.wasted_steps, found.wasted_seconds) == (3, 3, 20.0)


def test_errors_that_read_alike_are_one_signature() -> None:
    steps = [sh(f"cat f{n}", f"Exit code 1\ncat: f{n}.txt: No such file or directory", failed=True) for n in range(3)]
    (found,) = analysed(job(*steps, seconds=2)).signatures
    assert (found.count, found.steps, found.error_class, found.seconds) == (3, (2, 3, 4), "not_found", 4.0)
    assert found.template == "cat: <file>: No such file or directory"


def test_distortions_are_counted_for_the_group() -> None:
    (found, last) = analysed(job(sh(": ls", ""), sh("ls"), say(""))).signals
    assert (found.name, found.subject, found.hits, found.of) == ("shell_noop", "Bash", 1, 2)
    assert (last.name, last.hits) == ("empty_final_turn", 1)


def test_the_shells_no_op_casts_doubt_on_whose_fault_it_is() -> None:
    doubted = analysed(graded(*[sh(": python a.py", "")] * 8, sh("ls", "a"))).verdict
    assert (doubted.sub_fail_reason, doubted.fault_side) == ("idle_calls", "unknown")
    assert doubted.says.startswith("8 of 9 calls did nothing and returned nothing. 8 of 9 commands of Bash begin with the shell's no-op")
    assert (doubted.secondary[0].rule_id, doubted.secondary[0].fault_side) == ("tool-bridge-suspected", "harness")
    assert {label.fault_side for label in doubted.secondary if label.fail_reason == "agent_process"} == {"unknown"}
    page = job_markdown(job_report(analysed(graded(*[sh(": python a.py", "")] * 8)), Facts(task_id="t", status="completed", reward=0.0)))
    assert "The agent worked in a way that led nowhere" not in page
    assert "Whose fault that is, this job alone does not tell." in page


def test_without_distorted_calls_the_side_is_known() -> None:
    sure = analysed(graded(*[call("Read", "x", file_path="/a")] * 5)).verdict
    assert (sure.fail_reason, sure.fault_side, sure.says[:13]) == ("agent_process", "model", "The same call")


def test_what_the_agent_told_comes_before_its_last_words() -> None:
    told = tau(say("There are 11 shirts."), say("Ok.", "user"), say("Anything else?"), service("list_kinds"), say("Bye."), actions=[])
    cited = analysed(told).verdict.evidence
    assert [one.quote for one in cited[:2]] == ["There are 11 shirts.", "Bye."]


def test_a_trajectory_that_cannot_be_read_is_told_beside_the_reason() -> None:
    broken = analysed(job(meta={"trajectory_problem": "agent/trajectory.json: torn"})).verdict
    assert (broken.fail_reason, [label.sub_fail_reason for label in broken.secondary]) == ("unknown", ["trajectory_corrupt"])
    assert broken.secondary[0].evidence[0].quote == "agent/trajectory.json: torn"


def test_a_verdict_names_its_rules() -> None:
    assert analysed(job()).verdict.ruleset_version == ruleset.default().version


def test_what_a_trajectory_says_cannot_reach_into_a_sentence() -> None:
    found = analysed(job(*[call("{0.__class__}", "7", command="x")] * 4)).verdict
    assert "{0.__class__}" in found.says


def test_an_analysis_can_be_stored_and_read_again() -> None:
    made = msgspec.structs.replace(analysed(graded(*LOOP)), trajectory=None)
    assert msgspec.json.decode(msgspec.json.encode(made), type=JobAnalysis) == made
    assert {"fail_reason", "sub_fail_reason", "tier", "fault_side", "reward_valid", "evidence", "secondary", "wasted_steps"} <= set(
        msgspec.structs.asdict(made.verdict)
    )
    assert msgspec.json.decode(msgspec.json.encode(made.verdict), type=Verdict) == made.verdict
