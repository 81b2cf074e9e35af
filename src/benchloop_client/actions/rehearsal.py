"""A download that is only rehearsed: the decisions of the real one, written down instead of carried out; nothing is made or changed."""

from __future__ import annotations

import threading
from pathlib import Path

from benchloop_client.actions.destination import Destination, Open, Outcome
from benchloop_client.actions.lasting import Lasting
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import PlannedFile
from benchloop_client.errors import LocalError
from benchloop_client.transfer.files import Expect
from benchloop_client.transfer.journal import Journal
from benchloop_client.transfer.plan import Wanted


class Rehearsal(Destination):
    """Takes the place of a `Destination`. `planned` has the files in the order of their paths."""

    rehearsing = True

    def __init__(self, root: Path, *, layout: Layout, run: str = "", skip_existing: bool = False) -> None:
        super().__init__(root, layout=layout, run=run, skip_existing=skip_existing)
        self._planned: dict[str, PlannedFile] = {}
        self._sizes: dict[str, int] = {}
        self._planned_lock = threading.Lock()

    @property
    def planned(self) -> tuple[PlannedFile, ...]:
        """What was decided so far."""
        return tuple(self._planned[path] for path in sorted(self._planned))

    def announce(self, path: str, size: int | None) -> None:
        """Keep the size for the file of that path."""
        if size is not None:
            self._sizes[path] = size

    def save(self, path: str, source: str, open_content: Open, *, expect: Expect | None = None, lasting: Lasting | None = None) -> Outcome:
        """Decide and write the decision down. Raises `LocalError` for a file that could not be written."""
        expect = expect or Expect()
        wanted = Wanted(path, source, expect.size, expect.sha256)
        decision = self._claims.claim(wanted) or self.decision(wanted)
        if decision.action == "conflict":
            raise LocalError(f"{path} cannot be written: {decision.reason}")
        kept = decision.action == "keep" or (decision.action == "rehash" and self.holds(path))
        size = self._on_disk(path).size if kept else self._sizes.get(path, expect.size)
        with self._planned_lock:
            self._planned[path] = PlannedFile(path, source.partition(" ")[0].strip("_"), size, "keep" if kept else "fetch")
        return Outcome(self.root / path, kept=kept)

    def kept(self, path: str, source: str) -> Outcome | None:
        """Nothing is left out before it was written down."""
        return None

    def finish(self) -> None:
        """The real run has still to come."""

    def _open_journal(self) -> Journal:
        return Journal(self.root, read_only=True)
