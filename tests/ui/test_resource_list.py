"""The list of resources beside the content, the help for signing in, and many dependents."""

from __future__ import annotations

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page

#: Is an element of the list of resources in sight, below the field for searching?
IN_SIGHT = "document.querySelector('#find').getBoundingClientRect().bottom <= arguments[0].getBoundingClientRect().top && arguments[0].getBoundingClientRect().bottom <= innerHeight"
GROUPS = [f"g{number:02}.example.com" for number in range(12)]


def define(server: DaemonProcess, group: str, plural: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object", server.dialect("x-{long}-preserve-unknown-fields"): True}}
    definition = {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": plural.title()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip
    path = f"/apis/{server.dialect('apiextensions.{abbr}.io')}/v1/customresourcedefinitions"
    assert server.request("POST", path, definition)[0] in (201, 409)


def headings(page: Page) -> list[str]:
    return [each.text for each in page.all("#resources .group button, #resources .group:not(:has(button))")]


def links(page: Page) -> list[str]:
    return [each.text for each in page.all("#resources a")]


def test_groups_fold_and_the_servers_own_are_first(page: Page, server: DaemonProcess) -> None:
    """Groups of the server come first and are open, those of custom kinds are folded until they are opened or searched;
    favourites are on top; both choices outlast a reload."""
    for group in GROUPS:
        define(server, group, "widgets")
    page.until(lambda: all(server.request("GET", f"/apis/{group}/v1")[0] == 200 for group in GROUPS))
    page.sign_in()
    page.open_list("pods")
    page.until(lambda: set(GROUPS) <= set(headings(page)))
    shown = headings(page)
    assert (
        shown[0] == "core"
        and shown.index("apps") < shown.index(GROUPS[0])
        and shown.index("batch") < shown.index(GROUPS[0])
    )
    assert "pods" in links(page) and "widgets" not in links(page)
    page.all(f'#resources [data-group="{GROUPS[3]}"]')[0].click()
    page.until(lambda: links(page).count("widgets") == 1)
    page.driver.execute_script("document.querySelector('#resources a[aria-current] ~ .like').click()")
    page.until(lambda: headings(page)[0] == "Favourites" and links(page)[0] == "pods")
    page.one("#find").send_keys("widg")
    page.until(lambda: links(page) == ["widgets"] * len(GROUPS))
    page.load()
    page.sign_in()
    page.until(lambda: headings(page)[:2] == ["Favourites", "core"] and links(page).count("widgets") == 1)
    page.driver.execute_script("localStorage.clear()")


def test_the_shown_resource_and_what_was_searched_are_in_sight(page: Page, server: DaemonProcess) -> None:
    """The list scrolls to the resource that is shown, also at its end, and to its beginning when a text is searched."""
    define(server, "zz.example.com", "zebras")
    page.until(lambda: server.request("GET", "/apis/zz.example.com/v1")[0] == 200)
    page.sign_in()
    page.open_list("zebras", group="zz.example.com")
    page.until(lambda: page.driver.execute_script("return " + IN_SIGHT, page.one("#resources a[aria-current]")))
    assert scrolled(page) > 0
    page.one("#find").send_keys("e")
    page.until(lambda: page.driver.execute_script("return " + IN_SIGHT, page.one("#resources .group")))
    assert scrolled(page) == 0


def scrolled(page: Page) -> float:
    """How far the list of resources is scrolled, in pixels."""
    return float(page.driver.execute_script("return document.querySelector('#resources').scrollTop"))


def test_sign_in_says_how_to_get_a_token(page: Page, server: DaemonProcess) -> None:
    """The sign-in page has the commands that make a token."""
    page.until(lambda: page.all("details summary"))
    assert not page.one("details pre").is_displayed()
    page.one("details summary").click()
    assert "orchctl create token viewer" in page.one("details pre").text


def test_many_dependents_are_folded(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Dependents of one kind are one line when they are many, which unfolds by keyboard and by mouse."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    code, owner = server.request("POST", path, {"metadata": {"name": "owner"}})
    assert code == 201
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    for number in range(30):
        body = {"metadata": {"name": f"owned-{number:02}", "ownerReferences": [reference]}}
        assert server.request("POST", path, body)[0] == 201
    page.sign_in()
    page.go(f"#/object/-/configmaps/{namespace}/owner?tab=owners")
    page.until(lambda: any(each.text == "30 of kind ConfigMap" for each in page.all(".tree .node")))
    assert len(page.all(".tree [role=treeitem]")) == 2
    next(each for each in page.all(".tree .node") if each.text == "30 of kind ConfigMap").click()
    page.until(lambda: len(page.all(".tree [role=treeitem]")) == 32)
