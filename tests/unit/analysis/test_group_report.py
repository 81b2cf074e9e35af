"""The report of a group: rewards both ways, reasons in two levels, what is systemic, tasks graded oddly; folded in any pieces."""

from __future__ import annotations

import msgspec
import pytest

from benchloop_analysis.group import GroupFold
from benchloop_analysis.group_records import GroupFacts, GroupReport
from benchloop_analysis.markdown_group import group_markdown
from benchloop_analysis.records import Facts, JobAnalysis, Signal
from tests.unit.analysis.made import evidence, facts, job, label, report_of_tests, signature

Job = tuple[JobAnalysis, Facts]
GROUP = GroupFacts(group_id="G", expected=20)


def fold(jobs: list[Job], group: GroupFacts = GROUP) -> GroupFold:
    folded = GroupFold(group)
    for analysis, known in jobs:
        folded.add(analysis, known)
    return folded


def report(*jobs: Job) -> GroupReport:
    return fold(list(jobs)).report()


def mixed() -> list[Job]:
    """One pass, 5 not graded, 9 wrong, over three tasks and two steps."""
    jobs = [(job(0, signatures=(signature(),)), facts("t0", reward=1.0, step=1))]
    for number in range(1, 15):
        reason = ("verifier_error", "verifier_bootstrap_failed") if number <= 5 else ("wrong_solution", "all_tests_failed")
        analysis = job(number, *reason, wasted_steps=2, wasted_seconds=4.0, signatures=(signature(f"e{number % 4}"),))
        jobs.append((analysis, facts(f"t{number % 3}", step=1 + number % 2, started_at=f"2026-01-01T00:00:{number:02}Z")))
    return jobs


def test_the_headline_counts_both_ways() -> None:
    found = report(*mixed())
    assert found.headline == "1 of 15 passed; 1 of 10 whose reward is valid"
    rewards = found.rewards
    assert (rewards.ended, rewards.valid, rewards.invalid, rewards.missing) == (15, 10, 5, 0)
    assert rewards.passed.low is not None and rewards.passed.low < 1 / 15 < (rewards.passed.high or 0)


def test_a_reward_that_is_invalid_though_it_passed_counts_only_as_recorded() -> None:
    found = report((job(1, reward_valid=False), facts(reward=1.0)), (job(2, "agent_process", "no_action"), facts(reward=None)))
    assert found.headline == "1 of 2 passed; 0 of 0 whose reward is valid"
    assert (found.rewards.invalid, found.rewards.missing, found.rewards.passed_valid.value) == (1, 1, None)


def test_running_jobs_are_not_counted_as_failed() -> None:
    found = report((job(1, outcome=None), facts(reward=None, status="running")), (job(2), facts(reward=1.0)))
    assert found.headline == "1 of 1 passed; 1 of 1 whose reward is valid" and found.running == 1 and found.present == 2


def test_reasons_have_two_levels_and_shares_of_the_failed() -> None:
    found = report(*mixed())
    assert [(one.fail_reason, one.share.count, one.share.of) for one in found.reasons] == [
        ("wrong_solution", 9, 14), ("verifier_error", 5, 14),
    ]  # fmt: skip
    (sub,) = found.reasons[1].subs
    assert sub.sub_fail_reason == "verifier_bootstrap_failed" and [one.job_id for one in sub.examples] == ["j1", "j2", "j3"]
    assert found.reasons[1].fault_sides == {"grader": 5} and found.wasted_seconds == 14 * 4.0


def test_parts_are_by_task_agent_model_and_step() -> None:
    found = report(*mixed())
    assert [row.key for row in found.by_task.rows] == ["t1", "t2", "t0"] and [row.jobs for row in found.by_task.rows] == [5, 5, 5]
    assert {row.key: row.jobs for row in found.by_step.rows} == {"1": 8, "2": 7}
    assert [row.key for row in found.by_agent.rows] == ["coder"] and found.by_model.rows[0].rewards == found.rewards
    assert next(iter(found.by_task.rows[0].reasons)) == "wrong_solution/all_tests_failed"


def test_missing_and_unknown_jobs_are_noticed() -> None:
    found = report(*mixed())
    assert found.notices == ("5 jobs of the 20 that the run planned are not there.",)
    jobs = [(job(number, "unknown", "no_evidence"), facts()) for number in range(4)] + mixed()
    assert any("22.2 %" in notice and "--rules" in notice for notice in report(*jobs).notices)
    few = [(job(number, "unknown", "no_evidence"), facts()) for number in range(2)] + mixed()
    assert not any("--rules" in notice for notice in report(*few).notices)


def test_what_is_not_analysed_yet_is_said() -> None:
    found = fold(mixed()).report(present=18)
    assert found.analysed == 15 and any(notice.startswith("3 jobs of 18 are not analysed") for notice in found.notices)


def test_attempts_give_pass_at_k_within_task_and_step() -> None:
    jobs = [(job(number), facts("a", reward=float(number == 0), step=5)) for number in range(4)]
    jobs += [(job(9), facts("a", reward=1.0, step=6))]
    rates = {one.k: one for one in report(*jobs).pass_at_k}
    assert rates[1].value == pytest.approx((0.25 + 1) / 2) and rates[4].tasks == 1 and rates[2].value == pytest.approx(0.5)


def test_invalid_attempts_are_no_attempts_of_pass_at_k() -> None:
    jobs = [(job(0), facts(reward=1.0)), (job(1, "verifier_error", "verifier_timeout"), facts())]
    assert [(one.k, one.value) for one in report(*jobs).pass_at_k] == [(1, 1.0)]


def test_errors_are_ranked_by_time_and_not_by_number() -> None:
    often = [(job(number, signatures=(signature("often", count=50, seconds=1.0),)), facts()) for number in range(4)]
    slow = [(job(9, signatures=(signature("slow", count=1, seconds=900.0),)), facts(started_at="2026-01-02T00:00:00Z"))]
    found = report(*often, *slow).signatures
    assert [row.template for row in found.rows] == ["slow", "often"] and found.ranked_by == "seconds"
    assert (found.rows[1].jobs, found.rows[1].count, found.rows[1].seconds) == (4, 200, 4.0)
    assert (found.rows[0].first_seen, found.rows[0].example.job_id, found.rows[0].example.step_id) == ("2026-01-02T00:00:00Z", "j9", 3)


def test_the_earliest_job_is_the_example() -> None:
    late = (job(1, signatures=(signature(),)), facts(started_at="2026-01-02T00:00:00Z"))
    early = (job(2, signatures=(signature(),)), facts(started_at="2026-01-01T00:00:00Z"))
    (row,) = report(late, early).signatures.rows
    assert row.first_seen == "2026-01-01T00:00:00Z" and row.example.job_id == "j2"


def test_one_fault_outside_of_the_agent_in_three_jobs_is_systemic() -> None:
    found = report(*mixed())
    fault = next(one for one in found.findings if one.kind == "same_fault")
    assert (fault.name, fault.jobs.count, fault.fault_side, fault.tier) == ("verifier_bootstrap_failed", 5, "grader", "A")
    assert not any(one.kind == "same_fault" for one in report(*mixed()[:3]).findings)


def test_an_error_of_three_jobs_is_a_finding() -> None:
    errors = [one for one in report(*mixed()).findings if one.kind == "same_error"]
    assert errors and all(one.jobs.count >= 3 for one in errors) and "30" not in errors[0].says


def test_a_signal_is_a_finding_only_across_jobs() -> None:
    def jobs(number: int, hits: int) -> list[Job]:
        signal = Signal(name="odd_thing", subject="Bash", hits=hits, of=10, example=evidence(": ls", step=4))
        return [(job(at, signals=(signal,)), facts()) for at in range(number)]

    (finding,) = report(*jobs(3, 8)).findings
    assert (finding.kind, finding.suspected, finding.jobs.count, finding.hits and finding.hits.count) == ("signal", True, 3, 24)
    assert "suspected" in finding.says and finding.examples[0].step_id == 4
    assert not report(*jobs(2, 8)).findings and not report(*jobs(9, 2)).findings and not report(*jobs(9, 0)).findings


def test_one_report_with_two_rewards_is_flaky() -> None:
    jobs = [(job(number, tests=report_of_tests("a", "b", passed=3)), facts(reward=float(number == 2))) for number in range(3)]
    (note,) = report(*jobs).task_notes
    assert note.sub_fail_reason == "verifier_flaky" and [one.job_id for one in note.examples] == ["j0", "j2"]
    jobs[2] = (job(2, tests=report_of_tests("a", passed=4)), facts(reward=1.0))
    assert not report(*jobs).task_notes


def test_one_test_that_nobody_passes_makes_the_task_suspect() -> None:
    jobs = [
        (job(number, "wrong_solution", "x", tests=report_of_tests("same", f"own{number}")), facts(model=f"m{number}"))
        for number in range(3)
    ]
    (note,) = report(*jobs).task_notes
    assert note.sub_fail_reason == "task_defect_suspected" and "same" in note.says and "own1" not in note.says
    assert "3 different agents or models" in note.says
    assert not report(*jobs[:2]).task_notes
    assert not report(*jobs, (job(9), facts(reward=1.0))).task_notes
    assert not report(*jobs, (job(9, "wrong_solution", "x", tests=report_of_tests("another")), facts())).task_notes


def test_an_oracle_that_fails_makes_the_task_suspect() -> None:
    (note,) = report((job(1, "wrong_solution", "x"), facts(agent="oracle"))).task_notes
    assert note.sub_fail_reason == "task_defect_suspected" and "oracle" in note.says


@pytest.mark.parametrize("cut", [0, 1, 7, 15])
def test_folds_of_pieces_are_the_fold_of_all(cut: int) -> None:
    jobs = mixed()
    left, right = fold(jobs[:cut]), fold(jobs[cut:])
    joined = GroupFold.of(GROUP, left.state())
    joined.take(GroupFold.of(GROUP, right.state()))
    assert joined.report() == fold(jobs).report()


def test_weaknesses_are_counted_by_tasks() -> None:
    looped = label("agent_process", "loop_exact", wasted_steps=5)
    jobs = [(job(number, "wrong_solution", "x", secondary=(looped,)), facts(f"t{number % 2}")) for number in range(6)]
    jobs += [(job(7), facts("t0", reward=1.0)), (job(8, "verifier_error", "verifier_timeout", secondary=(looped,)), facts("t9"))]
    counted = fold(jobs)
    assert counted.lost_tasks() == {"wrong_solution/x": (2, 1), "agent_process/loop_exact": (2, 1)}
    assert counted.weakness("agent_process/loop_exact").wasted_steps == 30


def test_what_is_kept_does_not_grow_with_the_jobs() -> None:
    def kept(number: int) -> int:
        folded = GroupFold(GROUP)
        for at in range(number):
            errors = (signature(f"e{at}"), signature(f"f{at}"))
            folded.add(job(at, "wrong_solution", "x", signatures=errors, tests=report_of_tests(f"a{at}")), facts(f"t{at % 50}"))
        return len(folded.state())

    assert kept(8_000) < 1.3 * kept(4_000)


def test_a_report_stays_small_whatever_the_group_and_says_what_it_leaves_out() -> None:
    folded = GroupFold(GROUP)
    for number in range(6_000):
        name = f"a-task-with-a-name-of-usual-length-{number // 3}"
        tests = report_of_tests("tests/test_outputs.py::test_the_same_thing")
        found = job(number, "agent_process", "no_action", signatures=(signature(f"error number {number} of many"),), tests=tests)
        folded.add(found, facts(name, agent=f"agent-{number}", model=f"model-{number}", step=number // 3))
    made = folded.report(present=6_000)
    raw, text = msgspec.json.encode(made), group_markdown(made)
    assert len(raw) < 2_000_000 and len(text) < 60_000
    assert (made.by_task.total, made.by_task.left_out, len(made.by_task.rows)) == (2_000, 1_500, 500)
    assert made.task_notes_total > len(made.task_notes) == 50
    assert made.signatures.total + made.signatures.dropped == 6_000 and len(made.signatures.rows) == 100
    assert "1,970 more: 470 in the JSON report, 1,500 not even there: `bl tasks get` and `bl jobs get` list everything." in text
