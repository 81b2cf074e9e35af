"""A job as rules look at it: its input, its events, and what several rules ask, worked out once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from benchloop_analysis import expected, graded
from benchloop_analysis.events import read_trajectory, seconds_of
from benchloop_analysis.lines import Searchable
from benchloop_analysis.records import Event, File, JobInput, Trajectory, VerifierReport
from benchloop_analysis.tables import Tables, default

_QUOTED_PATH = re.compile(r"(?<![\w/.-])(/?(?:[\w.-]+/)*[\w-]+\.[A-Za-z]\w{0,7}|/(?:[\w.-]+/)+[\w.-]+)(?![\w/-])")
_EMPTY = Trajectory(events=())


class Case:
    """One job. Everything is worked out when it is first asked for."""

    def __init__(self, job: JobInput, tables: Tables | None = None) -> None:
        self.job = job
        self.facts = job.facts
        self.tables = tables or default()

    @cached_property
    def trajectory(self) -> Trajectory:
        """The events; none where there is no trajectory."""
        return _EMPTY if self.job.document is None else read_trajectory(self.job.document, self.tables)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events in order."""
        return self.trajectory.events

    @cached_property
    def calls(self) -> tuple[Event, ...]:
        """Events that are calls."""
        return tuple(event for event in self.events if event.tool is not None)

    @cached_property
    def agent_events(self) -> tuple[Event, ...]:
        """Events of the agent."""
        return tuple(event for event in self.events if event.source == "agent")

    @cached_property
    def report(self) -> VerifierReport | None:
        """What the verifier's report says."""
        return graded.read_report(self.job.files)

    @cached_property
    def passed(self) -> bool:
        """Whether the recorded reward is a full one."""
        return self.facts.reward is not None and self.facts.reward >= 1

    @cached_property
    def failed(self) -> bool:
        """Whether it is known not to have passed: a lower reward, or an error and no reward."""
        reward = self.facts.reward
        return self.facts.error_type is not None if reward is None else reward < 1

    @cached_property
    def ended(self) -> bool:
        """Whether the job is over."""
        return self.facts.status not in ("pending", "running")

    @cached_property
    def interactive(self) -> bool:
        """Whether somebody answers the agent during the run."""
        first = next((event.position for event in self.agent_events), None)
        return first is not None and any(event.source == "user" and event.position > first for event in self.events)

    @cached_property
    def last_agent(self) -> Event | None:
        """The last event of the agent."""
        return self.agent_events[-1] if self.agent_events else None

    @cached_property
    def final_text(self) -> Event | None:
        """The agent's last words, where its last step has words and no call."""
        last = self.last_agent
        return last if last is not None and last.tool is None and last.text.strip() else None

    @cached_property
    def agent_seconds(self) -> float | None:
        """How long the agent had: its phase, else the trajectory, else the job."""
        phase = self.facts.phases.get("agent_execution")
        for start, end in (
            (phase.started_at, phase.finished_at) if phase else (None, None),
            (self.facts.started_at, self.facts.finished_at) if self.trajectory.seconds is None else (None, None),
        ):
            begun, over = seconds_of(start), seconds_of(end)
            if begun is not None and over is not None and over > begun:
                return over - begun
        return self.trajectory.seconds

    @cached_property
    def named_paths(self) -> tuple[str, ...]:
        """Files that the task's text names, in order."""
        return tuple(dict.fromkeys(match.group(1).rstrip(".") for match in _QUOTED_PATH.finditer(self.trajectory.instruction[:20_000])))

    @cached_property
    def changes(self) -> tuple[Event, ...]:
        """Calls that changed files or a service, as far as nothing says that they failed."""
        return tuple(event for event in self.calls if (event.kind in ("edit", "write", "delete") or event.writes) and not event.is_error)

    @cached_property
    def difference(self) -> expected.Difference | None:
        """What was done beside what was asked for; None where the data does not say what was asked for."""
        wanted = expected.wanted_actions(self.job.files)
        if wanted is None or self.job.document is None:
            return None
        names = {event.tool for event in self.calls if event.tool is not None} | {action.name for action in wanted}
        changing = frozenset(name for name in names if self.tables.tools.named(name)[0] in ("write", "delete"))
        return expected.difference(wanted, self.events, changing)

    def searchable(self, file: File) -> Searchable:
        """The file's text for a search by lines."""
        found = self._searchable.get(file.path)
        if found is None:
            found = self._searchable[file.path] = Searchable(file.text)
        return found

    @cached_property
    def _searchable(self) -> dict[str, Searchable]:
        return {}

    def once(self, name: str, make: Callable[[], str]) -> str:
        """A text that several rules want, made when the first one asks."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = make()
        return found

    @cached_property
    def _made(self) -> dict[str, str]:
        return {}

    def files(self, pattern: re.Pattern[str]) -> tuple[File, ...]:
        """Files whose path the pattern fits."""
        return tuple(file for file in self.job.files if pattern.search(file.path))

    def later_success(self, event: Event) -> Event | None:
        """The first later call that did well what this one failed at: the same call, program and target, or the same tool on the same
        file. None: the error was never recovered from.
        """
        return next((later for later in self.calls[self._place(event) + 1 :] if _recovers(event, later)), None)

    def _place(self, event: Event) -> int:
        return self._places[event.position]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {event.position: place for place, event in enumerate(self.calls)}


def _recovers(event: Event, later: Event) -> bool:
    if later.is_error or later.tool != event.tool or later.output is None:
        return False
    if later.key == event.key:
        return True
    if event.commands or later.commands:
        before = {command.program for command in event.commands if command.kind not in ("other", "noop")}
        return bool(before & {command.program for command in later.commands})
    return bool(set(event.paths) & set(later.paths)) if event.paths else True
