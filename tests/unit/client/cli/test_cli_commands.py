"""Command lines: which options are taken where, what is printed, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchloop_client.errors import AuthError, LocalError, NetworkError
from tests.unit.client.cli.conftest import KEY, Bl, FakeClient


def _three(client: FakeClient) -> None:
    client.answers = {"J1": {"job_id": "J1", "metrics": {"reward": 1.0, "note": "名"}}, "J2": {"metrics": None}, "J3": [1]}


def test_elements_come_in_the_order_asked_for_and_keep_the_documented_shape(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "J2,J1", "-j", "J3", prepare=_three)
    assert ran.code == 0
    assert [row["job_id"] for row in ran.json] == ["J2", "J1", "J3"]
    assert ran.json[2] == {"job_id": "J3", "metrics": [1], "run_metrics": None, "tokenized_metrics": None}
    assert '"note": "名"' in ran.out
    assert ran.out.startswith('[\n  {\n    "job_id": "J2",\n')
    assert ran.client is not None
    assert ran.client.closed


def test_compact_output_is_one_line(bl: Bl) -> None:
    assert bl("--no-pretty", "metrics", "get", "-j", "J3", prepare=_three).out == (
        '[{"job_id":"J3","metrics":[1],"run_metrics":null,"tokenized_metrics":null}]\n'
    )


def test_a_failed_id_is_left_out_and_named_on_stderr(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "J1,NO", prepare=_three)
    assert (ran.code, len(ran.json)) == (1, 1)
    assert ran.err.splitlines() == ["[error] 1 id(s) failed:", "[error]   - NO: API error 404: no job NO"]


def _failing(error: Exception, **more: Any) -> Any:
    def prepare(client: FakeClient) -> None:
        client.answers = {"J1": error, "J2": error, **more}

    return prepare


def test_a_refused_key_stops_everything_and_prints_no_data(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", ",".join(f"J{n}" for n in range(1, 400)), prepare=_failing(AuthError("the key was refused")))
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "[error] the key was refused\n"


def test_only_unreachable_is_4_and_mixed_is_1(bl: Bl) -> None:
    down = NetworkError("connection refused")
    assert bl("metrics", "get", "-j", "J1,J2", prepare=_failing(down)).code == 4
    mixed = bl("metrics", "get", "-j", "J1,J2,J3", prepare=_failing(down, J3={}))
    assert (mixed.code, len(mixed.json)) == (1, 1)
    assert "[error]   - J1: network: connection refused" in mixed.err


def test_global_options_are_taken_before_and_after_the_resource(bl: Bl, tmp_path: Path) -> None:
    for argv in (
        ["--retry", "7", "--concurrency", "3", "--timeout", "9", "metrics", "get", "-j", "J1"],
        ["metrics", "get", "-j", "J1", "--retry", "7", "--concurrency", "3", "--timeout", "9"],
    ):
        ran = bl(*argv, prepare=_three)
        assert ran.code == 0
        settings = ran.settings[0]
        assert (settings.retry, settings.concurrency, settings.timeout) == (7, 3, 9.0)


def test_quiet_leaves_only_errors(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "NO", "-q", prepare=_three)
    assert all(line.startswith("[error]") for line in ran.err.splitlines())


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["jobs", "get"], "at least one -g/--group or -j/--job is required"),
        (["jobs", "get", "-j", "J1"], "jobs does not support -j/--job (job dimension)"),
        (["jobs", "get", "-g", "G", "-j", "J"], "-g/--group and -j/--job are mutually exclusive"),
        (["jobs", "get", "-g", "G", "--page-size", "0"], "--page-size"),
        (["jobs", "get", "-g", "G", "--page", "0"], "--page"),
        (["jobs", "get", "-g", ".."], "cannot be used"),
        (["metrics", "get", "-g", "G", "--scope", "x"], "--scope must be one of overall, detail, all"),
        (["overview", "get", "-g", "G", "--scope", "x"], "--scope must be one of summary, tasks, all"),
        (["trajectory", "download", "-g", "G", "--task-id", "T"], "--task-id, -g/--group and -j/--job are mutually exclusive"),
        (["metadata", "download", "--task-id", "a/b"], "--task-id must not contain path separators"),
        (["pull", "-g", "G", "--with", "rsi,logs"], "--with has unsupported value(s): logs; choose from metrics, trajectory, report"),
        (["pull", "-g", "G", "--with", ""], "--with names nothing to fetch"),
        (["pull", "-g", "G", "--with", ","], "--with names nothing to fetch"),
        (["config", "set"], "provide at least one of --api-key/--host/--output-dir"),
        (["push", ".", "--redact", "--allow-secrets"], "mutually exclusive"),
        (["push", ".", "--format", "zip"], "--format"),
        (["job"], "Did you mean 'jobs'?"),
        (["--nope", "jobs"], "--nope"),
        (["--concurrency", "0", "jobs", "get", "-g", "G"], "--concurrency"),
    ],
)
def test_wrong_usage_is_2_and_asks_nothing(bl: Bl, argv: list[str], words: str) -> None:
    ran = bl(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.client is None or not ran.client.calls


def test_pages_and_filters_reach_the_request(bl: Bl) -> None:
    ran = bl(
        "jobs", "get", "-g", "G", "--page", "3", "--page-size", "7", "--status", "done", prepare=lambda c: c.groups.update(G=[{}] * 30)
    )
    assert ran.client is not None
    filters = dict.fromkeys(("template", "instance_id", "fail_reason", "sub_fail_reason", "reward_valid"))
    assert ran.client.calls == [("jobs_page", ("G", 14, 7, {**filters, "status": "done"}))]
    assert ran.json[0]["group_id"] == "G"


def test_all_pages_are_one_object_with_the_total(bl: Bl) -> None:
    rows = [{"job_id": f"J{n}", "created_at": n} for n in range(120)]
    ran = bl("jobs", "get", "-g", "G", "--all", prepare=lambda c: c.groups.update(G=rows))
    assert ran.json == [{"group_id": "G", "total": 120, "jobs": rows}]


def test_an_unknown_group_is_a_failure_with_its_name(bl: Bl) -> None:
    ran = bl("jobs", "get", "-g", "NO", "--all")
    assert (ran.code, ran.json) == (1, [])
    assert "group NO does not exist" in ran.err


def test_the_key_is_masked_wherever_an_error_repeats_it(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "J1", env={"BENCHLOOP_API_KEY": "plainkey-7Q"}, prepare=_failing(LocalError("seen: plainkey-7Q")))
    assert "plainkey-7Q" not in ran.err
    assert KEY not in ran.err


def test_an_unexpected_error_is_one_line_unless_asked_for_more(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "J1", prepare=_failing(ZeroDivisionError("odd")))
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "Traceback" in bl("metrics", "get", "-j", "J1", "-v", prepare=_failing(ZeroDivisionError("odd"))).err


def test_interrupted_work_is_130(bl: Bl) -> None:
    def interrupt(client: FakeClient) -> None:
        client.cancel.set()

    assert bl("metrics", "get", "-j", "J1", prepare=interrupt).code == 130


def test_config_set_stores_what_was_given_and_nothing_else(bl: Bl, tmp_path: Path) -> None:
    path = tmp_path / "conf.toml"
    path.write_text('# mine\n[profile]\noutput_dir = "x"\n\n[other]\na = 1\n')
    ran = bl("config", "set", "--host", "http://127.0.0.1:1", "--api-key", "-", "--config", str(path), stdin="blk_fromstdin\n")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"wrote config to {path}\n"
    text = path.read_text()
    assert "# mine" in text
    assert 'api_key = "blk_fromstdin"' in text
    assert "[other]" in text
    assert path.stat().st_mode & 0o777 == 0o600
