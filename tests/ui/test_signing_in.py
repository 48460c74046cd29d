"""Sign-in and sign-out in a browser."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.ui.page import Page


def test_a_wrong_token_is_refused(page: Page) -> None:
    """The form stays open and shows the reason."""
    page.one("#token").send_keys("nobody-token", Keys.ENTER)
    page.until(lambda: "does not accept this token" in page.one("[role=alert]").text)
    assert not page.all(".frame")


def test_a_token_stays_in_memory(page: Page) -> None:
    """The token is in no address and in no storage, so that a reload asks for it again; the user's name is shown."""
    page.sign_in()
    assert page.one(".who").text == "root"
    assert "admin-token" not in page.driver.current_url
    assert (
        page.driver.execute_script("return JSON.stringify([sessionStorage, localStorage, document.cookie])").count(
            "token"
        )
        == 0
    )
    page.driver.refresh()
    page.until(lambda: page.all("#token"))


def test_a_token_can_be_kept_in_the_tab(page: Page) -> None:
    """With the box checked a reload stays signed in; signing out deletes the token."""
    page.one("#keep").click()
    page.sign_in()
    page.driver.refresh()
    page.until(lambda: page.all(".frame"))
    page.until(lambda: next(each for each in page.all("header button") if each.text == "Sign out")).click()
    page.until(lambda: page.all("#token"))
    page.driver.refresh()
    page.until(lambda: page.all("#token"))
    assert not page.all(".frame")


def test_nothing_is_shown_before_sign_in(page: Page) -> None:
    """Without credentials only the form is shown, whatever the address."""
    page.go("#/list/-/namespaces")
    assert not page.all(".grid")
    assert "kube-system" not in page.one("body").text
