"""A trajectory of 20,000 steps and 50 MB: what is sent and kept is a window, whatever the length, and any step is one window away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from bench.pages_viewer import renderer_megabytes
from tests.support import long_runs
from tests.support.browsing import Visit, signed_in
from tests.support.pushing import Sent, push
from tests.support.served import Served

STEPS = 20_000


@pytest.fixture(scope="module")
def visit(chromium: Browser, served: Served) -> Iterator[Visit]:
    """A browser at a server with the long job."""
    push(served, Sent("long", document=long_runs.document("long", "g1", steps=STEPS)))
    with signed_in(chromium, served.url, served.key()) as found:
        yield found


def test_the_page_holds_a_window_and_no_more(visit: Visit) -> None:
    answer = visit.context.request.get(f"{visit.url}/jobs/long")
    assert answer.status == 200 and len(answer.body()) < 600_000
    part = visit.context.request.get(f"{visit.url}/jobs/long/window?at=15000")
    assert len(part.body()) < 400_000 and b'id="s-15000"' in part.body()


def test_any_step_is_one_window_away(visit: Visit) -> None:
    page = visit.go("/jobs/long")
    for number in (15_000, 2, STEPS):
        page.fill("[data-jump] input", str(number))
        page.press("[data-jump] input", "Enter")
        page.wait_for_selector(f"#s-{number}.is-cited")
        assert page.locator(".step").count() <= 200
    megabytes = renderer_megabytes()
    assert megabytes is None or megabytes < 400
    assert visit.faults() == []


def test_errors_and_circles_of_the_whole_way_are_found(visit: Visit) -> None:
    page = visit.go("/jobs/long")
    page.wait_for_selector(".ribbon svg", timeout=60_000)
    assert page.locator(".ribbon-loop").count() == STEPS // 500
    page.keyboard.press("e")
    page.wait_for_selector("#s-97.is-cited")


def test_searching_is_told_in_parts(visit: Visit) -> None:
    part = visit.context.request.get(f"{visit.url}/jobs/long/find?text=step+19999%3A").text()
    assert 'data-next=""' not in part and "hit-no" not in part
    page = visit.go("/jobs/long")
    page.fill("[data-inside] input", "step 19999:")
    page.press("[data-inside] input", "Enter")
    page.click(".hit", timeout=30_000)
    page.wait_for_selector("#s-19999.is-cited")
