"""The page of a server without a scheduler."""

from __future__ import annotations

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page

FLAGS = ("--controllers=-*", "--scheduler=false", "--disable-admission-plugins=ServiceAccount")


def test_placement_says_that_no_scheduler_runs(page: Page, server: DaemonProcess) -> None:
    """The placement view says that no scheduler runs, without an error, and the node column stays usable for
    unscheduled pods."""
    pod = {"metadata": {"name": "waits"}, "spec": {"containers": [{"name": "c", "image": "example.com/i"}]}}
    assert server.request("POST", "/api/v1/namespaces/default/pods", pod)[0] in (201, 409)
    page.sign_in()
    page.open("#/object/-/pods/default/waits", "placement")
    page.until(lambda: "scheduler does not run" in page.one("#placement").text)
    assert not page.all("#placement .problem")
    assert server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] in (201, 409)
    page.go("#/nodes")
    page.until(lambda: [row for row in page.rows() if row[0] == "on no node"])
    cut = "const cell = [...document.querySelectorAll('.grid .rows .cell')].find((each) => each.textContent === 'on no node');"
    page.until(lambda: page.driver.execute_script(cut + "return cell.scrollWidth <= cell.clientWidth"))
