"""One generator run in several processes at once, and what they yield merged in one order; nobody gets far ahead of who waits.

A process is started as a program of its own, in a session of its own: Ctrl-C reaches only the one that started it, which ends the others.
It ends by itself when nobody reads any more.
"""

from __future__ import annotations

import importlib
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import msgspec

from benchloop_client.errors import LocalError, one_line

#: An item: where it belongs in the order (group, place, …), and its bytes. Keys grow within one process.
Item = tuple[tuple[int, ...], bytes]
#: What a process runs: given its task as JSON, it yields items.
Generator = Callable[[bytes], Iterable[Item]]

#: How many items, and bytes, one process may be ahead of the reader.
_AHEAD = 64
_LENGTH = struct.Struct(">I")
_END_SECONDS = 5.0
_BOOT = (
    "import sys; sys.path[:] = {path!r}; import importlib; "
    "importlib.import_module('benchloop_client.actions.processes').serve({module!r}, {name!r})"
)


class _Frame(msgspec.Struct, array_like=True):
    """One item on its way, or with `failed` the last words of a process."""

    key: tuple[int, ...] = ()
    data: bytes = b""
    failed: str | None = None


class _Broken(Exception):
    """The process ended before it had said that it was done."""


@dataclass(frozen=True, slots=True)
class Program:
    """The generator `name` of `module`, which must be importable by that name."""

    module: str
    name: str

    def load(self) -> Generator:
        """The generator itself."""
        found: Generator = getattr(importlib.import_module(self.module), self.name)
        return found


def run(program: Program, tasks: Sequence[bytes]) -> Iterator[Item]:
    """What the generator yields for each task, merged by key; one task is run right here, several in a process each.

    Raises `LocalError` when a process cannot be started or breaks; the others are ended then, as at any other end.
    """
    if len(tasks) == 1:
        yield from program.load()(tasks[0])
        return
    workers: list[_Worker] = []
    try:
        workers += [_Worker(program, task) for task in tasks]
        yield from _merged(workers)
    finally:
        for worker in workers:
            worker.end()


def _merged(workers: Sequence[_Worker]) -> Iterator[Item]:
    """The item with the smallest key of all, again and again. Each worker's next one has to be known for that."""
    waiting = {number: item for number, worker in enumerate(workers) if (item := worker.next()) is not None}
    while waiting:
        number = min(waiting, key=lambda one: (waiting[one][0], one))
        yield waiting.pop(number)
        item = workers[number].next()
        if item is not None:
            waiting[number] = item


class _Worker:
    """One process, and the thread that takes what it writes."""

    def __init__(self, program: Program, task: bytes) -> None:
        boot = _BOOT.format(path=[part for part in sys.path if part], module=program.module, name=program.name)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=-1
            )
        except OSError as error:
            raise LocalError(f"no process can be started: {error.strerror or error}") from None
        self._frames: queue.Queue[_Frame | _Broken] = queue.Queue(_AHEAD)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._take, args=(task,), daemon=True)
        self._thread.start()

    def next(self) -> Item | None:
        """The next item, None at the end. Raises `LocalError` when the process broke."""
        frame = self._frames.get()
        if isinstance(frame, _Broken):
            raise LocalError("a process of the analysis ended too early; --jobs 1 does without")
        if frame.failed is not None:
            raise LocalError(f"a process of the analysis failed: {frame.failed}")
        return (frame.key, frame.data) if frame.key else None

    def end(self) -> None:
        """Make sure that the process is gone."""
        self._ended.set()
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(_END_SECONDS)

    def _take(self, task: bytes) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with self._process.stdin as stream:
                _write(stream, task)
            with self._process.stdout as stream:
                self._pass_on(stream)
        except (OSError, _Broken, msgspec.MsgspecError):
            self._put(_Broken())

    def _pass_on(self, stream: IO[bytes]) -> None:
        frame = _Frame(key=(0,))
        while frame.key and not self._ended.is_set():
            frame = msgspec.msgpack.decode(_read(stream), type=_Frame)
            self._put(frame)

    def _put(self, frame: _Frame | _Broken) -> None:
        while not self._ended.is_set():
            try:
                self._frames.put(frame, timeout=0.2)
            except queue.Full:
                continue
            return


def serve(module: str, name: str) -> None:
    """The whole life of such a process: the task from stdin, items to stdout. What is printed otherwise goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        task = _read(sys.stdin.buffer)
        for key, data in Program(module, name).load()(task):
            _write(out, msgspec.msgpack.encode(_Frame(key, data)))
            out.flush()
        _write(out, msgspec.msgpack.encode(_Frame()))
        out.flush()
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:  # noqa: BLE001 - the one that started this process tells the person
        _write(out, msgspec.msgpack.encode(_Frame(failed=one_line(f"{type(error).__name__}: {error}"))))
        out.flush()


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)) + data)


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise _Broken
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise _Broken
    return data
