"""The trajectory of a job as its page asks for it: windows of steps, the outline, the ribbon, searching, single steps and their images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.trajectories import marks as marking
from benchloop_server.features.trajectories import service as trajectories
from benchloop_server.features.trajectories import steps as stored
from benchloop_server.features.trajectories.marks import Marks
from benchloop_server.features.trajectories.service import Absent
from benchloop_server.features.trajectories.steps import Opened
from benchloop_server.kit.errors import bad_request, not_found
from benchloop_server.pages import sending, trail
from benchloop_server.pages import steps as drawing
from benchloop_server.pages.page import Asked, Crumb, Fragment, Page, Pairs, command, path_of, with_query
from benchloop_server.pages.routing import page
from benchloop_server.pages.steps import PAGE_TEXT, SAFE_IMAGES, Marked, Shown

#: A trajectory of at most this many bytes has its marks at once; those of a larger one are asked for by the page's script.
AT_ONCE = 2_000_000
_ROWS, _MOST_ROWS = 200, 1_000
_HITS, _SEARCHED = 60, 12_000_000
_OWN = frozenset({"at", "from", "find", "before"})


class Outline(msgspec.Struct, frozen=True):
    """A part of the outline: `rows` as `trail.outline_row` gives them, from number `first` of `total`."""

    first: int
    total: int
    rows: list[list[Any]]


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Steps number `first` to `last` (from 0, both included) of `total`, as they are shown; `cited` is the step that was asked for."""

    first: int
    last: int
    total: int
    cited: int | None
    steps: list[Shown]


def look(asked: Asked, one: Opened) -> Window:
    """The window that an address asks for: around the step `at`, from the step `from` on, up to the step `before`, or the first one."""
    index = one.index.steps
    cited = _number(asked, one, "at")
    start, stop = _number(asked, one, "from"), _number(asked, one, "before")
    if not index:
        return Window(first=0, last=-1, total=0, cited=None, steps=[])
    if cited is not None:
        first, last = trail.window_around(index, cited)
    elif stop is not None:
        first, last = trail.window_before(index, max(0, stop - 1))
    else:
        first, last = trail.window(index, start or 0)
    found = _marks(asked, one)
    raws = stored.read(asked.services.blobs, one, first, last)
    shown = [drawing.step(raw, number, mark=_mark(found, number)) for number, raw in enumerate(raws, start=first)]
    return Window(first=first, last=last, total=len(one), cited=cited, steps=shown)


def ribbon_of(asked: Asked, one: Opened) -> dict[str, Any] | None:
    """What the template of the ribbon takes, where that costs little; else None, and the script asks for it."""
    found = _marks(asked, one)
    return None if found is None else _ribbon(found, one)


def rows_of(one: Opened, first: int, last: int) -> list[list[Any]]:
    """Rows of the outline."""
    return [trail.outline_row(number, one.index.steps[number]) for number in range(first, last + 1)]


def filter_of(asked: Asked) -> Pairs:
    """The pairs of the address that come from the list of jobs."""
    return tuple(pair for pair in asked.query if pair[0] not in _OWN)


def step_url(job_id: str, step_id: int, query: Pairs = ()) -> str:
    """The address of a step: the window around it, and the place in there."""
    return f"{with_query(path_of('jobs', job_id), (*query, ('at', str(step_id))))}#s-{step_id}"


def window(asked: Asked) -> Fragment:
    """A window of steps for the page's script."""
    one = _recorded(asked)
    shown = look(asked, one)
    return Fragment(template="job-window.html", data={"window": shown, "job_id": asked.ids["job_id"], "filter": filter_of(asked)})


def outline(asked: Asked) -> Outline:
    """A part of the outline for the page's script."""
    one = _recorded(asked)
    first = asked.whole("from", 1, most=10**9) - 1
    limit = asked.whole("limit", _ROWS, most=_MOST_ROWS)
    return Outline(first, len(one), rows_of(one, first, min(first + limit, len(one)) - 1))


def ribbon(asked: Asked) -> Fragment:
    """The ribbon and the marks of the whole trajectory; a long one is read through once."""
    one = _recorded(asked)
    found = marking.of(asked.services, one)
    return Fragment(template="job-ribbon.html", data={"ribbon": _ribbon(found, one), "job_id": asked.ids["job_id"]})


def find(asked: Asked) -> Fragment:
    """Places that hold a text: a bounded part of the trajectory from step `from` on, and where the next part begins."""
    one = _recorded(asked)
    return Fragment(template="job-found.html", data={**search(asked, one, asked.one("text")), "job_id": asked.ids["job_id"]})


def search(asked: Asked, one: Opened, wanted: str) -> dict[str, Any]:
    """`hits`, `next` (the step id at which it goes on, None at the end), and how many steps were looked at."""
    wanted = wanted.strip()
    if not 1 <= len(wanted) <= 200:
        raise bad_request("the text to search for has to have 1 to 200 characters")
    start = _number(asked, one, "from") or 0
    hits: list[trail.Hit] = []
    read, number = 0, start - 1
    index = one.index.steps
    for number, raw in stored.walk(asked.services.blobs, one, start, len(one) - 1):
        hits.extend(trail.hits(raw, number, wanted))
        read += len(raw)
        if read >= _SEARCHED or len(hits) >= _HITS:
            break
    more = index[number + 1].step if number + 1 < len(index) else None
    return {"wanted": wanted, "hits": hits, "next": more, "first": start, "seen": number + 1, "total": len(one), "filter": filter_of(asked)}


def single(asked: Asked) -> Page:
    """One step, with nothing folded and texts cut only where a page could not bear them."""
    one, number = _step(asked)
    step_id = one.index.steps[number].step
    (raw,) = stored.read(asked.services.blobs, one, number, number)
    job_id = asked.ids["job_id"]
    job = jobs.get(asked.services, asked.principal, job_id)
    shown = drawing.step(raw, number, most=PAGE_TEXT, mark=_mark(_marks(asked, one), number))
    around = {"before": number - 1, "after": number + 1}
    links = {name: path_of("jobs", job_id, "steps", str(one.index.steps[at].step)) for name, at in around.items() if 0 <= at < len(one)}
    return Page(
        template="job-step.html",
        title=f"Step {step_id} of {len(one)}",
        crumbs=(
            Crumb("Groups", "/groups"),
            Crumb(job.group_id, path_of("groups", job.group_id)),
            Crumb(job_id, step_url(job_id, step_id)),
            Crumb(f"Step {step_id}"),
        ),
        data={"step": shown, "job_id": job_id, "total": len(one), "links": links, "back": step_url(job_id, step_id)},
        commands=[command("pull", "-j", job_id, "--with", "trajectory", "-o", "data")],
        routes=[f"/openapi{path_of('jobs', job_id, 'trajectory')}"],
    )


def raw(asked: Asked) -> Any:
    """The JSON of one step as it is stored, indented."""
    one, number = _step(asked)
    (found,) = stored.read(asked.services.blobs, one, number, number)
    return sending.text(msgspec.json.format(found, indent=2))


def media(asked: Asked) -> Any:
    """An image that a step of this job shows, by its opaque id; of other types nothing but bytes to save."""
    uri = asked.one("uri")
    if not uri.startswith(f"blmedia/{asked.ids['job_id']}/"):
        raise not_found("media", uri[:80])
    file = trajectories.media(asked.services, asked.principal, uri)
    chunks = trajectories.media_bytes(asked.services, file, start=0, stop=file.place.length)
    if file.media_type in SAFE_IMAGES:
        return sending.shown(chunks, length=file.place.length, media_type=file.media_type)
    return sending.saved(file.name, chunks, length=file.place.length)


def _marks(asked: Asked, one: Opened) -> Marks | None:
    return marking.of(asked.services, one) if one.stored.document_bytes <= AT_ONCE else None


def _mark(found: Marks | None, number: int) -> Marked:
    return Marked() if found is None else Marked(found.phases[number], trail.in_loop(found, number))


def _ribbon(found: Marks, one: Opened) -> dict[str, Any]:
    ids: Sequence[int] = [step.step for step in one.index.steps]
    ordered = all(step_id == number + 1 for number, step_id in enumerate(ids))
    marks = {"phases": found.phases, "errors": found.errors, "loops": found.loops, "ids": None if ordered else ids}
    counts = {letter: found.phases.count(letter) for letter in "EIVO"}
    return {"drawn": trail.ribbon(found), "marks": marks, "counts": counts, "ids": ids, "total": len(ids)}


def _recorded(asked: Asked) -> Opened:
    found = stored.opened(asked.services, asked.principal, asked.ids["job_id"])
    if isinstance(found, Absent):
        raise not_found("the trajectory of job", asked.ids["job_id"])
    return found


def _step(asked: Asked) -> tuple[Opened, int]:
    one = _recorded(asked)
    text = asked.ids["step_id"]
    number = one.number_of(int(text)) if text.isascii() and text.isdigit() and len(text) < 16 else None
    if number is None:
        raise not_found("step", text[:40])
    return one, number


def _number(asked: Asked, one: Opened, name: str) -> int | None:
    text = asked.one(name).removeprefix("s-")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise bad_request(f"`{name}` {text[:40]!r} is no step: a whole number such as 12")
    number = one.number_of(int(text))
    if number is None:
        raise not_found("step", text)
    return number


ROUTES: list[HTTPRouteHandler] = [
    page("/jobs/{job_id:str}/window", window),
    page("/jobs/{job_id:str}/outline", outline),
    page("/jobs/{job_id:str}/ribbon", ribbon),
    page("/jobs/{job_id:str}/find", find),
    page("/jobs/{job_id:str}/media", media),
    page("/jobs/{job_id:str}/steps/{step_id:str}", single),
    page("/jobs/{job_id:str}/raw/{step_id:str}", raw),
]
