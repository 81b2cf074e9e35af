"""The two streams when something is wrong with them."""

from __future__ import annotations

import io
import os
from pathlib import Path

from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.cli.output import Output
from benchloop_client.settings import load
from tests.unit.client.cli.conftest import FakeClient


class _Gone(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise BrokenPipeError

    def fileno(self) -> int:
        raise OSError


def _env(stdout: object, stderr: io.StringIO) -> Env:
    def client(settings: object, cancel: object) -> object:
        made = FakeClient(settings, cancel)  # type: ignore[arg-type]
        made.answers = {"J1": {}}
        return made

    host = {"BENCHLOOP_HOST": "http://127.0.0.1:9"}
    return Env(None, stdout, stderr, lambda: 0.0, lambda flags: load(flags, host), client)  # type: ignore[arg-type]


def test_a_reader_that_has_gone_ends_it_quietly() -> None:
    err = io.StringIO()
    assert run(["metrics", "get", "-j", "J1"], _env(_Gone(), err)) == 0
    assert err.getvalue() == ""


def test_a_process_without_stdout_still_does_its_work() -> None:
    err = io.StringIO()
    assert run(["metrics", "get", "-j", "J1"], _env(None, err)) == 0
    assert err.getvalue() == ""


def test_words_that_the_stream_cannot_write_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "err"
    with open(path, "w", encoding="ascii", errors="strict") as stream:
        Output(None, stream).error("job 名")
    assert path.read_text() == "[error] job \\u540d" + os.linesep


def test_a_stderr_that_nobody_reads_is_no_error() -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        Output(None, stream).error("x")
