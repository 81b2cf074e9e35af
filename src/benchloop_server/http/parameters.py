"""What routes take, spelled once: what the application gives them, ids of the path, and the query parameters that several share."""

from __future__ import annotations

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

_BIGGEST = 2**53

#: Named `services` and `principal` in a route.
GivenServices = NamedDependency[Services]
GivenPrincipal = NamedDependency[Principal]

#: A segment of the path, an text of the query.
PathText = FromPath[str]
Text = FromQuery[str | None]
RequiredText = FromQuery[str]
Flag = FromQuery[bool | None]

Skip = Annotated[int, QueryParameter(ge=0, le=_BIGGEST, description="rows to pass over")]
Limit = Annotated[int, QueryParameter(ge=1, le=_BIGGEST, description="rows to give; at most 1000 are given")]
Several = Annotated[str | None, QueryParameter(description="one value, or several with commas between them")]
Source = Annotated[str | None, QueryParameter(description="accepted and ignored: there is one source")]
Cursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before")]
