"""`benchloop_client.analyze`: why the jobs of a local run failed, without a server."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from benchloop_client.actions import analyze as actions
from benchloop_client.formats.records import ReadOptions

Analysis = actions.Analysis


def analyze(
    path: str | PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - named as the option of the command
    rules: Iterable[str | PathLike[str]] = (),
    output_dir: str | PathLike[str] | None = None,
    processes: int | None = None,
    options: ReadOptions | None = None,
    brm: bool | str | PathLike[str] = False,
) -> Analysis:
    """Judge every job of the run at `path`: whether its reward is valid, why it failed, and where the record shows it.

        with analyze("runs/2026-01-01") as analysis:
            for group in analysis.groups:
                print(group.report.headline)
                failed = [job["job_id"] for job in group.jobs() if job["fail_reason"]]

    `rules` are YAML files of your own; `output_dir` gets all reports; `processes` is how many work at once (None: one for each core).
    With `brm` each group's `brm` says which behaviour goes with reward within the same task, as `behavior_analysis` of a server does; a
    path instead of True is a file for its figures, one page. What could not be read is in `report.failures`. Raises `LocalError` for a
    path that no reader knows, `UsageError` for unusable rules.
    """
    return actions.analyze(
        actions.Request(
            Path(path),
            format=format,
            rules=tuple(Path(rule) for rule in rules),
            output_dir=Path(output_dir) if output_dir is not None else None,
            processes=processes,
            options=options or ReadOptions(),
            brm=brm is not False,
            html=None if isinstance(brm, bool) else Path(brm),
        )
    )
