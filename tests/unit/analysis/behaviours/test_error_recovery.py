"""What the agent does after an error."""

from __future__ import annotations

from tests.unit.analysis.behaviours.runs import FAILS, TRACE, Example, check, edit, examples, filler, read, run_tests, words
from tests.unit.analysis.small import call, service, sh


def fails(command: str = "python main.py", output: str = TRACE) -> dict[str, object]:
    """A program that ends in an error."""
    return sh(command, output, failed=True)


@examples(
    Example("reads-the-named-file", [fails(), read("/app/core.py")], 1, 2),
    Example("searches-the-named-symbol", [fails(), sh("grep -rn 'total' .", "x")], 1, 2),
    Example("lists-the-named-folder", [fails("cat /app/data/x", "cat: /app/data/x: No such file"), sh("ls /app/data", "y")], 1),
    Example("words-in-between", [fails(), words(), read("/app/core.py")], 1),
    Example("reads-something-else", [fails(), read("/app/other.py")], 0, 2),
    Example("edits-at-once", [fails(), edit()], 0),
    Example("one-step-too-late", [fails(), *filler(1), read("/app/core.py")], 0),
    Example("half-of-them", [fails(), read("/app/core.py"), fails(), edit()], 1),
    Example("ends-with-it", [read(), fails()], None),
    Example("no-error", [read(), edit()], None),
    Example("a-service", [service("get_order", "Error: no order 17", id=17), service("get_order", id=1)], None),
    Example("a-tool-searches-the-named-symbol", [fails(), call("Grep", "x", pattern="def total")], 1, 2),
    Example("a-tool-searches-something-else", [fails(), call("Grep", "x", pattern="def other")], 0),
    Example("runs-something-that-is-named", [fails(), sh("python total", "x")], 0),
)
def test_diagnoses_error(example: Example) -> None:
    check("diagnoses_error", example)


@examples(
    Example("another-program", [fails(), fails(), read()], 1, 3),
    Example("another-target", [fails("python a.py"), fails("python a.py"), sh("python b.py", "ok")], 1),
    Example("the-same-again", [fails(), fails(), fails()], 0, 3),
    Example("another-question-to-a-service", [*[service("get_order", "Error: no such order", id=1)] * 2, service("get_order", id=2)], 1),
    Example("two-different-errors", [fails(), fails(output="SyntaxError: invalid syntax"), read()], None),
    Example("ends-with-them", [fails(), fails()], None),
    Example("no-error", [read()], None),
    Example("half-of-them", [fails(), fails(), fails(), read()], 1, 4),
    Example("the-same-file-in-another-way", [call("Read", "too large", failed=True, file_path="a.py", offset=n) for n in range(3)], 0),
)
def test_changes_approach(example: Example) -> None:
    check("changes_approach", example)


@examples(
    Example("solved", [fails(), edit(), sh("python main.py", "fine")], 1, 2),
    Example("one-of-two", [fails(), fails("cat /srv/x", "cat: /srv/x: No such file"), sh("python main.py", "fine")], 0.5),
    Example("never", [fails(), read("/app/other.py")], 0, 2),
    Example("reading-the-file-is-no-success", [fails(), read("main.py")], 0),
    Example("still-failing-behind-a-pipe", [fails("pytest", FAILS), sh("pytest | tail -3", FAILS)], 0),
    Example("program-found", [fails("gcc a.c", "Exit code 127\ngcc: command not found"), sh("clang a.c", "ok")], 1),
    Example("edit-that-fits", [edit(failed=True, output="string to replace not found"), edit()], 1),
    Example("a-service", [service("cancel_order", "Error: no such order", id=1), service("cancel_order", id=2)], 1),
    Example("no-error", [read()], None),
    Example("printing-the-file-is-no-success", [fails(), sh("cat main.py", "x")], 0),
    Example("another-program-of-the-kind", [fails(), sh("python other.py", "fine")], 0),
    Example("another-kind-of-program", [fails("gcc a.c", "Exit code 127\ngcc: command not found"), sh("ls", "a.c")], 0),
)
def test_errors_resolved(example: Example) -> None:
    check("errors_resolved", example)


@examples(
    Example("at-once", [fails(), fails()], 1, 3),
    Example("words-in-between", [fails(), words(), fails()], 1, 4),
    Example("after-an-edit", [fails(), edit(), fails()], 0),
    Example("changed", [fails(), fails("python main.py -v")], 0),
    Example("ends-with-it", [fails()], None),
    Example("no-error", [read(), read()], None),
)
def test_repeats_failing_call(example: Example) -> None:
    check("repeats_failing_call", example)


@examples(
    Example("checkout", [edit(), run_tests(FAILS), sh("git checkout -- core.py", "")], 1, 4),
    Example("stash", [edit(), run_tests(), edit(), run_tests(FAILS), sh("git stash", "")], 1, 6),
    Example("from-a-backup", [edit(), run_tests(FAILS), sh("cp core.py.bak core.py", "")], 1),
    Example("undo-of-an-editor", [edit(), run_tests(FAILS), call("str_replace_editor", "ok", command="undo_edit", path="/app/core.py")], 1),
    Example("another-branch-is-no-undo", [edit(), run_tests(FAILS), sh("git checkout main", "")], 0, 3),
    Example("too-late", [edit(), run_tests(FAILS), *filler(5), sh("git stash", "")], 0),
    Example("failed-before-already", [run_tests(FAILS), edit(), run_tests(FAILS), sh("git stash", "")], None),
    Example("passes", [edit(), run_tests()], None),
    Example("no-edit", [run_tests(FAILS)], None),
    Example("whole-folder", [edit(), run_tests(FAILS), sh("git checkout .", "")], 1),
    Example("in-a-folder", [edit(), run_tests(FAILS), sh("cd /app && git restore core.py", "")], 1),
    Example("reversed-patch", [edit(), run_tests(FAILS), sh("git apply -R a.diff", "")], 1),
    Example("reversed-by-patch", [edit(), run_tests(FAILS), sh("patch -R core.py", "")], 1),
    Example("patch", [edit(), run_tests(FAILS), sh("git apply a.diff", "")], 0),
    Example("patch-program", [edit(), run_tests(FAILS), sh("patch core.py", "")], 0),
    Example("sorting", [edit(), run_tests(FAILS), sh("sort -R core.py", "")], 0),
    Example("history", [edit(), run_tests(FAILS), sh("git log", "")], 0),
    Example("copy", [edit(), run_tests(FAILS), sh("cp core.py other.py", "")], 0),
    Example("backup-is-made", [edit(), run_tests(FAILS), sh("cp core.py core.py.bak", "")], 0),
    Example("another-edit", [edit(), run_tests(FAILS), read(), edit()], 0),
    Example("in-the-call-of-the-first-edit", [sh("cat > a.py <<'E'\n1/0\nE\npython a.py", TRACE, failed=True), sh("git stash", "")], 1),
    Example("one-file", [edit(), run_tests(FAILS), sh("git checkout core.py", "")], 1),
    Example("words-about-it", [edit(), run_tests(FAILS), words("I undo it."), read()], 0),
)
def test_reverts_bad_change(example: Example) -> None:
    check("reverts_bad_change", example)
