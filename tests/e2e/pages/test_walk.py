"""Every page in a real browser: nothing complained of, nothing outside of its place, its twin and its commands true.

With `BENCHLOOP_TEST_SHOTS=FOLDER` the pictures are kept there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.pages.conftest import push
from tests.support.analysing import work_off
from tests.support.browsing import Visit, signed_in
from tests.support.programs import Bl
from tests.support.served import Served, serving

PAGES = {
    "groups": "/groups",
    "groups-none": "/groups?search=nothing-like-it",
    "group": "/groups/demo-run",
    "jobs": "/groups/demo-run/jobs",
    "jobs-filtered": "/groups/demo-run/jobs?outcome=failed&outcome=errored&sort=-duration&reward_from=0&fail_reason=",
    "jobs-columns": "/groups/demo-run/jobs?columns=outcome.error_type.agent.template.instance_id.created_at",
    "jobs-none": "/groups/demo-run/jobs?q=nothing-like-it",
    "compare": "/compare?a=demo-run%40100&b=demo-run%40200",
    "compare-form": "/compare",
    "downloads": "/downloads",
    "keys": "/keys",
    "status": "/status",
    "job": "/jobs/chart-reading-1f421a8f6c36?outcome=failed",
    "job-at-a-step": "/jobs/chart-reading-1f421a8f6c36?at=3",
    "job-step": "/jobs/chart-reading-1f421a8f6c36/steps/3",
    "job-files": "/jobs/chart-reading-1f421a8f6c36/files",
    "job-file": "/jobs/chart-reading-1f421a8f6c36/file?path=result.json",
    "job-beside": "/jobs/chart-reading-1f421a8f6c36/beside/chart-reading-9445ddb74db5",
    "behaviour": "/groups/demo-run/behaviour",
    "not-found": "/groups/no-such-group",
}
#: The server's own words for a page that is not there.
COMPLAINTS_OF = {"not-found": ["Failed to load resource: the server responded with a status of 404 (Not Found)"]}


_THEME = "theme => { document.documentElement.dataset.theme = theme; document.dispatchEvent(new Event('theme')); }"
#: Commands that are known by now.
_TRIED: set[tuple[str, ...]] = set()


@pytest.fixture(scope="module")
def visit(chromium: Browser, sampled: Served) -> Iterator[Visit]:
    """A browser at the sample server."""
    with signed_in(chromium, sampled.url, sampled.key()) as visiting:
        yield visiting


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go."""
    folder = Path(os.environ.get("BENCHLOOP_TEST_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def look(visit: Visit, shots: Path, name: str) -> None:
    """The open page at each width, light and dark, as pictures; what stands outside of its place is an error."""
    for width in (390, 1280, 2560):
        visit.page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            visit.page.evaluate(
                "theme => { document.documentElement.dataset.theme = theme; document.dispatchEvent(new Event('theme')); }", theme
            )
            visit.page.screenshot(path=shots / f"{name}-{width}-{theme}.png", full_page=True)
        assert visit.outside() == [], width


@pytest.mark.parametrize("name", PAGES)
def test_a_page_holds_together(visit: Visit, shots: Path, name: str) -> None:
    visit.go(PAGES[name])
    look(visit, shots, name)
    assert [said for said in visit.faults() if said not in COMPLAINTS_OF.get(name, [])] == []


@pytest.mark.parametrize("name", [name for name in PAGES if name != "not-found"])
def test_a_page_has_a_twin_and_its_commands_exist(visit: Visit, sampled: Served, tmp_path: Path, name: str) -> None:
    tab = visit.go(PAGES[name])
    twin = tab.get_attribute("a:text-is('As JSON')", "href")
    assert twin is not None
    answer = tab.request.get(visit.url + twin)
    assert answer.ok and isinstance(answer.json(), dict)
    bl = Bl(tmp_path, sampled.url, sampled.key())
    commands = [command for command in tab.locator("#by-command [data-copy]").all_text_contents() if command]
    texts = tab.eval_on_selector_all("#by-command [data-copy]", "buttons => buttons.map(button => button.dataset.copy)")
    assert len(texts) == len(commands) > 0
    for text in texts:
        words = shlex.split(text, comments=True)
        if words[0] == "bl" and tuple(words) not in _TRIED:
            _TRIED.add(tuple(words))
            done = bl(*words[1:], "--help")
            assert done.code == 0, (text, done)
    for route in tab.eval_on_selector_all("#by-command [data-curl]", "codes => codes.map(code => code.dataset.curl)"):
        assert sampled.get(route).status == 200, route


def test_the_keyboard_walks_a_list(visit: Visit) -> None:
    tab = visit.go("/groups/demo-run/jobs")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("x")
    assert tab.locator("tbody tr.is-here input:checked").count() == 1
    tab.keyboard.press("?")
    assert tab.locator("#shortcuts[open]").count() == 1
    tab.keyboard.press("Escape")
    tab.keyboard.press("g")
    tab.wait_for_url("**/groups")
    assert visit.faults() == []


def test_the_skip_link_is_the_first_thing(visit: Visit) -> None:
    tab = visit.go("/groups")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


def test_a_finder_leads_to_the_only_thing_of_that_name(visit: Visit) -> None:
    tab = visit.go("/groups")
    tab.keyboard.press("/")
    tab.keyboard.type("demo")
    tab.wait_for_selector(".suggest a")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/groups/demo-run")


def test_a_page_prints_without_its_frame(visit: Visit) -> None:
    tab = visit.go("/groups/demo-run/jobs")
    tab.emulate_media(media="print")
    try:
        assert not tab.locator(".bar").is_visible() and not tab.locator(".filters").is_visible()
        assert tab.locator("tbody tr").first.is_visible()
    finally:
        tab.emulate_media(media="screen")


def test_real_runs_hold_together(chromium: Browser, shared_data: Path, tmp_path: Path, shots: Path) -> None:
    with serving(tmp_path / "data", workers=0) as running:
        push(running, tmp_path, str(shared_data / "harbor-kimi" / "kimi_k2.5"), "--allow-secrets", "--group", "kimi")
        work_off(running.services)
        with signed_in(chromium, running.url, running.key()) as visit:
            for name, path in {"kimi": "/groups/kimi", "kimi-jobs": "/groups/kimi/jobs"}.items():
                visit.go(path)
                look(visit, shots, name)
                assert visit.faults() == [], path
            assert "19 of 62 rewards say nothing" in visit.go("/groups/kimi").inner_text(".banner")
