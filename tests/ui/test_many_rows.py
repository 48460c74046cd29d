"""A list of 10,000 pods."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from selenium.webdriver.common.keys import Keys

from orchd.store.export import export_content, import_content
from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page

FLAGS = ("--controllers=-*", "--scheduler=false", "--disable-admission-plugins=ServiceAccount")
COUNT = 10_000
#: Limit of the rows in the document, for any length of the list.
MOST_ELEMENTS = 120


@pytest.fixture(scope="module")
def pods(server: DaemonProcess) -> None:
    """Create pods over four connections."""
    pod = {"metadata": {"name": "pod-00000"}, "spec": {"containers": [{"name": "c", "image": "example.com/i"}]}}
    code, created = server.request("POST", "/api/v1/namespaces/default/pods", pod)
    assert code == 201, created
    server.terminate()
    path = server.data / "store.sqlite"
    with export_content(str(path)) as content:
        first = next(item for item in content.items if item.key.endswith("/pod-00000"))
        uid = created["metadata"]["uid"]
        copies = [
            replace(
                first, revision=content.revision + number, created=content.revision + number,
                key=first.key.replace("pod-00000", f"pod-{number:05}"),
                value=first.value.replace(b"pod-00000", f"pod-{number:05}".encode()).replace(uid.encode(), str(uuid4()).encode()),
            )
            for number in range(1, COUNT)
        ]  # fmt: skip
    path.unlink()
    import_content(str(path), replace(content, revision=content.revision + COUNT, items=[*content.items, *copies]))
    server.start()


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
