"""Calls that move files: downloads into the documented layout, verified and taken up again after a break, and the upload of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchloop_client.actions import artifacts, jobs, metrics, pull, push, reports, task_archives, tasks, trajectory
from benchloop_client.actions.artifact_lists import Choice, Source
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.lists import Query
from benchloop_client.actions.push import Pushed
from benchloop_client.actions.rehearsal import Rehearsal
from benchloop_client.actions.report import Report
from benchloop_client.actions.reports import REPORT
from benchloop_client.actions.rsi import RSI
from benchloop_client.errors import UsageError
from benchloop_client.library.connected import Connected, Ids, each


class Downloads(Connected):
    """Each call returns a report: `done` items, and `failures` with label and error; nothing else is raised for a single item.

    Files appear whole or not at all. `into` is the output directory (default: the one of the settings). A call that was cut short, made
    again with the same arguments, goes on where it stopped; `skip_existing` keeps verified files without asking the server again.
    """

    def pull(
        self,
        *,
        groups: Ids | None = None,
        jobs: Ids | None = None,
        resources: Ids = ("metrics", "trajectory"),
        placeholder: bool = True,
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl pull`: the named `resources` of groups or of jobs: metrics, trajectory, report, artifacts, tasks, jobs, metadata, rsi.

        Without `placeholder` a missing archive is a failure; with it an empty one is written, as documented.
        """
        wanted = each(resources)
        if unknown := sorted(set(wanted) - set(pull.RESOURCES)):
            raise UsageError(f"there are no resources {', '.join(unknown)}; choose from {', '.join(pull.RESOURCES)}")
        kind, ids = _one_kind(groups=groups, jobs=jobs)
        action = pull.pull_groups if kind == "groups" else pull.pull_jobs
        return self._save(
            ("pull", kind, ids, wanted, placeholder),
            lambda target: action(self._work(), ids, target, resources=wanted, placeholder=placeholder),
            into,
            skip_existing=skip_existing,
        )

    def download_trajectories(
        self,
        *,
        groups: Ids | None = None,
        jobs: Ids | None = None,
        task: str | None = None,
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl trajectory download`: `<group>/trajectory.json`, `<job>_trajectory.json`, or `<task>_trajectories.zip`."""
        kind, ids = _one_kind(groups=groups, jobs=jobs, task=task)

        def action(target: Destination) -> Report:
            if kind == "task":
                return task_archives.trajectories(self._work(), ids[0], target)
            if kind == "jobs":
                return trajectory.download_jobs(self._work(), ids, target)
            return trajectory.download_groups(self._work(), ids, target)

        return self._save(("trajectory", kind, ids), action, into, skip_existing=skip_existing)

    def download_metrics(
        self,
        *,
        groups: Ids | None = None,
        jobs: Ids | None = None,
        scope: str = "all",
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl metrics download`: `<group>/overall_metrics.json` and `detail_metrics.json`, or `<job>_run_metrics.json`."""
        kind, ids = _one_kind(groups=groups, jobs=jobs)

        def action(target: Destination) -> Report:
            if kind == "jobs":
                return metrics.download_jobs(self._work(), ids, target)
            return metrics.download_groups(self._work(), ids, target, scope=scope)

        return self._save(("metrics", kind, ids, scope), action, into, skip_existing=skip_existing)

    def download_artifacts(
        self,
        *,
        groups: Ids | None = None,
        jobs: Ids | None = None,
        task: str | None = None,
        member: str | None = None,
        placeholder: bool = True,
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl artifacts download`: the archives of jobs; with `member` (a glob) single files out of them. `placeholder` as in `pull`."""
        kind, ids = _one_kind(groups=groups, jobs=jobs, task=task)
        source = Source(task=ids[0]) if kind == "task" else Source(groups=ids) if kind == "groups" else Source(jobs=ids)
        choice = Choice(member=member, placeholder=placeholder)
        return self._save(
            ("artifacts", kind, ids, member, placeholder),
            lambda target: artifacts.download(self._work(), source, target, choice=choice),
            into,
            skip_existing=skip_existing,
        )

    def download_reports(
        self,
        *,
        groups: Ids | None = None,
        jobs: Ids | None = None,
        weaknesses: bool = False,
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl report download`, with `weaknesses` as `bl rsi download`: `<group>_report.md` and `<group>/<job>_report.md`, or
        `<job>_report.md`. What has no report gets no file and is no failure.
        """
        kind, ids = _one_kind(groups=groups, jobs=jobs)
        which = RSI if weaknesses else REPORT
        action = reports.download_groups if kind == "groups" else reports.download_jobs
        return self._save(
            ("reports", kind, ids, weaknesses),
            lambda target: action(which, self._work(), ids, target),
            into,
            skip_existing=skip_existing,
        )

    def download_jobs(self, groups: Ids, *, into: str | Path | None = None, skip_existing: bool = False, **filters: Any) -> Report:
        """As `bl jobs download`: `<group>/job_list.json`; filters as in `jobs`."""
        ids, query = each(groups), Query(page_size=1000, everything=True, filters=self._filters(filters))
        return self._save(
            ("jobs", ids, sorted(query.filters.items())),
            lambda target: jobs.download(self._work(), ids, target, query=query),
            into,
            skip_existing=skip_existing,
        )

    def download_tasks(
        self,
        groups: Ids,
        *,
        search: str | None = None,
        status: str | None = None,
        into: str | Path | None = None,
        skip_existing: bool = False,
    ) -> Report:
        """As `bl tasks download`: `<group>/task_list.json`."""
        ids, query = each(groups), Query(page_size=1000, everything=True, filters={"search": search, "status": status})
        return self._save(
            ("tasks", ids, search, status),
            lambda target: tasks.download(self._work(), ids, target, query=query),
            into,
            skip_existing=skip_existing,
        )

    def download_metadata(self, task: str, *, into: str | Path | None = None, skip_existing: bool = False) -> Report:
        """As `bl metadata download`: `<task>_metadata.zip`."""
        return self._save(
            ("metadata", task), lambda target: task_archives.metadata(self._work(), task, target), into, skip_existing=skip_existing
        )

    def _save(self, named: object, action: Callable[[Destination], Report], into: str | Path | None, *, skip_existing: bool) -> Report:
        """Run an action that writes files. `named` tells this call from others, so that the same one is taken up again."""
        digest = hashlib.sha256(repr((named, self.selection)).encode("utf-8", "surrogatepass")).hexdigest()
        root = Path(into).expanduser() if into is not None else self.settings.output_dir
        return self._carried_out(action, root, run=f"library {digest[:16]}", skip_existing=skip_existing)

    def _carried_out(self, action: Callable[[Destination], Report], root: Path, *, run: str, skip_existing: bool) -> Report:
        with Destination(root, layout=self._work().layout, run=run, skip_existing=skip_existing, host=self.settings.host) as target:
            report = action(target)
            if not report.broken_off:
                target.finish()
        return report


class DryRun(Downloads):
    """The downloads of `Client.dry_run`: the lists asked for and the decisions are those of the real ones, nothing is written."""

    def __init__(self, real: Connected) -> None:
        """As `real`, with the same connections."""
        vars(self).update(vars(real))

    def _carried_out(self, action: Callable[[Destination], Report], root: Path, *, run: str, skip_existing: bool) -> Report:
        plan = Rehearsal(root, layout=self._work().layout, run=run, skip_existing=skip_existing)
        with plan:
            report = action(plan)
        return replace(report, planned=plan.planned)


class Files(Downloads):
    """The downloads, a way to rehearse them, and the upload."""

    def dry_run(self) -> DryRun:
        """The downloads, only rehearsed: `client.dry_run().pull(groups="G1").planned` has each file that would be fetched or kept, with its
        size where the server says one. Nothing is written. Narrow it first: `client.select(sample=20).dry_run()`.
        """
        return DryRun(self)

    def push(self, path: str | Path, **options: Any) -> Pushed:
        """As `bl push`: upload the run directory at `path`; only what is new or changed is sent.

        `options` are the fields of `benchloop_client.actions.push.Request`: format, group, model, benchmark, step, reward_key, exclude,
        secrets ("stop", "redact" or "allow"). Each group of the answer has `new`, `updated`, `unchanged` and `rejected`. Raises
        `LocalError` for a path that no reader knows and, before anything is sent, for keys and tokens in the files.
        """
        return push.push(self._work(), push.Request(Path(path), **options))


def _one_kind(**given: Ids | None) -> tuple[str, tuple[str, ...]]:
    """The one argument that was given, by name, and its ids. Raises `UsageError` for none and for several."""
    found = [(name, each(ids)) for name, ids in given.items() if ids is not None]
    if len(found) != 1 or not found[0][1]:
        raise UsageError(f"name ids with exactly one of {', '.join(given)}")
    return found[0]
