"""What a model is shown of a job: the findings of the rules, and the steps that matter, numbered, cut, and without control characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchloop_analysis.records import Event, Evidence, Facts, JobAnalysis, Trajectory
from benchloop_analysis.siblings import shown

#: Characters of a pack, at most.
LONGEST = 40_000
_TASK, _SAID, _OUTPUT = 4_000, 600, 700
_FIRST, _LAST, _AROUND = 6, 24, 1
#: Control characters that only lay text out.
_LAYOUT = frozenset("\n\t")
_LABELS, _SIGNATURES, _TESTS = 8, 8, 12


def evidence_pack(analysis: JobAnalysis, facts: Facts) -> str:
    """The record of one job as text, at most `LONGEST` characters; steps in the middle are left out first, and said to be."""
    run = analysis.trajectory
    head = "\n".join(_head(analysis, facts))
    if run is None:
        return head[:LONGEST]
    steps = list(_steps(run, set(_wanted(run, analysis))))
    text = "\n".join([head, "", "STEPS", *steps])
    while len(text) > LONGEST and len(steps) > 2:
        del steps[len(steps) // 3]
        text = "\n".join([head, "", "STEPS (some more were left out)", *steps])
    return text[:LONGEST]


def run_pack(run: Trajectory) -> str:
    """The task and the steps alone, at most `LONGEST` characters, without the outcome and what rules say of it."""
    steps = list(_steps(run, {event.step_id for event in run.events}))
    head = f"TASK:\n{plain(run.instruction or '(not recorded)', _TASK)}"
    text = "\n".join([head, "", "STEPS", *steps])
    while len(text) > LONGEST and len(steps) > 2:
        # A tenth of the steps at a time, from the middle: the length is worked out anew each time.
        middle, some = len(steps) // 2, max(1, len(steps) // 10)
        del steps[middle - some // 2 : middle - some // 2 + some]
        text = "\n".join([head, "", "STEPS (some in the middle were left out)", *steps])
    return text[:LONGEST]


def plain(text: str, limit: int) -> str:
    """Without control characters, and cut in the middle to `limit` characters."""
    kept = "".join(sign if sign in _LAYOUT or sign.isprintable() else "\ufffd" for sign in text)
    if len(kept) <= limit:
        return kept
    half = (limit - 20) // 2
    return f"{kept[:half]}\n[... cut ...]\n{kept[-half:]}"


def _head(analysis: JobAnalysis, facts: Facts) -> Iterator[str]:
    verdict, run = analysis.verdict, analysis.trajectory
    yield f"RESULT: {verdict.outcome}, reward {facts.reward}"
    yield f"THE RULES SAY: {verdict.fail_reason}/{verdict.sub_fail_reason} (tier {verdict.tier}): {plain(verdict.says, 300)}"
    for label in verdict.secondary[:_LABELS]:
        said = plain(label.says, 200)
        yield f"ALSO SEEN: {label.fail_reason}/{label.sub_fail_reason}, {_at(label.evidence)}: {said}"
    if analysis.tests is not None:
        names = ", ".join(plain(name, 100) for name in analysis.tests.failed_names[:_TESTS])
        yield f"TESTS: {analysis.tests.passed} of {analysis.tests.total} passed; failed: {names}"
    for signature in analysis.signatures[:_SIGNATURES]:
        where = ", ".join(map(str, signature.steps[:5]))
        yield f"ERROR, {signature.count} times, steps {where}: {plain(signature.template, 160)}"
    if run is not None and run.instruction:
        yield f"TASK:\n{plain(run.instruction, _TASK)}"


def _at(evidence: Iterable[Evidence]) -> str:
    steps = [str(one.step_id) for one in evidence if one.step_id is not None]
    return f"steps {', '.join(steps)}" if steps else "no step"


def _wanted(run: Trajectory, analysis: JobAnalysis) -> Iterator[int]:
    """The first and last steps, and those around every citation."""
    steps = list(dict.fromkeys(event.step_id for event in run.events))
    yield from steps[:_FIRST]
    yield from steps[-_LAST:]
    place = {step: at for at, step in enumerate(steps)}
    cited = [*analysis.verdict.evidence, *(one for label in analysis.verdict.secondary for one in label.evidence)]
    for one in cited:
        at = place.get(one.step_id) if one.step_id is not None else None
        if at is not None:
            yield from steps[max(0, at - _AROUND) : at + _AROUND + 1]


def _steps(run: Trajectory, wanted: set[int]) -> Iterator[str]:
    last = None
    for event in run.events:
        if event.step_id not in wanted or event.source == "system":
            continue
        if last is not None and event.step_id > last + 1:
            yield "[steps left out]"
        last = event.step_id
        yield "\n".join(_step(event))


def _step(event: Event) -> Iterator[str]:
    said = event.text.strip() or event.thinking.strip()
    yield f"[{event.step_id}] {event.source}{': ' + plain(said, _SAID) if said else ''}"
    if event.tool is not None:
        yield f"  calls {event.tool}: {plain(event.command or shown(event), _SAID)}"
        if event.output:
            yield f"  gets{' an error' if event.is_error else ''}: {plain(event.output, _OUTPUT)}"
