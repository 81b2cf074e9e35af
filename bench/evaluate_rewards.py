"""Scores on runs whose truth is known from how they were made or from raw logs: rewards that mean nothing, limits, other faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from bench.evaluate_data import Analysed, Data, rules
from bench.evaluate_scores import Line, Pair, accuracy, labelled, percent, share
from benchloop_analysis.records import JobAnalysis, JobInput

KIMI = "harbor-kimi"
GENERATED = "generated/harbor"
GRADING, LIMIT, AROUND, AGENT, PASSED = "grading", "limit", "around the agent", "agent", "passed"
#: Reason → the coarse class that raw logs can confirm; all others are the agent's.
_CLASSES = {
    "verifier_error": GRADING,
    "limit_exhausted": LIMIT,
    "environment_error": AROUND,
    "harness_error": AROUND,
    "model_api_error": AROUND,
}
#: What never starting to test looks like in the raw log: its last words are the shell's, about the runner.
_NO_RUNNER = "uvx: command not found"
_RETRY = '"subtype":"api_retry"'


def lines(data: Data) -> Iterator[Line]:
    """The rows about a public Harbor run and about runs made to fail in known ways. Raises `Absent`."""
    kimi = data.run(KIMI)
    yield from _faults(kimi)
    yield from _validity(kimi)
    yield _classes(KIMI, kimi, target=True)
    yield _rates(kimi)
    made = data.run(GENERATED)
    yield _classes(GENERATED, made, target=False)


def never_began(job: JobInput) -> bool:
    """Whether the verifier's own log ends with the shell not finding the test runner."""
    return any(file.text.rstrip().endswith(_NO_RUNNER) for file in job.files if file.path == "verifier/test-stdout.txt")


def has_report(job: JobInput) -> bool:
    """Whether a report of single tests lies beside the verifier's log."""
    return any(PurePosixPath(file.path).name == "ctrf.json" for file in job.files)


def truth_of(job: JobInput) -> str:
    """The class of a job by its raw record: a grading that never began or was stopped, a limit, another fault, a pass, or the agent."""
    error = job.facts.error_type or ""
    if never_began(job) or error.startswith(("Verifier", "AddTestsDir", "RewardFile")):
        return GRADING
    if error == "AgentTimeoutError":
        return LIMIT
    if error and job.facts.reward is None:
        return AROUND
    return PASSED if (job.facts.reward or 0) >= 1 else AGENT


def exception_only(job: JobInput) -> str:
    """What a reader of the exception field and the reward would say."""
    error = job.facts.error_type or ""
    if error.startswith(("Verifier", "AddTestsDir", "RewardFile")):
        return GRADING
    if error == "AgentTimeoutError":
        return LIMIT
    if error:
        return AROUND
    return PASSED if (job.facts.reward or 0) >= 1 else AGENT


def answer_of(made: JobAnalysis) -> str | None:
    """The class of a verdict; None where it abstains."""
    if made.verdict.outcome == "passed":
        return PASSED
    reason = made.verdict.fail_reason
    return None if reason in (None, "unknown") else _CLASSES.get(str(reason), AGENT)


def _faults(kimi: list[Analysed]) -> Iterator[Line]:
    wanted = {
        "grading that never began": ({job.job_id for job, _ in kimi if never_began(job)}, {"verifier-bootstrap-failed"}),
        "grading that was stopped": (
            {job.job_id for job, _ in kimi if job.facts.error_type == "VerifierTimeoutError"},
            {"verifier-timeout"},
        ),
        "agents out of time": ({job.job_id for job, _ in kimi if job.facts.error_type == "AgentTimeoutError"}, {"wall-clock-timeout"}),
    }
    for question, (truth, names) in wanted.items():
        found = {job.job_id for job, made in kimi if names & rules(made)}
        noted = {
            job.job_id for job, _ in kimi if job.job_id in truth and job.facts.error_type is not None and not _elsewhere(question, job)
        }
        ours = f"{len(found & truth)} of {len(truth)}, {len(found - truth)} invented"
        trivial = f"exception field alone: {len(noted)} of {len(truth)}"
        yield Line(KIMI, question, ours, trivial, "all, none invented", found == truth, {"found": len(found & truth), "of": len(truth)})
    yield _api(kimi)
    yield _invented(kimi)


def _elsewhere(question: str, job: JobInput) -> bool:
    """An exception about something else does not tell that the grading never began."""
    return question.startswith("grading") and not str(job.facts.error_type).startswith("Verifier")


def _api(kimi: list[Analysed]) -> Line:
    retried = [job for job, _ in kimi if any(_RETRY in file.text.replace(" ", "") for file in job.files if file.path.endswith(".jsonl"))]
    named = [made for _, made in kimi if made.verdict.fail_reason == "model_api_error"]
    ours = f"named as the reason {len(named)} times; {len(retried)} sessions retried, and went on"
    return Line(KIMI, "errors of the model's service", ours, "any retry: " + str(len(retried)), "0 (none ended a run)", not named)


def _invented(kimi: list[Analysed]) -> Line:
    """Grading, environment, harness or service named as the reason where a report of tests shows that the run was graded."""
    graded = [(job, made) for job, made in kimi if has_report(job) and job.facts.error_type != "VerifierTimeoutError"]
    passes = [made for _, made in graded if made.verdict.outcome == "passed"]
    bad = [job.job_id for job, made in graded if answer_of(made) in (GRADING, AROUND)]
    on_passes = sum(bool(made.verdict.fail_reason or made.verdict.secondary or made.verdict.integrity) for made in passes)
    ours = f"{len(bad)} of {len(graded)} graded trials; {on_passes} of {len(passes)} passes carry any label"
    return Line(KIMI, "faults of infrastructure invented", ours, "", "0", not bad and not on_passes, {"trials": bad})


def _validity(kimi: list[Analysed]) -> Iterator[Line]:
    pairs: list[Pair] = []
    trivial: list[Pair] = []
    for job, made in kimi:
        truth = "no" if truth_of(job) == GRADING else "yes"
        said = {True: "yes", False: "no", None: None}[made.verdict.reward_valid]
        pairs.append((truth, said))
        trivial.append((truth, "no" if exception_only(job) == GRADING else "yes"))
    always = percent(accuracy([(truth, "yes") for truth, _ in pairs]))
    beside = f"exception field alone: {percent(accuracy(trivial))}; always valid: {always}"
    yield Line(KIMI, "does the reward mean anything", labelled(pairs), beside, "all right", accuracy(pairs) == 1, {"pairs": len(pairs)})


def _classes(name: str, found: list[Analysed], *, target: bool) -> Line:
    pairs = [(truth_of(job), answer_of(made)) for job, made in found]
    trivial = [(truth_of(job), exception_only(job)) for job, _ in found]
    question = "grading, limit, around the agent, agent or passed"
    values = {
        "around called agent": sum(truth in (GRADING, AROUND) and answer == AGENT for truth, answer in pairs),
        "agent called around": sum(truth == AGENT and answer in (GRADING, AROUND) for truth, answer in pairs),
    }
    ours = f"{labelled(pairs)}; " + ", ".join(f"{key}: {count}" for key, count in values.items())
    right = accuracy(pairs) >= accuracy(trivial) if target else None
    return Line(name, question, ours, f"exception field alone: {labelled(trivial)}", "above it" if target else "", right, values)


def _rates(kimi: list[Analysed]) -> Line:
    passed = sum(made.verdict.outcome == "passed" for _, made in kimi)
    valid = sum(made.verdict.reward_valid is True for _, made in kimi)
    ours = f"recorded {share(passed, len(kimi))}; valid {share(passed, valid)}"
    return Line(KIMI, "pass rate both ways", ours, "", "4 of 62; 4 of 43", (passed, len(kimi), valid) == (4, 62, 43))
