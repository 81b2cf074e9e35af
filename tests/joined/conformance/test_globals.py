"""Wire contract §10: global options, the environment and the defaults."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from benchloop_client.contract.version import __version__
from tests.joined.conformance.conftest import World
from tests.joined.conformance.running import Bl
from tests.support.certificates import self_signed
from tests.support.documented import Documented
from tests.support.programs import files_below
from tests.support.scripted import Seen, scripted

_JOB = ("metrics", "get", "-j", "J1")


def _sent(world: World) -> Seen:
    return world.scripted.asked()[-1]


def test_two_names_one_program() -> None:
    found = {point.name: point.value for point in importlib.metadata.distribution("benchloop_client").entry_points}
    assert found["bl"] == found["bmcli"]


@pytest.mark.parametrize("argv", [[], ["metrics"], ["brm"], ["config"]])
def test_no_arguments_show_help(bl: Bl, argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    done = bl(*argv)
    assert done.code == 2
    assert "Usage: bl" in done.out + done.err + capfd.readouterr().out


def test_global_options_come_first(old: World) -> None:
    assert old.bl("--no-pretty", "--retry", "0", "-q", *_JOB).code == 0


@pytest.mark.parametrize("place", [1, 2, 4])
def test_global_options_may_come_later(old: World, place: int) -> None:
    argv = [*_JOB[:place], "--no-pretty", *_JOB[place:]]
    assert old.bl(*argv).out.count("\n") == 1


@pytest.mark.parametrize("argv", [["-h"], ["metrics", "-h"], ["metrics", "get", "-h"], ["metrics", "get", "--help"]])
def test_help_is_shown(bl: Bl, argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert bl(*argv).code == 0
    assert "Usage: bl" in capfd.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(bl: Bl, shell: str) -> None:
    done = bl("completion", shell)
    assert done.code == 0
    assert "bl" in done.out


def test_version_is_printed(bl: Bl, capfd: pytest.CaptureFixture[str]) -> None:
    assert bl("--version").code == 0
    assert capfd.readouterr().out == f"bmcli {__version__}\n"


def test_api_key_option(old: World) -> None:
    old.bl("--api-key", "sk-typed", *_JOB)
    assert _sent(old).key == "sk-typed"


def test_host_option(old: World) -> None:
    done = old.bl.but(host="http://127.0.0.1:9")("--host", f"{old.url}/", *_JOB)
    assert done.code == 0, str(done)


def test_output_dir_of_the_command_wins(old: World, tmp_path: Path) -> None:
    old.bl("-o", str(tmp_path / "root"), "metrics", "download", "-j", "J1", "-o", str(tmp_path / "own"))
    assert list(files_below(tmp_path / "own")) == ["J1_run_metrics.json"]
    assert not (tmp_path / "root").exists()
    old.bl("-o", str(tmp_path / "root"), "metrics", "download", "-j", "J1")
    assert list(files_below(tmp_path / "root")) == ["J1_run_metrics.json"]


def test_pretty_is_two_spaces(old: World) -> None:
    found = old.bl(*_JOB)
    assert found.out == json.dumps(found.json, indent=2, ensure_ascii=False) + "\n"
    assert old.bl("--pretty", *_JOB).out == found.out


def test_no_pretty_is_compact_everywhere(old: World, out: Path) -> None:
    done = old.bl("--no-pretty", *_JOB)
    assert done.out == json.dumps(done.json, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert old.bl("--no-pretty", "trajectory", "download", "--task-id", "T1", "-o", str(out)).code == 0
    with ZipFile(out / "T1_trajectories.zip") as archive:
        text = archive.read("manifest.json").decode()
    assert text == json.dumps(json.loads(text), separators=(",", ":")) + "\n"


def test_letters_are_never_escaped(old: World) -> None:
    assert "ü" in old.bl(*_JOB).out
    assert "ü" in old.bl("--no-pretty", *_JOB).out


def test_defaults(bl: Bl, old: World) -> None:
    (found,) = old.bl(*_JOB).loaded
    assert (found.timeout, found.retry, str(found.output_dir)) == (300.0, 2, ".")
    assert bl("config", "get", "host").out == "https://benchmark-analysis.alibaba-inc.com\n"


def test_timeout_option(old: World) -> None:
    assert old.bl("--timeout", "7.5", *_JOB).loaded[0].timeout == 7.5


@pytest.mark.parametrize(("given", "counts"), [("0", 0), ("3", 3), ("-4", 0)])
def test_retry_option(old: World, given: str, counts: int) -> None:
    assert old.bl("--retry", given, *_JOB).loaded[0].retry == counts


def test_concurrency_is_a_ceiling(old: World) -> None:
    assert old.bl("--concurrency", "3", *_JOB).loaded[0].concurrency == 3
    assert old.bl("--concurrency", "0", *_JOB).code == 2
    assert old.bl(*_JOB).loaded[0].concurrency is None


def test_verbose_and_quiet(old: World, out: Path) -> None:
    download = ("metrics", "download", "-j", "J1,NOPE", "-o", str(out))
    assert "wrote" in old.bl("-v", *download).err
    for quiet in (["-q"], ["-q", "-v"], ["-v", "-q"]):
        assert all(line.startswith("[error]") for line in old.bl(*quiet, *download).lines)


def test_config_option_names_the_file(old: World) -> None:
    (old.bl.home / "own.toml").write_text('[profile]\napi_key = "sk-filed"\n')
    old.bl.but(key=None)("--config", "~/own.toml", *_JOB)
    assert _sent(old).key == "sk-filed"


def test_default_config_file(old: World) -> None:
    folder = old.bl.home / ".benchloop"
    folder.mkdir()
    (folder / "config.toml").write_text(f'[profile]\nhost = "{old.url}"\napi_key = "sk-filed"\noutput_dir = "there"\n')
    (found,) = old.bl.but(key=None, host=None)(*_JOB).loaded
    assert (_sent(old).key, str(found.output_dir)) == ("sk-filed", "there")


def test_no_config_file_is_an_empty_one(old: World) -> None:
    assert old.bl.but(key=None)(*_JOB).code == 0
    assert _sent(old).key is None


def test_a_named_config_file_must_exist(old: World) -> None:
    done = old.bl("--config", "/nowhere/config.toml", *_JOB)
    assert (done.code, old.asked()) == (2, [])
    assert "/nowhere/config.toml" in done.err


def test_a_broken_config_file_is_an_error_with_its_line(old: World, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[profile]\napi_key = "sk\n')
    done = old.bl("--config", str(path), *_JOB)
    assert (done.code, old.asked()) == (2, [])
    assert f"{path}:2" in done.err


def test_precedence(old: World, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[profile]\napi_key = "sk-filed"\n')
    named, nothing = ("--config", str(path)), old.bl.but(key=None)
    nothing("--api-key", "sk-flag", *named, *_JOB, BENCHLOOP_API_KEY="sk-env")
    nothing(*named, *_JOB, BENCHLOOP_API_KEY="sk-env")
    nothing(*named, *_JOB)
    assert [seen.key for seen in old.scripted.asked()] == ["sk-flag", "sk-env", "sk-filed"]


def test_an_empty_value_is_unset(old: World, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[profile]\napi_key = "sk-filed"\n')
    old.bl("--api-key", "", "--config", str(path), *_JOB, BENCHLOOP_API_KEY="")
    assert _sent(old).key == "sk-filed"


def test_key_variables(old: World) -> None:
    nothing = old.bl.but(key=None)
    nothing(*_JOB, BENCHMARK_API_KEY="sk-second")
    nothing(*_JOB, BENCHMARK_API_KEY="sk-second", BENCHLOOP_API_KEY="sk-first")
    assert [seen.key for seen in old.scripted.asked()] == ["sk-second", "sk-first"]


def test_host_and_output_variables(old: World, out: Path) -> None:
    done = old.bl.but(host=None)("metrics", "download", "-j", "J1", BENCHLOOP_HOST=old.url, BENCHLOOP_OUTPUT_DIR=str(out))
    assert (done.code, list(files_below(out))) == (0, ["J1_run_metrics.json"])


def test_variables_of_the_design_document(old: World, out: Path) -> None:
    plain = old.bl.but(host=None, key=None)
    more = {"bmcli_HOST": old.url, "bmcli_API_KEY": "sk-design", "bmcli_OUTPUT_DIR": str(out)}
    assert plain("metrics", "download", "-j", "J1", **more).code == 0
    assert (_sent(old).key, list(files_below(out))) == ("sk-design", ["J1_run_metrics.json"])
    plain(*_JOB, **more, BENCHLOOP_API_KEY="sk-named")
    assert _sent(old).key == "sk-named"


def test_a_tilde_in_the_output_folder_is_the_home(old: World) -> None:
    assert old.bl("-o", "~/data", "metrics", "download", "-j", "J1").code == 0
    assert (old.bl.home / "data" / "J1_run_metrics.json").exists()


def test_proxy_variables(old: World) -> None:
    with scripted() as proxy:
        proxy.fallback = lambda seen: old.scripted.answer(Seen(seen.method, seen.target.split("//")[1], {}, b"", False, 0.0))
        done = old.bl.but(host="http://benchloop.invalid")("--allow-http", "--retry", "0", *_JOB, http_proxy=proxy.origin)
        assert [seen.target for seen in proxy.seen][-1:] == ["http://benchloop.invalid/openapi/metrics/J1"], str(done)
        assert (
            old.bl.but(host="http://benchloop.invalid")(
                "--allow-http", "--retry", "0", *_JOB, http_proxy=proxy.origin, no_proxy="benchloop.invalid"
            ).code
            == 4
        )


def test_trust_variables(bl: Bl) -> None:
    with scripted("tls") as server:
        Documented(server).fill("G1", ["J1"])
        trusting = bl.but(host=server.origin)
        assert trusting("--retry", "0", *_JOB).code == 4
        assert trusting(*_JOB, SSL_CERT_FILE=str(self_signed().certificate)).code == 0


def test_options_for_proxies_and_authorities(bl: Bl, old: World) -> None:
    with scripted("tls") as server:
        Documented(server).fill("G1", ["J1"])
        assert bl.but(host=server.origin)("--cacert", str(self_signed().certificate), *_JOB).code == 0
    assert old.bl("--proxy", "none", *_JOB, http_proxy="http://127.0.0.1:9").code == 0


def test_clear_text_is_refused(bl: Bl) -> None:
    done = bl.but(host="http://benchloop.invalid")("--retry", "0", *_JOB)
    assert done.code == 2
    assert "--allow-http" in done.err


def test_a_host_without_scheme_is_wrong_usage(bl: Bl) -> None:
    assert bl.but(host="127.0.0.1:9")(*_JOB).code == 2


# ---- config -------------------------------------------------------------------------------------------------------------------------


def _file(bl: Bl) -> Path:
    return bl.home / ".benchloop" / "config.toml"


def test_config_set_needs_a_value(bl: Bl) -> None:
    assert bl("config", "set").code == 2
    assert not _file(bl).exists()


def test_config_set_writes_the_profile(bl: Bl) -> None:
    done = bl("config", "set", "--api-key", "sk-1", "--host", "http://127.0.0.1:9", "-o", "data")
    assert (done.code, done.out) == (0, "")
    assert f"wrote config to {_file(bl)}" in done.lines
    assert "[profile]" in _file(bl).read_text()
    assert {line.split(" = ")[0] for line in _file(bl).read_text().splitlines()[1:]} == {"api_key", "host", "output_dir"}


def test_config_set_merges(bl: Bl) -> None:
    bl("config", "set", "--host", "http://127.0.0.1:9")
    bl("config", "set", "--output-dir", "data")
    assert 'host = "http://127.0.0.1:9"' in _file(bl).read_text()


def test_config_set_keeps_the_rest(bl: Bl) -> None:
    _file(bl).parent.mkdir()
    _file(bl).write_text('# mine\n[profile]\nhost = "http://127.0.0.1:9" # here\nown = 1\n\n[other]\nx = 2\n')
    assert bl("config", "set", "--api-key", "sk-1").code == 0
    for kept in ("# mine", "# here", "own = 1", "[other]", "x = 2", "sk-1"):
        assert kept in _file(bl).read_text()


def test_config_set_never_overwrites_what_it_cannot_read(bl: Bl) -> None:
    _file(bl).parent.mkdir()
    _file(bl).write_text("[profile\n")
    done = bl("config", "set", "--api-key", "sk-1")
    assert done.code == 2
    assert _file(bl).read_text() == "[profile\n"


def test_config_set_keeps_the_key_private(bl: Bl) -> None:
    bl("config", "set", "--api-key", "sk-1")
    assert _file(bl).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("value", ['a"b', "back\\slash", "tab\tin", "ünï"])
def test_config_set_escapes(bl: Bl, value: str) -> None:
    bl("config", "set", "--output-dir", value)
    assert bl("config", "get", "output_dir").out == f"{value}\n"


def test_config_set_refuses_a_line_end(bl: Bl) -> None:
    assert bl("config", "set", "--output-dir", "line\nend").code == 2
    assert not _file(bl).exists()


def test_config_set_takes_the_global_config(bl: Bl, tmp_path: Path) -> None:
    for number, argv in enumerate((["--config", "{}", "config", "set"], ["config", "set", "--config", "{}"])):
        path = tmp_path / f"{number}.toml"
        assert bl(*[part.format(path) for part in argv], "--host", "http://127.0.0.1:9").code == 0
        assert path.exists()
    assert not _file(bl).exists()


def test_config_set_takes_the_key_from_stdin(bl: Bl) -> None:
    assert bl("config", "set", "--api-key-stdin", stdin="sk-typed\n").code == 0
    assert 'api_key = "sk-typed"' in _file(bl).read_text()


def test_config_get_list_unset_path(bl: Bl) -> None:
    bl("config", "set", "--host", "http://127.0.0.1:9")
    plain = bl.but(host=None, key=None)
    assert plain("config", "get", "host").out == "http://127.0.0.1:9\n"
    assert "host" in {row["key"] for row in plain("config", "list", "--format", "json").json}
    assert plain("config", "path").out == f"{_file(bl)}\n"
    assert plain("config", "unset", "host").code == 0
    assert "127.0.0.1" not in _file(bl).read_text()


def test_profiles(old: World) -> None:
    old.bl("config", "set", "--profile", "lab", "--api-key", "sk-lab")
    old.bl.but(key=None)("--profile", "lab", *_JOB)
    assert _sent(old).key == "sk-lab"
