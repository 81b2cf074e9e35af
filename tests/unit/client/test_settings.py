"""Precedence, refusals, and the configuration file."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from benchloop_client import profile
from benchloop_client.addresses import Origin
from benchloop_client.errors import ConfigError, LocalError, UsageError
from benchloop_client.settings import DEFAULT_HOST, Flags, Settings, load

KEY = "blk_CanaryKeyThatMustNotLeak1234567890"


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def settings(environ: dict[str, str] | None = None, **flags: object) -> Settings:
    return load(Flags(**flags), environ or {})  # type: ignore[arg-type]


def write_config(tmp_path: Path, text: str) -> str:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return str(path)


def test_defaults_without_anything() -> None:
    found = settings()
    assert (found.host, found.api_key, found.output_dir) == (DEFAULT_HOST, None, Path())
    assert found.came_from["host"] == "default"


def test_flag_beats_environment_beats_file(tmp_path: Path) -> None:
    config = write_config(tmp_path, '[profile]\nhost = "https://file"\napi_key = "k-file"\noutput_dir = "~/out"\n')
    environ = {"BENCHLOOP_HOST": "https://env", "BENCHLOOP_API_KEY": "", "BENCHMARK_API_KEY": "k-second"}
    found = settings(environ, config=config, host="https://flag")
    assert (found.host, found.api_key) == ("https://flag", "k-second")
    assert found.output_dir == tmp_path / "home" / "out"
    told = {name: source for name, source in found.came_from.items() if source != "default"}
    assert told == {"host": "flag", "api_key": "BENCHMARK_API_KEY", "output_dir": config}


def test_an_empty_value_counts_as_unset() -> None:
    assert settings({"BENCHLOOP_HOST": ""}, host="", api_key="").host == DEFAULT_HOST


@pytest.mark.parametrize(
    "host", ["bench.example.com", "localhost:8000", "ftp://x", "http://", "https://h?x=1", "https://h#f", "https://u:p@h", "https://a b"]
)
def test_a_host_that_is_no_full_address_is_a_usage_error(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings(host=host)
    assert "u:p" not in str(caught.value)


def test_the_prefix_of_a_host_stays_and_its_last_slash_goes() -> None:
    assert settings(host="https://h:8443/prefix/").host == "https://h:8443/prefix"


@pytest.mark.parametrize("host", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:80", "http://127.8.9.1"])
def test_clear_text_is_fine_on_this_machine(host: str) -> None:
    assert settings(host=host).host == host


def test_clear_text_elsewhere_needs_consent(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="clear text"):
        settings(host="http://bench.example.com")
    assert settings(host="http://bench.example.com", allow_http=True).allow_http
    config = write_config(tmp_path, '[profile]\nhost = "http://bench.example.com"\nallow_http = true\n')
    assert settings(config=config).allow_http
    with pytest.raises(UsageError):
        settings(config=config, allow_http=False)


def test_our_keys_never_go_to_the_documented_host() -> None:
    with pytest.raises(UsageError, match="--host") as caught:
        settings(api_key=KEY)
    assert KEY not in str(caught.value)
    assert settings(api_key="another-key").api_key == "another-key"
    assert settings(api_key=KEY, host="https://mine.example.com").api_key == KEY


def test_a_line_end_after_the_key_is_dropped() -> None:
    assert settings(api_key="secret\r\n").api_key == "secret"


@pytest.mark.parametrize("key", ["se cret", "se\ncret", "sécret", "x\x00y", "  "])
def test_a_garbled_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings(api_key=key)
    assert key.strip() == "" or key not in str(caught.value)


def test_nothing_shows_the_key() -> None:
    found = settings(api_key=KEY, host="https://h.example", environ={"HTTPS_PROXY": "http://user:pass@p"})
    assert KEY not in repr(found)
    assert KEY not in repr(Flags(api_key=KEY))
    assert "pass" not in repr(found)
    assert found.redact(f"a {KEY} b") == "a *** b"
    assert found.redact(f"a{KEY}b") == "a***b"


def test_a_short_key_does_not_hide_words() -> None:
    found = settings(api_key="test", host="https://h.example")
    assert found.redact("wrote /tmp/pytest-1/tests/a.json with key=test 'test'") == "wrote /tmp/pytest-1/tests/a.json with key=*** '***'"


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    config = write_config(tmp_path, '[profile]\nhost = "https://h"\napi_key = = 3\n')
    with pytest.raises(ConfigError, match=r"config\.toml:3: "):
        settings(config=config)


@pytest.mark.parametrize("text", ["profile = 3", "[profile]\nhost = 3", '[profile]\nallow_http = "yes"'])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="profile"):
        settings(config=write_config(tmp_path, text))


def test_an_explicit_file_must_exist_the_default_need_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        settings(config=str(tmp_path / "none.toml"))
    assert settings().api_key is None


def test_proxies_follow_the_environment_except_for_this_machine() -> None:
    environ = {"https_proxy": "proxy:3128", "HTTP_PROXY": "http://p", "NO_PROXY": "example.org, .corp:8443,10.0.0.0/8"}
    proxies = settings(environ).proxies
    assert proxies.for_url("https://a.example.com/x") == "http://proxy:3128"
    assert proxies.for_url("http://127.0.0.1:9/") is None
    assert proxies.for_url("https://sub.example.org") is None
    assert proxies.for_url("https://a.corp:8443") is None
    assert proxies.for_url("https://a.corp") == "http://proxy:3128"
    assert proxies.for_url("http://10.2.3.4") is None


def test_origins_compare_by_scheme_host_and_port() -> None:
    assert Origin.of("https://H.example/x") == Origin.of("https://h.example:443")
    assert Origin.of("https://h.example") != Origin.of("http://h.example")
    assert str(Origin.of("http://[::1]:8000/")) == "http://[::1]:8000"


def test_saving_keeps_comments_and_other_keys(tmp_path: Path) -> None:
    path = Path(write_config(tmp_path, '# mine\n[other]\nx = 1  # keep\n[profile]\n# the host\nhost = "https://old"\n'))
    profile.save(path, {"host": "https://new/", "api_key": 'with"quote\\n'})
    text = path.read_text()
    assert "# mine" in text and "x = 1  # keep" in text and "# the host" in text
    found = load(Flags(config=str(path)), {})
    assert (found.host, found.api_key) == ("https://new", 'with"quote\\n')


def test_saving_makes_a_private_file_in_a_private_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    profile.save(path, {"api_key": "k"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]


def test_saving_leaves_a_broken_file_alone(tmp_path: Path) -> None:
    path = Path(write_config(tmp_path, "not toml"))
    with pytest.raises(ConfigError):
        profile.save(path, {"host": "https://h"})
    assert path.read_text() == "not toml"


def test_saving_refuses_what_could_not_be_used(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    with pytest.raises(UsageError):
        profile.save(path, {"host": "nonsense"})
    with pytest.raises(UsageError):
        profile.save(path, {"api_key": "a\nb"})
    assert not path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nobody can write")
def test_saving_where_nothing_can_be_written_says_so() -> None:
    with pytest.raises(LocalError, match="cannot be written"):
        profile.save(Path("/proc/benchloop/c.toml"), {"host": "https://h"})


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("msgspec", "urllib3", "ssl", "click", "rich", "tomlkit", "json")
    code = f"import sys, benchloop_client; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_public_names_are_all_there() -> None:
    import benchloop_client

    assert all(getattr(benchloop_client, name) is not None for name in benchloop_client.__all__)
    with pytest.raises(AttributeError):
        _ = benchloop_client.Nothing  # type: ignore[attr-defined]
