"""The glance that spares most runs a search for secrets: what is searched and found must have looked suspicious, however it was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.contract import trajectory
from benchloop_client.formats.secrets import scan_bytes, suspicious

_TOKENS = [
    "AKIA" + "QYLPMN5HZ3TUWXJK",
    "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2",
    "xoxb-" + "902817364550-kQzWvTyRpLmN8273",
    "https://hooks.slack.com/" + "services/T0AB12CD3/B0EF45GH6/iJ7kL8mN9oP0qR1sT2uV3wX4",
    "sk-ant-" + "api03-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2,
    "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2bC3dE4",
    "AIza" + "SyD3fG5hJ7kL9mN1pQ2rS4tU6vW8xY0zA1b",
    "hf_" + "aQcDwFgHeJkLrNoPtRsTyVwXuZaBiDeFpH",
    'aws_secret_access_key = "' + "wJ4lrXUtnF3MI/K7MDENG/bPxRf1CYzQp9KdLmTa" + '"',
]


def _document(text: str) -> dict[str, object]:
    step = {"step_id": 1, "source": "agent", "message": text}
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [step]}


def _found_as_sent(text: str) -> bool:
    return any(True for _ in scan_bytes(trajectory.encode(trajectory.normalise(_document(text)).document), "t"))


def _spellings(text: str) -> list[bytes]:
    """The same JSON text, written as various programs write it."""
    plain = json.dumps(_document(text), ensure_ascii=False)
    escaped = "".join(f"\\u{ord(char):04x}" for char in text if ord(char) < 0x10000)
    return [
        plain.encode(),
        json.dumps(_document(text), indent=4).encode(),
        plain.replace("/", "\\/").encode(),
        json.dumps(_document("@")).replace("@", escaped).encode(),
        json.dumps(_document("@")).replace("@", escaped.upper().replace("\\U", "\\u")).encode(),
    ]


@pytest.mark.parametrize("token", _TOKENS)
@pytest.mark.parametrize("before", ["", "\n", "…", "<", "x ", "\x1b[0m "])
def test_what_is_found_in_the_document_looked_suspicious_in_the_file(token: str, before: str) -> None:
    assert _found_as_sent(before + token)
    assert [suspicious(raw) for raw in _spellings(before + token)] == [True] * 5


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(_TOKENS), st.text(max_size=8), st.text(max_size=8))
def test_nothing_found_was_unsuspicious(token: str, before: str, after: str) -> None:
    text = (before + token + after).encode("utf-8", "replace").decode()
    if _found_as_sent(text):
        assert all(suspicious(raw) for raw in _spellings(text)[:3])


@pytest.mark.parametrize(
    "text", ["task-skipped through a light", "AKIA AIza hf_ blk_ ghp_ xox", "s/a\\/b/ \x1b[31m <b> & é", "aws_secret_access_key = $KEY"]
)
def test_ordinary_text_is_not_suspicious(text: str) -> None:
    assert not any(suspicious(raw) for raw in _spellings(text)[:3])
