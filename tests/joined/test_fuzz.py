"""Anything comes in: ids, names, headers, bodies and configuration files that nobody would write, fed to every command in this process.

Whatever it is, there is no traceback, no file outside the output folder, and an exit code that fits. What is tried is the same each time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.documented import Documented, tgz
from tests.support.inside import Inside, everything_below
from tests.support.programs import Result
from tests.support.scripted import Answer, Scripted, Seen, of_json, scripted
from tests.unit.client.cli.test_cli_everywhere import LEAVES

#: Every command, `ID`, `OUT` and `RUN` to be filled in; those that only read files of ours are tried with configuration files, and
#: `completion` takes nothing from anybody.
COMMANDS: tuple[str, ...] = (
    "metrics get -j ID",
    "metrics get -g ID",
    "metrics download -j ID -o OUT",
    "metrics download -g ID -o OUT",
    "trajectory get -j ID",
    "trajectory get -g ID",
    "trajectory download -j ID -o OUT",
    "trajectory download -g ID -o OUT",
    "trajectory download --task-id ID -o OUT",
    "artifacts download -j ID -o OUT",
    "artifacts download -g ID -o OUT",
    "artifacts download --task-id ID -o OUT",
    "artifacts download -j ID --list-only",
    "report get -j ID",
    "report get -g ID",
    "report download -j ID -o OUT",
    "report download -g ID -o OUT",
    "report trigger -j ID",
    "rsi get -j ID",
    "rsi download -g ID -o OUT",
    "rsi trigger -g ID",
    "brm run -g ID",
    "brm get --task-id ID",
    "brm status --task-id ID",
    "brm list -g ID",
    "brm cancel --task-id ID",
    "jobs get -g ID",
    "jobs get -g ID --all --format table",
    "jobs get -g ID --all --format csv",
    "jobs download -g ID -o OUT",
    "tasks get -g ID",
    "tasks download -g ID -o OUT",
    "overview get -g ID",
    "overview get -j ID",
    "metadata get -j ID",
    "metadata download --task-id ID -o OUT",
    "pull -g ID -o OUT --with metrics,trajectory,report,artifacts,tasks,jobs,metadata,rsi",
    "pull -j ID -o OUT --with metrics,trajectory,report,artifacts,metadata,rsi",
    "diff ID G1",
    "groups list",
    "groups get -g ID",
    "groups rename -g ID x",
    "groups tag -g ID x",
    "groups note -g ID x",
    "groups delete -g ID --yes",
    "download-tasks get ID",
    "download-tasks create -g ID",
    "whoami",
    "doctor",
    "push RUN --group ID",
)

#: Commands about what is on this machine; a server is asked by `retry` only.
LOCAL = ("verify OUT", "retry OUT", "analyze RUN")
_SINGLE = {path[0] for path in LEAVES if len(path) == 1}

_settings = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_text = st.text(st.characters(codec=None), max_size=30)
_strange = st.sampled_from(
    [
        "",
        ".",
        "..",
        "../../x",
        "/etc/x",
        "a/b",
        "a\\..\\b",
        "C:\\x",
        "\0",
        "a\0b",
        "x" * 3000,
        "名" * 300,
        "\ud83d",
        "a\r\nX: y",
        "%2e%2e",
        "-",
        "@",
        "@@",
        "@/dev/null",
        ",",
        " ",
        "\u202e",
        "J1?x=1",
        "J1#y",
        "CON",
        "~",
        "$HOME",
        "{}",
        "*",
        "\x1b[2J",
        "__proto__",
    ]
)
ids = _strange | _text
_leaf = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(
        [10**400, -(2**64), 2**63, 1e308, float("nan"), float("inf"), float("-inf"), -0.0, "\ud83d", "\udc00x", "", "../..", "/x"]
    )
    | st.floats()
    | _text
)
_KEYS = (
    "jobs",
    "job_id",
    "group_id",
    "task_id",
    "created_at",
    "total",
    "metrics",
    "run_metrics",
    "tokenized_metrics",
    "artifacts",
    "name",
    "url",
    "reports",
    "report",
    "report_md",
    "summary_md",
    "content",
    "trajectories",
    "steps",
    "job_ids",
    "status",
    "download_url",
    "tasks",
    "next_cursor",
    "size",
    "sha256",
    "error",
    "code",
    "extra",
    "trace_media",
    "oss_uri",
    "mime_type",
    "features",
    "findings",
    "groups",
    "id",
    "etag",
    "scopes",
    "trajectory_id",
)
_values = st.recursive(
    _leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS) | _text, inner, max_size=5), max_leaves=12
)
_DEEP = [b"[" * 5000 + b"]" * 5000, b'{"jobs":' * 5000 + b"1" + b"}" * 5000, b'{"jobs":[' + b"[" * 5000 + b"]" * 5000 + b"]}"]
bodies = (
    _values.map(lambda value: json.dumps(value).encode())
    | st.sampled_from(
        [b"", b"null", b"{", b"\xff\xfe", b"NaN", b"1" * 5000, b"1e999", b'"' + b"\\ud800" * 50 + b'"', b"<html>", b"\x00", *_DEEP]
    )
    | st.binary(max_size=60)
)
_header_text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40) | st.sampled_from(
    [
        "-1",
        "1e9",
        "9" * 30,
        "0",
        "",
        "bytes 0-/",
        'attachment; filename="../../x"',
        "text/html",
        "gzip",
        "zstd",
        "identity, br",
        'W/"x"',
        "application/json; charset=utf-7",
    ]
)
_headers = st.dictionaries(
    st.sampled_from(
        [
            "Content-Type",
            "Content-Encoding",
            "ETag",
            "Retry-After",
            "Content-Range",
            "Accept-Ranges",
            "Location",
            "Last-Modified",
            "X-Request-Id",
            "Content-Disposition",
            "Set-Cookie",
            "WWW-Authenticate",
            "Date",
            "Digest",
            "X-Total",
        ]
    ),
    _header_text,
    max_size=4,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    """One server for all that is tried."""
    with scripted() as running:
        yield running


@pytest.fixture
def bl(server: Scripted) -> Inside:
    """The client in this process, with nobody to wait for."""
    return Inside(server.origin)


_runs = itertools.count()
_RUN = b'{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"hi"}]}'


def _feed(bl: Inside, root: Path, command: str, name: str = "J1", *, journal: Iterable[bytes] = (), **variables: str) -> Result:
    """Run one command with its files in a folder of its own, whose journal has these lines, and look at all that it left."""
    place = root / f"run{next(_runs)}"
    (place / "out").mkdir(parents=True)
    if journal:
        (place / "out" / ".benchloop").mkdir()
        (place / "out" / ".benchloop" / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in journal))
    run = place / "run.json"
    run.write_bytes(_RUN)
    words = [{"ID": name, "OUT": str(place / "out"), "RUN": str(run)}.get(word, word) for word in command.split()]
    before = everything_below(root)
    done = bl("--timeout", "5", "--concurrency", "2", *words, stdin="", **variables)
    made = everything_below(root) - before
    assert "Traceback" not in done.err and "unexpected " not in done.err, f"{words!r}\n{done}"
    assert done.code in {0, 1, 2, 3, 4}, f"{words!r}\n{done}"
    assert all(path.startswith(f"{place.name}/out/") for path in made), f"{words!r} made {sorted(made)[:5]}"
    assert done.code != 0 or "[error]" not in done.err, f"{words!r}\n{done}"
    said = done.err.strip() or (words[0] in {"doctor", "verify"} and done.out.strip())
    assert done.code == 0 or said, f"{words!r} failed without a word\n{done}"
    assert not [path for path in made if path.endswith(".part")]
    return done


def test_every_command_is_fed_and_none_is_refused_for_its_shape(server: Scripted, bl: Inside, tmp_path: Path) -> None:
    """What only reads files of ours is tried with configuration files; `completion` takes nothing from anybody."""
    server.clear()
    Documented(server).fill("J1", ["J1"])
    Documented(server).fill("G1", ["J1"])
    fed = set()
    for command in (*COMMANDS, *LOCAL):
        if command.startswith(("verify", "retry")):
            _feed(bl, tmp_path, command, journal=[_line(path="J1_run_metrics.json", source="metrics J1", status="failed")])
        else:
            assert _feed(bl, tmp_path, command).code != 2, command
        fed.add(" ".join(command.split()[: 1 if command.split()[0] in _SINGLE else 2]))
    assert fed == {" ".join(path) for path in LEAVES if path[0] not in {"config", "completion"}}


@pytest.mark.parametrize("part", range(4))
def test_any_id(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """A server that has everything under every id."""
    monkeypatch.chdir(tmp_path)
    old = Documented(server)
    old.fill("G1", ["J1"])

    @_settings
    @given(st.sampled_from(COMMANDS[part::4]), ids)
    def run(command: str, name: str) -> None:
        old.fill(name, ["J1", name])
        _feed(bl, tmp_path, command, name)

    run()


@pytest.mark.parametrize("part", range(4))
def test_any_body(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """One body for every request, whatever was asked for."""
    monkeypatch.chdir(tmp_path)

    @_settings
    @given(st.sampled_from(COMMANDS[part::4]), bodies, st.sampled_from(["application/json", "text/plain", "application/gzip"]))
    def run(command: str, body: bytes, kind: str) -> None:
        server.clear()
        server.fallback = lambda _seen: Answer(body=body, headers={"Content-Type": kind})
        _feed(bl, tmp_path, command)

    run()


def test_any_body_among_good_ones(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is well but one route, so that commands get further."""
    monkeypatch.chdir(tmp_path)
    routes = (
        "jobs/J1/trajectory",
        "jobs/J1/artifacts",
        "jobs/J1/meta",
        "metrics/J1",
        "jobs",
        "groups/J1",
        "groups/J1/job-ids",
        "export/J1",
    )

    @_settings
    @given(st.sampled_from(COMMANDS), st.sampled_from(routes), bodies)
    def run(command: str, route: str, body: bytes) -> None:
        server.clear()
        Documented(server).fill("J1", ["J1", "J2"])
        server.on(f"GET /openapi/{route}", Answer(body=body, headers={"Content-Type": "application/json"}))
        _feed(bl, tmp_path, command)

    run()


def test_any_artifact_name(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And any address beside it."""
    monkeypatch.chdir(tmp_path)
    commands = [command for command in COMMANDS if command.startswith(("artifacts", "pull"))]

    @_settings
    @given(
        st.sampled_from(commands), st.lists(st.tuples(ids, ids | st.just("/openapi/jobs/J1/artifacts/download")), min_size=1, max_size=3)
    )
    def run(command: str, entries: list[tuple[str, str]]) -> None:
        server.clear()
        Documented(server).fill("J1", ["J1"])
        server.on("GET /openapi/jobs/J1/artifacts", of_json({"artifacts": [{"name": name, "url": url} for name, url in entries]}))
        _feed(bl, tmp_path, command)

    run()


def _line(**values: Any) -> bytes:
    return json.dumps(values).encode()


_entries = st.builds(
    _line,
    path=ids | st.sampled_from(["J1_run_metrics.json", "../x", "/etc/x", "G1/trajectory.json", ".benchloop/journal.jsonl"]),
    status=st.sampled_from(["done", "missing", "placeholder", "failed", "x"]),
    source=st.sampled_from(["metrics J1", "trajectory J1", "artifact J1 J1.tgz", "jobs G1", "metadata J1", "bulk ../x", ""]) | ids,
    size=_leaf,
    sha256=_leaf,
)


def test_any_journal(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another program, or a disk, made of it."""
    monkeypatch.chdir(tmp_path)

    @_settings
    @given(st.sampled_from(["verify OUT", "retry OUT"]), st.lists(_entries | bodies, min_size=1, max_size=4), st.booleans())
    def run(command: str, lines: list[bytes], named: bool) -> None:
        server.clear()
        Documented(server).fill("G1", ["J1"])
        begun = _line(run="x", state="begun", at="2026-01-01T00:00:00Z", host=server.origin)
        _feed(bl, tmp_path, command, journal=[*([begun] if named else []), *lines])

    run()


def test_any_header(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On answers of every status."""
    monkeypatch.chdir(tmp_path)

    @_settings
    @given(st.sampled_from(COMMANDS), _headers, st.sampled_from([200, 200, 204, 206, 302, 304, 401, 404, 416, 429, 500]))
    def run(command: str, headers: dict[str, str], status: int) -> None:
        def answer(seen: Seen) -> Answer:
            body = tgz({"a": b"a"}) if seen.path.endswith("download") else b'{"jobs":[],"artifacts":[{"name":"a.tgz","url":"/x"}]}'
            return Answer(status, b"" if status in {204, 304} else body, headers)

        server.clear()
        server.fallback = answer
        done = _feed(bl, tmp_path, command)
        assert done.code != 0 or status not in {401, 404, 429, 500} or command in _QUIET_WITH_NOTHING, f"{command}: {status}\n{done}"
        assert status != 401 or done.code == 3, f"{command}\n{done}"

    run()


#: What a missing archive or report makes a success, as documented.
_QUIET_WITH_NOTHING = {command for command in COMMANDS if command.startswith(("artifacts", "report", "rsi", "pull"))}
_config = (
    _text
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            "[profile]\n" * 2,
            "[profile]\nhost = 1",
            "[" * 5000,
            "[profile]\ntimeout = nan",
            "\ufeff[profile]",
            "profile = 1",
            "a." * 5000 + "b=1",
        ]
    )
    | st.dictionaries(
        st.sampled_from(
            ["host", "api_key", "output_dir", "allow_http", "cacert", "proxy", "timeout", "retry", "concurrency", "update_check", "x"]
        ),
        (_leaf | _text).map(repr),
        max_size=4,
    ).map(lambda table: "[profile]\n" + "\n".join(f"{key} = {value}" for key, value in table.items()))
)
_ON_CONFIG = (
    "config list",
    "config get host",
    "config set --retry 3",
    "config set host https://h.invalid",
    "config unset retry",
    "config path",
    "metrics get -j ID",
)


def test_any_configuration_file(server: Scripted, bl: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read is an error that names it, and it is never overwritten."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"

    @_settings
    @given(st.sampled_from(_ON_CONFIG), _config)
    def run(command: str, text: str | bytes) -> None:
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        file.write_bytes(raw)
        server.clear()
        Documented(server).fill("G1", ["J1"])
        done = _feed(bl, tmp_path, f"--config {file} {command}")
        if done.code == 2:
            assert file.read_bytes() == raw, "a file that could not be read was written"

    run()


@_settings
@given(st.sampled_from(["host", "api_key", "proxy", "output_dir"]), ids)
def test_any_variable(name: str, value: str) -> None:
    """Hosts, keys and proxies from the environment: used or refused, never a crash. Nobody is asked who could be reached."""
    variables: dict[str, Any] = {{"proxy": "HTTPS_PROXY"}.get(name, f"BENCHLOOP_{name.upper()}"): value.replace("\0", "")}
    done = Inside("https://nobody.invalid", variables=variables)("config", "list")
    assert done.code in {0, 2} and "Traceback" not in done.err and "unexpected " not in done.err, str(done)
