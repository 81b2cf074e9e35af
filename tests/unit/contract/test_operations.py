"""The operations table holds every row of the documented protocol once, and no two calls share an address."""

from __future__ import annotations

import re

from benchloop_client.contract.errors import STATUS, Code
from benchloop_client.contract.operations import OPERATIONS

#: E27 is an address that E25 hands out, E35 is the bare base URL; neither is a row of ours to serve under a path.
DOCUMENTED = {f"E{n}" for n in range(1, 35)} - {"E27"}


def test_every_documented_row_is_there_once() -> None:
    rows = [operation.row for operation in OPERATIONS.values() if operation.row]
    assert sorted(rows) == sorted(DOCUMENTED)


def test_addresses_are_unique() -> None:
    addresses = [(operation.method, operation.path) for operation in OPERATIONS.values()]
    assert len(set(addresses)) == len(addresses)


def test_reading_never_needs_more_than_read() -> None:
    for operation in OPERATIONS.values():
        assert (operation.method == "GET") == (operation.scope in {"read", "public"}), operation.name


def test_each_field_of_a_path_is_filled() -> None:
    for operation in OPERATIONS.values():
        fields = re.findall(r"\{(\w+)\}", operation.path)
        path = operation.url_path(**{field: f"{field}/x" for field in fields})
        assert "{" not in path and path.count("/") == operation.path.count("/")


def test_every_code_has_a_status() -> None:
    assert set(STATUS) == set(Code)
    assert all(400 <= status < 600 for status in STATUS.values())
