"""The arithmetic of the benchmarks: ratios of pairs, medians, spread, targets and the table. No time is measured here."""

from __future__ import annotations

import json

import pytest

from bench.datasets import alternate
from bench.ratios import Cell, Row, Sample, Targets, compared, megabytes, memory, ratio, table


def test_each_round_is_a_ratio_of_its_own_and_the_median_counts() -> None:
    cell = ratio([2.0, 9.0, 3.0], [1.0, 3.0, 2.0], limit=2.0)
    assert (cell.value, cell.low, cell.high) == (2.0, 1.5, 3.0)
    assert cell.met is True


def test_the_ratio_of_medians_would_be_another() -> None:
    assert ratio([1.0, 10.0, 4.0], [1.0, 2.0, 4.0]).value == 1.0


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_rounds_without_a_partner_are_an_error(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match="against"):
        ratio(ours, theirs)


def test_memory_is_the_largest_of_all_rounds() -> None:
    cell = megabytes([50_000_000, 80_000_000, 60_000_000], limit=70)
    assert (cell.value, cell.low, cell.met) == (80.0, 50.0, False)


def test_a_target_is_met_at_its_value_and_missed_above() -> None:
    assert Cell(1.5, 1.5, 1.5, "x", 1.5).met is True
    assert Cell(1.51, 1.51, 1.51, "x", 1.5).met is False
    assert Cell(99.0, 99.0, 99.0, "x").met is None


def test_a_cell_says_spread_target_and_miss() -> None:
    assert str(Cell(1.25, 1.2, 1.301, "x", 1.2)) == "1.25 × (1.20–1.30), ≤ 1.2 MISSED"
    assert str(Cell(64.0, 64.2, 64.4, "MB", 100)) == "64 MB, ≤ 100"
    assert str(Cell(3.0, 3.0, 3.0, "x")) == "3.00 ×"


def test_cpu_is_left_out_where_the_other_side_has_none() -> None:
    ours = [Sample(wall=2.0, cpu=1.0, peak=30_000_000)]
    row = compared("d", "bl", "bound", (ours, [Sample(wall=1.0)]), Targets(wall=3))
    assert set(row.cells) == {"wall", "client"}
    assert not row.missed


def test_the_servers_memory_counts_where_it_was_measured() -> None:
    assert set(memory([Sample(1.0, peak=10)], Targets())) == {"client"}
    cells = memory([Sample(1.0, peak=10, server_peak=400_000_000)], Targets(server=300))
    assert cells["server"].met is False


def test_the_table_has_a_line_a_row_and_columns_in_line() -> None:
    rows = [Row("g", "bl --version", "python", {"wall": Cell(1.5, 1.5, 1.5, "x", 2.5)}), Row("c", "bl", "aria2c", reason="not installed")]
    lines = table(rows).splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert "1.50 ×, ≤ 2.5" in lines[2]
    assert "not installed" in lines[3]


def test_a_row_as_json_keeps_every_sample() -> None:
    row = compared("f", "bl push", "tar", ([Sample(2.0, 1.0)], [Sample(1.0, 0.5)]), Targets(wall=1))
    found = json.loads(json.dumps(row.as_json()))
    assert found["cells"]["wall"]["met"] is False
    assert found["samples"]["theirs"][0]["cpu"] == 0.5


def test_sides_take_turns_at_going_first() -> None:
    order: list[str] = []

    def side(name: str) -> Sample:
        order.append(name)
        return Sample(float(len(order)))

    ours, theirs = alternate(3, lambda: side("ours"), lambda: side("theirs"))
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert [one.wall for one in ours] == [1.0, 4.0, 5.0]
    assert [one.wall for one in theirs] == [2.0, 3.0, 6.0]
