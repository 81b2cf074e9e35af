"""Who gets in, by which door, and what is refused there."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3
from playwright.sync_api import Browser

from benchloop_server.features.accounts import service as accounts
from tests.support.browsing import signed_in
from tests.support.served import Served

OWN = {"X-Benchloop-Page": "1", "Content-Type": "application/json"}


def post(served: Served, path: str, body: bytes = b"{}", **headers: str) -> urllib3.BaseHTTPResponse:
    """A POST as a page's own script sends it, with other headers where they are given; empty ones are left out."""
    sent: dict[str, Any] = {"Origin": served.url, **OWN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return served.pool.request("POST", served.url + path, body=body, headers={name: value for name, value in sent.items() if value})


def sign_in(served: Served, key: str) -> str:
    """The cookie of a new session."""
    answer = post(served, "/sign-in", b'{"key": "%s"}' % key.encode())
    assert answer.status == 200, answer.data
    return answer.headers["set-cookie"].partition(";")[0]


def page(served: Served, path: str, cookie: str = "", **headers: str) -> urllib3.BaseHTTPResponse:
    """A GET as a browser sends it; redirects are not followed."""
    return served.pool.request("GET", served.url + path, headers={"Accept": "text/html", "Cookie": cookie, **headers}, redirect=False)


def test_a_browser_signs_in_and_out(chromium: Browser, served: Served) -> None:
    with signed_in(chromium, served.url, served.key()) as visit:
        assert visit.page.title().startswith("Groups")
        cookie = next(each for each in visit.context.cookies() if each["name"].startswith("benchloop_session"))
        assert cookie["httpOnly"] and cookie["sameSite"] == "Lax" and served.key() not in cookie["value"]
        visit.page.click("text=Sign out")
        visit.page.wait_for_url("**/sign-in")
        assert page(served, "/groups", f"{cookie['name']}={cookie['value']}").status == 303
        assert visit.faults() == []


def test_a_wrong_key_is_told_so(chromium: Browser, served: Served) -> None:
    context = chromium.new_context()
    tab = context.new_page()
    tab.goto(f"{served.url}/sign-in")
    tab.fill("input[name=key]", "blk_wrong")
    tab.click("button.main")
    tab.wait_for_selector("[data-notice]:not([hidden])")
    assert "not known here" in tab.inner_text("[data-notice]")
    context.close()


def test_without_a_session_the_page_comes_after_signing_in(served: Served) -> None:
    answer = page(served, "/groups?search=a")
    assert answer.status == 303 and answer.headers["location"] == "/sign-in?next=%2Fgroups%3Fsearch%3Da"
    assert served.pool.request("GET", f"{served.url}/groups.json", redirect=False).status == 401


@pytest.mark.parametrize("target", ["//elsewhere.example/", "https://elsewhere.example", "/\\elsewhere.example", "javascript:alert(1)"])
def test_nobody_is_sent_elsewhere_after_signing_in(served: Served, target: str) -> None:
    body = b'{"key": "%s", "next": "%s"}' % (served.key().encode(), target.replace("\\", "\\\\").encode())
    assert b'"location":"/groups"' in post(served, "/sign-in", body).data


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"X_Benchloop_Page": ""},
    ],
)
def test_a_change_from_elsewhere_is_refused(served: Served, path: str, headers: dict[str, str]) -> None:
    sent = dict(headers)
    if "X_Benchloop_Page" in sent:
        sent["X-Benchloop-Page"] = sent.pop("X_Benchloop_Page")
    assert post(served, path, b'{"key": "%s"}' % served.key().encode(), **sent).status == 403


@pytest.mark.parametrize("host", ["elsewhere.example", "localhost.elsewhere.example", "127.0.0.1.elsewhere.example", "", "a b"])
def test_a_forged_host_is_refused(served: Served, host: str) -> None:
    for path in ("/sign-in", "/groups"):
        answer = page(served, path, sign_in(served, served.key()), Host=host)
        assert answer.status == 400, path
        assert b"csrf" not in answer.data and b"Set-Cookie" not in answer.data


def test_no_page_may_be_framed(served: Served) -> None:
    for path in ("/sign-in", "/groups", "/nothing-here"):
        answer = page(served, path, sign_in(served, served.key()))
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "script-src 'self';" in policy
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_the_api_takes_no_cookie(served: Served) -> None:
    cookie = sign_in(served, served.key())
    assert page(served, "/groups", cookie).status == 200
    answer = served.pool.request("GET", f"{served.url}/openapi/groups", headers={"Cookie": cookie})
    assert answer.status == 401


def test_a_session_ends_with_its_key(served: Served) -> None:
    key, row = accounts.create_key(served.services.db, "short", workspace="default")
    cookie = sign_in(served, key)
    assert page(served, "/groups", cookie).status == 200
    accounts.revoke_key(served.services.db, row.key_id)
    assert page(served, "/groups", cookie).status == 303


def test_what_is_not_there_is_a_page_for_a_browser_and_an_error_body_for_a_program(served: Served) -> None:
    answer = page(served, "/nothing-here")
    assert answer.status == 404 and answer.headers["content-type"].startswith("text/html")
    answer = served.pool.request("GET", f"{served.url}/openapi/nothing", headers={"Accept": "text/html"})
    assert answer.status == 404 and answer.json()["code"] == "not_found"


def test_the_front_leads_a_browser_to_the_pages(served: Served) -> None:
    assert page(served, "/").headers["location"] == "/groups"
    assert served.pool.request("GET", f"{served.url}/").data.startswith(b"benchloop-server ")
