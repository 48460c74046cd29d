"""The OpenAPI v2 document: every recorded path and definition, and no dangling reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.ir import Field, Type
from orchd.kinds.openapi import parameters as par
from orchd.kinds.openapi import v3
from orchd.kinds.openapi.descriptions.common import FIELDS
from orchd.kinds.openapi.descriptions.lookup import TABLES, Descriptions
from orchd.kinds.openapi.v2 import document
from orchd.kinds.release import RELEASES, SPECIFICATION, Release
from orchd.kinds.rows import Subresource

Load = Callable[[str], Any]
#: Fields of later releases, which the recorded types do not have.
LATER: dict[str, dict[str, Any]] = {
    "apiextensions/v1.CustomResourceDefinitionVersion": {"selectableFields": {"lt": "atomic"}},
    "apiextensions/v1.ValidationRule": {
        "messageExpression": {"t": "string"},
        "reason": {"t": "string"},
        "fieldPath": {"t": "string"},
        "optionalOldSelf": {"t": "boolean"},
    },
}
INTERNAL = "internal.apiserver"
UNMERGED = ("policy/v1beta1.PodDisruptionBudgetSpec", "selector")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    removed = {(ORCH(f"{name}.{{abbr}}.io"), "v1beta1") for name in ("admissionregistration", "apiextensions")}
    return builtin_catalog(
        ORCH, enabled=lambda group, version, _: not group.startswith("internal.") and (group, version) not in removed
    )


@pytest.fixture(scope="module")
def whole(catalog: Catalog) -> Any:
    return document(catalog)


def _names(parameters: Any) -> list[str]:
    return sorted(f"{p['name']}:{p['in']}" for p in parameters)


def _recorded_form(path: str, item: Any, lists: Any) -> Any:
    """A path item in the short form of the recordings."""
    out: dict[str, Any] = {"path": path}
    if "parameters" in item:
        out["params"] = _names(item["parameters"])
    for method, operation in item.items():
        if method == "parameters":
            continue
        entry: dict[str, Any] = {"id": operation["operationId"]}
        if ORCH("x-{long}-action") in operation:
            entry["action"] = operation[ORCH("x-{long}-action")]
        gvk = operation.get(ORCH("x-{long}-group-version-kind"))
        if gvk is not None:
            entry["gvk"] = "/".join(part for part in (gvk["group"], gvk["version"], gvk["kind"]) if part)
        entry["params"] = lists["params"].index(_names(operation.get("parameters", ())))
        entry["responses"] = {
            code: None
            if "schema" not in response
            else response["schema"].get("$ref", "").removeprefix("#/definitions/") or response["schema"]["type"]
            for code, response in operation["responses"].items()
        }
        for key in ("consumes", "produces", "schemes", "tags"):
            if key in operation:
                entry[key] = lists[key].index(operation[key])
        out[method] = entry
    return out


def test_paths_are_the_recorded_ones(whole: Any, reference: Load) -> None:
    """The paths, with operations, parameters, media types, responses and tags, are exactly the recorded ones."""
    recorded = reference("openapi_paths")
    want = [entry for entry in recorded["paths"] if INTERNAL not in entry["path"]]
    for entry in want:
        assert _recorded_form(entry["path"], whole["paths"][entry["path"]], recorded["lists"]) == entry
    assert set(whole["paths"]) == {entry["path"] for entry in want}
    assert list(whole["paths"]) == sorted(whole["paths"])
    for key in ("swagger", "security", "securityDefinitions"):
        assert whole[key] == recorded["info"][key]
    assert whole["info"]["title"] == recorded["info"]["title"]


def test_definitions_are_the_recorded_ones(whole: Any, reference: Load) -> None:
    """Every published type has its fields, required members and extensions."""
    types = {t["id"]: t for t in reference("types")["types"]}
    definitions = whole["definitions"]
    for type_ in types.values():
        name = type_.get("def")
        if not name or "apiserverinternal" in name:
            continue
        schema = definitions[name]
        if "type" not in schema:
            assert type_["id"].startswith("apiextensions/v1.JSONSchemaPropsOr")
            continue
        fields = dict(_fields(type_, types))
        if type_.get("kind"):
            fields |= {"apiVersion": {}, "kind": {}}
        fields |= LATER.get(type_["id"], {})
        properties = schema.get("properties", {})
        assert set(properties) == set(fields), name
        assert set(schema.get("required", ())) == {n for n, f in fields.items() if f.get("r")}, name
        for field_name, field in fields.items():
            got = properties[field_name]
            assert got.get(ORCH("x-{long}-patch-merge-key")) == field.get("pk"), (name, field_name)
            # The recordings have the description of the other version here; the reference's own type has none.
            strategy = "" if (type_["id"], field_name) == UNMERGED else field.get("ps")
            assert _words(got.get(ORCH("x-{long}-patch-strategy"))) == _words(strategy), (name, field_name)
            assert got.get(ORCH("x-{long}-list-type")) == field.get("lt"), (name, field_name)
        assert schema.get(ORCH("x-{long}-map-type")) == type_.get("mt"), name
        if type_.get("gvk"):
            gvk = schema[ORCH("x-{long}-group-version-kind")][0]
            assert "/".join(part for part in (gvk["group"], gvk["version"], gvk["kind"]) if part) == type_["gvk"]


def _words(text: str | None) -> set[str]:
    return set((text or "").split(",")) - {""}


def _fields(type_: Any, types: Any) -> Iterator[tuple[str, Any]]:
    for field in type_["fields"]:
        if "inline" in field:
            yield from _fields(types[field["inline"]], types)
        else:
            yield field["n"], field


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def test_every_reference_resolves(whole: Any) -> None:
    """Every reference names a definition, and every definition is referenced or a top-level object."""
    names = {ref.removeprefix("#/definitions/") for ref in _references(whole)}
    assert names <= set(whole["definitions"])
    for name in set(whole["definitions"]) - names:
        assert ORCH("x-{long}-group-version-kind") in whole["definitions"][name], name


def test_operation_ids_are_unique(whole: Any) -> None:
    """No two operations have the same id."""
    ids = [o["operationId"] for item in whole["paths"].values() for m, o in item.items() if m != "parameters"]
    assert len(ids) == len(set(ids))


def test_document_follows_the_dialect() -> None:
    """Extensions, definitions and media types are spelled in the dialect in force."""
    text = orjson.dumps(document(builtin_catalog(KUBERNETES))).decode().lower()
    assert KUBERNETES("x-{long}-action") in text
    assert KUBERNETES("io.{abbr}.api.core.v1.Pod").lower() in text
    assert ORCH.long not in text.replace("orchestrat", "")


def _custom(type_: Type, **more: Any) -> Resource:
    return Resource(
        group="stable.example.com",
        version="v1",
        kind="Foo",
        plural="foos",
        singular="foo",
        type=type_,
        namespaced=True,
        custom=True,
        storage_version="stable.example.com/v1",
        key="stable.example.com/foos",
        list_kind="FooList",
        subresources={
            "status": Subresource(name="status", kind="Foo", verbs=("get", "patch", "update")),
            "scale": Subresource(
                name="scale", kind="Scale", verbs=("get", "patch", "update"), group="autoscaling", version="v1"
            ),
        },
        **more,
    )


SPEC = Type(
    "struct",
    members=(
        Field("replicas", Type("int64", constraints={"minimum": 0, "format": "int32"}), default=1),
        Field("port", Type("int-or-string")),
        Field("maybe", Type("string", nullable=True, constraints={"description": "d"})),
        Field("open", Type("struct", members=(), preserve_unknown=True)),
        Field("labels", Type("map", element=Type("string"))),
        Field(
            "items",
            Type(
                "list",
                list_type="map",
                list_keys=("name",),
                element=Type("struct", members=(Field("name", Type("string"), required=True),)),
            ),
        ),
        Field("choice", Type("string", enum=("a", "b"), constraints={"anyOf": [{"minLength": 1}]})),
        Field("template", Type("struct", members=(), embedded_resource=True, preserve_unknown=True)),
    ),
)


def test_custom_kind_has_paths_and_definitions(catalog: Catalog) -> None:
    """A custom kind has paths and definitions; what v2 cannot represent is omitted there but present in v3."""
    type_ = Type(
        "struct",
        members=(Field("spec", SPEC, required=True),),
        constraints={"description": "A Foo.", "required": ["spec"]},
    )
    more = catalog.adding([_custom(type_)])
    both = document(more)
    definition = both["definitions"]["com.example.stable.v1.Foo"]
    assert definition["description"] == "A Foo."
    assert definition["required"] == ["spec"]
    assert list(definition["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert definition[ORCH("x-{long}-group-version-kind")] == [
        {"group": "stable.example.com", "kind": "Foo", "version": "v1"}
    ]
    spec = definition["properties"]["spec"]["properties"]
    assert spec["replicas"] == {"type": "integer", "minimum": 0, "format": "int32"}
    assert spec["port"] == {ORCH("x-{long}-int-or-string"): True}
    assert spec["maybe"] == {"description": "d"}
    assert spec["open"] == {ORCH("x-{long}-preserve-unknown-fields"): True}
    assert spec["labels"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert spec["items"][ORCH("x-{long}-list-map-keys")] == ["name"]
    assert spec["choice"] == {"type": "string", "enum": ["a", "b"]}
    listed = both["definitions"]["com.example.stable.v1.FooList"]
    assert listed["required"] == ["items"] and "type" not in listed
    base = "/apis/stable.example.com/v1/namespaces/{namespace}/foos"
    assert both["paths"][base]["get"]["operationId"] == "listStableExampleComV1NamespacedFoo"
    assert both["paths"][base]["get"]["tags"] == ["stableExampleCom_v1"]
    assert both["paths"][base + "/{name}/scale"]["put"]["operationId"] == "replaceStableExampleComV1NamespacedFooScale"
    assert "strategic" not in str(both["paths"][base + "/{name}"]["patch"]["consumes"])
    assert {ref.removeprefix("#/definitions/") for ref in _references(both)} <= set(both["definitions"])
    third = v3.document(more, "stable.example.com", "v1")
    assert third is not None
    spec = third["components"]["schemas"]["com.example.stable.v1.Foo"]["properties"]["spec"]["properties"]
    assert spec["maybe"] == {"type": "string", "description": "d", "nullable": True}
    assert spec["choice"]["anyOf"] == [{"minLength": 1}]
    assert spec["replicas"]["default"] == 1


def _published(schema: Any, root: Any = None) -> Any:
    """The v2 form of the member `a` of a custom kind with this schema."""
    base = builtin_catalog(ORCH)
    version = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": schema}, **(root or {})}},
    }  # fmt: skip
    names = {"plural": "foos", "kind": "Foo"}
    definition = {"spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}}
    more = base.adding(custom_kind(definition, lambda: definition, base.types, ORCH).resources)
    return document(more)["definitions"]["com.example.v1.Foo"]["properties"]["a"]


KEEPS = ORCH("x-{long}-preserve-unknown-fields")
EMBEDDED = ORCH("x-{long}-embedded-resource")
INT_OR_STRING = ORCH("x-{long}-int-or-string")
TEXT = {"type": "string"}
MAYBE = {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    ("schema", "published"),
    [
        ({"type": "object", KEEPS: True, "properties": {"b": TEXT}, "required": ["b"]}, {KEEPS: True, "required": ["b"]}),
        ({"type": "array", KEEPS: True, "items": TEXT}, {KEEPS: True}),
        ({KEEPS: True, "description": "d"}, {KEEPS: True, "description": "d"}),
        ({"type": "string", "nullable": True, "format": "byte"}, {"format": "byte"}),
        ({"type": "array", "nullable": True, "items": TEXT, "maxItems": 2}, {"maxItems": 2}),
        ({"type": "object", "nullable": True, "additionalProperties": TEXT}, {"additionalProperties": TEXT}),
        ({"type": "object", "properties": {"c": TEXT, "b": MAYBE, "a": TEXT}, "required": ["c", "b", "a"]},
         {"type": "object", "properties": {"a": TEXT, "b": {}, "c": TEXT}, "required": ["c", "a"]}),
        ({"type": "object", "properties": {"b": MAYBE}, "required": ["b"]}, {"type": "object", "properties": {"b": {}}}),
        ({"type": "object", EMBEDDED: True, KEEPS: True}, {EMBEDDED: True, KEEPS: True}),
        ({INT_OR_STRING: True, "enum": [1, "a"], "anyOf": [{"type": "integer"}, {"type": "string"}]},
         {INT_OR_STRING: True, "enum": [1, "a"]}),
        ({"type": "integer", "format": "int32", "default": 3}, {"type": "integer", "format": "int32"}),
    ],
)  # fmt: skip
def test_published_schemas_of_custom_kinds(schema: Any, published: Any) -> None:
    """Structural schemas are published in v2 as the reference publishes them."""
    assert _published(schema) == published


def test_embedded_resources() -> None:
    """An embedded resource has apiVersion, kind and metadata after its own members, and requires the first two."""
    published = _published({"type": "object", EMBEDDED: True, "properties": {"spec": TEXT}, "required": ["spec"]})
    assert list(published["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert published["required"] == ["spec", "kind", "apiVersion"]


def test_custom_operation_options(catalog: Catalog) -> None:
    """Operations on custom kinds, including scale, have the reference's options and the kind's extension."""
    paths = document(catalog.adding([_custom(Type("struct", members=()))]))["paths"]
    base = "/apis/stable.example.com/v1/namespaces/{namespace}/foos"

    def options(path: str, method: str) -> list[str]:
        return [p["name"] for p in paths[path][method].get("parameters", ())]

    listed = [p["name"] for p in par.LIST]
    assert options(base, "delete") == listed == options(base, "get")
    assert options(base + "/{name}", "get") == ["resourceVersion"]
    assert options(base + "/{name}", "patch") == ["body", "dryRun", "fieldManager"] == options(base + "/{name}", "put")
    assert options(base + "/{name}", "delete")[0] == "body"
    scale = paths[base + "/{name}/scale"]
    assert scale["get"][ORCH("x-{long}-group-version-kind")]["kind"] == "Foo"
    assert {p["name"]: p["description"] for p in scale["parameters"]}["name"] == "name of the Foo"


def test_repeated_parameters_have_the_type_of_one_value(catalog: Catalog) -> None:
    """A repeatable parameter has the type of a single value."""
    paths = document(catalog)["paths"]
    found = {}
    for sub, name in (("portforward", "ports"), ("exec", "command")):
        parameters = paths[f"/api/v1/namespaces/{{namespace}}/pods/{{name}}/{sub}"]["parameters"]
        found[name] = next(p["type"] for p in parameters if p["name"] == name)
    assert found == {"ports": "integer", "command": "string"}


def test_required_in_the_order_of_the_reference(catalog: Catalog) -> None:
    """Required members are in the reference's order of declaration, whatever their protobuf numbers."""
    definitions = document(catalog)["definitions"]
    owner = definitions[ORCH("io.{abbr}.apimachinery.pkg.apis.meta.v1.OwnerReference")]
    assert owner["required"] == ["apiVersion", "kind", "name", "uid"]
    path = definitions[ORCH("io.{abbr}.api.networking.v1.HTTPIngressPath")]
    assert path["required"] == ["pathType", "backend"]


def test_custom_kind_without_structure(catalog: Catalog) -> None:
    """A custom kind that preserves unknown fields at its root is an arbitrary object in v2."""
    more = catalog.adding([_custom(Type("struct", members=(), preserve_unknown=True))])
    definition = document(more)["definitions"]["com.example.stable.v1.Foo"]
    assert set(definition) == {"type", ORCH("x-{long}-group-version-kind")}


def test_one_v3_document_per_group_version(catalog: Catalog) -> None:
    """Each group version has one self-contained v3 document."""
    for path, group, version in v3.paths(catalog):
        found = v3.document(catalog, group, version)
        assert found is not None, path
        schemas = found["components"]["schemas"]
        assert {ref.removeprefix("#/components/schemas/") for ref in _references(found)} <= set(schemas)
        for item in found["paths"].values():
            for method, operation in item.items():
                if method != "parameters":
                    assert "consumes" not in operation
                    assert all(p["in"] != "body" for p in operation.get("parameters", ()))
    assert v3.document(catalog, "nope", "v1") is None
    urls = v3.index({path: "h" for path, _, _ in v3.paths(catalog)})
    assert urls["paths"]["api/v1"] == {"serverRelativeURL": "/openapi/v3/api/v1?hash=h"}


def test_v3_defaults(catalog: Catalog) -> None:
    """In v3 a required struct defaults to {}, and extensions wrap the reference."""
    found = v3.document(catalog, "apps", "v1")
    assert found is not None
    spec = found["components"]["schemas"][ORCH("io.{abbr}.api.apps.v1.DeploymentSpec")]["properties"]
    assert spec["strategy"] == {
        "allOf": [{"$ref": ORCH("#/components/schemas/io.{abbr}.api.apps.v1.DeploymentStrategy")}],
        "default": {},
        "description": "How pods of the old template are replaced by pods of the new one.",
        ORCH("x-{long}-patch-strategy"): "retainKeys",
    }
    selector = {"$ref": ORCH("#/components/schemas/io.{abbr}.apimachinery.pkg.apis.meta.v1.LabelSelector")}
    assert spec["selector"].keys() == {"allOf", "description"} and spec["selector"]["allOf"] == [selector]


def _undescribed(schemas: Any, *, lone_references: bool = False) -> Iterator[str]:
    for name, schema in schemas.items():
        if not schema.get("description"):
            yield name
        for member, value in schema.get("properties", {}).items():
            if not value.get("description") and not (lone_references and value.keys() == {"$ref"}):
                yield f"{name}.{member}"


@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES])
def test_every_type_and_member_is_described(dialect: Any, release: Release) -> None:
    """Every type and member of every release has a description; in OpenAPI v3 only lone references have none."""
    catalog = builtin_catalog(dialect, release=release, enabled=lambda group, version, default: True)
    found = document(catalog)
    assert not list(_undescribed(found["definitions"]))
    for path in found["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()) if isinstance(operation, dict) else operation:
                assert parameter["in"] == "body" or parameter["description"], parameter
    for _, group, version in v3.paths(catalog):
        one = v3.document(catalog, group, version)
        assert one is not None and not list(
            _undescribed(one["components"]["schemas"], lone_references=release != SPECIFICATION)
        )


def test_default_descriptions_are_used() -> None:
    """Every default description of a member name applies to a member of a type that does not describe it itself."""
    names = {
        member
        for release in RELEASES.values()
        for definition in document(
            builtin_catalog(KUBERNETES, release=release, enabled=lambda group, version, default: True)
        )["definitions"].values()
        for member, value in definition.get("properties", {}).items()
        if value.get("description", "") == FIELDS.get(member)
    }
    assert names == FIELDS.keys()


def test_descriptions_are_of_the_member_of_the_type() -> None:
    """Members that share their name with members of other types have a description of their own."""
    known = Descriptions(KUBERNETES)
    for name, member, text in (
        ("core/v1.PodSpec", "resources", "Compute resources of the pod as a whole"),
        ("core/v1.ContainerStatus", "resources", "Requests and limits in effect"),
        ("core/v1.ContainerStatus", "user", "User and groups of the container's first process"),
        ("core/v1.Volume", "image", "Content of an OCI image"),
        ("resource/v1.DeviceClaim", "requests", "Requests for devices"),
        ("rbac/v1.PolicyRule", "resources", "Resources that the rule applies to"),
    ):
        assert known.of_member(name, member).startswith(text), (name, member)


def test_descriptions_are_found() -> None:
    """A type's own description takes precedence over the default of the member name; all versions of a type share
    it."""
    known = Descriptions(ORCH)
    assert known.of_member("apps/v1.DeploymentSpec", "replicas") == "Desired number of pods. Default: 1."
    assert known.of_member("x/v1.Nobody", "apiGroups") == known.of_member("rbac/v1.PolicyRule", "apiGroups") != ""
    assert known.of_member("core/v1.NodeSystemInfo", ORCH("{short}letVersion")) == "Version of the node agent."
    assert known.of_type("autoscaling/v2.Scale") == known.of_type("autoscaling/v1.Scale") != ""
    assert known.of_type("core/v1.PodList") == "List of Pod objects."
    assert known.of_type("x/v1.Nobody") == known.of_member("x/v1.Nobody", "nothing") == ""
    for table in TABLES:
        for name, words in table.items():
            assert all(text.endswith(".") for text in words.values()), name
