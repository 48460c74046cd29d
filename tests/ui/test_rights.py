"""A user with few permissions: the page shows what is allowed and reports what is not."""

from __future__ import annotations

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, applied, config_map


def allow(server: DaemonProcess, namespace: str, *verbs: str) -> None:
    """The user "few" may read config maps in one namespace."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    base = f"/apis/{group}/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs or ["get", "list", "watch"]}
    assert server.request("POST", f"{base}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})[0] in (201, 409)
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": "few"}],
    }
    assert server.request("POST", f"{base}/rolebindings", binding)[0] in (201, 409)


def test_actions_follow_the_users_permissions(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Permitted reads work; changes, other resources and other views are disabled."""
    allow(server, namespace)
    applied(server, f"/api/v1/namespaces/{namespace}/configmaps/seen", config_map("seen", {"a": "b"}), "deploy")
    page.sign_in("few-token")
    assert page.one(".who").text == "few"
    page.open_list("configmaps", f"?namespace={namespace}")
    page.until(lambda: "seen" in page.names())
    page.until(lambda: [each.text for each in page.all("#resources a:not(.denied)") if each.text == "configmaps"])
    assert any(each.text == "secrets" for each in page.all("#resources a.denied"))
    assert [each.text for each in page.all("header nav a") if each.is_displayed()] == []
    assert not any(each.is_displayed() for each in page.all(".bar a.button"))
    page.open(f"#/object/-/configmaps/{namespace}/seen", "edit")
    page.until(lambda: "may not change" in page.one("#problem").text)
    assert not page.one("#apply").is_enabled() and not page.one("#delete").is_enabled()


def test_forbidden_lists_are_reported(page: Page) -> None:
    """The server's message names the missing permission, and no view shows data."""
    page.sign_in("few-token")
    page.go("#/list/-/secrets")
    page.until(lambda: 'cannot list resource "secrets"' in page.one("#state").text)
    # The message replaces the rows; an empty table would mean that there are none.
    page.until(lambda: 'cannot list resource "secrets"' in page.one(".grid .empty").text)
    assert "choose it above" in page.one(".grid .empty").text
    page.go("#/nodes")
    page.until(lambda: ["is forbidden" in each.text for each in page.all(".grid .empty")] == [True] * 2)
    for view in ("metrics", "audit"):
        page.go(f"#/{view}")
        page.until(lambda: "may not read" in page.one("#state").text)
        assert not any(each.is_displayed() for each in page.all(".grid .row:not(.head), .plots"))


def test_removed_permission_hides_the_rows(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Rows without read permission are hidden; when the permission is restored, the user can retry."""
    allow(server, namespace)
    applied(server, f"/api/v1/namespaces/{namespace}/configmaps/seen", config_map("seen", {}), "deploy")
    page.sign_in("few-token")
    page.open_list("configmaps", f"?namespace={namespace}")
    page.until(lambda: "seen" in page.names())
    binding = f"/apis/{server.dialect('rbac.authorization.{abbr}.io')}/v1/namespaces/{namespace}/rolebindings/reader"
    assert server.request("DELETE", binding)[0] == 200
    # A running watch goes on; the page takes it up again after it was out of sight.
    again = "dispatchEvent(new Event('pagehide')); dispatchEvent(new Event('pageshow'))"
    page.until(lambda: page.driver.execute_script(again) or "cannot watch resource" in page.one(".grid .empty").text)
    assert page.names() == []
    allow(server, namespace)
    page.until(lambda: page.one("#state .again")).click()
    page.until(lambda: "seen" in page.names())


def test_reading_alone_shows_the_object(page: Page, server: DaemonProcess, namespace: str) -> None:
    """With "get" alone an object is shown, is not marked as live, and can be reloaded; the error for a missing one
    names it."""
    allow(server, namespace, "get")
    path = f"/api/v1/namespaces/{namespace}/configmaps/seen"
    applied(server, path, config_map("seen", {"a": "1"}), "deploy")
    page.sign_in("few-token")
    page.open(f"#/object/-/configmaps/{namespace}/seen")
    page.until(lambda: "may not watch" in page.one(".state").text)
    assert "● live" not in page.one(".state").text and 'a: "1"' in page.one(".yaml").text
    applied(server, path, config_map("seen", {"a": "2"}), "deploy")
    page.one(".state .again").click()
    page.until(lambda: 'a: "2"' in page.one(".yaml").text)
    assert 'a: "1"' not in page.one(".yaml").text
    page.go(f"#/object/-/configmaps/{namespace}/none")
    page.until(lambda: 'configmaps "none" not found' in page.one("#tabpanel [role=alert]").text)
