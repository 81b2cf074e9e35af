"""Keys and tokens are found where they are and nowhere else. The ones here are made at random."""

from __future__ import annotations

import io
import json
import random
import string
from pathlib import Path

import pytest

from benchloop_client.formats import secrets
from benchloop_client.formats.records import RunFile
from benchloop_client.formats.secrets import Hit, redact, redact_file, redact_value, scan, scan_bytes

_ALNUM = string.ascii_letters + string.digits


def _some(length: int, letters: str = _ALNUM, seed: int = 5) -> str:
    return "".join(random.Random(seed).choices(letters, k=length))


_PEM_LINES = "\n".join(_some(64, seed=seed) for seed in range(12))
SECRETS = {
    "github-token": "ghp_" + _some(36),
    "slack-token": "xoxb-" + "918273645546" + "-" + _some(24),
    "slack-webhook": "hooks.slack.com/services/T" + "0A1B2C3D4" + "/B" + "0A1B2C3D4" + "/" + _some(24),
    "anthropic-key": "sk-ant-" + "api03-" + _some(93),
    "openai-key": "sk-proj-" + _some(80),
    "google-key": "AIza" + _some(35),
    "huggingface-token": "hf_" + _some(34, string.ascii_letters),
    "benchloop-key": "blk_" + _some(49),
    "aws-key-id": "AKIA" + _some(16, string.ascii_uppercase + "234567"),
    "private-key": f"-----BEGIN RSA PRIVATE KEY-----\n{_PEM_LINES}\n-----END RSA PRIVATE KEY-----",
}


def kinds(text: str) -> list[str]:
    return [hit.kind for hit in scan_bytes(text.encode(), "f")]


@pytest.mark.parametrize("kind", SECRETS)
def test_each_kind_is_found_plain_and_inside_json(kind: str) -> None:
    secret = SECRETS[kind]
    assert kinds(f"before {secret} after") == [kind]
    assert kinds(json.dumps({"output": f"line\n{secret}\nline"})) == [kind]
    assert kinds(json.dumps({"inner": json.dumps({"output": f"line\n{secret}"})})) == [kind]


def test_an_aws_secret_needs_its_name() -> None:
    value = _some(40, _ALNUM + "/+")
    assert kinds(value) == []
    for name in ("AWS_SECRET_ACCESS_KEY=", "aws_secret_access_key = ", '"awsSecretKey": "', 'aws_secret_key\\": \\"'):
        assert kinds(name + value) == ["aws-secret-key"]


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "ghp_" + "a" * 36,
        "sk-proj-" + "your-key-here-" * 5,
        "hf_" + "abcdefghij" * 3 + "klmn",
        "-----BEGIN PRIVATE KEY----- is how it starts",
        "-----BEGIN PUBLIC KEY-----\n" + _PEM_LINES + "\n-----END PUBLIC KEY-----",
        "risk-proj-management-for-large-teams-and-their-many-and-various-needs",
        "x" + "AIza" + _some(35),
        "mask-" + _some(48),
        "sk-short",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_placeholders_and_lookalikes_are_not_hits(text: str) -> None:
    assert kinds(f"word {text} word") == []


def test_a_hit_names_file_and_line_and_not_the_secret() -> None:
    text = "one\ntwo\n" + SECRETS["github-token"] + "\n\n" + SECRETS["google-key"]
    hits = list(scan([RunFile("agent/log.txt", text.encode(), len(text))]))
    assert hits == [Hit("agent/log.txt", 3, "github-token"), Hit("agent/log.txt", 5, "google-key")]
    assert SECRETS["github-token"] not in repr(hits)


@pytest.mark.parametrize("before", [0, 1, 1024 * 1024 - 32 * 1024 - 20, 1024 * 1024 - 20, 1024 * 1024, 3_000_000])
def test_a_secret_across_the_edge_of_a_piece(before: int) -> None:
    text = (("x" * 79 + "\n") * (before // 80 + 1))[:before] + "\n" + SECRETS["private-key"] + "\n" + "y" * 100_000
    expected = text.count("\n", 0, before + 1) + 1
    assert list(secrets._scan_stream(io.BytesIO(text.encode()), "f")) == [Hit("f", expected, "private-key")]


def test_redacted_text_has_no_hit_and_stays_json() -> None:
    value = {"all": "\n".join(SECRETS.values()), "aws_secret_key": _some(40), "n": 1}
    clean = redact(json.dumps(value).encode())
    assert list(scan_bytes(clean, "f")) == [] and json.loads(clean)["n"] == 1
    assert all(f"[REDACTED:{kind}]" in json.loads(clean)["all"] for kind in SECRETS)
    assert json.loads(clean)["aws_secret_key"] == "[REDACTED:aws-secret-key]"


@pytest.mark.parametrize("after", ['"', "\\", '\\"', "\n", "é", "\t", "}", ""])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_redacted_json_is_still_json_whatever_follows(after: str, depth: int) -> None:
    cut = SECRETS["private-key"].partition("-----END")[0]
    text: str = "\n".join(secret + after for secret in [*SECRETS.values(), cut, "aws_secret_access_key=\n" + _some(39), cut.strip()])
    for _ in range(depth):
        text = json.dumps({"text": text})
    value = json.loads(redact(text.encode()))
    for _ in range(depth - 1):
        value = json.loads(value["text"])
    assert value["text"].count("[REDACTED:") >= len(SECRETS)


def test_what_holds_nothing_comes_back_as_it_is(tmp_path: Path) -> None:
    value = {"a": ["b"]}
    assert redact_value(value) is value and redact(b"abc") == b"abc"
    place = tmp_path / "f"
    place.write_bytes(b"abc")
    file = RunFile("f", place, 3)
    assert redact_file(file) is file
    place.write_text(SECRETS["openai-key"])
    assert redact_file(file).source == b"[REDACTED:openai-key]" and redact_file(file).size == 21


def test_real_run_data_has_no_hits(shared_data: Path) -> None:
    hits = [hit for place in sorted(shared_data.rglob("*")) if place.is_file() for hit in secrets.scan_file(place, str(place))]
    assert hits == []
