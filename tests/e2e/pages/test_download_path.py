"""From the job list to files: choose, freeze, copy the command, run it, and hold the same as the page."""

from __future__ import annotations

import json
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browsing import Visit, signed_in
from tests.support.programs import Bl
from tests.support.served import Served


@pytest.fixture
def visit(chromium: Browser, sampled: Served) -> Iterator[Visit]:
    """A browser that may use the clipboard."""
    with signed_in(chromium, sampled.url, sampled.key()) as visiting:
        visiting.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield visiting


def _fetch(visit: Visit, served: Served, folder: Path) -> Path:
    """Copy the first command of a download task's page, run it in `folder`, and give the ZIP."""
    visit.page.click(".copyable button >> nth=0")
    command = shlex.split(visit.page.evaluate("navigator.clipboard.readText()"))
    assert command[:3] == ["bl", "trajectory", "download"]
    done = Bl(folder, served.url, served.key())(*command[1:], cwd=folder)
    assert done.code == 0, done
    return next(folder.glob("*.zip"))


def _jobs_in(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {
            json.loads(opened.read(name))["trajectory_id"]: opened.read(name)
            for name in opened.namelist()
            if name.endswith("_trajectory.json")
        }


def test_chosen_jobs_become_files(visit: Visit, sampled: Served, tmp_path: Path) -> None:
    tab = visit.go("/groups/demo-run/jobs?outcome=passed")
    chosen = [tab.locator("tbody input[type=checkbox]").nth(number).get_attribute("value") for number in (0, 2, 5)]
    for number in (0, 2, 5):
        tab.locator("tbody input[type=checkbox]").nth(number).check()
    assert tab.inner_text("[data-chosen]") == "3"
    tab.click("button[value=chosen]")
    tab.wait_for_url("**/downloads/dl-*")
    assert "3 jobs, frozen" in tab.inner_text(".line")
    jobs = _jobs_in(_fetch(visit, sampled, tmp_path))
    assert sorted(jobs) == sorted(chosen)
    for job_id, content in jobs.items():
        assert json.loads(content) == sampled.get(f"/openapi/jobs/{job_id}/trajectory", decode_content=True).json()
    size = int(tab.locator("h3 .meta span").first.get_attribute("title").split(" ")[0].replace("\u202f", ""))  # type: ignore[union-attr]
    assert size == sum(sampled.get(f"/openapi/jobs/{job_id}").json()["trajectory_bytes"] for job_id in jobs)
    assert visit.faults() == []


def test_all_that_fit_are_frozen_whatever_comes_later(visit: Visit, sampled: Served, tmp_path: Path) -> None:
    query = "outcome=failed&step=100"
    fitting = sampled.get(f"/openapi/jobs?group_id=demo-run&{query}&limit=1000").json()
    tab = visit.go(f"/groups/demo-run/jobs?{query}&limit=2&duration_from=0")
    assert f"Download all {fitting['total']}" in tab.inner_text("button[value=all]")
    tab.click("button[value=all]")
    tab.wait_for_url("**/downloads/dl-*")
    assert f"{fitting['total']} jobs, frozen" in tab.inner_text(".line")
    recorded = {job["job_id"] for job in fitting["jobs"] if job["trajectory_bytes"] is not None}
    assert recorded <= set(_jobs_in(_fetch(visit, sampled, tmp_path)))


def test_a_filter_is_chosen_with_its_count_and_taken_back(visit: Visit) -> None:
    tab = visit.go("/groups/demo-run/jobs")
    tab.click(".chip[data-chip=outcome] summary")
    choice = tab.locator(".chip[open] a", has_text="failed").first
    choice.wait_for()
    count = int(choice.locator(".chip-count").inner_text())
    choice.click()
    tab.wait_for_url("**/jobs?outcome=failed")
    assert tab.locator("tbody tr").count() == count
    tab.click("a:text-is('Clear')")
    tab.wait_for_url("**/groups/demo-run/jobs")
    tab.click(".chip[data-chip=duration] summary")
    tab.fill(".chip[open] input[name=duration_from]", "70")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/jobs?duration_from=70")
    assert visit.faults() == []


def test_pages_of_a_list_lead_forth_and_back(visit: Visit) -> None:
    tab = visit.go("/groups/demo-run/jobs?limit=7&sort=-reward")
    seen: list[list[str]] = []
    while True:
        seen.append(tab.eval_on_selector_all("tbody input", "boxes => boxes.map(box => box.value)"))
        following = tab.locator("a[rel=next]")
        if not following.count():
            break
        following.click()
        tab.wait_for_load_state("networkidle")
    flat = [job_id for part in seen for job_id in part]
    assert len(flat) == len(set(flat)) == 44
    for part in reversed(seen[:-1]):
        tab.click("a[rel=prev]")
        tab.wait_for_load_state("networkidle")
        assert tab.eval_on_selector_all("tbody input", "boxes => boxes.map(box => box.value)") == part
    assert tab.locator("a[rel=prev]").count() == 0
