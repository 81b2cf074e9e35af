"""Records as JSON lines, CSV and tables: exact where it matters, harmless for spreadsheets and terminals, and alike everywhere."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.cli import tty
from benchloop_client.cli.app import ROOT
from benchloop_client.cli.formats import Screen, Style, flattened, rendered
from tests.unit.client.cli.conftest import Bl, FakeClient


def _text(name: str, *lines: bytes, fields: tuple[str, ...] = (), screen: Screen | None = None) -> str:
    return b"".join(rendered(Style(name, fields), lambda: iter(lines), screen or Screen())).decode()


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_json_lines_are_the_records_as_they_came() -> None:
    lines = (b'{"a":1.50,"b":"\\u001b[1m"}', b"[1,2]", b'"x"')
    assert _text("jsonl", *lines) == "".join(line.decode() + "\n" for line in lines)


def test_csv_has_a_column_for_each_path_and_json_in_cells_for_the_rest() -> None:
    text = _text(
        "csv", b'{"a":1.50,"b":{"c":true,"d":[1,{"e":2}]},"n":null}', b'{"b":{"c":"x,\\"y\\"\\nz","f":{}},"a":12345678901234567890123}'
    )
    assert _rows(text) == [
        ["a", "b.c", "b.d", "n", "b.f"],
        ["1.50", "true", '[1,{"e":2}]', "", ""],
        ["12345678901234567890123", 'x,"y"\nz', "", "", "{}"],
    ]


def test_csv_flattens_three_levels_and_no_more() -> None:
    assert _rows(_text("csv", b'{"a":{"b":{"c":{"d":1}}}}')) == [["a.b.c"], ['{"d":1}']]


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    assert _rows(_text("csv", json.dumps({"a": text}).encode()))[1] == [f"'{text}"]
    assert _rows(_text("csv", json.dumps({text: 1}).encode()))[0] == [f"'{text}"]


@pytest.mark.parametrize(
    ("raw", "shown"), [(b"-1.5", "-1.5"), (b'"-1.5"', "-1.5"), (b'"+3e-7"', "+3e-7"), (b'"a=b"', "a=b"), (b"-0", "-0")]
)
def test_numbers_and_harmless_texts_stay_as_they_are(raw: bytes, shown: str) -> None:
    assert _rows(_text("csv", b'{"a":' + raw + b"}"))[1] == [shown]


def test_csv_keeps_line_ends_and_replaces_what_no_cell_can_hold() -> None:
    assert _text("csv", b'{"a":"x\\u0000\\u001b[31m\\n\\ty"}') == 'a\n"x\ufffd\ufffd[31m\n\ty"\n'


def test_no_records_are_no_text_in_every_format() -> None:
    assert [_text(name) for name in ("jsonl", "csv", "table")] == ["", "", ""]


def test_half_an_emoji_and_depth_do_not_stop_any_format() -> None:
    deep = b'{"a":' + b"[" * 400 + b"]" * 400 + b"}"
    for name in ("jsonl", "csv", "table"):
        assert _text(name, b'{"a":"\\ud83d"}', deep)


def test_a_table_shows_what_fits_and_names_the_rest() -> None:
    said: list[str] = []
    record = json.dumps({"job_id": "J1", "reward": -0.5, "empty": None, "note": "n" * 90, "more": "m" * 50}).encode()
    text = _text("table", record, b'{"job_id":"J20","reward":10}', screen=Screen(60, say=said.append))
    lines = text.splitlines()
    assert lines[0].split() == ["job_id", "reward", "note"]
    assert lines[1].startswith("J1        -0.5  nnn")
    assert lines[1].endswith("n…")
    assert lines[2] == "J20         10"
    assert all(tty.cells(line) <= 60 for line in lines)
    assert said == ["1 more column(s) do not fit: more; --fields a,b picks some, --format csv has all"]


def test_a_table_shows_all_fields_that_were_asked_for_narrower_if_need_be() -> None:
    record = json.dumps({"a": "x" * 90, "b": "y" * 90, "c": 1}).encode()
    text = _text("table", record, fields=("c", "b", "a", "zz"), screen=Screen(40))
    assert text.splitlines()[0].split() == ["c", "b", "a", "zz"]
    assert all(tty.cells(line) <= 40 for line in text.splitlines())


def test_a_terminal_never_gets_what_it_would_act_on() -> None:
    nasty = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J a\nb\rc\td \u202eevil"
    text = _text("table", json.dumps({nasty: nasty}).encode(), screen=Screen(200))
    assert text == "red   a b c d evil\nred   a b c d evil\n"


def test_only_a_header_is_bold_and_only_in_colour() -> None:
    assert _text("table", b'{"a":1}', screen=Screen(80, colour=True)) == "\x1b[1ma\x1b[0m\n1\n"


def test_wide_letters_keep_the_columns_straight() -> None:
    lines = _text("table", '{"a":"任务","b":1}'.encode(), b'{"a":"task","b":2}').splitlines()
    assert [tty.cells(line) for line in lines] == [7, 7, 7]


def test_fields_pick_by_dotted_name_whole_objects_too() -> None:
    record = b'{"a":{"b":{"c":1}},"x.y":2,"n":null}'
    assert _text("jsonl", record, fields=("a.b", "x.y", "n", "no")) == '{"a.b":{"c":1},"x.y":2,"n":null,"no":null}\n'
    assert _rows(_text("csv", record, fields=("a.b.c", "x.y"))) == [["a.b.c", "x.y"], ["1", "2"]]


def test_a_field_that_no_record_has_is_named_with_those_there_are() -> None:
    said: list[str] = []
    _text("csv", b'{"a":1,"b":{"c":2}}', fields=("a", "reward"), screen=Screen(say=said.append))
    assert said == ["no record has reward; there are a, b.c"]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.text(min_size=1), _values, min_size=1, max_size=4), max_size=5))
def test_any_records_give_a_table_that_csv_readers_agree_on(records: list[dict[str, Any]]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    rows = _rows(_text("csv", *lines))
    columns = dict.fromkeys(path for line in lines for path in flattened(line))
    assert all(len(row) == len(columns) for row in rows)
    assert len(rows) == (len(records) + 1 if records else 0)
    for line in _text("table", *lines, screen=Screen(60)).splitlines():
        assert line.isprintable() or not line.isascii()
        assert tty.cells(line) <= 60


def test_many_records_are_not_held_in_memory() -> None:
    def lines() -> Iterator[bytes]:
        return (b'{"n":%d,"text":"%b"}' % (n, b"x" * 2000) for n in range(1500))

    for name in ("jsonl", "csv", "table"):
        tracemalloc.start()
        size = sum(map(len, rendered(Style(name), lines, Screen())))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert size > 300_000
        assert peak < 300_000


# ---- through the command line --------------------------------------------------------------------------------------------------------


def _two_groups(client: FakeClient) -> None:
    client.groups = {"G": [{"job_id": "J1", "reward": 1.0}, {"job_id": "J2", "reward": None}], "H": [{"job_id": "J3", "group_id": "own"}]}


def test_lists_have_a_line_a_row_with_its_group(bl: Bl) -> None:
    ran = bl("jobs", "get", "-g", "G,H", "--all", "--format", "jsonl", prepare=_two_groups)
    assert [json.loads(line) for line in ran.out.splitlines()] == [
        {"group_id": "G", "job_id": "J1", "reward": 1.0},
        {"group_id": "G", "job_id": "J2", "reward": None},
        {"group_id": "own", "job_id": "J3"},
    ]


def test_one_page_has_a_line_a_row_too(bl: Bl) -> None:
    ran = bl("jobs", "get", "-g", "G", "--page-size", "1", "--page", "2", "--format", "csv", prepare=_two_groups)
    assert ran.out == "group_id,job_id,reward\nG,J2,\n"


def test_a_failed_id_gives_no_line_and_the_same_exit_code(bl: Bl) -> None:
    ran = bl("jobs", "get", "-g", "G,NO", "--all", "--format", "csv", prepare=_two_groups)
    assert (ran.code, len(ran.out.splitlines())) == (1, 3)
    assert "NO: " in ran.err


def test_an_id_whose_answer_is_null_has_no_line(bl: Bl) -> None:
    def prepare(client: FakeClient) -> None:
        client.answers = {"J1": {"metrics": {"reward": 1}}, "J2": {"metrics": None}}

    ran = bl("metrics", "get", "-j", "J1,J2", "--format", "jsonl", "--fields", "job_id,metrics.reward", prepare=prepare)
    assert ran.out == '{"job_id":"J1","metrics.reward":1}\n{"job_id":"J2","metrics.reward":null}\n'


def test_json_stays_the_default_and_the_only_one_without_fields(bl: Bl) -> None:
    assert bl("jobs", "get", "-g", "G", prepare=_two_groups).out.startswith("[\n  {")
    assert bl("jobs", "get", "-g", "G", "--format", "json", prepare=_two_groups).out.startswith("[\n  {")
    ran = bl("jobs", "get", "-g", "G", "--fields", "job_id")
    assert ran.code == 2
    assert "--fields needs --format jsonl, csv or table" in ran.err


def test_an_unknown_format_is_wrong_usage(bl: Bl) -> None:
    assert bl("jobs", "get", "-g", "G", "--format", "xml").code == 2


def _leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from _leaves(command, (*path, name))
        elif command is not None:
            yield (*path, name), command


def test_every_command_that_gets_or_lists_takes_a_format_and_every_download_can_be_rehearsed() -> None:
    without: list[str] = []
    for path, command in _leaves(ROOT):
        options = {name for param in command.params for name in param.opts}
        if path[0] != "config" and path[-1] in {"get", "list", "status"} and "--format" not in options:
            without.append(f"{' '.join(path)} --format")
        if path[-1] in {"download", "pull"} and "--dry-run" not in options:
            without.append(f"{' '.join(path)} --dry-run")
    assert without == []
