"""Members are stored in the order of the API's types, whatever order they were sent in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.member_order import order_members

CATALOG = builtin_catalog(KUBERNETES)
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "a", "labels": {"a": "1", "b": "2"}, "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
    },
    "spec": {
        "volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}],
        "containers": [
            {
                "name": "c", "image": "i",
                "envFrom": [{"secretRef": {"name": "s"}}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
            }
        ],
        "restartPolicy": "Never",
        "nodeSelector": {"a": "b", "c": "d"},
    },
}  # fmt: skip
CONFIG = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "x", "labels": {"a": "2", "z": "1"}, "annotations": {"b": "2", "q": "1"}},
    "immutable": True,
    "data": {"a": "2", "b": "1"},
    "binaryData": {"c": "", "z": ""},
}
SECRET = {
    "kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}, "immutable": True, "data": {"a": "", "b": ""}, "type": "Opaque",
}  # fmt: skip
DEFINITION = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1",
    "metadata": {"name": "as.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "as", "kind": "A"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "a": {"type": "array", "items": {"type": "string", "maxLength": 3}},
                    "b": {"type": "object", "default": {"z": 1, "y": 2}, "additionalProperties": {"type": "string", "maxLength": 3}},
                }}},
            }
        ],
    },
}  # fmt: skip


def type_of(obj: dict[str, Any]) -> Any:
    return next(r.type for r in CATALOG.resources if (r.api_version, r.kind) == (obj["apiVersion"], obj["kind"]))


def reverse(value: Any) -> Any:
    """The value with the members of every object in reverse order, except inside defaults, which have no type."""
    if isinstance(value, dict):
        return {name: item if name == "default" else reverse(item) for name, item in reversed(value.items())}
    return [reverse(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("obj", [POD, CONFIG, SECRET, DEFINITION], ids=lambda obj: str(obj["kind"]))
def test_members_follow_the_type(obj: dict[str, Any]) -> None:
    """Structs are ordered by their type and maps by key, at every depth; values without a type are unchanged."""
    ordered = order_members(reverse(obj), type_of(obj))
    assert json.dumps(ordered) == json.dumps(obj)
    assert order_members(ordered, type_of(obj)) is ordered


def test_unknown_members_come_last() -> None:
    """Unknown members come last, in their own order; a value of the wrong type is unchanged."""
    obj = {"spec": ["x"], "z": 1, "metadata": "m", "b": 2, "apiVersion": "v1", "kind": "Pod"}
    ordered = order_members(obj, type_of(POD))
    assert list(ordered.items()) == [
        ("kind", "Pod"),
        ("apiVersion", "v1"),
        ("metadata", "m"),
        ("spec", ["x"]),
        ("z", 1),
        ("b", 2),
    ]


@given(st.permutations(sorted(POD["spec"]["containers"][0])))  # type: ignore[index]  # a literal above
def test_order_does_not_depend_on_the_input(names: list[str]) -> None:
    """The result does not depend on the order of the input."""
    container = POD["spec"]["containers"][0]  # type: ignore[index]  # a literal above
    sent = {**POD, "spec": {**POD["spec"], "containers": [{name: container[name] for name in names}]}}  # type: ignore[dict-item]
    assert json.dumps(order_members(sent, type_of(POD))) == json.dumps(POD)
