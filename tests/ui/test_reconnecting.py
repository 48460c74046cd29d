"""The page while its server is unavailable."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.conftest import TOKENS
from tests.ui.page import Page, config_map, hasten

SECOND = 'second-token,root,root-uid,"system:masters"\n'
COLLECTION = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A server that the tests stop and start."""
    folder: Path = tmp_path_factory.mktemp("ui")
    (folder / "tokens.csv").write_text(TOKENS + SECOND)
    with DaemonProcess(
        folder, f"--token-auth-file={folder / 'tokens.csv'}", "--history-duration=1s", dialect=KUBERNETES
    ) as process:
        yield process


def test_list_continues_after_a_restart(page: Page, server: DaemonProcess) -> None:
    """The page shows that the server is unavailable, and afterwards what was created and deleted meanwhile."""
    for name in ("stays", "goes"):
        assert server.request("POST", COLLECTION, config_map(name, {}))[0] == 201
    page.sign_in()
    page.open_list("configmaps", "?namespace=default")
    page.until(lambda: {"stays", "goes"} <= set(page.names()))
    server.terminate()
    page.until(lambda: "trying again" in page.one("#state").text)
    server.start()
    assert server.request("POST", COLLECTION, config_map("later", {}))[0] == 201
    assert server.request("DELETE", f"{COLLECTION}/goes")[0] == 200
    page.until(lambda: page.one("#state").text == "● live")
    page.until(lambda: {"stays", "later"} <= set(page.names()) and "goes" not in page.names())


def test_expired_watch_lists_again(page: Page, server: DaemonProcess) -> None:
    """A watch from an expired version leads to a list, so that no change is missed."""
    page.sign_in()
    page.open_list("configmaps", "?namespace=default")
    # The page's version is no longer in the history of the new process.
    server.kill()
    server.start()
    for at in range(5):
        assert server.request("POST", COLLECTION, config_map(f"new-{at}", {}))[0] == 201
    page.until(lambda: {f"new-{at}" for at in range(5)} <= set(page.names()))


def test_silent_server_is_not_shown_as_live(page: Page, server: DaemonProcess) -> None:
    """A server that holds its connections without responding is detected; afterwards the list continues."""
    page.sign_in()
    page.open_list("configmaps", "?namespace=default")
    hasten(page)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        # As after a change of the network: the page asks at once, not after its time.
        page.driver.execute_script("dispatchEvent(new Event('online'))")
        page.until(lambda: "does not respond since" in page.one("#lost").text)
        page.until(lambda: "trying again" in page.one("#state").text)
        assert "live" not in page.one("#state").text
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert server.request("POST", COLLECTION, config_map("awake", {}))[0] == 201
    page.until(lambda: page.one("#state").text == "● live" and page.one("#lost").text == "")
    page.until(lambda: "awake" in page.names())
    assert page.one("#lost").text == "" and page.one("#state").text == "● live"


def test_edited_text_survives_a_revoked_token(page: Page, server: DaemonProcess) -> None:
    """The page asks for another sign-in; the same user gets the edited text back."""
    assert server.request("POST", COLLECTION, config_map("edited", {"a": "1"}))[0] == 201
    page.sign_in()
    page.open("#/object/-/configmaps/default/edited", "edit")
    page.until(lambda: "live" in page.one(".state").text)
    page.type_yaml(lambda text: text + "  mine: x\n")
    server.terminate()
    tokens = server.folder / "tokens.csv"
    tokens.write_text(SECOND)
    server.start()
    page.until(lambda: "sign in again" in page.one("[role=alert]").text)
    assert page.driver.title.startswith("Sign in")
    page.one("#token").send_keys("second-token", Keys.ENTER)
    page.until(lambda: page.one("#restored").is_displayed())
    assert "mine: x" in page.text("#editor")
    page.one("#discard").click()
    page.until(lambda: "mine" not in page.text("#editor") and not page.one("#restored").is_displayed())
