"""Messages are one short line without keys."""

from __future__ import annotations

from benchloop_client.errors import ApiError, NetworkError, NotFound, UsageError, one_line


def test_a_message_is_one_line_of_bounded_length() -> None:
    assert one_line("a\nb\x1b[31m\tc") == "a b [31m c"
    assert len(UsageError("x" * 1000).message) == 300


def test_keys_are_masked_even_where_nobody_thought_of_it() -> None:
    assert "blk_" not in str(UsageError("bad value blk_abcdefghij1234"))


def test_half_an_emoji_does_not_break_a_message() -> None:
    assert one_line("x\ud83dy").encode()


def test_api_errors_keep_their_facts() -> None:
    error = NotFound(404, "no group G", code="not_found", request_id="r1")
    assert isinstance(error, ApiError)
    assert (str(error), error.code) == ("API error 404: no group G (request r1)", "not_found")


def test_network_errors_say_so() -> None:
    assert str(NetworkError("gone")) == "network: gone"
