"""Security and silent data loss: each fault A1 to A8 seen in the original client has tests here that fail on the fault.

Run with `BENCHLOOP_TEST_BL=<path to the original 0.2.23>` these tests fail on it, but for those whose docstring names another variant.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import stat
import tarfile
import time
from pathlib import Path

import pytest

from tests.support.certificates import self_signed
from tests.support.documented import Documented, document, tgz
from tests.support.programs import CANARY, Bl, Result, canary_in, files_below, journal, leftovers
from tests.support.scripted import Answer, Scripted, Seen, binary, error, html, of_json, redirect, scripted

_OPENING = {
    "json.py",
    "click.py",
    "urllib3.py",
    "msgspec.py",
    "sitecustomize.py",
    "benchloop_client/__init__.py",
    "aliyun/bmcli/version_check.py",
}


def _no_file(root: Path) -> bool:
    return files_below(root) == {} and leftovers(root) == []


def _names(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as opened:
        return opened.getnames()


def _outside(root: Path, *allowed: Path) -> list[Path]:
    found = [path for path in root.rglob("*") if path.is_file()]
    return [path for path in found if not any(path.is_relative_to(folder) for folder in allowed)]


# ---- A1: a failure of TLS never becomes cleartext -----------------------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a1_untrusted_certificate_is_an_error(home: Path, quiet: tuple[str, ...]) -> None:
    """TLS and cleartext on one port, the certificate unknown. Fails on the original: it goes on in cleartext with the key."""
    with scripted("both") as server:
        Documented(server).fill("G1", ["J1"])
        result = Bl(home, server.origin)(*quiet, "--retry", "0", "metrics", "get", "-j", "J1")
    assert result.code == 4, str(result)
    assert server.seen == [], "something was asked over a connection that cannot be trusted"
    assert result.out.strip() in ("", "[]")
    assert "certificate" in result.err.lower()


def test_a1_server_without_tls_is_an_error(home: Path) -> None:
    """A server in cleartext where https was asked for. Fails on the original."""
    with scripted("plain") as server:
        Documented(server).fill("G1", ["J1"])
        result = Bl(home, f"https://127.0.0.1:{server.port}")("--retry", "0", "metrics", "get", "-j", "J1")
    assert result.code == 4, str(result)
    assert [seen.key for seen in server.seen] == []


def test_a1_slow_handshake_stays_encrypted(home: Path) -> None:
    """A trusted server that takes longer than three seconds to shake hands. Fails on the original."""
    with scripted("both", handshake_delay=3.5) as server:
        Documented(server).fill("G1", ["J1"])
        trusted = str(self_signed().certificate)
        result = Bl(home, server.origin)("metrics", "get", "-j", "J1", SSL_CERT_FILE=trusted)
    assert result.code == 0, str(result)
    assert server.seen
    assert all(seen.secure for seen in server.seen)


# ---- A2: the key goes to the configured origin only ---------------------------------------------------------------------------------


def test_a2_artifact_redirected_to_a_store(old: Documented, bl: Bl, out: Path) -> None:
    """A download redirected to an object store: followed without the key. Fails on the original."""
    data = tgz({"a": b"1"})
    with scripted() as store:
        store.on("GET /bucket/J1", binary(data))
        old.archives["J1"] = redirect(f"{store.origin}/bucket/J1")
        result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert result.code == 0, str(result)
    assert files_below(out) == {"J1/J1.tgz": data}
    assert [seen.key for seen in store.seen] == [None]


def test_a2_export_url_on_another_origin(old: Documented, bl: Bl, out: Path) -> None:
    """The group export named on another origin. Fails on a client that adds the key to every URL (the original from 0.2.25 on)."""
    with scripted() as store:
        store.on("GET /export", binary(old.export_of("G1"), "application/x-ndjson"))
        old.server.on(
            "GET /openapi/groups/{g}/trace-trajectory/download", of_json({"status": "succeeded", "download_url": f"{store.origin}/export"})
        )
        result = bl("trajectory", "download", "-g", "G1", "-o", str(out))
    assert result.code == 0, str(result)
    assert all(seen.key is None for seen in store.seen)
    assert len(json.loads(files_below(out)["G1/trajectory.json"])["trajectories"]) == 3


def test_a2_json_redirected_elsewhere(server: Scripted, bl: Bl) -> None:
    """A data route redirected to another origin. Fails on a client that follows redirects with all its headers."""
    with scripted() as foreign:
        foreign.on("GET /any", of_json({"job_id": "J1", "metrics": {}}))
        server.on("GET /openapi/metrics/{job}", redirect(f"{foreign.origin}/any"))
        result = bl("metrics", "get", "-j", "J1")
    assert result.code != 0, str(result)
    assert all(seen.key is None for seen in foreign.seen)


def test_a2_listing_names_a_foreign_url(old: Documented, bl: Bl, out: Path) -> None:
    """An artifact's own URL on another origin. Fails on the original up to 0.2.20, which fetches it with the key."""
    with scripted() as foreign:
        foreign.on("GET /x", binary(tgz({"a": b"1"})))
        old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": [{"name": "J1.tgz", "url": f"{foreign.origin}/x"}]}))
        bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert all(seen.key is None for seen in foreign.seen)


# ---- A3: nothing in the current directory is run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("metrics", "get", "-j", "J1"), ("--version",), ("jobs", "get", "--help")])
def test_a3_current_directory_is_not_imported(old: Documented, bl: Bl, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Modules of well-known names lie in the current directory. `metrics get` and `jobs get --help` fail on the original."""
    trap = tmp_path / "trap"
    mark = tmp_path / "mark"
    for name in sorted(_OPENING):
        path = trap / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(mark)!r}, 'a').write(__file__)\nraise ImportError('a trap')\n", encoding="utf-8")
    result = bl(*command, cwd=trap)
    time.sleep(1.0)
    assert result.code == 0, str(result)
    assert not mark.exists(), mark.read_text(encoding="utf-8")


# ---- A4: ids and names stay inside the output folder and inside their path segment --------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../escaped.txt", "/ABSOLUTE", "..", "a/../../../escaped.txt", "..\\..\\escaped.txt", "C:\\escaped.txt"]
)
def test_a4_artifact_name_cannot_leave_the_folder(old: Documented, bl: Bl, tmp_path: Path, name: str) -> None:
    """Names that point out of the output folder. `../../escaped.txt` and the absolute name fail on the original."""
    out = tmp_path / "deep" / "er" / "out"
    wanted = name.replace("/ABSOLUTE", str(tmp_path / "absolute.txt"))
    old.server.on(
        "GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": [{"name": wanted, "url": "/openapi/jobs/J1/artifacts/download"}]})
    )
    bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert _outside(tmp_path, out, bl.home) == []
    assert not Path("/ABSOLUTE").exists()


@pytest.mark.parametrize("job", ["J1?x=1", "J1#frag", "J1/../../groups/G1", "J1%2e", "a b", "名"])
def test_a4_job_id_is_one_path_segment(old: Documented, bl: Bl, job: str) -> None:
    """Ids with characters that mean something in a URL. All but the last two fail on the original."""
    old.fill("G2", [job])
    result = bl("metrics", "get", "-j", job)
    assert result.code == 0, str(result)
    assert [row["job_id"] for row in result.json] == [job]
    assert [seen.path for seen in old.server.asked("/openapi/metrics/")] == [f"/openapi/metrics/{job}"]


@pytest.mark.parametrize("group", ["../../escaped", "a/../../../escaped", "..\\escaped"])
@pytest.mark.parametrize(
    "command", [("jobs", "download"), ("tasks", "download"), ("metrics", "download"), ("trajectory", "download"), ("pull",)]
)
def test_a4_group_id_cannot_leave_the_folder(old: Documented, bl: Bl, tmp_path: Path, command: tuple[str, ...], group: str) -> None:
    """A group id used as a folder. `../../escaped` and `a/../../../escaped` fail on the original, even though most paths collapse."""
    old.fill(group, ["J1"])
    row = {"job_id": "J1", "task_id": "T1"}
    old.server.fallback = lambda _seen: of_json(
        {"group_id": group, "total": 1, "jobs": [row], "tasks": [row], "metrics": [row], "job_ids": ["J1"]}
    )
    out = tmp_path / "deep" / "er" / "out"
    result = bl(*command, "-g", group, "-o", str(out))
    assert _outside(tmp_path, out, bl.home) == [], str(result)


@pytest.mark.parametrize("job", ["..", "."])
def test_a4_dot_ids_are_never_asked_for(old: Documented, bl: Bl, out: Path, job: str) -> None:
    """`..` as an id collapses the path even when encoded. Fails on the original."""
    result = bl("trajectory", "download", "-j", job, "-o", str(out))
    assert result.code in (1, 2), str(result)
    assert old.server.asked() == []
    assert _no_file(out)


def test_a4_snapshot_with_a_dot_id(old: Documented, bl: Bl, out: Path) -> None:
    """A frozen list that holds `..`: the other jobs' files arrive, once each, and it is named. Fails on the original."""
    old.server.on("GET /openapi/trajectory-download-tasks/{t}", of_json({"task_id": "T1", "group_id": "G1", "job_ids": ["J1", "..", "J2"]}))
    result = bl("artifacts", "download", "--task-id", "T1", "-o", str(out))
    assert result.code == 1, str(result)
    assert sorted(files_below(out)) == ["T1/J1.tgz", "T1/J2.tgz"]
    assert ".." in result.err


# ---- A5: a login page is not a missing artifact -------------------------------------------------------------------------------------


def test_a5_redirect_to_a_login_page_is_authentication(old: Documented, bl: Bl, out: Path) -> None:
    """A gateway sends the download to its login page. Fails on the original: an empty archive and exit 0."""
    with scripted() as gateway:
        gateway.on("GET /login", html())
        old.archives["J1"] = redirect(f"{gateway.origin}/login")
        result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert result.code == 3, str(result)
    assert _no_file(out)


def test_a5_placeholder_is_not_final(old: Documented, bl: Bl, out: Path) -> None:
    """An absent artifact leaves the documented placeholder, said in the journal; `--skip-existing` asks again. Fails on the original."""
    old.archives["J1"] = error(404, "no artifacts")
    first = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert first.code == 0, str(first)
    assert _names((out / "J1" / "J1.tgz").read_bytes()) == []
    assert [line["status"] for line in journal(out)][-1] in ("placeholder", "missing")
    old.archives["J1"] = binary(tgz({"late": b"1"}))
    second = bl("artifacts", "download", "-j", "J1", "-o", str(out), "--skip-existing")
    assert second.code == 0, str(second)
    assert _names((out / "J1" / "J1.tgz").read_bytes()) == ["late"]


def test_a5_html_artifact_is_said(old: Documented, bl: Bl, out: Path) -> None:
    """A page in place of an archive: the documented placeholder, never the page, and the journal tells. Fails on the original."""
    old.archives["J1"] = html()
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert b"Sign in" not in b"".join(files_below(out).values())
    assert result.code == 0, str(result)
    assert [line["status"] for line in journal(out)][-1] == "placeholder"


def test_a5_artifact_that_is_a_page(old: Documented, bl: Bl, out: Path) -> None:
    """A file whose name says that it is a page is no login page. Fails on the original: replaced by an empty archive."""
    page = b"<html>the report</html>"
    old.server.on(
        "GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": [{"name": "report.html", "url": "/openapi/jobs/J1/artifacts/download"}]})
    )
    old.archives["J1"] = binary(page, "text/html")
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert files_below(out).get("J1/report.html") in (page, None), str(result)
    assert result.code == (0 if "J1/report.html" in files_below(out) else 1)


def test_a5_empty_body_is_no_archive(old: Documented, bl: Bl, out: Path) -> None:
    """200 and nothing. Fails on the original: a file of 0 bytes and exit 0."""
    old.archives["J1"] = binary(b"")
    result = bl("--retry", "0", "artifacts", "download", "-j", "J1", "-o", str(out))
    assert result.code == 1, str(result)
    assert "J1" in result.err
    assert _no_file(out)


# ---- A6: what is under the final name is whole --------------------------------------------------------------------------------------


def _cuts() -> dict[str, Answer]:
    data = tgz({"big": os.urandom(300_000)})
    return {
        "short of its length": binary(data, sent=len(data) // 3),
        "short by one byte": binary(data, sent=len(data) - 1),
        "chunked, no last chunk": binary(data, sent=len(data) // 3, chunked=True, piece=4096),
        "reset": binary(data, sent=len(data) // 3, reset=True),
        "no length": binary(data, sent=len(data) // 3, length=-1),
        "empty": binary(b""),
    }


@pytest.mark.parametrize("kind", sorted(_cuts()))
def test_a6_cut_archive_never_gets_its_name(old: Documented, bl: Bl, out: Path, kind: str) -> None:
    """Bodies cut in all ways: nothing stays, and the next run fetches it. Fails on the original."""
    old.archives["J1"] = _cuts()[kind]
    failed = bl("--retry", "0", "artifacts", "download", "-j", "J1", "-o", str(out))
    assert failed.code in (1, 4), str(failed)
    assert _no_file(out)
    good = tgz({"a": b"whole"})
    old.archives["J1"] = binary(good)
    again = bl("artifacts", "download", "-j", "J1", "-o", str(out), "--skip-existing")
    assert again.code == 0, str(again)
    assert files_below(out) == {"J1/J1.tgz": good}


@pytest.mark.parametrize("kind", sorted(_cuts()))
def test_a6_old_file_survives_a_failing_refresh(old: Documented, bl: Bl, out: Path, kind: str) -> None:
    """A good file stays as it was when its refresh fails. Fails on the original."""
    good = tgz({"a": b"whole"})
    old.archives["J1"] = binary(good)
    assert bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    old.archives["J1"] = _cuts()[kind]
    failed = bl("--retry", "0", "artifacts", "download", "-j", "J1", "-o", str(out))
    assert failed.code in (1, 4), str(failed)
    assert files_below(out) == {"J1/J1.tgz": good}
    assert leftovers(out) == []


@pytest.mark.parametrize("body", [b"", b'{"steps": [1, 2', b'{"steps": ['])
def test_a6_cut_json_never_gets_its_name(old: Documented, bl: Bl, out: Path, body: bytes) -> None:
    """Half a JSON document with a length that agrees. Fails on a client that writes bodies unparsed."""
    old.trajectories["J1"] = Answer(200, body, {"Content-Type": "application/json"})
    result = bl("--retry", "0", "trajectory", "download", "-j", "J1", "-o", str(out))
    assert result.code in (1, 4), str(result)
    assert _no_file(out)


@pytest.mark.parametrize("action", ["get", "download"])
def test_a6_lone_surrogate_is_kept_readable(old: Documented, bl: Bl, out: Path, action: str) -> None:
    """An emoji cut in half, common in agents' logs. Fails on the original: 0 bytes, or a traceback."""
    body = json.dumps(document("J1", "cut \ud83d here")).encode()
    old.trajectories["J1"] = Answer(200, body, {"Content-Type": "application/json"})
    result = bl("trajectory", action, "-j", "J1", *(["-o", str(out)] if action == "download" else []))
    assert result.code == 0, str(result)
    text = result.out if action == "get" else files_below(out)["J1_trajectory.json"].decode("utf-8")
    found = json.loads(text)
    message = (found[0] if action == "get" else found)["steps"][0]["message"]
    assert message.startswith("cut ")
    assert message.endswith(" here")


@pytest.mark.parametrize("labelled", [False, True])
def test_a6_content_encoding_of_an_archive(old: Documented, bl: Bl, out: Path, labelled: bool) -> None:
    """An archive that a proxy labels or packs as gzip once more is an archive on the disk. The labelled one fails on the original."""
    data = tgz({"a": b"1"})
    body = data if labelled else gzip.compress(data)
    old.archives["J1"] = Answer(200, body, {"Content-Type": "application/gzip", "Content-Encoding": "gzip"})
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    if result.code != 0:
        assert _no_file(out)
    else:
        assert _names(files_below(out)["J1/J1.tgz"]) == ["a"]


# ---- A7: several artifacts never get the same bytes ---------------------------------------------------------------------------------


def _several(old: Documented, entries: list[dict[str, str]]) -> None:
    old.server.on("GET /openapi/jobs/{j}/artifacts", of_json({"artifacts": entries}))


def test_a7_each_artifact_has_its_own_bytes(old: Documented, bl: Bl, out: Path) -> None:
    """Three artifacts, each with its own URL on this server. Fails on the original: three times the same bytes."""
    names = ["result.tgz", "log.txt", "video.mp4"]
    bodies = {"result.tgz": tgz({"r": b"1"}), "log.txt": b"a log", "video.mp4": b"\x00moving"}
    _several(old, [{"name": name, "url": f"/openapi/files/{name}"} for name in names])
    old.server.on("GET /openapi/files/{name}", lambda seen: binary(bodies[seen.path_ids["name"]], "application/octet-stream"))
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    found = files_below(out)
    assert {name: found[f"J1/{name}"] for name in names if f"J1/{name}" in found} == {
        name: bodies[name] for name in names if f"J1/{name}" in found
    }
    missing = [name for name in names if f"J1/{name}" not in found]
    assert (result.code == 0) == (not missing), str(result)
    assert all(name in result.err for name in missing)


def test_a7_one_url_for_several_names_is_an_error(old: Documented, bl: Bl, out: Path) -> None:
    """Several names that can only be fetched from one URL: said, not written thrice. Fails on the original."""
    names = ["result.tgz", "log.txt", "video.mp4"]
    _several(old, [{"name": name, "url": "/openapi/jobs/J1/artifacts/download"} for name in names])
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    bodies = list(files_below(out).values())
    assert len(bodies) == len(set(bodies)), sorted(files_below(out))
    assert result.code == 1, str(result)


def test_a7_one_name_twice_is_an_error(old: Documented, bl: Bl, out: Path) -> None:
    """Two entries of one name: never two writers on one file. Fails on the original."""
    _several(old, [{"name": "a.tgz", "url": f"/openapi/files/{n}"} for n in (1, 2)])
    old.server.on("GET /openapi/files/{n}", lambda seen: binary(tgz({seen.path_ids["n"]: b"1"})))
    result = bl("artifacts", "download", "-j", "J1", "-o", str(out))
    assert result.code == 1 or len(files_below(out)) == 2, str(result)
    assert "a.tgz" in result.err


# ---- A8: the key is a secret everywhere ---------------------------------------------------------------------------------------------


def _echo(seen: Seen) -> Answer:
    shown = dict(seen.headers)
    return of_json({"error": f"refused {shown}", "key": seen.key, "b64": base64.b64encode((seen.key or "").encode()).decode()}, 400)


def _nowhere(result: Result, *roots: Path) -> None:
    files = [body for root in roots for body in files_below(root, hidden=True).values()]
    assert canary_in(result.out, result.err, *files) == [], str(result)


@pytest.mark.parametrize("command", [("metrics",), ("trajectory",), ("artifacts",), ("pull",)])
def test_a8_key_is_in_no_output(server: Scripted, bl: Bl, out: Path, command: tuple[str, ...]) -> None:
    """A server that echoes the request's headers into its error. Fails on the original: whole bodies are printed."""
    for path in (
        "/openapi/metrics/{j}",
        "/openapi/jobs/{j}/trajectory",
        "/openapi/jobs/{j}/artifacts",
        "/openapi/jobs/{j}/artifacts/download",
    ):
        server.on(f"GET {path}", _echo)
    action = command if command == ("pull",) else (*command, "download")
    result = bl("-v", "--retry", "0", *action, "-j", "J1", "-o", str(out))
    assert result.code == 1, str(result)
    _nowhere(result, out, bl.home)


def test_a8_config_file_is_private(home: Path) -> None:
    """`config set` writes a file that only its owner reads. Fails on the original."""
    for umask in (0o022, 0o000):
        before = os.umask(umask)
        try:
            result = Bl(home, key=None)("config", "set", "--api-key", CANARY, "--host", "http://127.0.0.1:9")
        finally:
            os.umask(before)
        assert result.code == 0, str(result)
        assert canary_in(result.out, result.err) == []
    path = home / ".benchloop" / "config.toml"
    assert CANARY in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("key", [CANARY + "\n", CANARY + "\r\n", "a\n" + CANARY, CANARY + "é"])
def test_a8_key_with_a_newline(old: Documented, bl: Bl, home: Path, key: str) -> None:
    """A key read from a file with its newline: cleaned or refused without showing it, no retries. Fails on the original."""
    result = Bl(home, old.server.origin, key)("metrics", "get", "-j", "J1")
    assert result.code in (0, 2), str(result)
    assert result.seconds < 20
    assert "Traceback" not in result.err
    assert canary_in(result.out, result.err) == []
    assert all(seen.key == CANARY for seen in old.server.asked("/openapi/metrics/"))


@pytest.mark.parametrize(
    "command",
    [
        ("metrics", "-j", "J1"),
        ("trajectory", "-j", "J1"),
        ("trajectory", "--task-id", "G1"),
        ("artifacts", "-j", "J1"),
        ("jobs", "-g", "G1"),
        ("tasks", "-g", "G1"),
    ],
)
def test_a8_unwritable_output_is_one_sentence(old: Documented, bl: Bl, tmp_path: Path, command: tuple[str, ...]) -> None:
    """The output folder cannot be made because a file is in its way. Most fail on the original: a traceback."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    result = bl(command[0], "download", *command[1:], "-o", str(tmp_path / "file" / "sub"))
    assert result.code == 1, str(result)
    assert "Traceback" not in result.err
    assert str(tmp_path / "file") in result.err.replace("\n", "")
    assert canary_in(result.out, result.err) == []
