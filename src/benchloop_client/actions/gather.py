"""Collects the elements of one JSON array from many answers, on disk once they are large, and hands them out in the order asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

from benchloop_client.actions.events import Counter, NullAnswer
from benchloop_client.actions.layout import Layout, Nested, array_chunks
from benchloop_client.actions.lines import lines
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18

#: The text of one id's element, laid out as given.
Element = Callable[[str, Layout], Iterable[bytes]]


class Gathered:
    """A context manager around the temporary file. An element is there whole or not at all."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by `__exit__`
        self._places: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def collect(self, wanted: Sequence[str], element: Element, *, layout: Layout | None = None) -> Report:
        """Fetch the element of each id, laid out to stand in the array, or as given."""
        layout = layout or self._work.layout.inner()

        def one(piece: tuple[int, str]) -> _Kept:
            return _Kept(piece[0], piece[1], _spooled(element(piece[1], layout)))

        counter = Counter(self._work.watch, "fetching", "ids", len(wanted), quiet=True)
        return self._work.run(list(enumerate(wanted)), one, label=lambda piece: piece[1], count=_Appender(self, counter))

    def append(self, kept: _Kept) -> None:
        """Move one element from its own temporary file to the common one; a null is left out, as documented."""
        with kept.file as file:
            size = file.tell()
            file.seek(0)
            if size == len(b"null") and file.read() == b"null":
                self._work.watch(NullAnswer(kept.name))
                return
            file.seek(0)
            start = self._file.seek(0, 2)
            while chunk := file.read(_CHUNK):
                self._file.write(chunk)
            self._places[kept.index] = (start, size)

    def array(self) -> Iterator[bytes]:
        """The array as text with a line end, elements in the order asked for."""
        elements = (self._element(self._places[index]) for index in sorted(self._places))
        yield from array_chunks(elements, self._work.layout)
        yield b"\n"

    def lines(self) -> Iterator[bytes]:
        """The lines of all elements in the order asked for, without line ends; for elements collected with a compact layout."""
        for index in sorted(self._places):
            yield from lines(self._text(*self._places[index]))

    def _element(self, place: tuple[int, int]) -> Nested:
        return Nested(lambda _layout: self._text(*place))

    def _text(self, start: int, size: int) -> Iterator[bytes]:
        while size:
            self._file.seek(start)
            chunk = self._file.read(min(size, _CHUNK))
            yield chunk
            start, size = start + len(chunk), size - len(chunk)


class _Kept:
    """One element that has arrived."""

    def __init__(self, index: int, name: str, file: IO[bytes]) -> None:
        self.index, self.name, self.file = index, name, file


class _Appender:
    """Takes each element as it arrives, in the thread that runs the pool."""

    def __init__(self, gathered: Gathered, counter: Counter) -> None:
        self._gathered, self._counter = gathered, counter

    def ended(self, label: str, value: object, *, failed: bool) -> None:
        """Append what arrived."""
        if isinstance(value, _Kept):
            self._gathered.append(value)
        self._counter.step("fetched", label)


def array_of(values: Iterable[Any], layout: Layout) -> Iterator[bytes]:
    """Plain values as one JSON array with a line end."""
    yield from array_chunks(values, layout)
    yield b"\n"


def _spooled(chunks: Iterable[bytes]) -> IO[bytes]:
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by `Gathered.append`
    try:
        for chunk in chunks:
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    return file
