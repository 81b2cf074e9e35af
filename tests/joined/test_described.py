"""The server's own description is true: generated requests get answers that it describes, and never a failure of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from benchloop_client.contract.operations import OPERATIONS
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served, serving

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
SERVED = sorted(OPERATIONS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the module, with a job in it."""
    with serving(tmp_path_factory.mktemp("described")) as running:
        push(running, Sent("j1", document=document("j1", "g1"), archive=archive({"log.txt": b"x"})))
        yield running


@pytest.fixture(scope="module")
def schema(served: Served) -> schemathesis.BaseSchema:
    """The description, as the server gives it out."""
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json")


@pytest.mark.parametrize("name", SERVED)
def test_generated_requests_get_described_answers(served: Served, schema: schemathesis.BaseSchema, name: str) -> None:
    row = OPERATIONS[name]
    operation = schema[row.path][row.method]

    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def ask(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"X-API-Key": served.key()}, checks=CHECKS)

    ask()


@pytest.mark.parametrize("name", SERVED)
def test_every_error_is_described_with_the_one_body(schema: schemathesis.BaseSchema, name: str) -> None:
    row = OPERATIONS[name]
    answers = schema.raw_schema["paths"][row.path][row.method.lower()]["responses"]
    bodies = {code: answer["content"]["application/json"]["schema"] for code, answer in answers.items() if code >= "400"}
    assert {body["$ref"].rsplit("/", 1)[-1] for body in bodies.values()} == {"ErrorBody"}
    assert ("401" in bodies) == (row.scope != "public")
