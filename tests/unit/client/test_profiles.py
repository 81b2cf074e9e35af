"""Named profiles, where each value comes from, and what the writer of the file keeps."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from benchloop_client import configfile, profile
from benchloop_client.addresses import Proxies, Proxy
from benchloop_client.errors import ConfigError, UsageError
from benchloop_client.settings import DEFAULT_HOST, Flags, Settings, load, masked, resolve, wants_colour

FILE = """\
# mine
[profile]
host = "https://first.example"
api_key = "k-first"
timeout = 60

[profile.staging]
host = "https://staging.example" # the other one
retry = 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    return path


def settings(file: Path, environ: dict[str, str] | None = None, **flags: object) -> Settings:
    return load(Flags(config=str(file), **flags), environ or {})  # type: ignore[arg-type]


def test_without_a_name_the_documented_table_counts(file: Path) -> None:
    found = settings(file)
    assert (found.host, found.api_key, found.timeout, found.retry) == ("https://first.example", "k-first", 60, 2)


def test_a_named_profile_inherits_nothing(file: Path) -> None:
    """The key of one server must not go to another because only the host was named."""
    found = settings(file, profile="staging")
    assert (found.host, found.api_key, found.timeout, found.retry) == ("https://staging.example", None, 300, 0)
    assert found.came_from["host"] == f"{file} [profile.staging]"


def test_a_profile_named_by_flag_stands_before_the_environment(file: Path) -> None:
    environ = {"BENCHLOOP_HOST": "https://env.example", "BENCHLOOP_API_KEY": "k-env"}
    found = settings(file, environ, profile="staging")
    assert (found.host, found.api_key) == ("https://staging.example", "k-env")
    assert settings(file, environ, profile="staging", host="https://flag.example").host == "https://flag.example"


def test_a_profile_named_by_variable_stands_after_the_environment(file: Path) -> None:
    environ = {"BENCHLOOP_PROFILE": "staging", "BENCHLOOP_HOST": "https://env.example"}
    found = settings(file, environ)
    assert (found.host, found.retry, found.profile) == ("https://env.example", 0, "staging")
    assert settings(file, environ, profile="default").host == "https://first.example"


def test_an_unknown_profile_is_an_error_that_names_the_others(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"no profile 'prod' \(it has: default, staging\)"):
        settings(file, profile="prod")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[profile]\nhost = "https://h"\ntimeout = "long"\n', r":3: `timeout` in \[profile\] must be a number"),
        ("[profile]\nconcurrency = 0\n", r":2: `concurrency` in \[profile\] must be a whole number"),
        ("[profile]\nconcurrency = true\n", r":2: `concurrency`"),
        ("[profile]\nhost = 1\n", r":2: `host`"),
        ("[profile]\nhost = { a = 1 }\n", r":2: `host`"),
        ('[profile]\nhost = "a"\nhost = "b"\n', r":3: the configuration file is not valid TOML"),
        ("[profile\n", r":1: the configuration file is not valid TOML"),
        ("a = " + "[" * 5000 + "\n", r":1: the configuration file is not valid TOML"),
        ("[profile.default]\n", r"is written \[profile\]"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_left_alone(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        settings(path)
    if "TOML" in words:
        with pytest.raises(ConfigError):
            profile.save(path, {"host": "https://h"})
        assert path.read_text() == text


def test_a_wrong_value_in_another_profile_does_not_disturb(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[profile]\nhost = "https://h.example"\n[profile.other]\ntimeout = "x"\n')
    assert settings(path).host == "https://h.example"
    with pytest.raises(ConfigError, match=r":4: `timeout` in \[profile.other\]"):
        settings(path, profile="other")


def test_documented_variables_come_before_those_of_the_design_paper() -> None:
    environ = {"bmcli_API_KEY": "k2", "bmcli_HOST": "https://b.example", "bmcli_OUTPUT_DIR": "/o"}
    found = load(None, environ)
    assert (found.api_key, found.host, found.output_dir) == ("k2", "https://b.example", Path("/o"))
    assert found.came_from["api_key"] == "bmcli_API_KEY"
    assert load(None, {**environ, "BENCHMARK_API_KEY": "k1"}).api_key == "k1"


def test_a_mistaken_variable_gets_a_hint_only_when_the_value_is_missing() -> None:
    hints = load(None, {"BENCH_LOOP_API_KEY": "k"}).hints
    assert hints == ("BENCH_LOOP_API_KEY is set, but nothing reads it: did you mean BENCHLOOP_API_KEY?",)
    assert load(None, {"BENCH_LOOP_API_KEY": "k", "BENCHLOOP_API_KEY": "k"}).hints == ()


def test_every_value_has_a_source(file: Path) -> None:
    found = resolve(Flags(config=str(file), concurrency=3), {"BENCHLOOP_OUTPUT_DIR": "out"})
    sources = {name: value.source for name, value in found.values.items()}
    assert sources["concurrency"] == "flag" and sources["output_dir"] == "BENCHLOOP_OUTPUT_DIR"
    assert sources["host"] == str(file) and sources["retry"] == "default"
    assert "k-first" not in repr(found)


def test_a_key_is_masked() -> None:
    assert masked("sk-secret") == "***"
    assert masked("blk_" + "a" * 40) == "blk_aaaa…"


@pytest.mark.parametrize(
    ("environ", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_follow_the_conventions(environ: dict[str, str], terminal: bool, wanted: bool) -> None:
    assert wants_colour(terminal, environ) is wanted


def test_a_named_proxy_counts_for_everything_but_what_no_proxy_names() -> None:
    proxies = load(Flags(proxy="http://p:1"), {"NO_PROXY": ".corp", "HTTPS_PROXY": "http://q:2"}).proxies
    assert proxies.for_url("https://a.example") == proxies.for_url("http://127.0.0.1:9") == "http://p:1"
    assert proxies.for_url("https://a.corp") is None
    assert Proxies.of("none", {"ALL_PROXY": "http://q:2"}).for_url("https://a.example") is None


def test_a_proxys_credentials_are_kept_apart_and_masked() -> None:
    proxy = Proxy.of("http://jo%40x:p%3Aw@proxy.example:3128")
    assert (proxy.user, proxy.password, str(proxy)) == ("jo@x", "p:w", "http://proxy.example:3128")
    assert "p:w" not in repr(proxy)
    found = load(Flags(proxy="http://jo:secret-word@p"), {})
    assert found.redact("via jo:secret-word@p") == "via ***@p"


def test_saving_into_a_named_profile_keeps_everything_else(file: Path) -> None:
    profile.save(file, {"api_key": "k-new", "concurrency": 4}, profile="staging")
    text = file.read_text()
    assert text.startswith(FILE.rstrip("\n")) and text.count("[profile") == 2
    found = settings(file, profile="staging")
    assert (found.api_key, found.concurrency) == ("k-new", 4)
    assert settings(file).api_key == "k-first"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["host", "a b", "", "a.b", "x" * 80, "[x]"])
def test_a_profile_needs_a_name_that_can_be_one(file: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name"):
        profile.save(file, {"retry": 1}, profile=name)
    assert file.read_text() == FILE


def test_keys_and_profiles_are_taken_out(file: Path) -> None:
    assert profile.remove(file, ["timeout", "proxy"]) == ("timeout",)
    assert file.read_text() == FILE.replace("timeout = 60\n", "")
    profile.remove_profile(file, "staging")
    assert configfile.read(file).names == ("default",)
    assert "# mine" in file.read_text()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[profile.x]\nhost="https://a"\n', "default"),
        ('[profile]\nhost="https://a"\n[other]\nz=1\n[profile.x]\nretry=1\n[tail]\nq=nan\n', "default"),
        ('[profile]\nhost="https://a"\n[other]\nz=1\n[profile.x]\nretry=1\n[tail]\nq=2\n', "x"),
        ('profile = {host="https://q"}\n', "x"),
        ('profile.host="https://q"\n', "default"),
        ('[profile]\r\nhost="https://a"\r\n', "x"),
        ("[[x]]\na=1\n[profile.x.y]\nq=1\n", "x"),
    ],
)
def test_odd_files_are_changed_rightly_or_not_at_all(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(text.encode())
    before = configfile.parse(text, path)
    profile.save(path, {"api_key": "k1"}, profile=name)
    after = configfile.read(path)
    assert after.profile(name)["api_key"] == "k1"
    rest = configfile.parse(after.text, path)
    assert {key: repr(value) for key, value in rest.items() if key != "profile"} == {
        key: repr(value) for key, value in before.items() if key != "profile"
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("timeout", "0"), ("timeout", "soon"), ("retry", "-1"), ("concurrency", "1.5"), ("allow_http", "perhaps"), ("nope", "1")],
)
def test_what_is_typed_for_a_key_is_checked(file: Path, name: str, text: str) -> None:
    with pytest.raises(UsageError):
        profile.save(file, {name: profile.typed(name, text)})
    assert file.read_text() == FILE


def test_an_authoritys_file_is_stored_with_its_whole_path(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile.save(file, {"cacert": "ca.pem"})
    assert settings(file).trust[0].path == str(tmp_path / "ca.pem")


def test_no_file_means_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(None, {}).host == DEFAULT_HOST
    with pytest.raises(ConfigError, match="no profile 'x'"):
        load(Flags(profile="x"), {})


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_PIECES = st.sampled_from(
    [
        "[profile]\n",
        "[profile.x]\n",
        "[other]\n",
        "host = ",
        '"https://h"\n',
        "timeout = 5\n",
        "retry = -1\n",
        "# c\n",
        "\r\n",
        "x = nan\n",
        "{",
        "]",
        "=",
    ]
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pieces=st.lists(st.one_of(_PIECES, _TEXT), max_size=8), name=st.sampled_from(["default", "x"]), value=_TEXT)
def test_any_file_is_changed_rightly_or_refused_and_left_alone(tmp_path: Path, pieces: list[str], name: str, value: str) -> None:
    path = tmp_path / "any.toml"
    path.write_bytes("".join(pieces).encode())
    before = path.read_bytes()
    try:
        profile.save(path, {"output_dir": value}, profile=name)
    except UsageError:
        assert path.read_bytes() == before
        return
    after = configfile.read(path)
    assert after.tables[name]["output_dir"] == value
    old, new = (configfile.parse(text.decode("utf-8-sig"), path) for text in (before, path.read_bytes()))
    for document in (old, new):
        document.pop("profile", None)
    assert repr(old) == repr(new)
