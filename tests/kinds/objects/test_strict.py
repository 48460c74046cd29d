"""Unknown and repeated fields."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.kinds.codec import json_
from orchd.kinds.ir import Field, Type
from orchd.kinds.objects import strict
from orchd.kinds.objects.shape import canonical

BODY = b"""{"apiVersion": "apps/v1", "kind": "Deployment", "kind": "Deployment", "metadata": {"labels": {"a": "b", "a": "c"}},
  "spec": {"unknown1": 1, "twice": {"in": 1, "in": 2}, "twice": 2, "paused": true, "paused": false, "template": {"spec": {
    "containers": [{"name": "a", "alien": {}, "image": "x", "image": "y", "securityContext": {"seLinuxOptions":
      {"kind": "k"}}}]}}}, "Status": {}, "zzz": 1}"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builtin_catalog(KUBERNETES)


def deployment(catalog: Catalog) -> Type:
    resource = catalog.kind("apps/v1", "Deployment")
    assert resource is not None
    return resource.type


def texts(kind: str, *names: str) -> list[str]:
    return [f'{kind} field "{name}"' for name in names]


def test_unknown_and_repeated_fields_of_built_in_kinds(catalog: Catalog) -> None:
    """Unknown and repeated fields are reported without a path, each message once, in the order of the body; unknown
    fields are not descended into, and are not reported as repeated as well."""
    names = strict.names(json_.decode_members(BODY), deployment(catalog))
    assert names == [
        *texts("duplicate", "kind", "a"), *texts("unknown", "unknown1", "twice"), *texts("duplicate", "paused"),
        *texts("unknown", "alien"), *texts("duplicate", "image"), *texts("unknown", "kind", "Status", "zzz"),
    ]  # fmt: skip


def test_unknown_fields_of_yaml_are_sorted(catalog: Catalog) -> None:
    """Repetitions are lost in YAML; unknown fields are reported in alphabetical order."""
    body = {"zz": 1, "kind": "Deployment", "spec": {"b": 1, "a": 1, "template": {"c": 1}}}
    assert strict.names(body, deployment(catalog)) == texts("unknown", "a", "b", "c", "zz")


def test_at_most_a_hundred_problems_are_listed(catalog: Catalog) -> None:
    """A body's problems beyond the hundredth are not listed."""
    assert len(strict.names({f"x{n}": 1 for n in range(500)}, deployment(catalog))) == 100


def test_free_form_values_are_not_checked(catalog: Catalog) -> None:
    """Free-form values (raw objects, managed fields, schema alternatives) are not checked."""
    definition = catalog.kind(catalog.dialect("apiextensions.{abbr}.io/v1"), "CustomResourceDefinition")
    assert definition is not None
    schema = b'{"items": {"x": 1}, "default": {"a": 1, "a": 2}, "properties": {"p": {"bad": 1}}, "additionalProperties": {"y": 1}}'
    body = b'{"spec": {"versions": [{"schema": {"openAPIV3Schema": ' + schema + b"}}]}}"
    assert strict.names(json_.decode_members(body), definition.type) == texts("unknown", "bad")
    path = "spec.versions[0].schema.openAPIV3Schema.properties.bad"
    assert strict.paths(json_.decode(body), definition.type) == texts("unknown", path)


def test_unknown_fields_of_patch_results(catalog: Catalog) -> None:
    """Unknown fields in the result of a strategic merge patch are reported with their paths, sorted."""
    obj = {"kind": "Deployment", "zz": 1, "spec": {"template": {"spec": {"containers": [{"q": 1}, {"p": 1}]}}}}
    at = "spec.template.spec.containers"
    assert strict.paths(obj, deployment(catalog)) == texts("unknown", f"{at}[0].q", f"{at}[1].p", "zz")


def custom(**fields: Type) -> Type:
    return Type("struct", members=[Field(name, type) for name, type in fields.items()], constraints={})


def test_pruned_fields_of_custom_objects() -> None:
    """Pruned fields of custom objects are reported with their paths, sorted; metadata and preserved fields are not."""
    item = custom(x=Type("any", preserve_unknown=True, constraints={}))
    spec = custom(
        l=Type("list", element=item, constraints={}),
        m=Type("map", element=item, constraints={}),
        free=Type("struct", members=[Field("known", item)], preserve_unknown=True, constraints={}),
        open=Type("any", constraints={}),
    )
    obj = {
        "kind": "X", "metadata": {"name": "n"}, "zz": 2,
        "spec": {"l": [{"x": {"any": 1}, "y": 1}], "m": {"k": {"z": 1}}, "free": {"a": 1, "known": {"b": 1}}, "open": [{"c": 1}]},
    }  # fmt: skip
    type = custom(spec=spec)
    assert strict.paths(obj, type) == texts(
        "unknown", "spec.free.known.b", "spec.l[0].y", "spec.m.k.z", "spec.open[0].c", "zz"
    )
    assert strict.paths(canonical(obj, type), type) == []


def test_unknown_metadata_of_custom_objects(catalog: Catalog) -> None:
    """Unknown members of metadata come first, in the order of the decoder, those of embedded objects last."""
    metadata = deployment(catalog).fields["metadata"]
    inner = Type("struct", members=[metadata], embedded_resource=True, preserve_unknown=True, constraints={})
    type = Type("struct", members=[metadata, Field("spec", custom(inner=inner))], constraints={})
    obj = {
        "a": 1, "kind": "X", "metadata": {"zz": 1, "Labels": {}, "ownerReferences": [{"uid": "u", "q": 1}], "name": "n"},
        "spec": {"inner": {"metadata": {"count": 1, "labels": {"any": "x"}}}, "z": 1},
    }  # fmt: skip
    assert strict.paths(obj, type, metadata=True) == texts(
        "unknown", "metadata.Labels", "metadata.ownerReferences[0].q", "metadata.zz", "a", "spec.z",
        "spec.inner.metadata.count",
    )  # fmt: skip
    assert strict.paths(obj, type) == texts("unknown", "a", "spec.z")


@pytest.mark.parametrize(
    ("schema", "value", "left", "unknown"),
    [
        (Type("string", constraints={}), {"a": 1}, {}, ["v.a"]),
        (Type("int64", constraints={}), [{"a": 1}, 2, [{"b": 1}]], [{}, 2, [{}]], ["v[0].a", "v[2][0].b"]),
        (Type("list", element=Type("string", constraints={}), constraints={}), [{"a": 1}, "x"], [{}, "x"], ["v[0].a"]),
        (Type("list", element=Type("string", constraints={}), constraints={}), {"a": 1}, {}, ["v.a"]),
        (Type("map", element=Type("string", constraints={}), constraints={}), {"k": {"a": 1}}, {"k": {}}, ["v.k.a"]),
        (Type("map", element=Type("string", constraints={}), constraints={}), [{"a": 1}], [{}], ["v[0].a"]),
        (custom(x=Type("string", constraints={})), [{"x": 1}], [{}], ["v[0].x"]),
        (Type("any", preserve_unknown=True, constraints={}), [{"x": 1}], [{"x": 1}], []),
        (Type("struct", members=[], preserve_unknown=True, constraints={}), [{"x": 1}], [{"x": 1}], []),
    ],
)
def test_members_of_values_that_do_not_fit(schema: Type, value: Any, left: Any, unknown: list[str]) -> None:
    """Where a schema expects another type, all members of objects are unknown; they are pruned before the type is
    refused."""
    type = custom(v=schema)
    assert strict.paths({"v": value}, type) == texts("unknown", *unknown)
    assert canonical({"v": value}, type) == {"v": left}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"a":1,"s":{"p":1,"p":2,"p":3},"l":[{"x":1,"x":1}],"a":0}', ["p", "x", "a"]),
        (b"[[{}]]", []),
        (b"1", []),
        (b'{"a":{"b":1,"b":2},"a":3}', ["b", "a"]),
    ],
)
def test_repeated_members_at_any_depth(text: bytes, found: list[str]) -> None:
    """Without a schema, repeated members are found at any depth."""
    assert strict.duplicates(json_.decode_members(text)) == texts("duplicate", *found)


def test_repeated_members_are_located_in_lists() -> None:
    """The path of a repeated member has the index of its item, whatever the items before it hold."""
    found = strict.duplicates(json_.decode_members(b'{"l":[{"z":1},{"x":1,"x":2},[{"y":1,"y":2}]]}'), located=True)
    assert found == texts("duplicate", "l[1].x", "l[2][0].y")


def test_nesting_is_not_recursive() -> None:
    """Deep nesting does not use the stack."""
    value: Any = {}
    for _ in range(9000):
        value = [{"a": value}]
    text = b'{"a":[' * 4000 + b'{"b":1,"b":2}' + b"]}" * 4000
    assert strict.duplicates(json_.decode_members(text)) == texts("duplicate", "b")
    assert strict.paths(value, Type("any", constraints={})) == texts("unknown", "[0].a")


def test_repeated_objects_are_merged() -> None:
    """A built-in kind takes the members of repeated objects, and the last of other repeated values."""
    text = b'{"a": {"x": 1, "y": {"z": 1}}, "l": [1], "a": {"y": {"w": 2}, "x": 3}, "l": [2], "b": {"n": 1}, "b": null}'
    assert strict.merged(json_.decode_members(text)) == {"a": {"x": 3, "y": {"z": 1, "w": 2}}, "l": [2], "b": None}
