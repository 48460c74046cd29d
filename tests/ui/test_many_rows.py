"""A list of 10,000 pods."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from selenium.webdriver.common.keys import Keys

from orchd.testing.process import DaemonProcess
from tests.ui.page import Page

FLAGS = ("--controllers=-*", "--scheduler=false", "--disable-admission-plugins=ServiceAccount")
COUNT = 10_000
#: Limit of the rows in the document, for any length of the list.
MOST_ELEMENTS = 120


@pytest.fixture(scope="module")
def pods(server: DaemonProcess) -> None:
    """Create pods over four connections."""

    def create(part: int) -> None:
        connection = server.connect()
        for at in range(part, COUNT, 4):
            pod = {"metadata": {"name": f"pod-{at:05}"}, "spec": {"containers": [{"name": "c", "image": "example.com/i"}]}}
            connection.request("POST", "/api/v1/namespaces/default/pods", json.dumps(pod), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(create, range(4)))


@pytest.mark.usefixtures("pods")
def test_ten_thousand_pods_are_listed_in_pages(page: Page, server: DaemonProcess) -> None:
    """All pods are listed, in pages; the document holds only the visible rows; keys, filter and scroll bar reach every
    row."""
    page.sign_in()
    page.open_list("pods")
    page.until(lambda: page.one("#count").text == f"{COUNT} objects")
    assert len(page.all(".rows .row")) < MOST_ELEMENTS
    assert page.one("[role=grid]").get_attribute("aria-rowcount") == str(COUNT + 1)
    page.keys(Keys.END)
    page.until(lambda: page.names()[-1:] == [f"pod-{COUNT - 1:05}"])
    # Half-way down with the scroll bar.
    page.driver.execute_script("const grid = document.querySelector('.grid'); grid.scrollTop = grid.scrollHeight / 2")
    page.until(lambda: f"pod-{COUNT // 2:05}" in page.names())
    assert len(page.all(".rows .row")) < MOST_ELEMENTS
    page.one("#text").send_keys("pod-0777")
    page.until(lambda: page.names() == [f"pod-0777{digit}" for digit in range(10)])
    # The list is live at this size.
    server.request("DELETE", "/api/v1/namespaces/default/pods/pod-07770?gracePeriodSeconds=0")
    page.until(lambda: page.names() == [f"pod-0777{digit}" for digit in range(1, 10)])


@pytest.mark.usefixtures("pods")
def test_scrolling_draws_few_rows_per_frame(page: Page) -> None:
    """The work per frame does not depend on the number of rows: elements are reused, and none is added."""
    page.sign_in()
    page.open_list("pods")
    page.until(lambda: "objects" in page.one("#count").text and page.names())
    before = len(page.all(".rows .row"))
    changed = page.driver.execute_async_script(
        """const done = arguments[arguments.length - 1], grid = document.querySelector('.grid');
        let added = 0, frames = 0;
        const observer = new MutationObserver((list) => list.forEach((each) => (added += each.addedNodes.length && each.target.className === 'rows' ? 1 : 0)));
        observer.observe(grid, {childList: true, subtree: true});
        const step = () => {
          grid.scrollTop += 997;
          if (++frames < 100) requestAnimationFrame(step);
          else done({added, top: grid.scrollTop});
        };
        step();"""
    )
    assert changed["top"] > 50_000
    assert changed["added"] == 0
    assert len(page.all(".rows .row")) == before
