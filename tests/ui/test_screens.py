"""The page at three sizes, light and dark; the pictures of docs/ui.md (`make screenshots`)."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, applied

SIZES = {"desktop": (1440, 900), "tablet": (820, 1180), "phone": (390, 844)}
#: A server without the pods of other modules.
FLAGS = ("--simulated-nodes=2",)
NAMESPACE = "shop"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "ui.md"


def deployment(name: str, replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": name, "image": f"example.com/{name}:1.4", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def shop(server: DaemonProcess) -> None:
    """Deployments with pods, some of which fit on no node."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for name, replicas, cpu in (
        ("cart", 4, "100m"),
        ("catalog", 6, "100m"),
        ("payment", 3, "100m"),
        ("training-of-recommendations", 2, "64"),
    ):
        applied(
            server,
            f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}",
            deployment(name, replicas, cpu),
            "deploy",
        )


@pytest.fixture
def screen(page: Page) -> Iterator[Any]:
    """Set the size of the window and the colour scheme."""

    def change(size: str, colours: str = "light") -> None:
        width, height = SIZES[size]
        page.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        page.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colours}]}
        )

    yield change
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def picture(page: Page, name: str) -> None:
    """Take a picture for the documentation if ORCHD_SCREENSHOTS names a folder."""
    folder = os.environ.get("ORCHD_SCREENSHOTS")
    if folder and f"images/ui-{name}.png" in GUIDE.read_text(encoding="utf-8"):
        data = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"ui-{name}.png").write_bytes(base64.b64decode(data))


def contrast(page: Page, selector: str) -> float:
    """Contrast ratio of a text and its background (WCAG 2.1)."""
    ratio: float = page.driver.execute_script(
        """const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
          .reduce((sum, c, at) => sum + c * [.2126, .7152, .0722][at], 0);
        let here = document.querySelector(arguments[0]);
        const ink = light(numbers(getComputedStyle(here).color));
        let ground = [];
        for (; here && !(ground.length && ground[3] !== 0); here = here.parentElement) ground = numbers(getComputedStyle(here).backgroundColor);
        const other = light(ground);
        return (Math.max(ink, other) + .05) / (Math.min(ink, other) + .05);""",
        selector,
    )
    return ratio


def visible_columns(page: Page) -> list[str]:
    """Columns of the first row that are in sight without scrolling."""
    columns: list[str] = page.driver.execute_script(
        """const row = document.querySelector('.grid .rows .row').getBoundingClientRect(), heads = document.querySelectorAll('.grid .head .cell');
        return [...document.querySelectorAll('.grid .rows .row:first-child .cell')].map((cell, at) => [cell.getBoundingClientRect(), heads[at].textContent])
          .filter(([box]) => box.width > 4 && box.right <= innerWidth && box.bottom <= row.bottom + 1).map(([, title]) => title);"""
    )
    return columns


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_list_fits_three_screen_sizes(page: Page, screen: Any, size: str, colours: str) -> None:
    """Nothing is cut off at the sides, rows are tall enough, and text has enough contrast."""
    screen(size, colours)
    page.sign_in()
    page.open_list("pods", f"?namespace={NAMESPACE}")
    page.until(lambda: page.one("#count").text == "15 objects" and sum("Running" in row for row in page.rows()) == 13)
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= SIZES[size][0]
    assert page.driver.execute_script("return document.querySelector('.grid').clientHeight") >= 300
    assert set(visible_columns(page)) >= {"Name", "Ready", "Status", "Restarts", "Age"}
    for selector in (
        ".grid .rows .cell",
        ".grid .head .cell",
        "h1 small",
        ".who",
        "#state",
        ".cell.good",
        ".cell.busy",
    ):
        if size != "phone" or selector != ".who":
            assert contrast(page, selector) >= 4.5, selector
    page.until(lambda: page.all("#resources li"))
    picture(page, f"list-{size}-{colours}")


@pytest.mark.usefixtures("shop")
def test_resource_menu_on_a_phone(page: Page, screen: Any) -> None:
    """A button opens the menu over the page; a choice closes it."""
    screen("phone")
    page.sign_in()
    page.open_list("pods")
    assert not page.one("#resources").is_displayed()
    page.one(".menu").click()
    page.until(lambda: page.one("#resources").is_displayed())
    page.until(lambda: [each for each in page.all("#resources a") if each.text == "services"])[0].click()
    page.until(lambda: page.one("#title").text.startswith("services") and not page.one("#resources").is_displayed())


@pytest.mark.usefixtures("shop")
def test_views_show_nodes_owners_audit_and_metrics(page: Page, screen: Any, server: DaemonProcess) -> None:
    """The views show nodes with their pods, placement reasons, owners, audit events and plots."""
    screen("desktop")
    page.until(lambda: page.all("#token"))
    page.sign_in()
    page.go("#/nodes")
    page.until(lambda: any("simulated-0" in row for row in page.rows()) and page.one("#state").text == "● live")
    page.until(lambda: [row for row in page.rows() if row[0] == "on no node" and row[1] == "2"])
    picture(page, "nodes")

    pods = server.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")[1]["items"]
    waiting = next(each["metadata"]["name"] for each in pods if not each["spec"].get("nodeName"))
    bound = next(each for each in pods if each["spec"].get("nodeName"))
    page.open(f"#/object/-/pods/{NAMESPACE}/{waiting}", "placement")
    page.until(lambda: "Insufficient cpu" in page.one("#placement").text)
    picture(page, "placement")
    page.open(f"#/object/-/pods/{NAMESPACE}/{bound['metadata']['name']}", "placement")
    page.until(lambda: bound["spec"]["nodeName"] in page.one("#placement strong").text)

    page.open(f"#/object/apps/deployments/{NAMESPACE}/cart", "owners")
    page.until(lambda: len(page.all("[role=treeitem]")) == 6)
    page.open(f"#/object/apps/deployments/{NAMESPACE}/cart", "events")
    page.until(lambda: any("ScalingReplicaSet" in row for row in page.rows()))

    page.open(f"#/object/apps/deployments/{NAMESPACE}/cart", "edit")
    page.type_yaml(lambda text: text.replace("replicas: 4", "replicas: 5"))
    page.one("#dry-run").click()
    page.until(lambda: ".spec.replicas" in page.one("#conflicts").text and page.all(".diff .add"))
    picture(page, "conflict")

    page.go("#/audit")
    page.until(lambda: page.one("#state").text == "● live")
    server.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/none")
    page.until(
        lambda: any(f"/api/v1/namespaces/{NAMESPACE}/secrets/none" in row and "404" in row for row in page.rows())
    )
    picture(page, "audit")

    # The first answer has what the server sampled before.
    page.until(lambda: len(server.request("GET", "/debug/metrics")[1]["samples"]) > 4)
    page.go("#/metrics")
    page.until(lambda: "server" in page.one("#memory").text)
    assert (page.one("#memory path").get_attribute("d") or "").count("L") >= 4
    for plot in ("requests", "latency", "queues", "workqueues", "store", "memory"):
        assert page.all(f"#{plot} path"), plot
    picture(page, "metrics")
