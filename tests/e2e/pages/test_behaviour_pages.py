"""Behaviour of a group in a real browser: the form starts a task, its progress is told, its result has figures and leads to steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.kit.principal import Principal
from tests.support.analysing import work_off
from tests.support.browsing import Visit, signed_in
from tests.support.served import Served

HOME = "/groups/demo-run/behaviour"


@pytest.fixture(scope="module")
def visit(chromium: Browser, sampled: Served) -> Iterator[Visit]:
    """A browser at the sample server."""
    with signed_in(chromium, sampled.url, sampled.key()) as visiting:
        yield visiting


@pytest.fixture(scope="module")
def task(visit: Visit, sampled: Served) -> str:
    """The address of a task that the form started and a worker has worked off."""
    page = visit.go(HOME)
    page.click("form.sheet button.main")
    page.wait_for_url(f"**{HOME}/brm-*")
    assert "Waiting for a worker" in page.inner_text("main")
    assert visit.faults() == []
    work_off(sampled.services)
    page.wait_for_selector(".sentence", timeout=30_000)
    return page.url.removeprefix(visit.url)


def test_the_result_has_its_figures_and_its_table(visit: Visit, task: str) -> None:
    for width in (390, 1280, 2560):
        page = visit.go(task, width=width)
        page.wait_for_selector(".chart .main-svg >> nth=0")
        assert page.locator("[data-chart]").count() >= 3
        assert page.locator("tbody tr[data-row]").count() > 5
        assert visit.faults() == []


def test_a_behaviour_shows_examples_beside_counter_examples_and_leads_to_a_step(visit: Visit, task: str) -> None:
    page = visit.go(task)
    addresses = page.eval_on_selector_all("tbody tr[data-row] a", "all => all.map(one => one.getAttribute('href'))")
    for address in addresses:
        page = visit.go(address)
        assert visit.faults() == []
        if page.locator(".example-head").count() > 1 and page.locator(".two .meta a").count():
            break
    step = page.locator(".two .meta a").first
    number = step.inner_text()
    step.click()
    page.wait_for_selector(f"#s-{number}.is-cited")


def test_the_list_names_the_task_and_the_same_wish_is_the_same_task(visit: Visit, task: str, sampled: Served) -> None:
    page = visit.go(HOME)
    assert page.get_attribute("tbody tr a", "href") == task
    page.click("form.sheet button.main")
    page.wait_for_url(f"**{task}")
    assert page.locator(".sentence").count() == 1


def test_a_task_is_cancelled_from_its_page(visit: Visit, task: str) -> None:
    page = visit.go(HOME)
    page.fill("[name=sample_size]", "7")
    page.click("form.sheet button.main")
    page.wait_for_url(f"**{HOME}/brm-*")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("text=Cancel")
    page.wait_for_selector("text=This task was cancelled")
    assert visit.faults() == []


def test_what_cannot_be_asked_is_said_in_the_form(visit: Visit) -> None:
    page = visit.go(HOME)
    for box in page.locator("[name='steps[]']").all():
        box.uncheck()
    page.click("form.sheet button.main")
    page.wait_for_selector("[data-notice]:not([hidden])")
    assert "name 1 to 20 of them" in page.inner_text("[data-notice]")
    visit.faults()


def test_a_task_is_only_under_its_own_group(visit: Visit, task: str, sampled: Served) -> None:
    uid = task.rpartition("/")[2]
    for path in (f"/groups/other/behaviour/{uid}", f"{HOME}/brm-none", f"{task}/patterns/none", "/groups/none/behaviour"):
        assert visit.context.request.get(visit.url + path).status == 404, path
    me = Principal(workspace_id="default", user="x", key_id="x", scopes=frozenset({"read"}))
    found = visit.context.request.get(f"{visit.url}{task}.json").json()
    assert found["task"]["uid"] == uid and len(found["patterns"]) == len(behaviour.analysis(sampled.services, me, uid).behavior_patterns)
