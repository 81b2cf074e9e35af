"""Figures are what plotly takes, show what the study found, and nothing in a name becomes markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import msgspec
import pytest

from benchloop_analysis import figures
from benchloop_analysis.brm.records import Share, Study
from benchloop_analysis.brm.study import Options, study
from benchloop_analysis.figure_parts import COLOURS
from tests.unit.analysis.brm import planted

go = pytest.importorskip("plotly.graph_objects")
_EVIL = "</script><script>alert(1)</script><b>&\u202e"


@pytest.fixture(scope="module")
def found() -> Study:
    jobs = planted.jobs(40, 4, steps=(1, 2))
    named = [replace(job, model=_EVIL if place % 2 else "m") for place, job in enumerate(jobs)]
    return study(planted.table(named), Options(seed=1, permutations=200, resamples=200))


def test_plotly_takes_all_of_them(found: Study) -> None:
    drawn = figures.all_of(found)
    assert len(drawn) == 4
    for one in drawn:
        go.Figure(figures.resolved(one))
        json.dumps(one, allow_nan=False)


def test_colours_are_named_as_in_the_pages(found: Study) -> None:
    named = set(re.findall(r'"var:([^"]+)"', json.dumps(figures.all_of(found))))
    assert named <= set(COLOURS)
    assert "var:" not in json.dumps(figures.resolved(figures.all_of(found)))


def test_the_forest_fills_what_is_supported_and_shows_the_pooled_beside(found: Study) -> None:
    drawn = figures.forest(found)
    pooled = drawn["data"][0]
    assert pooled["marker"]["symbol"] == "diamond-open"
    by_mark = {trace["name"]: trace for trace in drawn["data"][1:]}
    supported = [one.name for one in found.behavior_patterns if one.status == "supported"]
    assert supported and by_mark["supported"]["y"] == supported
    assert by_mark["supported"]["marker"]["symbol"] == "circle"
    assert by_mark["no evidence"]["marker"]["symbol"] == "circle-open"
    first = next(one for one in found.behavior_patterns if one.status == "supported")
    assert first.within_task_rd is not None and first.rd_ci is not None and first.rd_ci.low is not None
    assert by_mark["supported"]["x"][0] == pytest.approx(100 * first.within_task_rd)
    assert by_mark["supported"]["error_x"]["arrayminus"][0] == pytest.approx(100 * (first.within_task_rd - first.rd_ci.low))


def test_thin_cells_are_hatched(found: Study) -> None:
    first = found.behavior_patterns[0]
    thin = msgspec.structs.replace(
        first, parts=(Share(part="model", key="a", n=7, value=0.5), Share(part="model", key="b", n=8, value=None))
    )
    cells, hatching = figures.heat_map(msgspec.structs.replace(found, behavior_patterns=(thin,)))["data"]
    assert hatching["x"] == ["a"]
    assert cells["z"] == [[0.5, None]]


def test_curves_have_bands(found: Study) -> None:
    drawn = figures.step_curves(found)
    lines = [trace for trace in drawn["data"] if "name" in trace]
    bands = [trace for trace in drawn["data"] if trace.get("fill") == "tonexty"]
    assert len(lines) == len(bands) <= 7 and lines[0]["name"] == "mean reward"


def test_without_steps_there_is_no_curve() -> None:
    plain = study(planted.table(planted.jobs(20, 4)), Options(seed=1, permutations=100, resamples=100))
    assert figures.step_curves(plain)["data"] == [] and figures.heat_map(plain)["data"] == []
    assert len(figures.all_of(plain)) == 2


def test_a_page_needs_nothing_else_and_nothing_in_it_breaks_out(found: Study) -> None:
    html = figures.page(figures.all_of(found), title=_EVIL, script="var a='</script>';", text=_EVIL)
    assert html.count("</script>") == html.count("<script")
    assert "alert(1)</script>" not in html and "<b>" not in html and "\u202e" not in html
    assert not re.search(r'(?:src|href)="', html)
    data = re.findall(r'<script type="application/json" id="figure-\d">(.*?)</script>', html)
    assert len(data) == 4
    assert "<" not in str(json.loads(data[2])["data"][0]["x"])
