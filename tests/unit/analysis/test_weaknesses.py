"""Weaknesses: of a job what cost most and what a passing run did instead, of a group what is lost again and again."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchloop_analysis.group import GroupFold
from benchloop_analysis.group_records import GroupFacts
from benchloop_analysis.markdown_group import group_markdown
from benchloop_analysis.records import Signal
from benchloop_analysis.rsi import job_rsi, job_rsi_markdown
from benchloop_analysis.rsi_group import GroupRsi, group_rsi, group_rsi_markdown
from benchloop_analysis.siblings import CALLS, compare, outline, signature
from tests.unit.analysis.made import call, evidence, facts, job, label, report_of_tests, run
from tests.unit.analysis.made import signature as error
from tests.unit.analysis.test_markdown import NASTY, is_clean


def test_the_three_most_expensive_things_come_first() -> None:
    labels = (label("tool_use", "malformed_call", wasted_seconds=5.0), label("agent_process", "monologue", wasted_seconds=90.0))
    analysis = job(1, "agent_process", "loop_exact", wasted_seconds=60.0, secondary=labels, signatures=(error(seconds=70.0),))
    assert [cost.name for cost in job_rsi(analysis).costs] == ["monologue", "not_found", "loop_exact"]


def test_without_times_steps_decide_and_single_errors_are_left_out() -> None:
    labels = (label("tool_use", "malformed_call", wasted_steps=9),)
    analysis = job(1, "agent_process", "loop_exact", wasted_steps=3, secondary=labels, signatures=(error(count=1, seconds=99.0),))
    assert [cost.name for cost in job_rsi(analysis).costs] == ["malformed_call", "loop_exact"]


def test_what_a_passing_run_did_instead() -> None:
    mine = run(call(2, "ls /app"), call(3, "make"), call(4, "make"))
    other = outline("good", run(call(2, "pwd"), call(3, "ls /app"), call(4, "cat /app/README.md"), call(5, "pytest")))
    (cost,) = job_rsi(job(1, "agent_process", "loop_exact", trajectory=mine), other).costs
    assert [one.text for one in cost.instead_calls] == ["cat /app/README.md", "pytest"]
    text = job_rsi_markdown(job_rsi(job(1, "agent_process", "loop_exact", trajectory=mine), other))
    assert "the passing run went on with `cat /app/README.md` (its step 4) then `pytest` (its step 5)." in text and "`good`" in text


def test_where_nothing_fits_the_runs_are_compared_as_a_whole() -> None:
    mine = run(call(2, "make all"), call(3, "make"))
    other = outline("good", run(call(2, "pwd"), call(3, "echo 1 > a.txt")))
    (cost,) = job_rsi(job(1, "agent_process", "loop_exact", trajectory=mine), other).costs
    assert cost.instead == "The passing run changed files; this run changed none." and not cost.instead_calls


def test_without_a_passing_run_the_report_says_so() -> None:
    assert "No run of this task that passed" in job_rsi_markdown(job_rsi(job(1, "agent_process", "loop_exact")))
    assert "Nothing in the record stands out" in job_rsi_markdown(job_rsi(job(1)))


def weak() -> GroupRsi:
    fold = GroupFold(GroupFacts(group_id="G"))
    looped, idle = label("agent_process", "loop_exact"), label("agent_process", "idle_calls")
    for number in range(4):
        fold.add(job(number, "wrong_solution", "partial_pass", secondary=(looped,)), facts(f"t{number}"))
    for number in range(4, 9):
        fold.add(job(number, "wrong_solution", "partial_pass", secondary=(idle,)), facts("t0"))
    fold.add(job(20), facts("t0", reward=1.0))
    fold.add(job(21, "verifier_error", "verifier_timeout", secondary=(looped,)), facts("t9"))
    return group_rsi(fold, fold.report())


def test_weaknesses_are_ranked_by_tasks_and_not_by_jobs() -> None:
    found = weak()
    assert [(one.sub_fail_reason, one.tasks.count, one.never_passed, one.jobs) for one in found.weaknesses] == [
        ("loop_exact", 4, 3, 4), ("idle_calls", 1, 0, 5),
    ]  # fmt: skip
    assert found.tasks == 5 and found.not_the_agent == {"grader": 1}
    assert [one.job_id for one in found.weaknesses[0].examples] == ["j0", "j1", "j2"]


def test_a_groups_weaknesses_as_markdown() -> None:
    text = group_rsi_markdown(weak())
    assert text.startswith("# Weaknesses in group G\n\n**1 of 11 passed; 1 of 10 whose reward is valid**")
    assert "| `loop_exact` | 4 of 5 | 3 | 4 | – |" in text and "Not counted here: 1 job: the grading, not the agent." in text


def test_a_signature_is_what_a_call_does_and_on_what() -> None:
    def of(command: str) -> str:
        return next(signature(event) for event in run(call(2, command)).events if event.tool)

    assert of("cat /app/a.py") == of("cat -n /work/a.py") != of("cat b.py")
    assert of("cat a.py") != of("rm a.py")


def test_idle_calls_are_no_place_where_runs_part() -> None:
    found = compare(run(call(2, ":"), call(3, "ls")), outline("good", run(call(2, "ls"), call(3, ":"), call(4, "pwd"))))
    assert found.same == 1 and found.mine is None and found.theirs is not None and found.theirs.text == "pwd"


def test_an_outline_is_bounded() -> None:
    assert len(outline("long", run(*(call(number, "ls") for number in range(2, 700)))).calls) == CALLS


@settings(deadline=None, max_examples=50)
@given(st.one_of(st.text(max_size=60), st.sampled_from(NASTY)))
def test_hostile_text_stays_text_in_reports_of_groups(text: str) -> None:
    fold = GroupFold(GroupFacts(group_id=text, name=text, benchmark=text))
    found = evidence(text, field=text, rule=text)
    signal = Signal(name=text, subject=text, hits=3, of=3, silent_hits=2, example=found)
    for number in range(4):
        analysis = job(
            number,
            "agent_process",
            text,
            evidence=(found,),
            ruleset_version=text,
            says=text,
            signals=(signal,),
            tests=report_of_tests(text),
        )
        errors = (msgspec.structs.replace(error(text), tool=text, error_class=text, example=found),)
        fold.add(msgspec.structs.replace(analysis, signatures=errors), facts(text, agent=text, model=text, started_at=text))
    report = fold.report()
    for source in (group_markdown(report), group_rsi_markdown(group_rsi(fold, report)), job_rsi_markdown(job_rsi(analysis))):
        assert is_clean(source)
        tokens = [inner for token in MarkdownIt("commonmark").enable("table").parse(source) for inner in (token, *(token.children or ()))]
        assert not {token.type for token in tokens} & {"html_block", "html_inline", "image", "fence"}
        assert all(str(token.attrs["href"]).startswith("#step-") for token in tokens if token.type == "link_open")
