"""Shell commands are taken apart into programs, and each is what it does."""

from __future__ import annotations

import time

import pytest

from benchloop_analysis import shell, tables

PROGRAMS = tables.default().programs


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("cd /app && python -m pytest -q 2>&1 | tail -5", "test"),
        ("cat > a.py <<'EOF'\nimport os\nrm -rf /\nEOF", "write"),
        ("sudo apt-get update && apt install -y gcc", "install"),
        ("sed -i 's/a/b/' src/x.py", "edit"),
        ("sed -n 1,5p src/x.py", "read"),
        ("ls -la | grep foo", "search"),
        ("find . -name '*.py' | xargs grep -n foo", "search"),
        ("timeout 10 ./run_tests.sh", "test"),
        ("python3 -c 'print(1)'", "run"),
        ("python app.py --port 1", "run"),
        ("python /app/eval.py", "test"),
        ("A=1 make -j4 test", "test"),
        ("make -j4", "build"),
        ("npm install left-pad", "install"),
        ("git diff HEAD~1", "read"),
        ("git commit -am x", "vcs"),
        ("curl -s https://example.com", "network"),
        ('for f in *.py; do cat "$f"; done', "read"),
        ("bash -c 'echo hi > out.txt'", "write"),
        ("bash -lc 'pytest -q'", "test"),
        (": \n\n", "noop"),
        ("", "noop"),
        ("# only a comment", "noop"),
        ("rm -rf build", "delete"),
        ("} ]:", "other"),
    ],
)
def test_a_command_is_what_it_does(command: str, kind: str) -> None:
    assert shell.main_kind(shell.commands(command, PROGRAMS), PROGRAMS) == kind


def test_a_here_document_is_input_and_no_command() -> None:
    found = shell.commands("cat > a.py <<EOF\nrm -rf /\nEOF\npython3 a.py", PROGRAMS)
    assert [(one.program, one.kind, one.writes) for one in found] == [("cat", "write", ("a.py",)), ("python3", "run", ())]


def test_paths_and_what_is_written() -> None:
    (found,) = shell.commands("cp -r 'my dir/a.py' /tmp/b.py", PROGRAMS)
    assert found.words == ("-r", "my dir/a.py", "/tmp/b.py")
    assert found.writes == ("/tmp/b.py",)
    (appended,) = shell.commands('echo "$(cat x)" >> log.txt 2>/dev/null', PROGRAMS)
    assert appended.writes == ("log.txt",)


def test_what_runs_behind_is_marked() -> None:
    assert [one.background for one in shell.commands("python -m http.server & curl localhost", PROGRAMS)] == [True, False]


def test_a_substitution_of_sed_is_no_path() -> None:
    assert shell.commands("sed -i s/a/b/g x.txt", PROGRAMS)[0].paths == ("x.txt",)


@pytest.mark.parametrize(
    "text",
    [
        " " * 50_000,
        ":" + " \n" * 50_000,
        "'" * 20_000,
        '"' * 20_001,
        "\\" * 20_001,
        "$(" * 8_000,
        "`" * 19_999,
        "<<E " * 5_000,
        "\\\n" * 20_000,
        "a" * 20_000 + " " * 50_000,
        "((((" * 5_000,
        "'a\\" * 5_000,
        "${" * 9_000,
    ],
)
def test_nothing_takes_long(text: str) -> None:
    begun = time.process_time()
    shell.commands(text, PROGRAMS)
    assert time.process_time() - begun < 2
