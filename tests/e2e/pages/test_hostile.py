"""What agents and users can write into every field neither runs nor breaks the layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from benchloop_server.features.accounts import service as accounts
from tests.support import stores
from tests.support.browsing import Visit, signed_in
from tests.support.served import Served

#: One of each class: markup, attributes, the end of a script or comment, links that run, template code, terminal control, text that turns
#: its direction or piles marks, a word without an end, JSON and formulas.
PAYLOADS = {
    "script": "<script>window.hurt=1</script>",
    "attribute": '"><img src=x onerror="window.hurt=1"> \' onmouseover=window.hurt=1 x=\'',
    "end": "</script></title></textarea><!-- --><svg onload=window.hurt=1>",
    "link": "javascript:window.hurt=1 [x](javascript:window.hurt=1) <a href='https://elsewhere.example'>x</a>",
    "template": "{{7*7}} {% raw %} ${7*7} <%= 7*7 %>",
    "control": "\x1b]0;hurt\x07\x1b[31mred\x1b[0m\x08\x7f\r\n\tnext",
    "turned": "\u202egnp.exe\u2066\u200b\u2028\u2029\ufeff",
    "piled": "Z\u0310\u0311\u0312\u0313\u0314\u0315\u0316\u0317\u0318\u0319\u031a" * 30,
    "endless": "W" * 4000,
    "astral": "💥\U000e0041\ud7ff" * 50,
    "words": '=HYPERLINK("x") \' OR 1=1; -- %00 ../../etc/passwd &lt;b&gt; &#x3c;',
}
_ELSEWHERE = "links => links.map(link => link.href).filter(href => !href.startsWith(location.origin))"
_FIELDS = ("task_id", "model", "agent", "agent_version", "error_type", "error_message", "template", "instance_id")
_PAGES = (
    "/groups",
    "/groups/{group}",
    "/groups/{group}/jobs?columns=task_id.outcome.fail_reason.model.agent.error_type.template.instance_id",
    "/compare?a={group}&b={group}%4020",
    "/keys",
)


@pytest.fixture(scope="module")
def hostile(served: Served) -> Served:
    """A server on which every text is one of the payloads: a group each."""
    served.key()
    for number, (name, text) in enumerate(PAYLOADS.items()):
        kept = text.replace("\0", "")
        stores.make_group(served.services, f"g-{name}", name=kept, benchmark=kept, model=kept, agent=kept, run_id=kept)
        patch: dict[str, Any] = {"tags": [kept.replace(",", ";")[:64]] if kept[:64].isprintable() else [], "note": kept}
        assert served.request("PATCH", f"/openapi/groups/g-{name}", json=patch).status == 200
        facts = {field: f"{kept}{field}" for field in _FIELDS}
        rows = [
            stores.job(f"j-{number}-{step}-{attempt}", step=step, reward=reward, reward_key=kept, rewards={kept: reward}, **facts)
            for step in (10, 20)
            for attempt, reward in enumerate((0.0, 1.0, None))
        ]
        stores.put(served.services, *rows, group_id=f"g-{name}")
    accounts.create_key(served.services.db, PAYLOADS["attribute"], user=PAYLOADS["script"])
    return served


@pytest.fixture(scope="module")
def visit(chromium: Browser, hostile: Served) -> Iterator[Visit]:
    """A browser there."""
    with signed_in(chromium, hostile.url, hostile.key()) as visiting:
        yield visiting


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_is_only_text(visit: Visit, name: str) -> None:
    for path in _PAGES[1:4]:
        for width in (390, 1280):
            tab = visit.go(path.format(group=f"g-{name}"), width=width)
            assert visit.faults() == [], (path, width)
        assert tab.evaluate("window.hurt") is None
        assert tab.locator("main img, main iframe, main object, main [onerror], main [onload], main [onmouseover]").count() == 0
        inline = tab.eval_on_selector_all("script:not([src]):not([type='application/json'])", "found => found.length")
        links = tab.eval_on_selector_all(
            "a[href]", "links => links.map(link => link.href).filter(href => !href.startsWith(location.origin))"
        )
        assert (inline, links) == (0, []), path


def test_lists_of_all_of_them_hold_together(visit: Visit) -> None:
    for path in ("/groups", "/keys", "/downloads", "/groups?search=%3Cscript%3E&model=%22%3E%3Cimg%20src=x%3E"):
        for width in (390, 1280):
            tab = visit.go(path, width=width)
            assert visit.faults() == [], (path, width)
        assert tab.evaluate("window.hurt") is None and tab.locator("main img").count() == 0


@pytest.mark.parametrize("name", ["script", "attribute", "link", "turned"])
def test_filters_and_downloads_show_text(visit: Visit, name: str) -> None:
    tab = visit.go(f"/groups/g-{name}/jobs")
    for chip in ("task_id", "model", "error_type"):
        tab.click(f".chip[data-chip={chip}] summary")
        tab.wait_for_selector(f".chip[data-chip={chip}] .chip-count")
    tab.locator(".chip[open] .chip-list a").first.click()
    tab.wait_for_load_state("networkidle")
    assert tab.locator("tbody tr").count() == 6
    tab.click("button[value=all]")
    tab.wait_for_url("**/downloads/dl-*")
    assert tab.evaluate("window.hurt") is None and tab.locator("main img").count() == 0
    assert visit.faults() == []


@pytest.mark.parametrize(
    "path",
    [
        "/groups/%3Cscript%3Ewindow.hurt=1%3C/script%3E",
        "/groups/%22%3E%3Cimg%20src=x%20onerror=window.hurt=1%3E/jobs",
        "/nothing/%3Csvg%20onload=window.hurt=1%3E",
        "/groups/g-script/jobs?sort=%3Cscript%3E",
        "/groups/g-script/jobs?after=%3Cscript%3E",
        "/groups/g-script/jobs?reward_from=%3Cimg%20src=x%3E",
        "/groups/g-script?state=%3Cscript%3E",
        "/groups/g-script/jobs?q=%25%27%5C_%00",
        "/compare?a=%3Cscript%3E&b=x",
        "/sign-in?next=%22%3E%3Cscript%3Ewindow.hurt=1%3C/script%3E",
    ],
)
def test_an_address_is_only_text(visit: Visit, path: str) -> None:
    tab = visit.page
    tab.goto(visit.url + path)
    assert tab.evaluate("window.hurt") is None and tab.locator("main img, main svg[onload]").count() == 0
    visit.complaints[:] = [said for said in visit.complaints if "status of 4" not in said]
    assert visit.faults() == []
