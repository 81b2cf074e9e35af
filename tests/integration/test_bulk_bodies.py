"""Bulk bodies where the database is PostgreSQL, and where the blobs are in an S3 store: the same items, and any range of the same bytes."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer
from sqlalchemy import create_engine, make_url, text

from benchloop_client.contract.compression import decode
from benchloop_server import settings
from benchloop_server.sql import migrate
from benchloop_server.wiring import connect
from tests.support.bulk import items
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served, serving

_LONG = archive({"long.bin": random.Random(5).randbytes(6_000_000)})
_DICE = random.Random(8)


def _sent() -> list[Sent]:
    return [
        *(Sent(f"j{n}", document=document(f"j{n}", "g1", steps=n + 1), archive=archive({"log.txt": b"%d" % n * 4000})) for n in range(5)),
        Sent("j5", archive=_LONG),
        Sent("j6"),
    ]


@pytest.fixture
def on_postgres(postgres_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server over a schema of its own in PostgreSQL."""
    name = f"test_{secrets.token_hex(6)}"
    admin = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    url = make_url(postgres_url).update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(hide_password=False)
    try:
        database = connect(settings.load({}, data=tmp_path / "data", database=url))
        migrate.upgrade(database)
        database.close()
        with serving(tmp_path / "data", database=url) as served:
            yield served
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
        admin.dispose()


@pytest.fixture
def on_s3(tmp_path: Path) -> Iterator[Served]:
    """A server whose blobs are in an S3 store."""
    store = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    store.start()
    try:
        host, port = store.get_host_and_port()
        url = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="bulk")
        environ = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url}
        with serving(tmp_path / "data", environ=environ, blobs="s3://bulk/x") as served:
            yield served
    finally:
        store.stop()


@pytest.fixture(params=["on_postgres", "on_s3"])
def filled(request: pytest.FixtureRequest) -> Served:
    """Seven jobs, one of them with an archive that is read in parts."""
    served: Served = request.getfixturevalue(request.param)
    push(served, *_sent())
    return served


@pytest.mark.parametrize("kind", ["trajectories", "artifacts", "metadata"])
def test_the_body_is_whole_and_every_range_is_of_it(filled: Served, kind: str) -> None:
    whole = filled.get(f"/openapi/groups/g1/bulk/{kind}")
    assert (whole.status, int(whole.headers["content-length"])) == (200, len(whole.data))
    found = items(whole.data)
    assert [header["job_id"] for header, _ in found] == [f"j{n}" for n in range(7)]
    if kind == "artifacts":
        assert found[5][1] == _LONG
    if kind == "trajectories":
        single = filled.get("/openapi/jobs/j3/trajectory").data
        assert b"".join(decode([found[3][1]])) == single
    for _ in range(8):
        start = _DICE.randrange(len(whole.data))
        stop = _DICE.randint(start + 1, min(len(whole.data), start + 300_000))
        part = filled.get(
            f"/openapi/groups/g1/bulk/{kind}", headers={"Range": f"bytes={start}-{stop - 1}", "If-Range": whole.headers["etag"]}
        )
        assert (part.status, part.headers["content-range"]) == (206, f"bytes {start}-{stop - 1}/{len(whole.data)}")
        assert part.data == whole.data[start:stop]
