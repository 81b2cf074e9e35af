"""What the agent looks at before it changes something."""

from __future__ import annotations

from tests.unit.analysis.behaviours.runs import FAILS, TRACE, Example, check, edit, examples, filler, read, run_tests, words, write
from tests.unit.analysis.small import call, service, sh


@examples(
    Example("read-before", [read(), edit()], 1, 3),
    Example("found-by-search", [sh("grep -rn total /app", "/app/core.py:1:total = 1"), edit()], 1),
    Example("blind", [sh("ls /app", "core.py"), edit()], 0, 3),
    Example("read-only-after", [edit(), read()], 0, 2),
    Example("one-of-two", [read(), edit(), edit("/app/other.py")], 0, 4),
    Example("four-of-five", [*[step for n in "abcd" for step in (read(f"/app/{n}.py"), edit(f"/app/{n}.py"))], edit("/app/e.py")], 1),
    Example("only-own-files", [write(), edit("/app/new.py", "here", "there")], None),
    Example("no-edit", [read()], None),
    Example("relative-and-absolute", [sh("cat src/core.py", "x"), sh("sed -i s/a/b/ /app/src/core.py", "")], 1),
)
def test_context_before_edit(example: Example) -> None:
    check("context_before_edit", example)


@examples(
    Example("third-call", [read(), read("/app/b.py"), edit()], 1, 4),
    Example("fourth-call", [*filler(3), edit()], 0, 5),
    Example("service-record", [service("get_order", id=1), service("cancel_order", id=1)], 1, 3),
    Example("failed-edit-is-no-change", [edit(failed=True, output="string to replace not found"), *filler(3), edit()], 0),
    Example("no-change", [read()], None),
    Example("again-later", [edit(), *filler(4), edit()], 1, 2),
)
def test_early_edit(example: Example) -> None:
    check("early_edit", example)


NAMES = "There is a bug in /app/core.py, see also `docs/notes.md`. Write the answer to /app/out.txt."


@examples(
    Example("both-opened", [read(), sh("cat docs/notes.md", "n"), edit()], 1, 3, NAMES),
    Example("one-not", [read(), edit()], 0, 3, NAMES),
    Example("only-after-the-edit", [read(), edit(), read("docs/notes.md")], 0, None, NAMES),
    Example("failed-read", [read(), call("Read", "File does not exist", failed=True, file_path="docs/notes.md"), edit()], 0, None, NAMES),
    Example("none-named", [read(), edit()], None),
    Example("only-results-named", [read(), edit()], None, None, "Write the answer to /app/out.txt and /app/more.txt."),
    Example("named-and-created", [write("/app/tool.py")], None, None, "The tool /app/tool.py is missing."),
    Example("fed-to-a-program", [read(), sh("wc -l < docs/notes.md", "3"), edit()], 1, 3, NAMES),
    Example("among-others", [sh("diff /app/b.py /app/core.py", "x"), read("docs/notes.md"), edit()], 1, 2, NAMES),
    Example("only-spoken-of-by-a-tool", [read(), call("WebSearch", "x", query="notes.md"), edit()], 0, None, NAMES),
)
def test_reads_named_paths(example: Example) -> None:
    check("reads_named_paths", example)


@examples(
    Example("reads-a-test", [read("/app/tests/test_core.py"), edit()], 1, 2),
    Example("searches-for-tests", [sh("find . -name '*test*'", ""), edit()], 1, 2),
    Example("runs-tests", [run_tests(), edit()], 1, 2),
    Example("reads-latest-news", [read("/app/latest.py"), edit()], 0),
    Example("only-after", [edit(), read("/app/tests/test_core.py")], 0),
    Example("a-service", [service("get_order", id=1)], None),
    Example("runs-all-tests", [sh("pytest", "ok")], 1, 2),
    Example("a-test-among-others", [sh("cd /app && cat a.py tests/test_a.py", "x")], 1),
    Example("searches-for-tests-in-a-folder", [sh("cd /app && find . -name '*test*'", "x")], 1),
    Example("a-tool-searches-for-tests", [call("Grep", "x", pattern="def test_", path="/app")], 1),
    Example("searches-for-something-else", [sh("grep -rn total src", "x"), sh("echo test", "test")], 0),
    Example("asks-the-web", [call("WebSearch", "x", query="test"), read()], 0),
)
def test_looks_for_tests(example: Example) -> None:
    check("looks_for_tests", example)


@examples(
    Example("second-half", [*filler(3), edit()], 1, 5),
    Example("exactly-half", [*filler(2), edit(), read()], 1, 4),
    Example("first-half", [read(), edit(), *filler(2)], 0, 3),
    Example("never", filler(4), None),
    Example("again-later", [edit(), *filler(3), edit()], 0, 2),
)
def test_late_first_edit(example: Example) -> None:
    check("late_first_edit", example)


@examples(
    Example("test-fails-first", [run_tests(FAILS), edit()], 1, 2),
    Example("own-script-shows-it", [write("/tmp/repro.py"), sh("python /tmp/repro.py", TRACE, failed=True), edit()], 1, 3),
    Example("fails-behind-a-pipe", [sh("pytest | tail -3", FAILS, failed=False), edit()], 1, 2),
    Example("only-after", [edit(), run_tests(FAILS)], 0, 2),
    Example("program-was-not-there", [sh("pytst", "Exit code 127\npytst: command not found", failed=True), edit()], 0),
    Example("reading-failed", [sh("cat nope", "No such file", failed=True), edit()], 0),
    Example("a-service", [service("get_order", "Error: no such order", id=1)], None),
    Example("words-only", [words()], None),
    Example("written-and-run-in-one-call", [sh("cat > r.py <<'E'\nimport core\nE\npython r.py", TRACE, failed=True), edit()], 1, 2),
    Example("program-of-others", [sh("python /srv/x.py", TRACE, failed=True), edit()], 1, 2),
    Example("may-not-run", [sh("./go.sh", "Exit code 126\n./go.sh: Permission denied", failed=True), edit()], 0),
)
def test_reproduces_first(example: Example) -> None:
    check("reproduces_first", example)
