"""The editor in a browser: dry run, conflict, replacement, deletion, creation."""

from __future__ import annotations

import re
from functools import partial

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, applied, config_map


def path_of(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def test_a_dry_run_shows_the_difference_and_stores_nothing(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Apply after the dry run stores the edit; the page then owns the fields that it changed, and no others."""
    path = path_of(namespace, "settings")
    applied(server, path, config_map("settings", {"colour": "red", "size": "big"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/settings", "edit")
    page.type_yaml(lambda text: text.replace("\ndata:\n", "\ndata:\n  shape: round\n"))
    page.one("#dry-run").click()
    added = page.until(lambda: [each.text for each in page.all(".diff .add")])
    assert added == ["+   shape: round"]
    assert page.all(".diff .del") == []
    assert "shape" not in server.request("GET", path)[1]["data"]
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    stored = server.request("GET", path)[1]
    assert stored["data"] == {"colour": "red", "size": "big", "shape": "round"}
    own = [entry for entry in stored["metadata"]["managedFields"] if entry["manager"] == "orchd-ui"]
    assert [entry["fieldsV1"] for entry in own] == [{"f:data": {"f:shape": {}}}]


def test_conflict_names_owner_and_field(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A conflicting edit is stored only after the user forces it."""
    path = path_of(namespace, "owned")
    applied(server, path, config_map("owned", {"colour": "red"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/owned", "edit")
    page.type_yaml(lambda text: text.replace("colour: red", "colour: blue"))
    page.one("#apply").click()
    row = page.until(lambda: page.all("#conflicts tbody tr"))[0]
    assert ".data.colour" in row.text and "deploy" in row.text
    assert server.request("GET", path)[1]["data"] == {"colour": "red"}
    page.one("#force").click()
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    assert server.request("GET", path)[1]["data"] == {"colour": "blue"}


def test_apply_keeps_fields_of_other_managers(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Apply keeps these fields and names their managers."""
    path = path_of(namespace, "shared")
    applied(server, path, config_map("shared", {"colour": "red", "size": "big"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/shared", "edit")
    page.type_yaml(lambda text: text.replace("  size: big\n", ""))
    page.one("#dry-run").click()
    page.until(lambda: ".data.size" in page.one("#kept").text and "deploy" in page.one("#kept").text)
    page.one("#replace").click()
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    assert server.request("GET", path)[1]["data"] == {"colour": "red"}


def test_apply_removes_the_pages_own_fields(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Fields that only the page owns are removed when the edit omits them."""
    path = path_of(namespace, "mine")
    applied(server, path, config_map("mine", {"colour": "red"}), "deploy")
    applied(server, path, {**config_map("mine", {"size": "big"})}, "orchd-ui")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/mine", "edit")
    page.type_yaml(lambda text: text.replace("  size: big\n", ""))
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    assert not page.all("#kept")
    assert server.request("GET", path)[1]["data"] == {"colour": "red"}


def test_keyed_list_items_are_applied_individually(page: Page, server: DaemonProcess, namespace: str) -> None:
    """An edit of one container's image claims only that container; the others keep their managers."""
    container = {"image": "example.com/a:1", "resources": {"limits": {"cpu": "1"}}}
    spec = {
        "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "one", **container}, {"name": "two", **container}]},
        },
    }  # fmt: skip
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    applied(
        server,
        path,
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec},
        "deploy",
    )
    page.sign_in()
    page.open(f"#/object/apps/deployments/{namespace}/web", "edit")
    page.type_yaml(lambda text: re.sub(r"( +)- name: two\n", r"\1- name: two\n\1  tty: true\n", text))
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    entries = server.request("GET", path)[1]["metadata"]["managedFields"]
    own = next(entry["fieldsV1"] for entry in entries if entry["manager"] == "orchd-ui")
    containers = own["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert containers == {'k:{"name":"two"}': {".": {}, "f:name": {}, "f:tty": {}}}


def test_a_definition_is_applied(page: Page, server: DaemonProcess) -> None:
    """A definition whose schema has items, additionalProperties and defaults is edited, compared and applied. Its
    versions are one field, owned by whoever applied them: the edit is a conflict until it is forced."""
    group = server.dialect("apiextensions.{abbr}.io")
    path = f"/apis/{group}/v1/customresourcedefinitions/gears.edited.example.com"
    string = {"type": "string"}
    properties = {
        "tags": {"type": "array", "items": string},
        "labels": {"type": "object", "additionalProperties": string},
        "open": {"type": "object", "additionalProperties": True},
        "teeth": {"type": "integer", "default": 12},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    definition = {
        "apiVersion": f"{group}/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gears.edited.example.com"},
        "spec": {
            "group": "edited.example.com", "scope": "Namespaced", "names": {"plural": "gears", "kind": "Gear"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }  # fmt: skip
    applied(server, path, definition, "deploy")
    page.sign_in()
    page.open(f"#/object/{group}/customresourcedefinitions/-/gears.edited.example.com", "edit")
    page.type_yaml(lambda text: re.sub(r"( +)tags:\n", r"\1note:\n\1  type: string\n\1tags:\n", text, count=1))
    page.one("#dry-run").click()
    assert page.until(lambda: [each.text.split() for each in page.all(".diff .add")]) == [
        ["+", "note:"],
        ["+", "type:", "string"],
    ]
    assert ".spec.versions" in page.one("#conflicts").text
    page.one("#force").click()
    page.one("#apply").click()
    page.until(lambda: page.all("#stored"))
    stored = server.request("GET", path)[1]
    fields = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert fields == {**properties, "note": string}
    own = [entry["fieldsV1"] for entry in stored["metadata"]["managedFields"] if entry["manager"] == "orchd-ui"]
    assert own == [{"f:spec": {"f:versions": {}}}]


def test_invalid_yaml_is_reported_with_its_line(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Nothing is stored, and the line is selected; a duplicate key and a second document are no value either."""
    applied(server, path_of(namespace, "plain"), config_map("plain", {"a": "b"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/plain", "edit")
    page.until(lambda: page.text("#editor"))
    valid = page.text("#editor")
    last = valid.count("\n") + 1

    def add(added: str, text: str) -> str:
        return valid + added

    def tells(words: str) -> bool:
        return words in page.one("#problem").text

    for added, line in (("  broken: [\n", last), ("  a: c\n", last), ("---\na: b\n", last), ("  b: c: d\n", last)):
        page.type_yaml(partial(add, added))
        page.one("#apply").click()
        page.until(partial(tells, f"line {line}: "))
        assert page.one("#editor").get_attribute("aria-invalid") == "true"
        selected = page.driver.execute_script(
            "const e = arguments[0]; return e.value.slice(e.selectionStart, e.selectionEnd)", page.one("#editor")
        )
        assert selected == added.split("\n")[0]
    assert server.request("GET", path_of(namespace, "plain"))[1]["data"] == {"a": "b"}


def test_concurrent_change_keeps_the_edited_text(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Edited text stays, with a note; unedited text follows the change."""
    path = path_of(namespace, "moving")
    applied(server, path, config_map("moving", {"a": "1"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/moving", "edit")
    page.until(lambda: "live" in page.one(".state").text)
    applied(server, path, config_map("moving", {"a": "2"}), "deploy")
    page.until(lambda: 'a: "2"' in page.text("#editor"))
    page.type_yaml(lambda text: text + "  mine: x\n")
    applied(server, path, config_map("moving", {"a": "3"}), "deploy")
    page.until(lambda: page.one("#stale").is_displayed())
    assert "mine: x" in page.text("#editor")
    page.one("#reload").click()
    page.until(lambda: 'a: "3"' in page.text("#editor"))


def test_deletion_needs_confirmation(page: Page, server: DaemonProcess, namespace: str) -> None:
    """Cancel keeps the object; Delete deletes it and returns to the list."""
    path = path_of(namespace, "short-lived")
    applied(server, path, config_map("short-lived", {}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/short-lived")
    page.until(lambda: page.one("#delete").is_enabled())
    page.one("#delete").click()
    page.one("#cancel-delete").click()
    assert server.request("GET", path)[0] == 200
    page.one("#delete").click()
    page.one("#confirm-delete").click()
    page.until(lambda: server.request("GET", path)[0] == 404)
    page.until(lambda: "#/list/-/configmaps" in page.driver.current_url)


def test_new_object_is_created_by_apply(page: Page, server: DaemonProcess, namespace: str) -> None:
    """A new object is created by server-side apply and then shown."""
    page.sign_in()
    page.go(f"#/new/-/configmaps?namespace={namespace}")
    page.until(lambda: page.all("#editor"))
    page.type_yaml(lambda text: text.replace('name: ""', "name: fresh") + "data:\n  a: b\n")
    page.one("#apply").click()
    page.until(lambda: page.one("h1").text.startswith("fresh"))
    assert server.request("GET", path_of(namespace, "fresh"))[1]["data"] == {"a": "b"}


def test_apply_creates_nothing_in_place_of_a_deleted_object(page: Page, server: DaemonProcess, namespace: str) -> None:
    """An edit applies only to an existing object; "New" does not change existing ones."""
    path = path_of(namespace, "fleeting")
    applied(server, path, config_map("fleeting", {"a": "1"}), "deploy")
    page.sign_in()
    page.open(f"#/object/-/configmaps/{namespace}/fleeting", "edit")
    page.until(lambda: "live" in page.one(".state").text)
    page.type_yaml(lambda text: text + "  mine: x\n")
    assert server.request("DELETE", path)[0] == 200
    page.until(lambda: page.one(".state").text == "deleted")
    page.one("#apply").click()
    page.until(lambda: "no existing object was found" in page.one("#problem").text)
    assert server.request("GET", path)[0] == 404
    applied(server, path, config_map("fleeting", {"a": "2"}), "deploy")
    page.until(lambda: "live" in page.one(".state").text and page.one("#stale").is_displayed())
    assert "mine: x" in page.text("#editor")
    page.go(f"#/new/-/configmaps?namespace={namespace}")
    page.until(lambda: page.one("h1").text == "New ConfigMap")
    page.type_yaml(lambda text: text.replace('name: ""', "name: fleeting") + "data:\n  a: b\n")
    page.one("#apply").click()
    page.until(lambda: "exists already" in page.one("#problem").text)
    assert server.request("GET", path)[1]["data"] == {"a": "2"}
