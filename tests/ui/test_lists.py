"""Live lists in a browser, in both dialects."""

from __future__ import annotations

from orchd.dialect import DIALECTS
from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, config_map

DIALECT_NAMES = tuple(DIALECTS)


def create(server: DaemonProcess, namespace: str, name: str, **labels: str) -> None:
    code, response = server.request(
        "POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map(name, {"a": "b"}, labels=labels)
    )
    assert code == 201, response


def test_a_list_follows_the_server(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Objects appear and disappear without a reload."""
    page.sign_in()
    create(server, namespace, "one")
    page.open_list("configmaps", f"?namespace={namespace}")
    page.until(lambda: "one" in page.names())
    create(server, namespace, "another")
    page.until(lambda: page.names()[:1] == ["another"])
    server.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/one")
    page.until(lambda: "one" not in page.names())
    assert "another" in page.names()


def test_filters_are_kept_in_the_address(page: Page, server: DaemonProcess, namespace: str) -> None:
    """The text filter is local; label and field selectors are the server's; the address keeps all of them."""
    for name, colour in (("red-a", "red"), ("red-b", "red"), ("blue-a", "blue")):
        create(server, namespace, name, colour=colour)
    page.sign_in()
    page.open_list("configmaps", f"?namespace={namespace}")
    page.until(lambda: {"red-a", "red-b", "blue-a"} <= set(page.names()))
    page.one("#text").send_keys("blue")
    page.until(lambda: page.names() == ["blue-a"])
    assert " of " in page.one("#count").text
    page.open_list("configmaps", f"?namespace={namespace}&labels=colour%3Dred")
    page.until(lambda: page.names() == ["red-a", "red-b"])
    page.open_list("configmaps", f"?namespace={namespace}&fields=metadata.name%3Dred-b")
    page.until(lambda: page.names() == ["red-b"])
    page.one("#labels").send_keys("colour in (blue)")
    page.one("#fields").clear()
    page.one("form[role=search] button").click()
    page.until(lambda: page.names() == ["blue-a"])
    assert "labels=" in page.driver.current_url


def test_invalid_selectors_are_reported(page: Page) -> None:
    """The server's message is shown, and the request is not repeated."""
    page.sign_in()
    page.go("#/list/-/configmaps?labels=%3D%3D")
    page.until(lambda: page.one("#state").text.startswith("400"))
    assert page.names() == []


def test_new_custom_resource_is_listed(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A kind that is defined while the page is open appears, and is listed with its own columns."""
    page.sign_in()
    column = {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}
    schema = {"openAPIV3Schema": {"type": "object", server.dialect("x-{long}-preserve-unknown-fields"): True}}
    definition = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": schema, "additionalPrinterColumns": [column]}
            ],
        },
    }  # fmt: skip
    group = server.dialect("apiextensions.{abbr}.io")
    assert server.request("POST", f"/apis/{group}/v1/customresourcedefinitions", definition)[0] in (201, 409)
    thing = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "first"},
        "spec": {"colour": "violet"},
    }
    path = f"/apis/example.com/v1/namespaces/{namespace}/things"
    page.until(lambda: server.request("POST", path, thing)[0] in (201, 409))
    page.open_list("things", f"?namespace={namespace}", group="example.com")
    page.until(lambda: any("violet" in row for row in page.rows()))


def test_headings_sort_rows(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A heading sorts by its column; a second click reverses the order."""
    for name in ("b", "a", "c"):
        create(server, namespace, name)
    page.sign_in()
    page.open_list(
        "configmaps", f"?namespace={namespace}&fields=metadata.name%21%3D{server.dialect('{short}-root-ca.crt')}"
    )
    page.until(lambda: page.names() == ["a", "b", "c"])
    page.one(".head button").click()
    page.one(".head button").click()
    page.until(lambda: page.names() == ["c", "b", "a"])
    assert page.one("[role=columnheader]").get_attribute("aria-sort") == "descending"


def test_what_cannot_be_watched_is_listed(page: Page) -> None:
    """Component statuses have no watch: they are shown as they were read, and are read again on request."""
    page.sign_in()
    page.go("#/list/-/componentstatuses")
    page.until(lambda: "these cannot be watched" in page.one("#state").text)
    assert "scheduler" in page.names()
    before = reads(page, "/componentstatuses")
    page.one("#state .again").click()
    assert page.until(lambda: reads(page, "/componentstatuses") > before)
    page.until(lambda: "these cannot be watched" in page.one("#state").text)
    assert "scheduler" in page.names()


def reads(page: Page, path: str) -> int:
    """Number of responses to requests of a path so far."""
    script = "return performance.getEntriesByType('resource').filter((each) => each.name.includes(arguments[0])).length"
    return int(page.driver.execute_script(script, path))
