"""Whatever stands in a trajectory or a log, there is a verdict, and its quotes are true."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchloop_analysis import verdict
from benchloop_analysis.evidence import is_verbatim
from tests.unit.analysis.real import cited
from tests.unit.analysis.small import call, job, say, sh

WORDS = st.sampled_from(
    [
        *("ls -la", ": ", "cat <<EOF\n", "rm a.py", "'", '"', "$(", "\n", " ", "\\", "{times}", "İ", "/tests/x.py"),
        *(
            "No such file or directory: '/a.py'",
            "Exit code 1\n",
            "FAILED t::a",
            "=== 1 failed, 2 passed in 1s ===",
            "uvx: command not found",
        ),
        *(
            "API Error",
            "I can't help with that.",
            '"reward_info": null',
            '{"info": {"task": {"actions": [{"name": "cancel_order", "kwargs": {}}]}}}',
        ),
    ]
)
TEXT = st.one_of(st.text(max_size=30), st.lists(WORDS, max_size=8).map("".join))
NAMES = st.sampled_from(["Bash", "Read", "Write", "Edit", "cancel_order", "think", "", "mcp__x__bash", "{}"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["command", "file_path", "content", "new_string", "x"]),
    st.one_of(TEXT, st.integers(), st.none(), st.lists(TEXT, max_size=2)),
    max_size=3,
)
CONTENT = st.one_of(TEXT, st.none(), st.lists(TEXT.map(lambda text: {"type": "text", "text": text}), max_size=3))
RESULTS = st.lists(st.fixed_dictionaries({"source_call_id": st.sampled_from(["a", "b", None]), "content": CONTENT}), max_size=3)
CALLS = st.lists(
    st.fixed_dictionaries({"tool_call_id": st.sampled_from(["a", "b"]), "function_name": NAMES, "arguments": ARGUMENTS}), max_size=3
)
STEPS = st.fixed_dictionaries(
    {"source": st.sampled_from(["agent", "user", "system"]), "message": CONTENT},
    optional={
        "tool_calls": CALLS,
        "observation": RESULTS.map(lambda results: {"results": results}),
        "extra": st.dictionaries(st.sampled_from(["stop_reason", "tool_result_is_error"]), st.one_of(TEXT, st.booleans()), max_size=2),
        "metrics": st.just({"completion_tokens": 0}),
    },
)
FACTS = st.fixed_dictionaries(
    {
        "reward": st.sampled_from([None, 0.0, 0.5, 1.0, -1.0, 2.0]),
        "error_type": st.sampled_from([None, "AgentTimeoutError", "VerifierTimeoutError", "X"]),
    }
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=8), facts=FACTS, log=TEXT, task=TEXT)
def test_there_is_always_a_verdict_and_its_quotes_are_true(steps: list[dict[str, Any]], facts: dict[str, Any], log: str, task: str) -> None:
    steps = [step if step["source"] == "agent" else {key: step[key] for key in ("source", "message")} for step in steps]
    made_of = job(*steps, task=task, files={"verifier/test-stdout.txt": log, "trial.json": log}, **facts)
    analysis = verdict.analyse(made_of)
    assert all(is_verbatim(one, made_of) for one in cited(analysis))
    assert (analysis.verdict.fail_reason in (None, "unknown")) == (analysis.verdict.evidence == ())


LONG = [
    *("a" * 1_000_000, "/a" * 500_000, "\n" * 1_000_000, "= " * 500_000, "harbor" * 100_000, "E  a.py not found" * 50_000),
    *("<testsuite " * 90_000, "assertEqual(" * 80_000, "1 failed, " * 100_000, "'" * 999_999, "Ran 1 tests in 1s\n" * 50_000),
    "do not modify " * 70_000,
]


@pytest.mark.parametrize("text", LONG, ids=[text[:12].strip() or "newlines" for text in LONG])
def test_long_texts_take_no_time(text: str) -> None:
    made_of = job(
        say("I can't " + text),
        sh("cat " + text, text, failed=True),
        call("Write", file_path="/tests/test_a.py", content=text),
        say("Done. " + text),
        task=text,
        files={"verifier/test-stdout.txt": text, "verifier/junit.xml": text, "verifier/ctrf.json": text, "trial.json": text},
    )
    begun = time.process_time()
    verdict.analyse(made_of)
    assert time.process_time() - begun < 5
