"""The page without a mouse."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, applied, config_map


def test_every_task_works_by_keyboard(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Sign-in, search, filter, open, edit, store and delete work with the keyboard alone."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/walked"
    applied(server, path, config_map("walked", {"a": "b"}), "deploy")
    page.keys("admin-token", Keys.ENTER)
    page.until(lambda: page.all(".grid"))
    page.keys("r")
    page.keys("cm", Keys.ENTER)
    page.until(lambda: page.one("#title").text.startswith("configmaps"))
    page.until(lambda: "walked" in page.names())
    page.keys("/")
    page.keys("walked", Keys.ESCAPE)
    page.until(lambda: page.names() == ["walked"])
    page.keys(Keys.END, Keys.HOME, Keys.ENTER)
    page.until(lambda: page.all(".yaml"))
    # Back to the same list with the same filter, and to the object again.
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.names() == ["walked"] and page.text("#text") == "walked")
    page.keys(Keys.ENTER)
    page.until(lambda: page.all(".yaml"))
    assert page.driver.title == f"walked · ConfigMap in {namespace} · orchd"
    page.keys("e")
    # It has the focus before the object's text, until which it does not take any.
    ready = "const at = document.activeElement; return at.id === 'editor' && !at.readOnly && at.value !== ''"
    page.until(lambda: page.driver.execute_script(ready))
    # Ctrl+End belongs to the browser; the text ends with a line break, so that typed text follows the data.
    page.driver.execute_script("document.activeElement.setSelectionRange(1e9, 1e9)")
    page.keys("  typed: here")
    while page.driver.switch_to.active_element.get_attribute("id") != "apply":
        page.keys(Keys.TAB)
    page.keys(Keys.ENTER)
    page.until(lambda: page.all("#stored"))
    assert server.request("GET", path)[1]["data"] == {"a": "b", "typed": "here"}
    page.keys("d")
    page.until(lambda: page.all("dialog[open]"))
    while page.driver.switch_to.active_element.get_attribute("id") != "confirm-delete":
        page.keys(Keys.TAB)
    page.keys(Keys.ENTER)
    page.until(lambda: server.request("GET", path)[0] == 404)


def test_focus_is_visible_and_reaches_everything(page: Page) -> None:
    """Tab reaches the skip link, the links, the search, the filters and the table; each shows its focus."""
    page.sign_in()
    page.open_list("namespaces")
    page.driver.execute_script("document.activeElement.blur()")
    seen = set()
    for _ in range(40):
        page.keys(Keys.TAB)
        focus = page.driver.execute_script(
            """const here = document.activeElement, style = getComputedStyle(here);
            return [here.getAttribute('aria-label') || here.id || here.textContent, style.outlineStyle, style.outlineWidth];"""
        )
        seen.add(focus[0])
        if focus[0] and page.driver.execute_script("return document.activeElement !== document.body"):
            assert focus[1] != "none" and focus[2] != "0px", focus
    assert {"Skip to the content", "Nodes", "Metrics", "Help", "Sign out", "Find a resource"} <= seen


def test_help_lists_the_shortcuts(page: Page) -> None:
    """The help opens with ? and closes with Escape; shortcuts can be disabled."""
    page.sign_in()
    page.open_list("namespaces")
    page.keys("?")
    text = page.one("dialog.help").text
    assert "filter by text" in text and "nodes" in text
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all("dialog"))
    page.keys("n")
    page.until(lambda: page.driver.current_url.endswith("#/nodes"))


def test_accessibility_roles(page: Page) -> None:
    """The table is a grid with row and column counts and one selected row; the number of rows is announced."""
    page.sign_in()
    page.open_list("namespaces")
    page.until(lambda: len(page.rows()) >= 4)
    grid = page.one("[role=grid]")
    assert int(grid.get_attribute("aria-rowcount") or "") == len(page.rows()) + 1
    page.keys(Keys.ARROW_DOWN)
    page.until(lambda: page.one("[aria-selected=true]").get_attribute("aria-rowindex") == "3")
    assert page.one("[aria-selected=true]").get_attribute("id") == grid.get_attribute("aria-activedescendant")


#: Roles of what can be used or is looked for by its name.
NAMED = {
    "button", "checkbox", "columnheader", "combobox", "dialog", "figure", "grid", "image", "link", "main", "navigation",
    "region", "searchbox", "tab", "tabpanel", "textbox", "tree", "treeitem",
}  # fmt: skip


def nameless(page: Page) -> list[str]:
    """Roles of the elements without a name, as assistive technology receives them."""
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [each["role"]["value"] for each in nodes if not each["ignored"] and not each.get("name", {}).get("value")]
    return [role for role in roles if role in NAMED]


def test_every_control_has_a_name(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Every control in each view and dialog has an accessible name; titles differ between views."""
    applied(server, f"/api/v1/namespaces/{namespace}/configmaps/named", config_map("named", {"a": "b"}), "deploy")
    assert nameless(page) == []
    page.sign_in()
    page.open_list("namespaces")
    page.until(lambda: page.all("#resources li"))
    assert nameless(page) == []
    titles = {page.driver.title}
    for tab, there in (("yaml", ".yaml"), ("edit", "#editor"), ("events", ".grid"), ("owners", "[role=treeitem]")):
        page.open(f"#/object/-/configmaps/{namespace}/named", tab)
        page.one(f"#tabpanel {there}")
        assert nameless(page) == [], tab
    titles.add(page.driver.title)
    page.keys("d")
    page.until(lambda: page.all("dialog[open]"))
    assert nameless(page) == []
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all("dialog"))
    for view in ("nodes", "audit", "metrics"):
        page.go(f"#/{view}")
        page.one(f'main[data-view="{view}"]')
        assert nameless(page) == [], view
        titles.add(page.driver.title)
    assert len(titles) == 5


def test_focus_stays_where_it_was_used(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A heading keeps the focus when it sorts, a button while its request runs; a table returns the focus to its active
    row."""
    for name in ("one", "two"):
        applied(server, f"/api/v1/namespaces/{namespace}/configmaps/{name}", config_map(name, {"a": "b"}), "deploy")
    page.sign_in()
    page.open_list("configmaps", f"?namespace={namespace}&text=o")
    page.until(lambda: {"one", "two"} <= set(page.names()))
    page.keys(Keys.TAB, Keys.ENTER, Keys.ENTER)
    page.until(lambda: page.one("[role=columnheader]").get_attribute("aria-sort") == "descending")
    assert page.driver.switch_to.active_element.text == "Name ▼"
    order = page.names()
    page.keys("c", Keys.END, Keys.ENTER)
    page.until(lambda: page.all(".yaml"))
    page.driver.back()
    page.until(lambda: page.names() == order and page.one("[aria-selected=true]").text.startswith(order[-1]))
    page.open(f"#/object/-/configmaps/{namespace}/one", "edit")
    page.type_yaml(lambda text: text + "  more: x\n")
    page.driver.execute_script("document.getElementById('dry-run').focus()")
    page.keys(Keys.ENTER)
    page.until(lambda: page.all(".diff .add"))
    assert page.driver.switch_to.active_element.get_attribute("id") == "dry-run"
    # Signing out would lose the text, so it asks.
    page.driver.execute_script("[...document.querySelectorAll('header button')].pop().focus()")
    page.keys(Keys.ENTER)
    page.until(lambda: page.all("dialog[open]"))
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.driver.switch_to.active_element.text == "Sign out")


def test_an_event_opens_in_full(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Enter shows the whole message that its column truncates; Escape returns to the table."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/told"
    uid = applied(server, path, config_map("told", {}), "deploy")["metadata"]["uid"]
    message = " ".join(["long"] * 200) + " end"
    event = {
        "metadata": {"name": "told.1", "namespace": namespace}, "reason": "Told", "message": message, "type": "Normal",
        "involvedObject": {"kind": "ConfigMap", "namespace": namespace, "name": "told", "uid": uid},
    }  # fmt: skip
    assert server.request("POST", f"/api/v1/namespaces/{namespace}/events", event)[0] in (201, 409)
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/told", "events")
    page.until(page.rows)
    page.keys("c", Keys.ENTER)
    page.until(lambda: page.driver.switch_to.active_element.get_attribute("id") == "detail")
    page.until(lambda: "long end" in page.one("#detail").text)
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.driver.switch_to.active_element.get_attribute("role") == "grid")
