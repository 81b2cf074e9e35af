"""Work that is done again, loops, text that is written and thrown away."""

from __future__ import annotations

from tests.unit.analysis.behaviours.runs import FAILS, PLACES, Example, check, edit, examples, filler, read, run_tests, seen, words, write
from tests.unit.analysis.small import call, service, sh


@examples(
    Example("read-again", [read(), read("/b"), read()], 1 / 3, 4),
    Example("changed-in-between", [read(), edit(), read()], 0),
    Example("something-new-came-of-it", [sh("tail log", "1"), sh("tail log", "2")], 0),
    Example("tests-again-without-a-change", [sh("pytest", "2 passed in 0.1s"), sh("pytest", "2 passed in 0.2s")], 0.5, 3),
    Example("service-changed-in-between", [service("get_order", id=1), service("cancel_order", id=1), service("get_order", id=1)], 0),
    Example("no-call", [words()], None),
    Example("a-program-wrote-a-file", [read(), sh("python gen.py > out.txt", ""), read()], 0),
    Example("something-was-installed", [read(), sh("pip install x", "ok"), read()], 0),
    Example("nothing-was-installed", [read(), sh("pip install x", "no", failed=True), read()], 1 / 3),
)
def test_duplicate_calls(example: Example) -> None:
    check("duplicate_calls", example)


@examples(
    Example("three-times", [read(), read(), read()], 1, 4),
    Example("twice", [read(), read(), read("/b")], 0),
    Example("taking-turns", [read("/a"), read("/b", "y"), read("/a"), read("/b", "y")], 1, 2),
    Example("not-in-a-row", [read(), *filler(1), read(), *filler(1, 5), read()], 0),
    Example("results-differ", [sh("tail log", str(n)) for n in range(4)], 0),
    Example("two-calls", [read(), read()], None),
)
def test_loop_3(example: Example) -> None:
    check("loop_3", example)


TEXT = "first line\nsecond line\nthird line\nfourth line"


@examples(
    Example("replaced", [write(content=TEXT), edit("/app/new.py", "first line", "another one")], 1 / 5, 3),
    Example("rewritten", [write(content=TEXT), write(content="first line\nnew text")], 3 / 5, 3),
    Example("kept", [write(content=TEXT), edit("/app/new.py", "fourth line", "fourth line\nfifth line")], 0),
    Example("lines-of-others", [edit(old="total = 1", new="total = 2")], 0),
    Example("another-file", [write(content=TEXT), edit("/app/b.py", "first line", "another one")], 0),
    Example("by-the-shell", [sh(f"cat > a.py <<'E'\n{line}\nE", "") for line in ("print('one')", "print('two')")], 0.5),
    Example("nothing-known", [sh("sed -i s/a/b/ core.py", "")], None),
    Example("no-edit", [read()], None),
    Example("signs-are-no-lines", [write(content="}\n)\n\n")], None),
)
def test_edit_churn(example: Example) -> None:
    check("edit_churn", example)


@examples(
    Example("one-run-alone-does-not-say", [read(), run_tests(FAILS)], None),
    Example("nor-without-calls", [words()], None),
    Example("nor-with-many", [call("Read", "x", file_path=str(n)) for n in range(9)], None),
)
def test_relative_length(example: Example) -> None:
    check("relative_length", example)


def test_of_a_loop_only_the_calls_in_it_are_shown() -> None:
    place = PLACES["loop_3"]
    assert seen(read("/b"), read(), read(), read(), read("/c")).steps[place] == (3, 4, 5)
    assert seen(read("/c"), read("/a"), read("/b", "y"), read("/a"), read("/b", "y"), read("/d")).steps[place] == (3, 4, 5, 6)
