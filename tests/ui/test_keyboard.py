"""The page without a mouse."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from orchd.testing.process import DaemonProcess
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
    page.keys("e")
    page.until(lambda: page.driver.switch_to.active_element.get_attribute("id") == "editor")
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
        found = page.driver.execute_script(
            """const here = document.activeElement, style = getComputedStyle(here);
            return [here.getAttribute('aria-label') || here.id || here.textContent, style.outlineStyle, style.outlineWidth];"""
        )
        seen.add(found[0])
        if found[0] and page.driver.execute_script("return document.activeElement !== document.body"):
            assert found[1] != "none" and found[2] != "0px", found
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
