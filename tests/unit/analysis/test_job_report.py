"""The report of one job: the verdict's fields by their names, what happened in order, and Markdown that hostile text cannot break."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from benchloop_analysis.job_report import JobContext, JobReport, job_report, ribbon
from benchloop_analysis.markdown_job import job_markdown
from benchloop_analysis.records import Facts, JobAnalysis
from benchloop_analysis.siblings import Outline, outline
from tests.unit.analysis.made import call, evidence, facts, job, label, report_of_tests, run, signature
from tests.unit.analysis.test_markdown import NASTY, is_clean

#: The fields that the JSON of a report has by agreement.
AGREED = {
    "fail_reason", "sub_fail_reason", "tier", "fault_side", "reward_valid", "evidence", "secondary", "wasted_steps", "wasted_seconds",
    "ruleset_version",
}  # fmt: skip
#: How each of our own headings begins.
HEADS = {"Why", "What", "Evidence", "Failing", "Also", "Beside", "Cited", "Step"}


def failed(**more: Any) -> JobAnalysis:
    """A run that changed a file, met an error, and failed a test."""
    steps = (
        call(2, "ls /app"),
        call(3, "cat nothing", "cat: nothing: No such file or directory", failed=True, text="I look."),
        call(4, "echo x > /app/out.txt"),
    )
    given: dict[str, Any] = {
        "trajectory": run(*steps),
        "tests": report_of_tests("test_a", passed=1),
        "signatures": (signature(steps=(3,)),),
    }
    return job(1, "agent_process", "loop_exact", **{"wasted_steps": 2, "wasted_seconds": 30.0, "first_signal_step": 3, **given, **more})


def passing() -> Outline:
    """A run of the same task that tested its work."""
    return outline("good", run(call(2, "ls /app"), call(3, "echo y > /app/out.txt"), call(4, "pytest /app", "1 passed")))


def made(analysis: JobAnalysis | None = None, known: Facts | None = None, **context: Any) -> JobReport:
    return job_report(analysis or failed(), known or facts(), JobContext(group_id="G", **context))


def test_the_agreed_fields_are_there_by_name() -> None:
    found = msgspec.to_builtins(made())
    assert found.keys() >= AGREED
    assert (found["fail_reason"], found["tier"], found["wasted_steps"], found["wasted_seconds"]) == ("agent_process", "A", 2, 30.0)
    assert found["evidence"][0]["step_id"] == 3 and found["evidence"][0]["quote"] == "it says so"


def test_what_happened_is_told_in_at_most_six_points() -> None:
    told = made().what_happened
    assert len(told) <= 6
    assert told[0].text == "The agent took 4 steps with 3 tool calls; 1 call ended in an error."
    assert (told[1].steps, "neither ran nor tested" in told[1].text) == ((4,), True)
    assert told[2].steps == (3,) and "cause may lie before" in told[2].text
    assert told[4].quote == "All done." and told[5].text == "The tests: 1 of 2 passed."


def test_a_fault_outside_of_the_agent_tells_no_sign_of_the_agent() -> None:
    analysis = failed(reward_valid=False, fault_side="grader", reward_evidence=(evidence("uvx: command not found", step=None),), tests=None)
    told = made(analysis).what_happened
    assert not any("sign of trouble" in one.text for one in told)
    assert told[-1].quote == "uvx: command not found"


def test_a_job_without_a_trajectory_still_has_a_report() -> None:
    found = made(failed(trajectory=None, tests=None))
    assert found.ribbon is None and found.cited_steps == () and "No trajectory" in found.what_happened[0].text
    assert "# Why j1 failed" in job_markdown(found)


def test_cited_steps_show_what_was_said_called_and_answered() -> None:
    (step,) = made().cited_steps
    assert (step.said, step.called, step.answered) == ("I look.", "cat nothing", "cat: nothing: No such file or directory")


def test_where_the_verdict_cites_no_step_those_of_the_other_labels_are_shown() -> None:
    analysis = failed(evidence=(evidence(step=None),), secondary=(label("tool_use", "malformed_call", step=2),))
    assert [step.step_id for step in made(analysis).cited_steps] == [2]


def test_the_ribbon_is_the_run_in_columns() -> None:
    found = ribbon(failed().trajectory.events if (analysis := failed()).trajectory else ())
    assert found is not None and (found.phases, found.errors, found.first_step, found.last_step) == ("EEI", " ! ", 2, 4)
    assert analysis.trajectory is not None
    long = ribbon(run(*(call(number, "ls") for number in range(2, 302))).events)
    assert long is not None and len(long.phases) == 72
    assert ribbon(()) is None


def test_wasted_cost_is_shared_out_by_steps() -> None:
    assert made(cost_usd=1.0).wasted_cost_usd == 2 / 5
    assert made().wasted_cost_usd is None
    assert made(failed(wasted_steps=0), cost_usd=1.0).wasted_cost_usd is None


def test_beside_a_run_that_passed() -> None:
    found = made(sibling=passing()).sibling
    assert found is not None and (found.sibling, found.same) == ("good", 1)
    assert found.mine is not None and found.theirs is not None
    assert (found.mine.text, found.theirs.text) == ("cat nothing", "echo y > /app/out.txt")
    assert any("ran or tested its work after its last change" in one for one in found.differences)
    text = job_markdown(made(sibling=passing()))
    assert "## Beside a run that passed" in text and "A difference is not a cause" in text
    assert made(job(1, trajectory=failed().trajectory), facts(reward=1.0), sibling=passing()).sibling is None


def test_the_verdict_comes_first_and_in_words() -> None:
    lines = [line for line in job_markdown(made()).split("\n") if line]
    assert lines[0] == "# Why j1 failed"
    assert lines[1] == "**It failed by loop_exact.** The agent worked in a way that led nowhere."
    assert lines[2].startswith("Reason: `agent_process` → `loop_exact`. Side: the agent. Known from a recorded fact (tier A).")


def test_an_invalid_reward_is_said_to_mean_nothing() -> None:
    text = job_markdown(made(job(1, "verifier_error", "verifier_timeout")))
    assert "The reward, 0, is not valid: it says nothing about the agent." in text


def test_every_part_has_its_place() -> None:
    analysis = failed(secondary=(label("tool_use", "malformed_call"),), integrity=(label("integrity_suspected", "test_tampering"),))
    text = job_markdown(made(analysis, cost_usd=1.0, sibling=passing()))
    heads = [line for line in text.split("\n") if line.startswith("## ")]
    assert heads == [
        "## What happened", "## Evidence", "## Failing tests", "## Also seen", "## Suspicions", "## Beside a run that passed",
        "## What it cost", "## What would change this verdict", "## Cited steps",
    ]  # fmt: skip
    assert "[step 3](#step-3)" in text and "### Step 3" in text and "2 steps, 30 s, about 0.40 USD" in text


def test_no_cause_is_claimed() -> None:
    text = job_markdown(made(sibling=passing())).lower()
    assert "root cause" not in text and "because of" not in text


def test_a_pass_has_nothing_to_explain() -> None:
    text = job_markdown(made(job(1, trajectory=failed().trajectory), facts(reward=1.0)))
    assert text.startswith("# j1: passed\n\n**The job passed.** The reward is 1.") and "What would change" not in text


@settings(deadline=None)
@given(st.one_of(st.text(max_size=80), st.sampled_from(NASTY)))
def test_hostile_text_stays_text(text: str) -> None:
    analysis = JobAnalysis(
        job_id=f"j{text}",
        verdict=msgspec.structs.replace(
            failed(says=f"It said {text}").verdict,
            evidence=(evidence(text or "x", field=text), evidence(text, step=None, field=text, rule=text or "r")),
            secondary=(label(text or "r", text or "s", quote=text),),
            ruleset_version=text,
        ),
        tests=report_of_tests(text),
        signatures=(msgspec.structs.replace(signature(text), example=evidence(text)),),
        trajectory=run(call(3, text or "x", text, text=text), last=text),
    )
    known = facts(text, agent=text, model=text)
    source = job_markdown(made(analysis, known, sibling=outline(text, run(call(2, text or "y")))))
    assert is_clean(source)
    tokens = [inner for token in MarkdownIt("commonmark").enable("table").parse(source) for inner in (token, *(token.children or ()))]
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "image"}
    links = [token.attrs["href"] for token in tokens if token.type == "link_open"]
    assert all(str(link).startswith("#step-") for link in links)
    heads = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert [head for head in heads if head.partition(" ")[0] not in HEADS] == []
    assert len(heads) == 10
