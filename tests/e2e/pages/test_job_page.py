"""The page of a job in a real browser: verdict with evidence, steps, searching, files, siblings; hostile content; without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Browser, Page

from benchloop_client.contract import trajectory
from tests.support import long_runs
from tests.support.browsing import Visit, signed_in
from tests.support.pushing import Sent, archive, push
from tests.support.served import Served

_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
#: Payload classes of what users and agents write.
HOSTILE = (
    "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">",
    "</script><script>document.title='ran'</script>",
    '"><svg onload="document.title=\'ran\'">',
    "{{ 7 * 7 }}{% raw %}",
    "[x](javascript:document.title='ran') ![x](https://e.example/x.png)",
    "\x1b]8;;javascript:document.title='ran'\x07link\x1b]8;;\x07\x1b[2J\x1b[31m<b>red",
    "\u202eolleh\u2066 " + "a\u0301\u0302\u0303\u0304\u0305\u0306" * 40,
    "W" * 5_000,
)


def hostile_document(job_id: str) -> bytes:
    """A document with every payload in every place of a step."""
    steps = []
    for number, text in enumerate(HOSTILE, 1):
        call = {"tool_call_id": text[:60], "function_name": text[:300], "arguments": {text[:50]: text, "command": text}}
        content = [{"type": "text", "text": text}, {"type": "image", "source": {"media_type": "image/svg+xml", "path": "evil.svg"}}]
        steps.append(
            {
                "step_id": number,
                "source": "agent",
                "message": text,
                "reasoning_content": text,
                "model_name": text[:200],
                "tool_calls": [call],
                "observation": {"results": [{"source_call_id": text[:60], "content": content}]},
                "extra": {
                    "media": [
                        {"path": "evil.svg", "trace_media": {"oss_uri": f"blmedia/{job_id}/{'0' * 64}/evil.svg", "mime_type": text[:50]}}
                    ]
                },
            }
        )
    value = {
        "schema_version": trajectory.SCHEMA_VERSION,
        "session_id": HOSTILE[0],
        "agent": {"name": HOSTILE[0], "version": "1"},
        "steps": steps,
    }
    return trajectory.encode(trajectory.stamp(trajectory.normalise(value).document, job_id=job_id, group_id="g1", task_id=HOSTILE[0]))


@pytest.fixture(scope="module")
def pages(served: Served) -> Served:
    """A server with a job of 300 steps, another attempt at its task, and one full of hostile texts."""
    files = {
        "logs/out.txt": b"one\n\x1b[31mtwo\x1b[0m\n" + b"line\n" * 90_000,
        "a.html": HOSTILE[0].encode(),
        "picture.png": _PNG,
        "raw.bin": b"\0\1\2",
    }
    files |= {f"many/{HOSTILE[0].replace('/', '')[:40]}-{number}.txt": b"x" for number in range(20)}
    long = long_runs.document("long", "g1", steps=300)
    other = long_runs.document("other", "g1", steps=40, seed=2)
    push(served, Sent("long", document=long, archive=archive(files), reward=0.0), Sent("other", document=other))
    push(served, Sent("bad", task_id=HOSTILE[0], document=hostile_document("bad"), archive=archive({HOSTILE[2].replace("/", ""): b"x"})))
    return served


@pytest.fixture(scope="module")
def visit(chromium: Browser, pages: Served) -> Iterator[Visit]:
    """A signed-in browser."""
    with signed_in(chromium, pages.url, pages.key()) as found:
        yield found


def opened(visit: Visit, path: str, width: int = 1280) -> Page:
    """A page with its viewer at rest."""
    page = visit.go(path, width=width)
    page.wait_for_selector(".ribbon svg")
    return page


@pytest.mark.parametrize("width", [390, 1280, 2560])
@pytest.mark.parametrize(
    "path", ["/jobs/long", "/jobs/long/files", "/jobs/long/steps/97", "/jobs/long/beside/other", "/jobs/bad", "/jobs/bad/files"]
)
def test_every_page_of_a_job_stays_in_its_window(visit: Visit, path: str, width: int) -> None:
    page = visit.go(path, width=width)
    assert page.title() != "ran"
    assert visit.faults() == []


def test_a_deep_link_shows_its_step_in_the_middle(visit: Visit) -> None:
    page = opened(visit, "/jobs/long?at=194#s-194")
    box = page.locator("#s-194").bounding_box()
    assert box is not None and 250 < box["y"] + box["height"] / 2 < 650
    assert "is-cited" in (page.get_attribute("#s-194", "class") or "")
    assert page.inner_text("[data-where]") == "Step 194"


def test_keys_go_from_step_to_step_and_from_error_to_error(visit: Visit) -> None:
    page = opened(visit, "/jobs/long")
    where = page.locator("[data-where]")
    for key, step in (("j", 2), ("j", 3), ("k", 2), ("n", 97), ("n", 194), ("p", 97), ("e", 97), ("n", 194), ("n", 291)):
        page.keyboard.press(key)
        page.wait_for_function("wanted => document.querySelector('[data-where]').textContent === `Step ${wanted}`", arg=step)
    assert where.inner_text() == "Step 291"
    page.keyboard.press("?")
    assert "next and previous error" in page.inner_text("#shortcuts")


def test_scrolling_brings_further_steps_and_lets_go_of_far_ones(visit: Visit) -> None:
    page = opened(visit, "/jobs/long")
    page.mouse.move(600, 500)
    for _ in range(60):
        page.mouse.wheel(0, 2_500)
        page.wait_for_timeout(60)
        if page.locator("#s-300").count():
            break
    assert page.locator("#s-300").count() == 1 and page.locator(".step").count() <= 200
    assert visit.faults() == []


def test_searching_leads_to_the_step(visit: Visit) -> None:
    page = opened(visit, "/jobs/long")
    page.keyboard.press("/")
    page.keyboard.type("step 250:")
    page.keyboard.press("Enter")
    page.click(".hit")
    page.wait_for_selector("#s-250.is-cited")
    assert "1 place" in page.inner_text("[data-found-head]")
    assert "at=250" in page.url


def test_the_json_of_a_step_is_what_is_stored(visit: Visit, pages: Served) -> None:
    page = opened(visit, "/jobs/long?at=5")
    page.click("#s-5 [data-raw]")
    page.wait_for_function("() => document.querySelector('#s-5 pre.raw').textContent.startsWith('{')")
    shown = msgspec.json.decode(page.inner_text("#s-5 pre.raw"))
    assert shown == pages.get("/openapi/jobs/long/trajectory").json()["steps"][4]


def test_hostile_content_is_text(visit: Visit) -> None:
    page = opened(visit, "/jobs/bad")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_timeout(200)
    assert page.title() != "ran"
    assert page.locator(".step script, .step img, .step b b, .step svg, .step a[href^='javascript']").count() == 0
    assert HOSTILE[0] in page.inner_text("#s-1 pre.say >> nth=-1")
    assert visit.faults() == []


def test_a_file_is_shown_as_text_within_bounds(visit: Visit) -> None:
    page = visit.go("/jobs/long/file?path=logs/out.txt")
    assert page.inner_text(".a-31") == "two" and "are not shown" in page.inner_text("main")
    page = visit.go("/jobs/long/file?path=a.html")
    assert page.inner_text(".file-text") == HOSTILE[0] and page.title() != "ran"
    page = visit.go("/jobs/long/file?path=picture.png")
    assert page.evaluate("document.querySelector('figure img').naturalWidth") == 1
    assert "no text" in visit.go("/jobs/long/file?path=raw.bin").inner_text("main")
    assert visit.faults() == []


def test_a_file_is_saved_and_never_opened(visit: Visit) -> None:
    for path in ("file/raw?path=a.html", "file/image?path=a.html", "archive"):
        answer = visit.context.request.get(f"{visit.url}/jobs/long/{path}")
        headers = answer.headers
        assert answer.status == 200 and headers["content-disposition"].startswith("attachment"), path
        assert "sandbox" in headers["content-security-policy"] and headers["x-content-type-options"] == "nosniff"
        assert "html" not in headers["content-type"]


def test_media_of_another_job_is_not_there(visit: Visit) -> None:
    for uri in (f"blmedia/other/{'0' * 64}/a.png", f"blmedia/long/{'0' * 64}/a.png", "../../etc/passwd", ""):
        assert visit.context.request.get(f"{visit.url}/jobs/long/media", params={"uri": uri}).status == 404


@pytest.mark.parametrize(
    "path", ["/jobs/none", "/jobs/long?at=999", "/jobs/long/steps/x", "/jobs/long/file?path=../x", "/jobs/long/beside/none"]
)
def test_what_is_not_there_is_said(visit: Visit, path: str) -> None:
    answer = visit.context.request.get(visit.url + path)
    assert answer.status == 404 and "Traceback" not in answer.text()


def test_two_attempts_are_shown_where_they_part(visit: Visit) -> None:
    page = visit.go("/jobs/long/beside/other")
    assert page.locator("#parting").count() == 1
    assert visit.faults() == []


def test_the_neighbours_are_those_of_the_filter(visit: Visit) -> None:
    page = visit.go("/jobs/other?outcome=passed")
    hrefs = page.eval_on_selector_all("[data-key]", "all => all.map(one => one.getAttribute('href'))")
    assert hrefs == ["/jobs/bad?outcome=passed"]


def test_without_javascript_the_steps_are_there(chromium: Browser, pages: Served, visit: Visit) -> None:
    context = chromium.new_context(java_script_enabled=False, storage_state=visit.context.storage_state())
    page = context.new_page()
    page.goto(f"{pages.url}/jobs/long")
    assert page.locator(".step").count() == 40
    page.click("text=Later steps")
    assert page.locator("#s-41").count() == 1 and page.locator("#s-1").count() == 0
    page.goto(f"{pages.url}/jobs/long?find=Step+250%3A")
    page.click(".hit")
    assert page.locator("#s-250.is-cited").count() == 1
    context.close()


def test_the_twin_holds_what_the_page_shows(visit: Visit) -> None:
    found = visit.context.request.get(f"{visit.url}/jobs/long.json?at=97").json()
    assert found["window"]["cited"] == 96 and found["job"]["job_id"] == "long" and found["window"]["steps"][0]["calls"]


def test_a_running_job_is_drawn_anew_when_it_has_ended(visit: Visit, pages: Served) -> None:
    ended = Sent("live", document=long_runs.document("live", "g1", steps=3))
    running = {**Sent("live").upsert(), "fingerprint": "0" * 64}
    running["facts"] = {name: value for name, value in running["facts"].items() if name != "reward"} | {"status": "running"}
    assert pages.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [running]}).status == 200
    page = visit.go("/jobs/live")
    assert page.get_attribute("body", "data-live") == "5" and "arrives when the job has ended" in page.inner_text(".way")
    push(pages, ended)
    page.wait_for_selector("#s-3", timeout=20_000)
    assert visit.faults() == []
