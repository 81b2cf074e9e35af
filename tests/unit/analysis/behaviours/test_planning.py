"""Whether the agent says what it is going to do, keeps to it, and keeps the task in mind."""

from __future__ import annotations

from tests.unit.analysis.behaviours.runs import Example, check, edit, examples, filler, read, run_tests, words, write
from tests.unit.analysis.small import call, say, service

PLAN = "My plan:\n1. read the code\n2. mend it\n3. run the tests"


def todo(*states: str) -> list[dict[str, object]]:
    return [call("TodoWrite", "ok", todos=[{"content": "mend it", "status": state}]) for state in states]


@examples(
    Example("list-in-words", [words(PLAN)], 1, 2),
    Example("list-in-thoughts", [{**read(), "reasoning_content": "I need to\n- read\n- mend\n- test"}], 1, 2),
    Example("tool-for-plans", todo("open"), 1, 2),
    Example("thinking-tool", [call("think", "", thought="Next steps:\n* a b\n* c d\n* e f")], 1, 2),
    Example("two-items", [words("My plan:\n1. read the code\n2. mend it")], 0),
    Example("questions-to-the-user", [words("To proceed I'll need the following details from you:\n1. name\n2. date\n3. card")], 0),
    Example("a-list-of-facts", [words("The options are:\n1. red\n2. blue\n3. green")], 0),
    Example("too-late", [*filler(3), words(PLAN)], 0),
    Example("no-agent", [say("hello", "system")], None),
    Example("plan-far-from-the-list", [words("The plan is clear. " + "It says nothing. " * 12 + "\n1. red\n2. blue\n3. green")], 0),
    Example("plan-within-the-list", [words("1. red\nThe plan:\n2. blue\n3. green")], 0),
)
def test_explicit_plan(example: Example) -> None:
    check("explicit_plan", example)


@examples(
    Example("two-changes", todo("open", "busy", "done"), 1, 3),
    Example("one-change", todo("open", "busy"), 0, 2),
    Example("written-again-unchanged", todo("open", "open", "open"), 0),
    Example("created-task-by-task", [call("TaskCreate", "ok", subject=name) for name in "abc"], 0),
    Example(
        "created-then-updated", [call("TaskCreate", "ok", subject="a"), *[call("TaskUpdate", "ok", taskId=s, status=s) for s in "12"]], 1
    ),
    Example("plan-in-words-only", [words(PLAN)], None),
    Example("calls-of-other-tools", [read(), read("/b"), read("/c")], None),
    Example("plan-without-content", [call("TodoWrite", "ok")], None),
)
def test_plan_updated(example: Example) -> None:
    check("plan_updated", example)


TASK = "Recover the launchcode.txt that the administrator deleted; it is 23 characters of uppercase letters."


@examples(
    Example(
        "terms-at-the-end",
        [*filler(4), words(), words("The administrator deleted launchcode.txt, all its characters are back.")],
        1,
        7,
        TASK,
    ),
    Example("terms-only-at-first", [words("The administrator deleted launchcode.txt with characters."), *filler(5)], 0, None, TASK),
    Example("two-terms", [*filler(5), words("The administrator deleted launchcode.txt.")], 0, None, TASK),
    Example("no-rare-terms", [*filler(2), words()], None),
    Example("no-words", filler(3), None, None, TASK),
)
def test_goal_restated_late(example: Example) -> None:
    check("goal_restated_late", example)


@examples(
    Example("in-order", [read(), edit(), run_tests()], 1, 3),
    Example("changes-first", [edit(), run_tests()], 0),
    Example("never-verifies", [read(), edit()], 0),
    Example("two-returns", [read(), edit(), run_tests(), read("/b.py"), edit(), read("/c.py"), run_tests()], 1),
    Example("three-returns", [read(), *[step for n in "bcd" for step in (edit(), run_tests(), read(f"/{n}.py"))]], 0),
    Example("nothing-edited", [read(), run_tests()], None),
    Example("a-service", [service("get_order", id=1), service("cancel_order", id=1)], None),
    Example("writes", [read(), write(), run_tests()], 1),
)
def test_phase_order_kept(example: Example) -> None:
    check("phase_order_kept", example)
