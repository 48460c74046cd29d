"""Access to the page in a browser, for tests."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from orchd.testing.processes.daemon import PATIENCE, DaemonProcess

T = TypeVar("T")

#: Seconds between checks of the page.
STEP = 0.05
_LOADS = itertools.count(1)


class Page:
    """The page in the browser. `until` waits for conditions; nothing sleeps."""

    def __init__(self, driver: Any, server: DaemonProcess) -> None:
        self.driver = driver
        self.server = server

    @property
    def url(self) -> str:
        return f"{self.server.url}/ui/"

    def load(self) -> None:
        """Reload the page, signed out."""
        # Runs before the page's own scripts.
        clear = {"source": "if (location.protocol === 'https:') sessionStorage.clear()"}
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", clear)
        # What the page of the test before has written since that test ended.
        self.driver.get_log("browser")
        # A new query, since an address that differs in its fragment alone is not loaded again. Leaving for an empty
        # page in between would cost a process of the browser each time.
        self.driver.get(f"{self.url}?load={next(_LOADS)}")
        self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        self.until(lambda: self.all("#token"))

    def sign_in(self, token: str = "admin-token", then: str = "#/list/-/pods") -> None:
        self.driver.execute_script("location.hash = arguments[0]", then)
        self.one("#token").send_keys(token, Keys.ENTER)
        self.until(lambda: self.all(".frame"))

    def go(self, address: str) -> None:
        """Show the view with this address, which begins with #."""
        self.driver.execute_script("location.hash = arguments[0]", address)

    def address(self) -> str:
        """The address of the view, which begins with #."""
        return str(self.driver.execute_script("return location.hash"))

    def open_list(self, resource: str, query: str = "", group: str = "-") -> None:
        """Show a list, and wait until it is complete and live."""
        self.go(f"#/list/{group}/{resource}{query}")
        self.until(lambda: self.one("#title").text.startswith(resource) and self.one("#state").text == "● live")

    def all(self, selector: str) -> list[WebElement]:
        elements: list[WebElement] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return elements

    def one(self, selector: str) -> WebElement:
        """The element, once it exists."""
        element: WebElement = self.until(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))
        return element

    def text(self, selector: str) -> str:
        """The text of a form field."""
        return str(self.one(selector).get_property("value"))

    def until(self, fact: Callable[[], T]) -> T:
        """The first true value of `fact`. A missing or stale element does not count as a value."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := fact():
                    return found
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            assert time.monotonic() < end, f"never: {self.driver.find_element(By.TAG_NAME, 'body').text[:2000]}"
            time.sleep(STEP)

    def rows(self, grid: str = ".grid") -> list[list[str]]:
        """Texts of the cells of the visible rows, from top to bottom; empty without a grid."""
        cells: list[list[str]] = self.driver.execute_script(
            """const rows = [...document.querySelector(arguments[0])?.querySelectorAll('.rows .row') ?? []].filter((row) => !row.hidden);
            rows.sort((one, other) => one.getAttribute('aria-rowindex') - other.getAttribute('aria-rowindex'));
            return rows.map((row) => [...row.children].map((cell) => cell.textContent));""",
            grid,
        )
        return cells

    def names(self) -> list[str]:
        """The Name column of the visible rows."""
        heads: list[str] = self.driver.execute_script(
            "return [...document.querySelectorAll('.head .cell')].map((cell) => cell.textContent.replace(/ [▲▼]$/, ''))"
        )
        return [row[heads.index("Name")] for row in self.rows()] if "Name" in heads else []

    def keys(self, *keys: str) -> None:
        """Press keys on the focused element."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def type_yaml(self, change: Callable[[str], str]) -> None:
        """Replace the text of the editor, once the server has written it."""
        self.until(lambda: self.text("#editor"))
        editor = self.one("#editor")
        text = change(self.text("#editor"))
        self.driver.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", editor, text
        )

    def open(self, address: str, tab: str = "") -> None:
        """Show an object, and one of its tabs."""
        self.go(f"{address}?tab={tab}" if tab else address)
        self.until(
            lambda: self.all(".tabs") and not any("Loading" in each.text for each in self.all("#tabpanel .note"))
        )


def hasten(page: Page) -> None:
    """Let the page's timers run out twenty times sooner until it is loaded again; not for pictures, whose plots show
    real time."""
    if "ORCHD_SCREENSHOTS" not in os.environ:
        page.driver.execute_script(
            "const later = window.setTimeout; window.setTimeout = (call, wait, ...given) => later(call, wait / 20, ...given)"
        )


def config_map(name: str, data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def applied(server: DaemonProcess, path: str, obj: Any, manager: str) -> Any:
    """Apply an object as `manager`."""
    code, response = server.request(
        "PATCH", f"{path}?fieldManager={manager}", json.dumps(obj).encode(), content_type="application/apply-patch+yaml"
    )
    assert code in (200, 201), response
    return response
