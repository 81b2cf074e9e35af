"""A real browser on a real server: signed in, and with every complaint of a page kept."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Page, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: What stands outside of the window, or makes it scroll sideways. What scrolls by itself may.
_LOOK = """() => {
  const wide = document.documentElement.clientWidth, found = [];
  if (document.documentElement.scrollWidth > wide + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide, not ${wide}`);
  for (const each of document.querySelectorAll("header *, main *, footer *")) {
    const box = each.getBoundingClientRect();
    if (!box.width || !box.height || !each.checkVisibility()) continue;
    if (each.closest(".table, .scrolls, .sr, .skip, .bar-nav, .chart, pre, dialog")) continue;
    if (box.right > wide + 1 || box.left < -1) found.push(`${each.tagName} ${each.className} at ${box.left} to ${box.right}`);
  }
  for (const each of document.querySelectorAll(".table")) {
    const box = each.getBoundingClientRect();
    if (box.right > wide + 1) found.push(`a table reaches to ${box.right}`);
  }
  return found;
}"""


def find_chromium() -> str | None:
    """The system's Chromium, if it has one."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


@contextlib.contextmanager
def launched(playwright: Playwright, path: str) -> Iterator[Browser]:
    """The browser, until the block ends."""
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
    try:
        yield browser
    finally:
        browser.close()


@dataclass
class Visit:
    """A signed-in browser. `complaints`: what its console said and what its policy refused, since the last look."""

    context: BrowserContext
    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str, *, width: int = 1280) -> Page:
        """Open a page and let it come to rest."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto(self.url + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def outside(self) -> list[str]:
        """What stands outside of its place in the window as it is now."""
        found: list[str] = self.page.evaluate(_LOOK)
        return found

    def faults(self) -> list[str]:
        """Complaints, and what stands where it should not."""
        found = [*self.complaints, *self.outside()]
        self.complaints.clear()
        return found


@contextlib.contextmanager
def signed_in(browser: Browser, url: str, key: str) -> Iterator[Visit]:
    """A browser that has signed in by the form."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    visit = Visit(context, page, url)
    page.on("console", lambda said: visit.complaints.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: visit.complaints.append(f"page error: {error}"))
    try:
        page.goto(f"{url}/sign-in")
        page.fill("input[name=key]", key)
        page.click("button.main")
        page.wait_for_url("**/groups")
        yield visit
    finally:
        context.close()
