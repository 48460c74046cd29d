"""The schema of a kind, with its rules."""

from __future__ import annotations

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.ui.page import Page, config_map

#: The gate is on by default in later releases only.
FLAGS = ("--emulated-version=1.35",)
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def definition(server: DaemonProcess) -> str:
    """The path of a definition on the page. Its rules stand at the root, at a field, and at the items of a list in a
    map."""
    rules = server.dialect("x-{long}-validations")
    item = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 10}},
        rules: [{"rule": "self.name != 'root'", "messageExpression": "'not ' + self.name"}],
    }
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {
                "type": "integer",
                "description": f"How large. {MARKUP}",
                rules: [{"rule": "self <\n  100", "message": f"must be small {MARKUP}"}, {"rule": "self > 0"}],
            },
            "teams": {
                "type": "object",
                "maxProperties": 3,
                "additionalProperties": {"type": "array", "maxItems": 3, "items": item},
            },
        },
    }
    schema = {
        "type": "object",
        "properties": {"spec": spec},
        rules: [{"rule": "has(self.spec)", "message": "spec is required"}],
    }
    group = server.dialect("apiextensions.{abbr}.io")
    code, response = server.request(
        "POST",
        f"/apis/{group}/v1/customresourcedefinitions",
        {
            "metadata": {"name": "ruled.schema.example.com"},
            "spec": {
                "group": "schema.example.com",
                "scope": "Namespaced",
                "names": {"plural": "ruled", "kind": "Ruled"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        },
    )
    assert code == 201, response
    return f"#/object/{group}/customresourcedefinitions/-/ruled.schema.example.com"


def rules(page: Page) -> list[str]:
    return [each.text for each in page.all(".schema .rules > li")]


def test_fields_have_their_types_and_rules(page: Page, definition: str) -> None:
    """Rules stand with the field that they are about, as text; those of items with the list."""
    page.sign_in()
    page.open(definition, "schema")
    assert page.one(".schema h2").text == "schema.example.com/v1 Ruled"
    assert rules(page) == [
        "has(self.spec)\nspec is required",
        f"self <\n  100\nmust be small {MARKUP}",
        "self > 0",
        "each item: self.name != 'root'\n'not ' + self.name",
    ]
    heads = [each.text for each in page.all(".schema .fields > li")]
    assert heads[0].startswith(f"spec object\nfields of spec\nsize integer, required\nHow large. {MARKUP}")
    assert page.one(".schema .fields .fields > li:nth-child(2)").text.startswith("teams map of list of object\n")
    assert not page.all(".schema img")
    # Fields below are made when they are opened.
    assert "name" not in [each.text for each in page.all(".schema .field")]
    page.one(".schema .fields .fields > li:nth-child(2) summary").click()
    page.until(lambda: "name" in [each.text for each in page.all(".schema .field")])


def test_an_object_shows_the_published_schema_of_its_kind(
    page: Page, server: DaemonProcess, namespace: str, definition: str
) -> None:
    """Rules of a custom kind are shown with its objects, and built-in kinds have a schema as well."""
    path = f"/apis/schema.example.com/v1/namespaces/{namespace}/ruled"
    ruled = {"apiVersion": "schema.example.com/v1", "kind": "Ruled", "metadata": {"name": "a"}, "spec": {"size": 1}}
    page.until(lambda: server.request("POST", path, ruled)[0] in (201, 409))
    assert server.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("a", {"x": "1"}))[0] == 201
    page.sign_in()
    page.open(f"#/object/schema.example.com/ruled/{namespace}/a", "schema")
    page.until(lambda: "self > 0" in rules(page))
    assert {"apiVersion", "metadata", "spec", "size"} <= {each.text for each in page.all(".schema .field")}
    page.open(f"#/object/-/configmaps/{namespace}/a", "schema")
    page.until(lambda: page.one(".schema h2").text == "v1 ConfigMap")
    assert {"apiVersion", "data", "immutable"} <= {each.text for each in page.all(".schema .field")}


def test_a_new_object_shows_the_schema_beside_the_editor(page: Page, namespace: str, definition: str) -> None:
    """The text of the editor stays while the schema is shown. A new definition has the schema of definitions."""
    page.sign_in()
    page.go(f"#/new/schema.example.com/ruled?namespace={namespace}")
    page.type_yaml(lambda text: text + "# mine")
    text = page.text("#editor")
    page.one("#tab-schema").click()
    page.until(lambda: "self > 0" in rules(page))
    assert not page.all("#editor")
    page.one("#tab-edit").click()
    assert text.endswith("# mine")
    assert page.text("#editor") == text
    page.go(definition.rpartition("/-/")[0].replace("#/object/", "#/new/"))
    page.one("#tab-schema").click()
    page.until(lambda: page.one(".schema h2").text.endswith("/v1 CustomResourceDefinition"))
