"""Calls that are right, edits that fit, outputs that are not drowned, errors that are not passed over."""

from __future__ import annotations

from tests.unit.analysis.behaviours.runs import TRACE, Example, check, edit, examples, filler, read, user, words, write
from tests.unit.analysis.small import call, service, sh

REFUSED = call("Read", "InputValidationError: missing required file_path", failed=True)


@examples(
    Example("all", [read(), edit()], 1),
    Example("one-of-four", [REFUSED, *filler(3)], 0.75, 2),
    Example("unknown-tool", [call("Fly", "Error: no such tool: Fly", failed=True)], 0, 2),
    Example("a-program-may-print-that", [sh("python a.py", "missing required argument", failed=True)], 1),
    Example("no-call", [words()], None),
)
def test_valid_calls(example: Example) -> None:
    check("valid_calls", example)


NO_FIT = edit(failed=True, output="String to replace not found in file")


@examples(
    Example("all", [edit(), write()], 1),
    Example("half", [NO_FIT, edit()], 0.5, 2),
    Example("stream-editor-fails", [sh("sed -i s/a/b/ nope.py", "sed: can't read nope.py", failed=True)], 0),
    Example("written-though-the-run-failed", [sh("cat > a.py <<'E'\n1/0\nE\npython a.py", TRACE, failed=True)], 1),
    Example("no-edit", [read()], None),
    Example("a-service", [service("cancel_order", "Error: no", id=1)], None),
    Example("all-steps-are-shown", [edit()], 1, 2),
)
def test_edit_success(example: Example) -> None:
    check("edit_success", example)


@examples(
    Example("edit-tool", [edit()], 1, 2),
    Example("stream-editor", [sh("sed -i s/a/b/ core.py", "")], 1),
    Example("patch", [call("apply_patch", "ok", input="*** Begin Patch\n*** Update File: core.py\n-a\n+b\n*** End Patch")], 1),
    Example("whole-file-that-was-read", [read(), write("/app/core.py")], 0, 3),
    Example("whole-file-by-the-shell", [read(), sh("cat > /app/core.py <<'E'\nx\nE", "")], 0),
    Example("own-file-written-twice", [write(), write(content="other text")], 0, 3),
    Example("appended", [read(), sh("echo x >> /app/core.py", "")], 1),
    Example("listed-before", [sh("ls /app", "core.py"), write("/app/core.py")], 0),
    Example("new-file", [write()], None),
    Example("no-edit", [read()], None),
)
def test_structured_edit(example: Example) -> None:
    check("structured_edit", example)


LONG = "line\n" * 300 + "[truncated: 4000 lines]"


@examples(
    Example("none-cut", [read(), sh("ls", "a")], 1),
    Example("half-cut", [read(output=LONG), sh("ls", "a")], 0.5, 2),
    Example("nothing-answered", [call("Read", None, file_path="a")], None),
    Example("no-call", [words()], None),
)
def test_bounded_output(example: Example) -> None:
    check("bounded_output", example)


@examples(
    Example("fine", [sh("ls", "a"), sh("python a.py", "")], 1),
    Example("editor", [sh("vim a.py", "")], 0, 2),
    Example("bare-python", [sh("python3", "")], 0),
    Example("pager", [sh("less a.py", "")], 0),
    Example("pager-behind-a-pipe", [sh("cat a.py | less", "x")], 1),
    Example("python-that-is-fed", [sh("python3 <<'E'\nprint(1)\nE", "1"), sh("python3 -c 'print(1)'", "1")], 1),
    Example("database-with-a-query", [sh("sqlite3 a.db 'select 1'", "1")], 1),
    Example("server-in-front", [sh("uvicorn app:app", "")], 0),
    Example("server-behind", [sh("uvicorn app:app &", "")], 1),
    Example("module-that-serves", [sh("python3 -m http.server", "")], 0),
    Example("was-not-there", [sh("vim a.py", "vim: command not found", failed=True)], 1),
    Example("no-shell", [read()], None),
    Example("editor-among-others", [sh("cd /app; vim a.py", "")], 0),
    Example("tool-puts-it-behind", [call("Bash", "", command="uvicorn app:app", run_in_background=True)], 1),
    Example("goes-behind-itself", [sh("nginx", ""), sh("vncserver -daemon", ""), sh("timeout 5 uvicorn app:app", "")], 0),
    Example("nginx-goes-behind-itself", [sh("nginx", ""), sh("timeout 5 uvicorn app:app", "")], 1),
)
def test_non_interactive(example: Example) -> None:
    check("non_interactive", example)


ERROR = sh("python main.py", TRACE, failed=True)


@examples(
    Example("passed-over", [ERROR, *filler(4)], 1, 2),
    Example("repeated", [ERROR, *filler(2), sh("python main.py", "fine"), *filler(2)], 0),
    Example("file-of-the-error-is-read", [ERROR, *filler(1), read("/app/core.py"), *filler(3)], 0),
    Example("told-the-user", [ERROR, *filler(1), words("It fails with a bad total."), *filler(3, 5)], 0),
    Example(
        "one-of-two",
        [ERROR, sh("python main.py", "fine"), *filler(3), sh("curl x.example", "Could not resolve", failed=True), *filler(4, 9)],
        1,
    ),
    Example("too-few-steps-left", [ERROR, *filler(2)], None),
    Example("no-error", filler(5), None),
    Example("a-service", [service("get_order", "Error: no order", id="A17"), user(), *[service("get_user", name="x")] * 4], 1, 2),
    Example("a-service-asked-again", [service("get_order", "Error: no order", id="A17"), user(), *[service("get_order", id="B18")] * 4], 0),
    Example("just-enough-steps-left", [ERROR, *filler(3)], 1, 2),
    Example("dealt-with-too-late", [ERROR, *filler(3), sh("python main.py", "fine")], 1, 2),
)
def test_ignores_error(example: Example) -> None:
    check("ignores_error", example)
