"""Scores of the engine as a whole: labels of tau-bench, alarms on passes, what stays unknown, tiers, quotes, and the time of events."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from bench import evaluate_rewards
from bench.evaluate_data import RUNS, Absent, Analysed, Data, cited, rules
from bench.evaluate_scores import Line, part, share
from benchloop_analysis import ruleset, tables, verdict
from benchloop_analysis.events import read_trajectory
from benchloop_analysis.evidence import is_verbatim
from benchloop_analysis.records import JobInput
from benchloop_client.contract.trajectory import encode

AIRLINE, RETAIL = "tau-bench", "agentrx/tau_retail/tau_dataset_full.json"
ALARMS, UNKNOWN, TIMES = 0.02, 0.15, 8.0
ABOUT = (
    "Tiers are scored on the class that raw logs confirm (grading, limit, around the agent, agent), not on the sub-reason: an easy one "
    "for a verdict on the agent's side. False alarms are told without tier D, which repeats the reward; that is made up there.\n\n"
    "Alarms on passes: `policy-violation` fires on the retail pass [54], and it is true: the policy wants an explicit yes before a change, "
    "and the agent cancelled two orders on the user's first word. The grader looks at the orders only. The label stands beside a verdict "
    "and never is one."
)
_ROUNDS = 7
#: Small data is parsed several times a round, or the clock is too coarse.
_ENOUGH = 400_000
_LOOKS = ("get_", "list_", "search_", "find_", "calculate", "think", "transfer_")


def lines(data: Data) -> Iterator[Line]:
    """All rows of this kind; what is absent is left out of sums. Raises `Absent` where the tau-bench data is."""
    airline = data.run(AIRLINE)
    yield _labels(airline)
    yield _alarms(AIRLINE, airline)
    yield _alarms(RETAIL, data.run(RETAIL))
    yield _unknown(data)
    yield from _tiers(data)
    yield _quotes(data)
    yield from _times(data)


# ---- tau-bench ----------------------------------------------------------------------------------------------------------------------


def _labels(airline: list[Analysed]) -> Line:
    failed = [(job, made) for job, made in airline if job.facts.reward == 0]
    ours = [{rule.removeprefix("actions-").replace("-", "_") for rule in rules(made) if rule.startswith("actions-")} for _, made in failed]
    wanted = [reckoned(job) for job, _ in failed]
    right = sum(found == {label} for found, label in zip(ours, wanted, strict=True))
    top, count = Counter(wanted).most_common(1)[0]
    counts = dict(Counter(label for found in ours for label in found).most_common())
    said = f"{right} of {len(failed)} as reckoned apart from the raw messages ({', '.join(f'{name} {of}' for name, of in counts.items())})"
    trivial = f"always {top}: {share(count, len(failed))}"
    return Line(AIRLINE, "label of every failed trial", said, trivial, "all 116", right == len(failed) == 116, counts)


def reckoned(job: JobInput) -> str:
    """What was done beside what was asked for, from the raw record and by other code than the engine's."""
    record = json.loads(next(file.text for file in job.files if file.path == "trial.json"))
    done = list(_done(record["traj"]))
    asked = [_key(action["name"], action["kwargs"]) for action in record["info"]["task"]["actions"] if _changes(action["name"])]
    missing, extra = Counter(asked) - Counter(done), Counter(done) - Counter(asked)
    if not missing and not extra:
        return "output_only"
    if not done:
        return "no_write"
    if not extra:
        return "partial"
    if not missing:
        return "unintended"
    return "wrong_argument" if {name for name, _ in missing} & {name for name, _ in extra} else "wrong_tool"


def _done(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Changes that the service accepted: the answer follows the call."""
    for message, answer in pairwise(messages):
        for call in message.get("tool_calls") or ():
            function = call["function"]
            if _changes(function["name"]) and answer["role"] == "tool" and not str(answer["content"]).startswith("Error"):
                yield _key(function["name"], json.loads(function["arguments"]))


def _changes(name: str) -> bool:
    return not name.startswith(_LOOKS)


def _key(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    return name, json.dumps(arguments, sort_keys=True, default=str).replace(".0,", ",").replace(".0}", "}")


def _alarms(name: str, found: list[Analysed]) -> Line:
    """Rules that fire on passes: as they are, and as if they had failed and nobody knew what was asked for."""
    passes = [(job, made) for job, made in found if made.verdict.outcome == "passed"]
    open_alarms = sum(bool(made.verdict.secondary or made.verdict.integrity or made.verdict.fail_reason) for _, made in passes)
    fired = Counter(rule for job, _ in passes for rule in _as_failed(job))
    ours = f"{open_alarms} of {len(passes)} as they are; told they had failed: {share(sum(fired.values()), len(passes))}"
    listed = ", ".join(f"{rule} {count}" for rule, count in fired.items()) or "no rule"
    met = open_alarms + sum(fired.values()) <= ALARMS * len(passes)
    return Line(name, "false alarms on passes", f"{ours} ({listed})", "", f"≤ {100 * ALARMS:.0f} %", met, dict(fired))


def _as_failed(job: JobInput) -> set[str]:
    """What is left (tier D) only repeats the reward, which is made up here, and is not counted."""
    facts = msgspec.structs.replace(job.facts, reward=0.0, rewards={"reward": 0.0})
    made = verdict.analyse(msgspec.structs.replace(job, facts=facts, files=()))
    residual = {bound.rule.id for bound in ruleset.default().rules if bound.rule.tier == "D"}
    return rules(made) - residual


# ---- over all data ------------------------------------------------------------------------------------------------------------------


def _there(data: Data) -> Iterator[tuple[str, list[Analysed]]]:
    for name in RUNS:
        try:
            yield name, data.run(name)
        except Absent:
            continue


def _unknown(data: Data) -> Line:
    told = [made for _, found in _there(data) for job, made in found if job.document is not None and made.verdict.fail_reason is not None]
    count = sum(made.verdict.fail_reason == "unknown" for made in told)
    residual = sum(made.verdict.tier == "D" and made.verdict.fail_reason != "unknown" for made in told)
    chats = [run.made.verdict.fail_reason == "unknown" for run in data.who_and_when]
    apart = f"Who&When, talk without a call or a grading, apart: {sum(chats)} of {len(chats)}"
    ours = f"{share(count, len(told))}; residual (tier D): {residual}; {apart}"
    values = {"unknown": count, "of": len(told), "residual": residual}
    return Line("all read as runs", "failed with a trajectory, and unknown", ours, "", "≤ 15 %", count <= UNKNOWN * len(told), values)


def _tiers(data: Data) -> Iterator[Line]:
    """Coverage and precision by tier, where raw records tell the class."""
    pairs = []
    for name in (evaluate_rewards.KIMI, evaluate_rewards.GENERATED):
        pairs += [(made.verdict.tier, evaluate_rewards.truth_of(job), evaluate_rewards.answer_of(made)) for job, made in data.run(name)]
    failed = [(tier, truth, answer) for tier, truth, answer in pairs if truth != evaluate_rewards.PASSED]
    kept: list[tuple[str, str | None]] = []
    for tier in "ABCD":
        own = [(truth, answer) for told, truth, answer in failed if told == tier]
        kept += own
        right, all_right = (sum(truth == answer for truth, answer in some) for some in (own, kept))
        so_far = f"with the tiers before it {part(len(kept), len(failed))} covered, {part(all_right, len(kept))} right"
        ours = f"{share(right, len(own))} right; {so_far}"
        yield Line("harbor, both", f"verdicts of tier {tier}", ours, values={"right": right, "of": len(own), "failed": len(failed)})


def _quotes(data: Data) -> Line:
    quotes = [(job, one) for _, found in _there(data) for job, made in found for one in cited(made)]
    quotes += [(run.job, one) for run in data.who_and_when for one in cited(run.made)]
    right = sum(is_verbatim(one, job) for job, one in quotes)
    return Line(
        "all", "quotes found word for word where they are said to stand", f"{right:,} of {len(quotes):,}", "", "all", right == len(quotes)
    )


def _times(data: Data) -> Iterator[Line]:
    for name, found in _there(data):
        documents = [encode(job.document) for job, _ in found if job.document is not None]
        if documents:
            yield _time(name, documents)


def _time(name: str, documents: list[bytes]) -> Line:
    """CPU time of reading events over that of `json.loads` on the same bytes: the median of rounds in which both take turns."""
    size = sum(map(len, documents))
    again = max(1, _ENOUGH // size)
    ratios = []
    for _ in range(_ROUNDS):
        begun = time.process_time()
        for raw in documents * again:
            json.loads(raw)
        parsed = time.process_time()
        for raw in documents * again:
            read_trajectory(msgspec.json.decode(raw))
        ratios.append((time.process_time() - parsed) / max(parsed - begun, 1e-9))
    value = statistics.median(ratios)
    ours = f"{value:.1f} × ({min(ratios):.1f}–{max(ratios):.1f}) over {size:,} bytes"
    return Line(name, "time of events to json.loads", ours, "1 ×", f"≤ {TIMES:.0f} ×", value <= TIMES, {"ratio": value, "bytes": size})


def tables_seconds() -> float:
    """CPU seconds to read the tables, which happens once a process."""
    tables.default.cache_clear()
    begun = time.process_time()
    tables.default()
    return time.process_time() - begun
