"""Whether the agent checks what it did."""

from __future__ import annotations

from benchloop_analysis.behaviours.view import Run
from benchloop_analysis.case import Case
from tests.unit.analysis.behaviours.runs import FAILS, PASSES, TRACE, Example, check, edit, examples, filler, read, run_tests, words, write
from tests.unit.analysis.small import call, job, service, sh


@examples(
    Example("tests-after", [edit(), run_tests()], 1, 3),
    Example("build-after", [edit("/app/a.c"), sh("make", "cc a.c")], 1, 3),
    Example("runs-the-edited-file", [write(), sh("python /app/new.py", "here")], 1, 3),
    Example("imports-it", [write(), sh("python -c 'import new; new.go()'", "")], 0),
    Example("imports-a-longer-name", [write("/app/solver.py"), sh("python -c 'import solver'", "")], 1),
    Example("runs-the-tasks-script", [edit(), sh("bash /app/go.sh", "ok")], 1, None, "Use /app/go.sh to see whether it works."),
    Example("runs-something-else", [edit(), sh("python /srv/other.py", "")], 0, 2),
    Example("only-before", [run_tests(), edit()], 0, 3),
    Example("in-the-same-call", [sh("cat > /app/a.py <<'EOF'\nprint(1)\nEOF\npython /app/a.py", "1")], 1, 2),
    Example("same-call-but-before", [write("/app/a.py"), sh("python /app/a.py; echo done > /app/a.txt", "")], 0),
    Example("scratch-removed-afterwards", [edit(), run_tests(), sh("rm /tmp/x.py", "")], 1),
    Example("no-edit", [read(), run_tests()], None),
    Example("a-service", [service("cancel_order", id=1)], None),
)
def test_check_after_last_edit(example: Example) -> None:
    check("check_after_last_edit", example)


@examples(
    Example("every-edit", [edit(), run_tests(), edit(), *filler(2), run_tests()], 1),
    Example("half", [edit(), run_tests(), edit(), *filler(3), run_tests()], 0.5, 4),
    Example("words-do-not-count-as-steps", [edit(), *[words()] * 4, run_tests()], 1),
    Example("none", [edit(), read()], 0, 2),
    Example("no-edit", [run_tests()], None),
    Example("all-steps-are-shown", [edit(), run_tests()], 1, 2),
)
def test_check_rate(example: Example) -> None:
    check("check_rate", example)


@examples(
    Example("passes", [edit(), run_tests()], 1, 3),
    Example("fails", [edit(), run_tests(FAILS)], 0, 3),
    Example("fails-behind-a-pipe", [edit(), sh("pytest | tail", FAILS, failed=False)], 0),
    Example("last-one-counts", [edit(), run_tests(FAILS), sh("pytest -x", PASSES)], 1, 4),
    Example("edited-again", [edit(), run_tests(), edit()], None),
    Example("no-result", [edit(), call("Bash", None, command="pytest")], None),
    Example("in-the-background", [edit(), sh("pytest", "Command running in background with ID: 1")], None),
    Example("no-check", [edit(), read()], None),
    Example("no-edit", [run_tests()], None),
)
def test_passing_check_at_end(example: Example) -> None:
    check("passing_check_at_end", example)


@examples(
    Example("read-again", [edit(), read()], 1, 2),
    Example("by-a-relative-path", [edit(), sh("sed -n 1,20p core.py", "total = 2")], 1),
    Example("by-the-difference", [edit(), sh("git diff", "+total = 2")], 1),
    Example("only-listed", [edit(), sh("ls /app/core.py", "/app/core.py")], 0),
    Example("another-file", [edit(), read("/app/b.py")], 0, 2),
    Example("too-late", [edit(), *filler(2), read()], 0),
    Example("one-of-two", [edit(), read(), edit(), *filler(2)], 1),
    Example("one-of-three", [edit(), read(), edit(), *filler(2), edit(), *filler(2)], 0),
    Example("no-edit", [read()], None),
    Example("failed-read", [edit(), call("Read", "File does not exist", failed=True, file_path="/app/core.py")], 0),
    Example("only-the-state", [edit(), sh("git status", "M core.py")], 0),
    Example("among-others", [edit(), sh("cat /app/b.py /app/core.py", "x")], 1),
)
def test_reads_back_edit(example: Example) -> None:
    check("reads_back_edit", example)


@examples(
    Example("new-test-file", [write("/app/tests/test_new.py")], 1, 2),
    Example("test-function", [edit(new="def test_total():\n    assert total() == 2")], 1, 2),
    Example("in-a-here-document", [sh("cat > /app/c.py <<'E'\ndef test_x():\n    pass\nE", "")], 1),
    Example("edits-a-test", [edit("/app/tests/test_a.py", "1", "2")], 0),
    Example("no-test", [write()], 0),
    Example("nothing-written", [read()], None),
    Example("among-others", [sh("echo x > a.py; echo y > test_b.py", "")], 1),
    Example("a-word-like-it", [edit(new="x = latest('a')")], 0),
)
def test_adds_own_test(example: Example) -> None:
    check("adds_own_test", example)


@examples(
    Example("two-arguments", [sh("python a.py 1", "1"), sh("python a.py 2", "2")], 1, 3),
    Example("two-inputs", [sh("./prog < in1", ""), sh("./prog < in2", "")], 1),
    Example("fed-by-a-pipe", [sh("echo 1 | ./prog", ""), sh("echo 2 | ./prog", "")], 1),
    Example("same-input", [sh("python a.py 1", "1"), sh("python a.py 1 | head", "1")], 0),
    Example("two-programs", [sh("python a.py 1", "1"), sh("python b.py 2", "1")], 0),
    Example("test-runner", [sh("pytest tests/test_a.py", ""), sh("pytest tests/test_b.py", "")], None),
    Example("nothing-run", [read()], None),
    Example("inline-code", [sh("python -c 'print(1.0)'", ""), sh("python -c 'print(2.0)'", "")], None),
    Example("module", [sh("python -m tool a.txt", ""), sh("python -m tool b.txt", "")], None),
    Example("same-input-elsewhere", [sh("cd /a; echo 1 | ./prog", ""), sh("cd /b; echo 1 | ./prog", "")], 0),
    Example("program-without-a-file", [sh("node server 1", ""), sh("node server 2", "")], None),
    Example("script-in-a-folder", [sh("python tools/run 1", ""), sh("python tools/run 2", "")], 1),
)
def test_varied_inputs(example: Example) -> None:
    check("varied_inputs", example)


RESULTS = "Write the answer to /app/out.txt and /app/more.txt."


@examples(
    Example("both-late", [*filler(6), read("/app/out.txt"), sh("cat more.txt", "x")], 1, 9, RESULTS),
    Example("one-late", [*filler(6), read("/app/out.txt"), read("/app/a")], 0, None, RESULTS),
    Example("only-early", [read("/app/out.txt"), read("/app/more.txt"), *filler(6)], 0, None, RESULTS),
    Example("written-is-not-looked-at", [*filler(4), write("/app/out.txt"), write("/app/more.txt")], 0, None, RESULTS),
    Example("run", [*filler(4), write("/app/go.py"), sh("python /app/go.py", "")], 1, 7, "Create /app/go.py."),
    Example("nothing-asked-for", [read("/app/out.txt")], None, None, "Look at /app/out.txt."),
    Example("a-service", [service("get_order", id=1)], None, None, RESULTS),
    Example("failed-read", [*filler(4), call("Read", "no such file", failed=True, file_path="/app/go.py")], 0, None, "Create /app/go.py."),
    Example("named-by-a-check", [*filler(4), sh("pytest --file=/app/out.txt --more=more.txt", "")], 1, 6, RESULTS),
    Example("named-by-something-else", [*filler(4), sh("echo /app/out.txt more.txt", "")], 0, None, RESULTS),
)
def test_touches_all_artefacts(example: Example) -> None:
    check("touches_all_artefacts", example)


def test_a_search_that_finds_nothing_is_no_error() -> None:
    run = Run(Case(job(sh("grep x a", "Exit code 1", failed=True), sh("python a.py", f"Exit code 1\n{TRACE}", failed=True))))
    assert [act.event.step_id for act in run.errors] == [3]
