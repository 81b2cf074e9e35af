"""Signed addresses: what our server's offer looks like, and what goes along to a store that knows nothing of our keys and versions."""

from __future__ import annotations

from collections.abc import Mapping

from benchloop_client._wire import Answer
from benchloop_client.contract.version import LINKS_PREFERENCE

#: The header of a request that takes such an offer.
PREFER = {"Prefer": LINKS_PREFERENCE}
_OFFER = 307


def is_link(response: Answer) -> bool:
    """Whether the answer is our server's offer, which names the version of what is behind the address."""
    applied = response.headers.get("preference-applied", "")
    return response.status == _OFFER and applied == LINKS_PREFERENCE and bool(response.headers.get("etag"))


def link_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """The range and nothing else: our server has looked at the conditions, and the store names versions in its own way."""
    return {name: value for name, value in (headers or {}).items() if name == "Range"}


def is_from_link(response: Answer, headers: Mapping[str, str] | None) -> bool:
    """Whether the store gave what was asked for: a part where a range was, else the whole."""
    return response.status == (206 if "Range" in (headers or {}) else 200)
