"""Rule files: ours are sound, others are added, and each mistake is one sentence with file and line."""

from __future__ import annotations

import pytest

from benchloop_analysis import ruleset, verdict
from benchloop_analysis.matchers.registry import MATCHERS
from tests.unit.analysis.small import job, sh

RULE = """name: house
version: 3
rules:
  - id: house-gpu
    reason: environment_error
    sub: gpu_missing
    tier: B
    says: "There was no GPU ({times} calls)."
    match: unrecovered
    with: {patterns: ["CUDA is not available"]}
    source: ["our cluster"]
"""


def test_ours_are_complete() -> None:
    rules = ruleset.default()
    assert {bound.rule.reason for bound in rules.rules} >= {
        *("verifier_error", "environment_error", "harness_error", "model_api_error", "limit_exhausted", "agent_process"),
        *("tool_use", "task_understanding", "wrong_solution", "integrity_suspected"),
    }
    assert len(rules.reasons) == 12
    assert {bound.rule.match for bound in rules.rules} == set(MATCHERS)
    assert rules.version.startswith("benchloop-1@")


def test_the_exceptions_that_other_rules_explain_are_known() -> None:
    rules = {bound.rule.id: bound.rule.with_ for bound in ruleset.default().rules}
    known = set(rules.pop("harness-exception")["known"])
    assert {name for given in rules.values() for name in given.get("error_types", ())} - known == set()
    assert known - {name for given in rules.values() for name in given.get("error_types", ())} == set()


def test_integrity_is_never_why_a_job_failed() -> None:
    assert {bound.rule.role for bound in ruleset.default().rules if bound.rule.reason == "integrity_suspected"} == {"integrity"}


def test_a_rule_of_the_house_is_added() -> None:
    rules = ruleset.load([("house.yaml", RULE)])
    found = verdict.analyse(job(sh("python a.py", "Error: CUDA is not available", failed=True)), rules).verdict
    assert (found.sub_fail_reason, found.says) == ("gpu_missing", "There was no GPU (1 calls).")
    assert found.ruleset_version == rules.version
    assert rules.version.startswith("benchloop-1+house-3@")
    assert rules.version != ruleset.load([("house.yaml", RULE + "# changed\n")]).version


def test_a_rule_is_replaced_and_another_switched_off() -> None:
    text = RULE.replace("house-gpu", "loop-exact") + "disable: [no-action]\n"
    rules = {bound.rule.id: bound.rule for bound in ruleset.load([("house.yaml", text)]).rules}
    assert rules["loop-exact"].sub == "gpu_missing"
    assert "no-action" not in rules


def test_a_reason_of_the_house() -> None:
    text = RULE.replace("environment_error", "gpu") + "reasons:\n  gpu: {order: 2, fault_side: environment, says: The GPU.}\n"
    assert ruleset.load([("house.yaml", text)]).reasons["gpu"].fault_side == "environment"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("tier: B", "tier: E", "house.yaml, line 7: Invalid enum value 'E' (rules[0].tier)"),
        ("    tier: B\n", "", "house.yaml, line 4: Object missing required field `tier` (rules[0])"),
        ("match: unrecovered", "match: guess", "house.yaml, line 9: rule 'house-gpu': there is no matcher 'guess'; there are"),
        ("reason: environment_error", "reason: fate", "house.yaml, line 5: rule 'house-gpu': there is no reason 'fate'; there are"),
        ("with: {patterns:", "with: {pattern:", "house.yaml, line 10: Object contains unknown field `pattern` (rules[0].with)"),
        ('["CUDA is not available"]', '["(CUDA"]', "house.yaml, line 10: '(CUDA' is no regular expression: "),
        ('["CUDA is not available"]', "5", "house.yaml, line 10: Expected `array`, got `int` (rules[0].with.patterns)"),
        ("{times}", "{times.x}", "house.yaml, line 8: rule 'house-gpu': {times.x} is no place of a sentence"),
        ("{times}", "{times", "house.yaml, line 8: rule 'house-gpu': the sentence cannot be filled in"),
        ("id: house-gpu", "id: House GPU", "house.yaml, line 4: rule 'House GPU': an id is made of"),
        ("version: 3", "version: three", "house.yaml, line 2: Expected `int`, got `str` (version)"),
        ('source: ["our cluster"]', "source: []", "house.yaml, line 11: rule 'house-gpu': it has to say where it comes from"),
        ("    sub:", "   sub:", "house.yaml, line 6: not YAML: "),
        (
            '    source: ["our cluster"]',
            "    source: [a]\n    when: [later]",
            "house.yaml, line 12: rule 'house-gpu': there is no condition 'later'",
        ),
        ("rules:", "disable: [nothing]\nrules:", "house.yaml, line 3: there is no rule 'nothing' to disable"),
    ],
)
def test_a_mistake_is_told_with_its_line(old: str, new: str, sentence: str) -> None:
    assert old in RULE
    with pytest.raises(ruleset.BadRules) as caught:
        ruleset.load([("house.yaml", RULE.replace(old, new))])
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_a_mistake(text: str) -> None:
    with pytest.raises(ruleset.BadRules, match=r"house\.yaml: the file is empty"):
        ruleset.load([("house.yaml", text)])


def test_a_file_that_is_no_mapping_is_a_mistake() -> None:
    with pytest.raises(ruleset.BadRules, match=r"house\.yaml, line 1: Expected `object`, got `array`"):
        ruleset.load([("house.yaml", "- a\n")])
