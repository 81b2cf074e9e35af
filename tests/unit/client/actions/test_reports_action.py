"""Reports and weakness reports: files where there is one, one line about the rest, and asking for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions import events, reports
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.reports import REPORT, Kind, Wish
from benchloop_client.actions.rsi import RSI
from benchloop_client.actions.waiting import Patience
from benchloop_client.actions.work import Work
from benchloop_client.errors import AuthError, NotReady
from tests.support.documented import Documented
from tests.support.scripted import Answer, Scripted, Seen, error, of_json

Make = Callable[..., Destination]
_SOON = Patience(timeout=20, first=0.01, longest=0.02)


def _files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.md")}


def _texts(old: Documented, kind: Kind, texts: dict[str, str]) -> None:
    if kind is REPORT:
        old.reports = texts
    else:
        old.weaknesses = texts


def _notes(seen: list[events.Event]) -> list[str]:
    return [event.text for event in seen if isinstance(event, events.Noted)]


@pytest.mark.parametrize("kind", [REPORT, RSI])
def test_groups_write_their_own_report_and_those_of_their_jobs(
    old: Documented, work: Work, destination: Make, seen: list[events.Event], kind: Kind
) -> None:
    _texts(old, kind, {"G1": "# all", "J1": "# 名", "J3": "no line end", "K1": "# K"})
    with destination() as target:
        assert reports.download_groups(kind, work, ["G1", "G2"], target) == reports.Report(2)
    name = kind.name
    assert _files(target.root) == {
        f"G1_{name}.md": b"# all",
        f"G1/J1_{name}.md": "# 名".encode(),
        f"G1/J3_{name}.md": b"no line end",
        f"G2/K1_{name}.md": b"# K",
    }
    assert _notes(seen) == [f"no {kind.word} for 1 group(s) and 1 job(s): no file written"]


@pytest.mark.parametrize("kind", [REPORT, RSI])
def test_jobs_write_beside_each_other_and_an_unknown_one_fails(old: Documented, work: Work, destination: Make, kind: Kind) -> None:
    _texts(old, kind, {"J1": "# J1"})
    with destination() as target:
        report = reports.download_jobs(kind, work, ["J1", "J2", "NO"], target)
    assert _files(target.root) == {f"J1_{kind.name}.md": b"# J1"}
    assert (report.done, [failure.label for failure in report.failures]) == (2, ["NO"])


def test_the_counters_are_the_documented_ones(old: Documented, work: Work, destination: Make, seen: list[events.Event]) -> None:
    with destination() as target:
        reports.download_groups(REPORT, work, ["G2"], target)
        reports.download_jobs(RSI, work, ["J1"], target)
    counted = [(event.label, event.unit, event.total) for event in seen if isinstance(event, events.CountStarted)]
    assert counted == [("group report downloads", "groups", 1), ("group report jobs G2", "jobs", 1), ("job rsi downloads", "jobs", 1)]
    assert [event.timed for event in seen if isinstance(event, events.Counted)] == [True, False, False]


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"reports": [{"content": None}]}, b""),
        ({"reports": [{}]}, b""),
        ({"reports": [{"content": "a\ud83db"}]}, "a\N{REPLACEMENT CHARACTER}b".encode()),
        ({"reports": [{"content": "first"}, {"content": "second"}]}, b"first"),
        ({"reports": []}, None),
        ({"reports": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_text_of_a_report_in_any_shape(
    old: Documented, server: Scripted, work: Work, destination: Make, answer: Any, written: bytes | None
) -> None:
    server.on("GET /openapi/jobs/J1/report", of_json(answer))
    with destination() as target:
        assert reports.download_jobs(REPORT, work, ["J1"], target).ok
    assert _files(target.root) == ({} if written is None else {"J1_report.md": written})


@pytest.mark.parametrize("answer", [["x"], {"reports": "x"}, {"reports": ["x"]}, {"reports": [{"content": 5}]}])
def test_an_answer_of_another_shape_is_a_failure_and_no_file(
    old: Documented, server: Scripted, work: Work, destination: Make, answer: Any
) -> None:
    server.on("GET /openapi/jobs/J1/report", of_json(answer))
    with destination() as target:
        assert [failure.label for failure in reports.download_jobs(REPORT, work, ["J1"], target).failures] == ["J1"]
    assert _files(target.root) == {}


@pytest.mark.parametrize(
    "answer", [{}, {"report": None}, {"report": {"report_md": 3}}, {"report": {"report_md": ""}}, {"report": "x"}, None]
)
def test_no_weakness_report_is_no_failure(old: Documented, server: Scripted, work: Work, destination: Make, answer: Any) -> None:
    server.on("GET /openapi/jobs/J1/rsi", of_json(answer))
    with destination() as target:
        assert reports.download_jobs(RSI, work, ["J1"], target).ok
    assert _files(target.root) == {}


def test_a_kept_file_is_not_asked_for(old: Documented, server: Scripted, work: Work, destination: Make, seen: list[events.Event]) -> None:
    old.reports = {"J1": "# J1"}
    for skip in (False, True):
        with destination(run="", skip_existing=skip) as target:
            assert reports.download_jobs(REPORT, work, ["J1"], target).ok
    assert len(server.asked("/report")) == 1
    assert events.Skipped(target.root / "J1_report.md") in seen


def test_a_group_fails_by_each_part_that_failed_and_writes_the_rest(
    old: Documented, server: Scripted, work: Work, destination: Make
) -> None:
    old.reports = {"J1": "# J1", "J3": "# J3"}
    server.on("GET /openapi/groups/G1/report", error(404, "nope"))
    server.on("GET /openapi/jobs/J2/report", error(500, "broken"))
    with destination() as target:
        report = reports.download_groups(REPORT, work, ["G1"], target)
    assert (report.done, [failure.label for failure in report.failures]) == (0, ["G1", "G1:J2"])
    assert sorted(_files(target.root)) == ["G1/J1_report.md", "G1/J3_report.md"]


def test_a_group_that_failed_by_network_alone_counts_as_unreachable(
    old: Documented, server: Scripted, work: Work, destination: Make
) -> None:
    old.reports = {"J1": "# J1"}
    server.on("GET /openapi/jobs/J2/report", Answer(reset=True, length=10))
    with destination() as target:
        report = reports.download_groups(REPORT, work, ["G1"], target)
    assert sorted(_files(target.root)) == ["G1/J1_report.md"]
    assert report.unreachable


@pytest.mark.parametrize("kind", [REPORT, RSI])
def test_an_unknown_group_is_one_failure(old: Documented, work: Work, destination: Make, kind: Kind) -> None:
    with destination() as target:
        report = reports.download_groups(kind, work, ["NO"], target)
    assert [failure.label for failure in report.failures] == ["NO"]


def test_a_refused_key_ends_it(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    server.on("GET /openapi/groups/{g}/report", error(401, "no"))
    with destination() as target, pytest.raises(AuthError):
        reports.download_groups(REPORT, work, ["G1", "G2"], target)
    assert len(server.asked("/report")) == 1


# ---- asking for them ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [REPORT, RSI])
def test_a_wish_is_sent_with_the_documented_body_and_a_key_of_its_own(server: Scripted, work: Work, kind: Kind) -> None:
    bodies = [lambda seen: of_json({"asked": seen.path_ids})] * 2
    server.on(f"POST /openapi/jobs/{{j}}/{kind.name}/trigger", bodies[0])
    server.on(f"POST /openapi/groups/{{g}}/{kind.name}/trigger", bodies[1])
    shown, report = reports.trigger(kind, work, Wish(jobs=("J1", "J2")))
    assert (shown, report) == ([{"asked": {"j": "J1"}}, {"asked": {"j": "J2"}}], reports.Report(2))
    reports.trigger(kind, work, Wish(groups=("G1",), include_passed=True))
    asked = server.asked("/trigger")
    assert [json.loads(seen.body) for seen in asked] == [{}, {}, {"include_passed": True}]
    assert len({seen.headers["idempotency-key"] for seen in asked}) == 3


@pytest.mark.parametrize(("ours", "times"), [(False, 1), (True, 3)])
def test_b8_a_wish_is_repeated_only_where_it_is_taken_once(server: Scripted, connect: Callable[..., Any], ours: bool, times: int) -> None:
    if ours:
        server.on("GET /openapi/version", of_json({"server": "x", "version": "1", "api": 1, "features": []}))
    server.on("POST /openapi/jobs/J1/report/trigger", error(504, "late"))
    _, report = reports.trigger(REPORT, Work(connect(server.origin)), Wish(jobs=("J1",)))
    assert [failure.label for failure in report.failures] == ["J1"]
    asked = server.asked("/trigger")
    assert (len(asked), len({seen.headers["idempotency-key"] for seen in asked})) == (times, 1)


def test_answers_that_are_null_or_failed_are_named(server: Scripted, work: Work, seen: list[events.Event]) -> None:
    server.on("POST /openapi/jobs/{j}/report/trigger", lambda seen: of_json(None) if seen.path_ids["j"] == "J1" else error(404, "no"))
    shown, report = reports.trigger(REPORT, work, Wish(jobs=("J1", "J2")))
    assert shown == []
    assert [failure.label for failure in report.failures] == ["J2"]
    assert events.NullAnswer("J1") in seen


def _slow_reports(server: Scripted, states: list[Any]) -> None:
    """J1's report goes through these answers and stays at the last one."""
    server.on("POST /openapi/jobs/{j}/report/trigger", of_json({"status": "queued"}))

    def answer(_seen: Seen) -> Answer:
        return of_json(states.pop(0) if len(states) > 1 else states[0])

    server.on("GET /openapi/jobs/J1/report", answer)


@pytest.mark.parametrize("end", [{"reports": [{"content": "x"}]}, {"status": "done", "reports": []}])
def test_waiting_shows_the_report_in_the_end(server: Scripted, work: Work, end: Any) -> None:
    _slow_reports(server, [{"reports": []}, {"status": "running", "reports": []}, end])
    assert reports.trigger(REPORT, work, Wish(jobs=("J1",)), patience=_SOON) == ([end], reports.Report(1))
    assert len(server.asked("/openapi/jobs/J1/report")) == 4


@pytest.mark.parametrize(("status", "code"), [("not_analysed", "not_analysed"), ("failed", "analysis_failed"), ("running", "wait_timeout")])
def test_waiting_in_vain_keeps_the_answer_and_says_why(server: Scripted, work: Work, status: str, code: str) -> None:
    _slow_reports(server, [{"status": status, "reports": []}])
    patience = Patience(timeout=0.2, first=0.05)
    shown, report = reports.trigger(REPORT, work, Wish(jobs=("J1",)), patience=patience)
    assert shown == [{"status": "queued"}]
    error_found = report.failures[0].error
    assert isinstance(error_found, NotReady)
    assert error_found.code == code


def test_not_analysed_ends_the_wait_at_the_first_look(server: Scripted, work: Work) -> None:
    _slow_reports(server, [{"status": "not_analysed", "reports": []}])
    reports.trigger(REPORT, work, Wish(jobs=("J1",)), patience=Patience())
    assert len(server.asked("/openapi/jobs/J1/report")) == 2


def test_all_are_asked_for_before_any_is_waited_for(server: Scripted, work: Work) -> None:
    _slow_reports(server, [{"reports": []}, {"reports": [{"content": "x"}]}])
    server.on("GET /openapi/jobs/J2/report", of_json({"reports": [{"content": "y"}]}))
    shown, report = reports.trigger(REPORT, work, Wish(jobs=("J1", "J2", "J3")), patience=_SOON)
    assert [answer["reports"][0]["content"] for answer in shown[:2]] == ["x", "y"]
    assert [failure.label for failure in report.failures] == ["J3"]
    methods = [seen.method for seen in server.asked("/report")]
    assert methods == sorted(methods, reverse=True)
