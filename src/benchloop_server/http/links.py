"""Large files straight from the object store: a redirect to an address that is signed for a short time, for clients that ask for one.

The version (`ETag`) is in the redirect, because the store names versions in its own way. So a range is only sent there when it is of this
version, and the client takes no condition of its own along.
"""

from __future__ import annotations

import re
from typing import Any

from litestar import Request, Response

from benchloop_client.contract.version import LINKS_PREFERENCE
from benchloop_server.http.bodies import Body, respond
from benchloop_server.http.ranges import Unsatisfiable, byte_range, has_version, range_applies
from benchloop_server.kit.services import Services
from benchloop_server.kit.verified import Place

AnyRequest = Request[Any, Any, Any]


def respond_or_link(request: AnyRequest, services: Services, body: Body, *, place: Place) -> Response[Any]:
    """As `respond`; 307 to where `place` can be fetched, if the client asked for that, the settings allow it, and the store can."""
    url = _link(request, services, body, place)
    if url is None:
        return respond(request, body)
    headers = {"location": url, "etag": body.etag or "", "accept-ranges": "bytes", "preference-applied": LINKS_PREFERENCE, "vary": "Prefer"}
    return Response(b"", status_code=307, headers=headers)


def _link(request: AnyRequest, services: Services, body: Body, place: Place) -> str | None:
    upkeep = services.upkeep
    whole_blob = place.offset == 0 and place.sha256 == place.blob
    if not upkeep.links or place.length < upkeep.link_bytes or not whole_blob or not _asked(request):
        return None
    if not body.etag or has_version(request.headers.get("if-none-match"), body.etag):
        return None
    if request.headers.get("range") and not _can_range(request, body):
        return None
    return services.blobs.link(place.blob, seconds=upkeep.link_seconds)


def _asked(request: AnyRequest) -> bool:
    preferences = re.split(r"\s*[,;]\s*", request.headers.get("prefer", "").strip().lower())
    return LINKS_PREFERENCE in preferences


def _can_range(request: AnyRequest, body: Body) -> bool:
    """Whether a range would be answered with a part: another version has to come whole, and from here."""
    try:
        part = byte_range(request.headers.get("range"), body.length)
    except Unsatisfiable:
        return False
    return part is not None and range_applies(request.headers.get("if-range"), body.etag or "")
