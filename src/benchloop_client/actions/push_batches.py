"""Batches of jobs on their way: asked about, packed, sent, and committed in the order of the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from benchloop_client.actions.push_jobs import Built, JobContent, build
from benchloop_client.actions.push_uploads import Meter, send
from benchloop_client.actions.spool import Spool
from benchloop_client.actions.work import Work
from benchloop_client.contract.resources import Fingerprint, JobsCheck, JobState, JobsUpsert
from benchloop_client.errors import ApiError, Cancelled, LocalError
from benchloop_client.formats.records import Rejected, RunJob

#: A batch ends at so many jobs, at so many bytes held in memory, or at so many bytes of files, packed into a temporary file meanwhile.
BATCH_JOBS = 250
BATCH_HELD = 12 << 20
BATCH_FILES = 64 << 20
#: Statuses that mean that one of the jobs of a batch cannot be taken, as against a server that cannot take anything.
_ABOUT_ONE = frozenset({400, 409, 413, 422})
_TICK = 0.1


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs that go together; batches count from 0."""

    number: int
    contents: tuple[JobContent, ...]


@dataclass
class Sent:
    """What became of a batch."""

    states: list[JobState] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def reject(self, content: JobContent, error: Exception) -> None:
        """One job was not taken."""
        self.rejected.append(Rejected(content.job.location, error.detail if isinstance(error, ApiError) else str(error)))


class Batches:
    """Everything that the batches of one group share. `push` is called by several threads at once; `known`: the server has the group."""

    def __init__(self, work: Work, group_id: str, *, known: bool, reread: Callable[[RunJob], JobContent]) -> None:
        self._work, self._group_id, self._known, self._reread = work, group_id, known, reread
        self._meter = Meter(work.watch)
        self._turns = _Turns(work.client.cancel)

    @staticmethod
    def of(contents: Iterable[JobContent]) -> Iterator[Batch]:
        """The jobs in batches."""
        batch: list[JobContent] = []
        number = held = files = 0
        for content in contents:
            batch.append(content)
            held += content.held
            files += sum(each.file.size for each in content.files)
            if len(batch) >= BATCH_JOBS or held >= BATCH_HELD or files >= BATCH_FILES:
                yield Batch(number, tuple(batch))
                batch, number, held, files = [], number + 1, 0, 0
        if batch:
            yield Batch(number, tuple(batch))

    def push(self, batch: Batch) -> Sent:
        """Send what the server lacks of a batch, then, when those before are committed, the jobs themselves."""
        try:
            sent = self._pushed(batch)
        except BaseException:
            self._turns.give_up()
            raise
        self._turns.done(batch.number)
        return sent

    def end(self) -> None:
        """No more will be sent."""
        self._meter.end()

    def _pushed(self, batch: Batch) -> Sent:
        sent = Sent()
        changed = self._changed(batch.contents, sent)
        with Spool() as spool:
            built = list(self._built(changed, spool, sent))
            refused = send(self._work, [upload for job in built for upload in job.uploads], self._meter)
            good: list[Built] = []
            for job in built:
                error = next((refused[upload.sha256] for upload in job.uploads if upload.sha256 in refused), None)
                if error is None:
                    good.append(job)
                else:
                    sent.reject(job.content, error)
        self._turns.wait(batch.number)
        self._put(good, sent)
        return sent

    def _changed(self, contents: tuple[JobContent, ...], sent: Sent) -> list[JobContent]:
        """Those that the server has not got as they are."""
        if not self._known:
            return list(contents)
        found, refused = states(self._work, self._group_id, contents)
        for content, error in refused:
            sent.reject(content, error)
        sent.states += [state for state in found.values() if state.state == "unchanged"]
        return [each for each in contents if each.job_id in found and found[each.job_id].state != "unchanged"]

    def _built(self, contents: Iterable[JobContent], spool: Spool, sent: Sent) -> Iterator[Built]:
        for content in contents:
            try:
                yield build(content, spool, self._reread)
            except LocalError as error:
                sent.reject(content, error)

    def _put(self, jobs: list[Built], sent: Sent) -> None:
        """Commit jobs together; where one of them is refused, find out which by halves and go on with the others."""
        if not jobs:
            return
        try:
            answer = self._work.client.jobs_put(self._group_id, JobsUpsert(jobs=[job.upsert for job in jobs]))
        except ApiError as error:
            if error.status not in _ABOUT_ONE:
                raise
            if len(jobs) == 1:
                sent.reject(jobs[0].content, error)
                return
            middle = len(jobs) // 2
            self._put(jobs[:middle], sent)
            self._put(jobs[middle:], sent)
            return
        sent.states += answer.results


def states(work: Work, group_id: str, contents: tuple[JobContent, ...]) -> tuple[dict[str, JobState], list[tuple[JobContent, ApiError]]]:
    """What a push of these would do, by job id; and those that the server refuses to speak of, such as one whose id is another group's."""
    if not contents:
        return {}, []
    asked = JobsCheck(jobs=[Fingerprint(job_id=each.job_id, fingerprint=each.fingerprint) for each in contents])
    try:
        return {result.job_id: result for result in work.client.jobs_check(group_id, asked).results}, []
    except ApiError as error:
        if error.status not in _ABOUT_ONE:
            raise
        if len(contents) == 1:
            return {}, [(contents[0], error)]
    middle = len(contents) // 2
    first, second = states(work, group_id, contents[:middle]), states(work, group_id, contents[middle:])
    return first[0] | second[0], first[1] + second[1]


class _Turns:
    """Who comes first commits first. A batch that fails takes the ones behind it along."""

    def __init__(self, cancel: threading.Event) -> None:
        self._cancel = cancel
        self._changed = threading.Condition()
        self._next = 0
        self._over = False

    def wait(self, number: int) -> None:
        """Until every batch before `number` is done. Raises `Cancelled` when one failed or the push is cancelled."""
        with self._changed:
            while self._next < number:
                if self._over or self._cancel.is_set():
                    raise Cancelled
                self._changed.wait(_TICK)

    def done(self, number: int) -> None:
        """The batch is committed."""
        with self._changed:
            self._next = number + 1
            self._changed.notify_all()

    def give_up(self) -> None:
        """A batch will never be done."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
