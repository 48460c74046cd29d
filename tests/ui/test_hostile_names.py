"""Markup in names and contents is shown as text."""

from __future__ import annotations

from urllib.parse import quote

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, applied, config_map

MARKUP = "<img src=x onerror=window.attacked=1><script>window.attacked=1<" + "\\" + "script>"


def unharmed(page: Page) -> bool:
    harmless: bool = page.driver.execute_script(
        "return window.attacked === undefined && !document.querySelector('#main img, #main script, header img')"
    )
    return harmless


def test_markup_in_names_is_text(page: Page, server: DaemonProcess) -> None:
    """Roles may have almost any name: markup in it is text in the list, the title and the editor."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    role = {"metadata": {"name": MARKUP}, "rules": []}
    assert server.request("POST", f"/apis/{group}/v1/clusterroles", role)[0] in (201, 409)
    page.sign_in()
    page.open_list("clusterroles", "?text=img", group=group)
    page.until(lambda: MARKUP in page.names())
    assert unharmed(page)
    name = quote(MARKUP, safe="")
    for tab in ("yaml", "edit", "events", "owners", "schema"):
        page.open(f"#/object/{group}/clusterroles/-/{name}", tab)
        page.until(lambda: MARKUP in page.one("h1").text)
        assert unharmed(page)


def test_unseen_characters_are_shown(page: Page, server: DaemonProcess) -> None:
    """A name that reverses the writing direction, or has characters that are drawn as nothing, is distinguishable from
    others: in the list, the title, the YAML, the dialog."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    name = "role-\u202enimda\u200b\u00ad\U000e0041"
    assert server.request("POST", f"/apis/{group}/v1/clusterroles", {"metadata": {"name": name}, "rules": []})[0] in (
        201,
        409,
    )
    page.sign_in()
    page.open_list("clusterroles", "?text=nimda", group=group)
    shown = "role-⟨U+202E⟩nimda⟨U+200B⟩⟨U+00AD⟩⟨U+E0041⟩"
    page.until(lambda: page.names() == [shown])
    page.open(f"#/object/{group}/clusterroles/-/{quote(name, safe='')}")
    page.until(lambda: shown in page.one("h1").text and "\\u202enimda\\u200b\\u00ad" in page.one(".yaml").text)
    assert page.driver.title.startswith(shown)
    page.until(lambda: page.one("#delete").is_enabled())
    page.keys("d")
    page.until(lambda: shown in page.one("dialog h2").text)


def test_markup_in_content_is_text(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Markup in contents is text, also in differences, messages and audit events."""
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


def test_keys_of_prototypes_are_edited_like_others(page: Page, server: DaemonProcess, namespace: str) -> None:
    """The keys __proto__ and constructor of a config map are stored when they are added or changed on the page."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/prototypes"
    applied(server, path, config_map("prototypes", {"constructor": "one"}), "orchd-ui")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/prototypes", "edit")
    page.type_yaml(lambda text: text.replace("constructor: one", "constructor: two\n  __proto__: three"))
    page.one("#apply").click()
    expected = {"constructor": "two", "__proto__": "three"}
    page.until(lambda: server.request("GET", path)[1]["data"] == expected)
    assert unharmed(page)


def test_markup_in_owner_references_is_text(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Owners are named as text, and those of kinds that are not served are no links."""
    reference = {"apiVersion": "javascript:1/v1", "kind": MARKUP, "name": MARKUP, "uid": "javascript:alert(1)"}
    path = f"/api/v1/namespaces/{namespace}/configmaps/owned"
    obj = config_map("owned", {}, ownerReferences=[reference])
    assert server.request("POST", path.rpartition("/")[0], obj)[0] in (201, 409)
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/owned", "owners")
    page.until(lambda: any(MARKUP in each.text for each in page.all(".tree .node")))
    assert all(str(each.get_attribute("href")).startswith(f"{server.url}/ui/") for each in page.all(".tree a"))
    assert unharmed(page)


def test_markup_in_the_address_is_text(page: Page) -> None:
    """A crafted address is shown as text and has no other effect."""
    page.sign_in()
    page.go(f"#/list/-/{quote(MARKUP, safe='')}")
    page.until(lambda: MARKUP in page.one("#main").text)
    page.go(f"#/object/-/configmaps/default/{quote(MARKUP, safe='')}")
    page.until(lambda: MARKUP in page.one("h1").text)
    page.go("#/list/-/configmaps?namespace=..%2F..%2Fsecrets")
    page.until(lambda: page.one("#state").text != "loading")
    assert unharmed(page)


def test_names_of_selectors_are_followed(page: Page, server: DaemonProcess) -> None:
    """A name with the signs of selectors is shown live, and its version and kind stay first."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    name = r"a=b,c\d"
    path = f"/apis/{group}/v1/clusterroles/{quote(name, safe='')}"
    assert server.request("POST", path.rpartition("/")[0], {"metadata": {"name": name}, "rules": []})[0] in (201, 409)
    page.sign_in()
    page.open(f"#/object/{group}/clusterroles/-/{quote(name, safe='')}")
    page.until(lambda: page.one(".state").text == "● live")
    applied(
        server,
        path,
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"labels": {"new": "yes"}}},
        "test",
    )
    page.until(lambda: "new: yes" in page.one(".yaml").text.replace('"', ""))
    assert page.one(".yaml").text.startswith(f"apiVersion: {group}/v1\nkind: ClusterRole\n")


def test_members_of_objects_are_no_views(page: Page) -> None:
    """An address with a name that every object of the language has leads to the first list, and further ones work."""
    page.sign_in()
    for view in ("constructor", "__proto__", "toString/x/y"):
        page.open_list("nodes")
        page.go(f"#/{view}")
        page.until(lambda: page.address().startswith("#/list/"))
        assert page.address() == "#/list/-/pods"
    page.open_list("nodes")
    assert page.one("#title").text.startswith("nodes")


def test_dot_segments_in_names_are_escaped(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A config map named like a dot segment, which browsers remove from paths, does not lead to its namespace."""
    page.sign_in()
    for parts in (f"configmaps/{namespace}/..", "configmaps/../default", f"configmaps/{namespace}/."):
        page.go(f"#/object/-/{parts}")
        page.until(lambda: "no such path" in page.one("#main").text or "404" in page.one("#main").text)
        assert not page.one("#delete").is_enabled()
    page.go("#/list/-/configmaps?namespace=..")
    page.until(lambda: "404" in page.one("#state").text or "no such path" in page.one("#main").text)
    assert server.request("GET", f"/api/v1/namespaces/{namespace}")[0] == 200


def test_hostile_definitions_and_huge_objects_are_harmless(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Columns and descriptions of a definition are text; values of any size and depth do not block the page."""
    hostile = [
        {"name": MARKUP, "type": "string", "jsonPath": ".spec.text", "description": MARKUP},
        {"name": "__proto__", "type": "string", "jsonPath": ".spec.text"},
        {"name": "Link", "type": "string", "jsonPath": ".spec.link"},
        {"name": "When", "type": "date", "jsonPath": ".spec.text"},
        {"name": "Number", "type": "integer", "jsonPath": ".spec.text"},
    ]
    schema = {
        "openAPIV3Schema": {
            "type": "object",
            "description": MARKUP,
            server.dialect("x-{long}-preserve-unknown-fields"): True,
        }
    }
    definition = {
        "metadata": {"name": "traps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "traps", "kind": "Trap", "categories": ["all"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, "additionalPrinterColumns": hostile}],
        },
    }  # fmt: skip
    group = server.dialect("apiextensions.{abbr}.io")
    assert server.request("POST", f"/apis/{group}/v1/customresourcedefinitions", definition)[0] in (201, 409)
    deep: object = MARKUP
    for _ in range(90):
        deep = {"a": [deep]}
    spec = {
        "text": MARKUP + "x" * 1_000_000,
        "link": "javascript:window.attacked=1",
        "deep": deep,
        "__proto__": {"attacked": 1},
    }
    trap = {"apiVersion": "example.com/v1", "kind": "Trap", "metadata": {"name": "trap"}, "spec": spec}
    path = f"/apis/example.com/v1/namespaces/{namespace}/traps"
    page.until(lambda: server.request("POST", path, trap)[0] in (201, 409))
    page.sign_in()
    page.open_list("traps", f"?namespace={namespace}", group="example.com")
    page.until(lambda: "trap" in page.names())
    assert unharmed(page)
    for tab in ("yaml", "edit", "owners", "schema"):
        page.open(f"#/object/example.com/traps/{namespace}/trap", tab)
        page.until(lambda: "trap" in page.one("h1").text)
        assert unharmed(page)
    links = page.driver.execute_script(
        "return [...document.querySelectorAll('[href]')].map((each) => each.getAttribute('href'))"
    )
    assert not [each for each in links if each.lower().startswith("javascript:")]
    page.open_list("namespaces")
    page.until(lambda: namespace in page.names())
