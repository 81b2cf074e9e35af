"""An analysis as JSON: one array with an object a group, or an object a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from benchloop_client.actions.gather import array_of
from benchloop_client.actions.layout import Documents, Layout, Nested, object_chunks

if TYPE_CHECKING:
    from benchloop_client.actions.analyze import AnalysedGroup, Analysis


def as_json(analysis: Analysis, layout: Layout) -> Iterator[bytes]:
    """`[{"group": <group report>, "jobs": [<verdict>, …]}, …]`, written while the verdicts are read from the disk; `brm` between the two
    where behaviour was studied.
    """
    yield from array_of((_group(group) for group in analysis.groups), layout)


def _group(group: AnalysedGroup) -> Nested:
    studied = [] if group.brm is None else [("brm", group.brm)]
    fields: list[tuple[str, Any]] = [("group", group.report_dict()), *studied, ("jobs", Documents(group.rows()))]
    return Nested(lambda layout: object_chunks(fields, layout))


def lines(analysis: Analysis) -> Iterator[bytes]:
    """The verdict of each job with its group's id, compact."""
    for group in analysis.groups:
        head = b'{"group_id":' + msgspec.json.encode(group.group_id) + b","
        yield from (head + row[1:] for row in group.rows())
