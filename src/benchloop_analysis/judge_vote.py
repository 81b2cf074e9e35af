"""Several answers to one question, and the opinion that enough of them share. One answer alone is weak: models contradict themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from benchloop_analysis.judge import ABSTAIN, Answer, Judge, Opinion, Question, may_ask, opinion, question, sampled
from benchloop_analysis.records import Facts, JobAnalysis, Struct
from benchloop_analysis.ruleset import RuleSet

REFUSED = "not believed"


class Votes(Struct, frozen=True, kw_only=True):
    """At most `samples` answers are asked for, and `agree` of them have to give one label."""

    samples: int = 3
    agree: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.agree <= self.samples <= 9:
            raise ValueError("answers are 1 to 9, and no more of them can agree than there are")


class Consulted(Struct, frozen=True, kw_only=True):
    """What came of asking: the opinion, None where there was no budget left to come to one, and what was paid for it in US dollars."""

    opinion: Opinion | None
    question: Question
    paid_usd: float


def consult(analysis: JobAnalysis, facts: Facts, rules: RuleSet, *, judge: Judge, votes: Votes) -> Consulted | None:
    """Ask until the answers agree or cannot agree any more. None: nobody has to be asked about this job.

    Raises whatever `judge` raises.
    """
    if not may_ask(analysis):
        return None
    asked = question(analysis, facts, rules, judge.model)
    answers: list[Answer] = []
    made = None
    while made is None:
        answer = judge.ask(sampled(asked, len(answers)))
        if answer is None:
            break
        answers.append(answer)
        made = voted(answers, asked, analysis, votes=votes)
    return Consulted(opinion=made, question=asked, paid_usd=_paid(answers))


def voted(answers: Sequence[Answer], asked: Question, analysis: JobAnalysis, *, votes: Votes) -> Opinion | None:
    """The opinion that enough answers share; an abstention where none can be any more; None while more answers may decide."""
    made = [opinion(answer, asked, analysis) for answer in answers]
    counts = Counter(map(_said, made))
    said, most = counts.most_common(1)[0]
    if most < votes.agree and most + votes.samples - len(made) >= votes.agree:
        return None
    chosen = next(one for one in made if _said(one) == said)
    if most < votes.agree:
        listed = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
        chosen = msgspec.structs.replace(
            chosen, status="abstained", label=None, says=None, evidence=(), why=f"its answers do not agree: {listed}"
        )
    return msgspec.structs.replace(
        chosen,
        votes=dict(counts),
        cost_usd=sum(answer.cost_usd or 0.0 for answer in answers),
        cached=all(one.cached for one in made),
    )


def _paid(answers: Sequence[Answer]) -> float:
    return sum(answer.cost_usd or 0.0 for answer in answers if not answer.cached)


def _said(made: Opinion) -> str:
    """What an answer counts as."""
    return made.label or (ABSTAIN if made.status == "abstained" else REFUSED)
