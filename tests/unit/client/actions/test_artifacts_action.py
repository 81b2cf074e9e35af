"""Artifacts: each file its own bytes, whole, or a failure with its name."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchloop_client.actions import artifact_lists, artifacts, events
from benchloop_client.actions.artifact_lists import Choice, Source
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work
from benchloop_client.errors import AuthError
from tests.support.documented import Documented, tgz
from tests.support.scripted import Scripted, binary, error, html, of_json, redirect, scripted

Make = Callable[..., Destination]


def _download(work: Work, target: Destination, source: Source, **choice: str) -> Report:
    with target:
        return artifacts.download(work, source, target, choice=Choice(**choice))


def _names(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.*") if path.is_file() and ".benchloop" not in path.parts)


def _listing(server: Scripted, job: str, *entries: dict[str, object]) -> None:
    server.on(f"GET /openapi/jobs/{job}/artifacts", of_json({"artifacts": list(entries)}))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (Source(groups=("G1",)), ["G1/J1/J1.tgz", "G1/J2/J2.tgz", "G1/J3/J3.tgz"]),
        (Source(jobs=("J1", "K1")), ["J1/J1.tgz", "K1/K1.tgz"]),
        (Source(task="G2"), ["G2/K1.tgz"]),
    ],
)
def test_files_stand_where_the_documents_say(old: Documented, work: Work, destination: Make, source: Source, names: list[str]) -> None:
    target = destination()
    assert _download(work, target, source).ok
    assert _names(target.root) == names
    with tarfile.open(target.root / names[0]) as archive:
        assert archive.getnames() == ["job.txt"]


@pytest.mark.parametrize("answer", [error(404, "none"), html()])
def test_a_missing_archive_is_an_empty_one_with_a_warning(
    old: Documented, work: Work, destination: Make, seen: list[events.Event], answer: object
) -> None:
    old.archives["J1"] = answer  # type: ignore[assignment]
    target = destination()
    assert _download(work, target, Source(jobs=("J1",))).ok
    with tarfile.open(target.root / "J1/J1.tgz") as archive:
        assert archive.getnames() == []
    assert events.Warned(f"no artifact for job=J1, wrote empty {target.root / 'J1/J1.tgz'}") in seen
    del old.archives["J1"]
    again = destination(skip_existing=True)
    assert _download(work, again, Source(jobs=("J1",))).ok
    with tarfile.open(target.root / "J1/J1.tgz") as archive:
        assert archive.getnames() == ["job.txt"]


@pytest.mark.parametrize("answer", [error(404, "none"), html()])
def test_without_placeholder_a_missing_archive_is_a_failure(old: Documented, work: Work, destination: Make, answer: object) -> None:
    old.archives["J1"] = answer  # type: ignore[assignment]
    target = destination()
    with target:
        report = artifacts.download(work, Source(groups=("G1",)), target, choice=Choice(placeholder=False))
    assert [failure.label for failure in report.failures] == ["J1:J1.tgz"]
    assert _names(target.root) == ["G1/J2/J2.tgz", "G1/J3/J3.tgz"]


def test_a_page_behind_a_redirect_is_no_missing_archive(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    server.on("GET /welcome", html("<html>choose a team</html>"))
    old.archives["J1"] = redirect("/welcome")
    target = destination()
    report = _download(work, target, Source(jobs=("J1",)))
    assert [failure.text for failure in report.failures] == ["API error 200: a web page came instead of J1.tgz"]
    assert _names(target.root) == []


def test_a_login_page_of_another_origin_is_a_refused_key(old: Documented, work: Work, destination: Make) -> None:
    with scripted() as gateway:
        gateway.on("GET /login", html())
        old.archives["J1"] = redirect(f"{gateway.origin}/login")
        with pytest.raises(AuthError):
            _download(work, destination(), Source(jobs=("J1",)))
        assert all(seen.key is None for seen in gateway.seen)


@pytest.mark.parametrize("body", [b"", b"\x1f", b"not gzip"])
def test_what_is_no_gzip_is_no_archive(old: Documented, work: Work, destination: Make, body: bytes) -> None:
    old.archives["J1"] = binary(body)
    target = destination()
    assert [failure.label for failure in _download(work, target, Source(jobs=("J1",))).failures] == ["J1:J1.tgz"]
    assert _names(target.root) == []


def test_a_page_that_is_an_artifact_is_kept_as_it_is(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    _listing(server, "J1", {"name": "report.html", "url": "/x"})
    old.archives["J1"] = html("<p>mine</p>")
    target = destination()
    assert _download(work, target, Source(jobs=("J1",))).ok
    assert (target.root / "J1/report.html").read_text() == "<p>mine</p>"


def test_several_artifacts_come_from_their_own_addresses(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    _listing(server, "J1", {"name": "a.tgz", "url": "/files/a"}, {"name": "log.txt", "url": f"{server.origin}/files/log"})
    server.on("GET /files/a", binary(tgz({"a": b"1"})))
    server.on("GET /files/log", binary(b"lines", "text/plain"))
    target = destination()
    assert _download(work, target, Source(jobs=("J1",))).ok
    assert (target.root / "J1/log.txt").read_bytes() == b"lines"
    assert (target.root / "J1/a.tgz").read_bytes() == tgz({"a": b"1"})


def test_an_address_elsewhere_is_not_followed_where_several_are_listed(
    old: Documented, server: Scripted, work: Work, destination: Make
) -> None:
    with scripted() as foreign:
        foreign.on("GET /files/log", binary(b"lines"))
        _listing(server, "J1", {"name": "a.tgz", "url": "/files/a"}, {"name": "log.txt", "url": f"{foreign.origin}/files/log"})
        server.on("GET /files/a", binary(tgz({"a": b"1"})))
        target = destination()
        report = _download(work, target, Source(jobs=("J1",)))
        assert foreign.asked() == []
    assert [failure.label for failure in report.failures] == ["J1:log.txt"]
    assert _names(target.root) == ["J1/a.tgz"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/files/a", "/files/a"),
        ("/files/a", "/files/a#b"),
        ("/openapi/jobs/J1/artifacts/download", "/openapi/jobs/J1/artifacts/download?name=b.tgz"),
    ],
)
def test_several_artifacts_behind_one_address_are_failures(
    old: Documented, server: Scripted, work: Work, destination: Make, first: str, second: str
) -> None:
    _listing(server, "J1", {"name": "a.tgz", "url": first}, {"name": "b.tgz", "url": second})
    target = destination()
    assert [failure.label for failure in _download(work, target, Source(jobs=("J1",))).failures] == ["J1:a.tgz", "J1:b.tgz"]
    assert _names(target.root) == []


def test_absent_is_no_failure_and_a_missing_address_is(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    _listing(server, "J1", {"name": "a.tgz", "url": "", "error_code": "no_artifact"})
    _listing(server, "J2", {"name": "a.tgz", "url": "", "error_code": "gone_bad"}, {"name": "c.tgz"})
    report = _download(work, destination(), Source(jobs=("J1", "J2")))
    assert [(failure.label, failure.text) for failure in report.failures] == [("J2:a.tgz", "gone_bad"), ("J2:c.tgz", "missing_url")]


@pytest.mark.parametrize("name", ["../../escaped.txt", "/tmp/escaped.txt", "C:\\escaped.txt", "a/b.txt"])
def test_names_stay_inside_the_folder(old: Documented, server: Scripted, work: Work, destination: Make, name: str) -> None:
    _listing(server, "J1", {"name": name, "url": "/x"})
    target = destination()
    _download(work, target, Source(jobs=("J1",)))
    assert [path.parent for path in target.root.rglob("*escaped*")] in ([], [target.root / "J1"])
    assert not (target.root.parent.parent / "escaped.txt").exists()


def test_globs_choose_by_name_and_case_counts(old: Documented, work: Work, destination: Make, seen: list[events.Event]) -> None:
    target = destination()
    assert _download(work, target, Source(groups=("G1",)), include="J[12]*", exclude="J2*").ok
    assert _names(target.root) == ["G1/J1/J1.tgz"]
    assert events.Filtered("J2.tgz") in seen
    assert not Choice(include="j1*").takes("J1.tgz")


def test_lists_are_flat_and_name_job_and_group(old: Documented, server: Scripted, work: Work) -> None:
    _listing(server, "J2", {"name": "a.tgz", "url": "", "error_code": "no_artifact", "job_id": "other"})
    server.on("GET /openapi/jobs/J3/artifacts", error(500, "listing"))
    rows, report = artifact_lists.listed(work, Source(groups=("G1",)), choice=Choice())
    assert [(row["job_id"], row["group_id"]) for row in rows] == [("J1", "G1"), ("J2", "G1")]
    assert [failure.label for failure in report.failures] == ["J3"]


def test_members_are_written_under_their_paths(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    members = [{"path": "verifier/reward.txt", "size": 3, "sha256": None}, {"path": "../../out.txt"}, {"path": "agent/log.txt"}]
    server.on(
        "GET /openapi/jobs/{job}/artifacts/members", lambda seen: of_json({"members": members if seen.path_ids["job"] == "J1" else []})
    )
    server.on("GET /openapi/jobs/J1/artifacts/member", binary(b"1.0", "application/octet-stream"))
    target = destination()
    report = _download(work, target, Source(groups=("G1",)), member="*.txt")
    assert (target.root / "G1/J1/verifier/reward.txt").read_bytes() == b"1.0"
    assert (target.root / "G1/J1/agent/log.txt").exists()
    assert not list(target.root.parent.parent.glob("out.txt"))
    assert len(report.failures) == 1
