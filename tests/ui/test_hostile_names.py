"""Names and texts that hold markup are shown as they are."""

from __future__ import annotations

from urllib.parse import quote

from orchd.testing.process import DaemonProcess
from tests.ui.page import Page, applied, config_map

MARKUP = "<img src=x onerror=window.attacked=1><script>window.attacked=1<" + "\\" + "script>"


def unharmed(page: Page) -> bool:
    found: bool = page.driver.execute_script(
        "return window.attacked === undefined && !document.querySelector('#main img, #main script, header img')"
    )
    return found


def test_markup_in_names(page: Page, server: DaemonProcess) -> None:
    """Roles may have almost any name: it is text in the list, in the title and in the editor."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    role = {"metadata": {"name": MARKUP}, "rules": []}
    assert server.request("POST", f"/apis/{group}/v1/clusterroles", role)[0] in (201, 409)
    page.sign_in()
    page.open_list("clusterroles", "?text=img", group=group)
    page.until(lambda: MARKUP in page.names())
    assert unharmed(page)
    name = quote(MARKUP, safe="")
    for tab in ("yaml", "edit", "events", "owners"):
        page.open(f"#/object/{group}/clusterroles/-/{name}", tab)
        page.until(lambda: MARKUP in page.one("h1").text)
        assert unharmed(page)


def test_markup_in_annotations_data_and_events(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Whatever an object holds is text, also in differences, messages and audit events."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/hostile"
    obj = applied(server, path, config_map("hostile", {"a": MARKUP}, annotations={"note": MARKUP}), "<b>manager</b>")
    event = {
        "metadata": {"name": "hostile.1", "namespace": namespace}, "reason": MARKUP, "message": MARKUP, "type": "Warning",
        "involvedObject": {"kind": "ConfigMap", "namespace": namespace, "name": "hostile", "uid": obj["metadata"]["uid"]},
    }  # fmt: skip
    assert server.request("POST", f"/api/v1/namespaces/{namespace}/events", event)[0] in (201, 409)
    page.sign_in()
    address = f"#/object/-/configmaps/{namespace}/hostile"
    page.open(address, "yaml")
    page.until(lambda: MARKUP in page.one(".yaml").text)
    page.open(address, "events")
    page.until(lambda: any(MARKUP in row for row in page.rows()))
    page.open(address, "edit")
    page.type_yaml(lambda text: text.replace("\ndata:\n", "\ndata:\n  b: <b>bold</b>\n").replace("note: ", "note: x"))
    page.one("#apply").click()
    page.until(lambda: "<b>manager</b>" in page.one("#conflicts").text)
    assert unharmed(page)


def test_markup_in_the_address(page: Page) -> None:
    """A crafted address is shown as text and has no other effect."""
    page.sign_in()
    page.go(f"#/list/-/{quote(MARKUP, safe='')}")
    page.until(lambda: MARKUP in page.one("#main").text)
    page.go(f"#/object/-/configmaps/default/{quote(MARKUP, safe='')}")
    page.until(lambda: MARKUP in page.one("h1").text)
    page.go("#/list/-/configmaps?namespace=..%2F..%2Fsecrets")
    page.until(lambda: page.one("#state").text != "loading")
    assert unharmed(page)
