"""Query parameters that several routes take."""

from __future__ import annotations

from typing import Annotated

from litestar.params import Parameter

_BIGGEST = 2**53

Skip = Annotated[int, Parameter(query="skip", ge=0, le=_BIGGEST, description="rows to pass over")]
Limit = Annotated[int, Parameter(query="limit", ge=1, le=_BIGGEST, description="rows to give; at most 1000 are given")]
Step = Annotated[int | None, Parameter(query="step", ge=0, le=_BIGGEST, description="training step")]
Source = Annotated[str | None, Parameter(query="source", description="accepted and ignored: there is one source")]
