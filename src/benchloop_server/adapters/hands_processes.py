"""Hands of their own: processes that compute, one for each core, started when there is enough to do and gone with whoever started them."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillComputing
from typing import IO

import msgspec

from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.hands import OwnHands, Program

_LENGTH = struct.Struct(">Q")
_LOOK_SECONDS = 0.3
#: Tasks that are ready for each process beside the one it has.
_AHEAD = 1


class ProcessHands:
    """Up to `count` processes with the environment `environ`, from which they open the blob store. A single task is done here."""

    def __init__(self, count: int, environ: Mapping[str, str]) -> None:
        self._count, self._environ = max(1, count), dict(environ)
        self._own = OwnHands()

    def each(self, program: Program, tasks: Iterable[bytes], *, blobs: BlobStore, waiting: Callable[[], None]) -> Iterator[bytes | None]:
        """See `Hands`."""
        remaining = iter(tasks)
        first = list(itertools.islice(remaining, 2))
        if len(first) < 2:
            yield from self._own.each(program, first, blobs=blobs, waiting=waiting)
            return
        crew = _Crew(self._count, self._environ)
        try:
            yield from crew.answers(program, itertools.chain(first, remaining), waiting)
        finally:
            crew.dismiss()


class _Crew:
    """The processes of one round of tasks."""

    def __init__(self, count: int, environ: Mapping[str, str]) -> None:
        self._count, self._environ = count, environ
        self._free: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._starting = threading.Lock()
        self._dismissed = False
        for _ in range(count):
            self._free.put(None)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="hand")

    def answers(self, program: Program, tasks: Iterator[bytes], waiting: Callable[[], None]) -> Iterator[bytes | None]:
        """The answers in the order of the tasks."""
        under_way: deque[Future[bytes | None]] = deque()
        for task in tasks:
            under_way.append(self._threads.submit(self._do, msgspec.msgpack.encode((program.module, program.name, task))))
            waiting()
            while len(under_way) > self._count * (1 + _AHEAD):
                yield _result(under_way.popleft(), waiting)
        while under_way:
            yield _result(under_way.popleft(), waiting)

    def dismiss(self) -> None:
        """End them, whatever they are at."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._starting:
            self._dismissed = True
            for process in self._all:
                process.kill()
        self._threads.shutdown()
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _do(self, message: bytes) -> bytes | None:
        """One task by one process; a new process takes the place of one that died."""
        process = self._free.get() or self._start()
        answer = None
        try:
            answer = None if process is None else _exchange(process, message)
        except OSError:
            assert process is not None
            process.kill()
        finally:
            self._free.put(process if answer is not None else None)
        return answer

    def _start(self) -> subprocess.Popen[bytes] | None:
        """A new one; None where all are being dismissed."""
        command = [sys.executable, "-m", "benchloop_server.hand"]
        environ = {**self._environ, "PYTHONSAFEPATH": "1"}
        with self._starting:
            if self._dismissed:
                return None
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
            self._all.append(process)
        return process


def _result(future: Future[bytes | None], waiting: Callable[[], None]) -> bytes | None:
    while True:
        try:
            return future.result(_LOOK_SECONDS)
        except StillComputing:
            waiting()


def _exchange(process: subprocess.Popen[bytes], message: bytes) -> bytes:
    """Raises `OSError` where the process is no more."""
    assert process.stdin is not None
    assert process.stdout is not None
    write(process.stdin, message)
    answer = read(process.stdout)
    if answer is None:
        raise BrokenPipeError("the process ended")
    return answer


def write(pipe: IO[bytes], message: bytes) -> None:
    """A message with its length before it."""
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def serve(blobs: BlobStore) -> None:
    """A hand's life: does what comes in on standard input, answers on standard output, and ends when the other side does."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Whatever else is printed in this process must not get between the answers.
    os.dup2(2, 1)
    while (message := read(incoming)) is not None:
        module, name, task = msgspec.msgpack.decode(message, type=tuple[str, str, bytes])
        with contextlib.suppress(BrokenPipeError):
            write(outgoing, Program(module, name).load()(blobs, task))
