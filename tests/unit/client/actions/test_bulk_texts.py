"""Items of a bulk stream as text of a group's file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from benchloop_client.actions.bulk import Mark, index_lines, version
from benchloop_client.actions.bulk_texts import Text, texts
from benchloop_client.actions.layout import Documents, Layout, object_chunks
from benchloop_client.contract.bulk import BulkEntry, BulkHead, BulkItem
from benchloop_client.contract.compression import frame
from benchloop_client.errors import IntegrityError
from benchloop_client.transfer.bundle import Item, items

DOCUMENTS = [b'{"steps":[%s],"n":%d}' % (b",".join(b'{"a":"\\u0001 \xc3\xbc %d"}' % k for k in range(n * 40)), n) for n in range(6)]


def packed(number: int, document: bytes, **changes: Any) -> bytes:
    """One item with two frames, as our server makes them."""
    data: bytes = changes.pop("data", frame(b"{") + frame(document[1:]))
    header = BulkItem(
        job_id=f"J{number}",
        kind="trajectory",
        length=len(data),
        size=changes.pop("size", len(document)),
        encoding="zstd",
        sha256=hashlib.sha256(data).hexdigest(),
        **changes,
    )
    return msgspec.json.encode(header) + b"\n" + data


def marked(body: bytes) -> Iterator[tuple[Item, Mark]]:
    """The items with their marks."""
    for item in items([body[at : at + 77] for at in range(0, len(body), 77)]):
        yield item, Mark(item.end, "")


def joined(found: list[Text]) -> bytes:
    """What stands between the brackets of the array."""
    return b"".join(bytes(chunk) for text in found for chunk in text.chunks)[1:]


@pytest.mark.parametrize("large", [0, 700, 1 << 20])
@pytest.mark.parametrize("layout", [Layout(), Layout(pretty=False)], ids=["pretty", "compact"])
def test_texts_are_those_of_the_array(layout: Layout, large: int) -> None:
    body = b"".join(packed(number, document) for number, document in enumerate(DOCUMENTS))
    found = list(texts(marked(body), layout, large=large))
    whole = b"".join(object_chunks([("trajectories", Documents(DOCUMENTS))], layout))
    assert joined(found) == whole[whole.index(b"[") + 1 : len(whole) - len(layout.line(1) + b"]" + layout.line() + b"}")]
    assert (sum(text.jobs for text in found), found[-1].mark) == (len(DOCUMENTS), Mark(len(body), ""))


def test_what_the_fast_way_refuses_is_laid_out_all_the_same() -> None:
    body = packed(0, b'{"a":NaN}') + packed(1, b'{"b":1}', absent=True)
    found = list(texts(marked(body), Layout()))
    assert json.loads(b"[" + joined(found) + b"]") == [{"a": None}, {"b": 1}]
    assert sum(text.recorded for text in found) == 1


@pytest.mark.parametrize("large", [0, 1 << 20])
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"size": 3}, "more than 3 bytes"),
        ({"size": 5000}, "5000"),
        ({"data": frame(b"{") + frame(b'"a":1}')[:-2]}, "middle of a frame"),
        ({"data": b"no zstd at all"}, "damaged"),
    ],
)
def test_a_document_that_cannot_be_unpacked_is_named(changes: dict[str, Any], why: str, large: int) -> None:
    with pytest.raises(IntegrityError, match=f"trajectory of J7 .*{why}"):
        list(texts(marked(packed(7, b'{"a":1}', **changes)), Layout(), large=large))


def index(body: bytes, etag: str) -> list[bytes]:
    """The index of a body, in one piece."""
    rows = []
    for item in items([body]):
        facts = {name: getattr(item.header, name) for name in BulkItem.__struct_fields__}
        rows.append(msgspec.json.encode(BulkEntry(**facts, offset=item.end - item.header.length)) + b"\n")
    head = BulkHead(etag=etag, total_length=len(body), items=len(rows))
    return [msgspec.json.encode(head) + b"\n" + b"".join(rows)]


def test_the_index_has_the_lines_of_the_body() -> None:
    body = b"".join(packed(number, document) for number, document in enumerate(DOCUMENTS))
    ends = [item.end for item in items([body])]
    seen: list[bytes] = []
    list(items([body], seen=seen.append))
    tag = version(hashlib.sha256(b"".join(seen)).hexdigest())
    assert list(index_lines(index(body, tag), tag, up_to=ends[2])) == seen[:3]
    assert list(index_lines(index(body, tag), tag, up_to=len(body))) == seen
    for other, up_to in ((tag, ends[2] - 1), ('"other"', ends[2]), (tag, len(body) + 1)):
        with pytest.raises(IntegrityError):
            list(index_lines(index(body, tag), other, up_to=up_to))
