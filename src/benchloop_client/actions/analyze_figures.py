"""The figures of studies of a local run, as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from benchloop_analysis import figures
from benchloop_analysis.packaged import script_of_plotly
from benchloop_client.actions.analyze_brm import Studied
from benchloop_client.errors import LocalError


def script() -> str:
    """What draws them. Raises `LocalError` where plotly is not installed."""
    found = script_of_plotly()
    if found is None:
        raise LocalError("plotly is missing, which figures need: pip install 'benchloop_client[analysis]'")
    return found


def page(studies: Sequence[Studied]) -> str:
    """All figures of these results as one self-contained page. Raises `LocalError` as `script` does."""
    shown = [figure for studied in studies for figure in figures.all_of(studied.study)]
    return figures.page(shown, title=", ".join(studied.group_id for studied in studies), script=script())
