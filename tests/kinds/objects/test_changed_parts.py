"""Parts of an object that an earlier object has at the same place: results are as without it, and these parts are not
looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.member_order import order_members
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch.merge_patch import merge

Object = dict[str, Any]

CATALOG = builtin_catalog(ORCH)
SETTINGS = ObjectSettings(dialect=ORCH)
PODS = CATALOG.resource("", "v1", "pods")
assert PODS is not None
TYPE = PODS.type
SENT: Object = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "a",
        "labels": {"b": "1", "a": "2"},
        "ownerReferences": [{"kind": "X", "name": "x", "uid": "u", "apiVersion": "v1"}],
    },
    "spec": {
        "volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "secret": {"secretName": "s"}}],
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.1"}}, "ports": [{"containerPort": 80}]},
            {"name": "d", "image": "j", "livenessProbe": {"httpGet": {"path": "/", "port": "http"}}},
        ],
    },
}


def settle(obj: Object, earlier: Object | None = None) -> Object:
    """Canonical shape, defaults and order."""
    filled = default.fill(shape.canonical(obj, TYPE, earlier), TYPE, SETTINGS, earlier)
    return order_members(filled, TYPE, earlier)


def outcome(work: Callable[[], Object]) -> str:
    """The JSON of the result, or the text of the error."""
    try:
        return json.dumps(work())
    except shape.ShapeError as error:
        return str(error)


EARLIER = settle(SENT)
FIRST, SECOND = EARLIER["spec"]["containers"]
#: Merge patches. Parts that they do not name are those of the earlier object.
PATCHES: tuple[Object, ...] = (
    {},
    {"metadata": {"annotations": {"z": "1", "b": "2"}}},
    {"metadata": {"labels": {"a": None, "c": ""}}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"ownerReferences": []}},
    {"metadata": None},
    {"spec": None, "other": 1},
    {"spec": {"priority": 3000000000}},
    {"spec": {"hostNetwork": True, "unknown": {}}},
    {"spec": {"containers": [FIRST]}},
    {"spec": {"containers": [SECOND, FIRST]}},
    {"spec": {"containers": [{"ports": [{"containerPort": 1}], "name": "e"}, SECOND, FIRST]}},
    {"spec": {"containers": [FIRST, {**SECOND, "env": [{"value": "1", "name": "x"}], "image": "k:1"}]}},
    {"spec": {"containers": [FIRST, None]}},
    {"spec": {"containers": [FIRST, "x"]}},
    {"spec": {"containers": {"name": "c"}}},
    {"spec": {"volumes": [*EARLIER["spec"]["volumes"], {"emptyDir": {}, "name": "x"}]}},
    {
        "spec": {
            "volumes": [{"name": "v", "configMap": {"defaultMode": None, "name": "d"}}, EARLIER["spec"]["volumes"][1]]
        }
    },
    {"spec": {"securityContext": {"runAsUser": 1.5}}},
    {"spec": {"securityContext": {"sysctls": [{"value": "1", "name": "x"}]}}},
    {"status": {"podIPs": [{"ip": "1.2.3.4"}], "phase": "Running"}},
)


@given(st.lists(st.sampled_from(PATCHES), max_size=3))
def test_the_result_is_the_same(patches: list[Object]) -> None:
    """Shape, defaults, order and errors are those of an object without an earlier one."""
    obj = EARLIER
    for patch in patches:
        obj = merge(obj, patch)
    assert outcome(lambda: settle(obj, EARLIER)) == outcome(lambda: settle(obj))


def test_unchanged_parts_are_not_looked_at() -> None:
    """A part of the earlier object is used as it is: only there, and only in that place."""
    wrong = {"name": 1}
    earlier = {**EARLIER, "spec": {**EARLIER["spec"], "containers": [wrong, SECOND]}}
    obj = {**earlier, "spec": {**earlier["spec"], "containers": [wrong, {**SECOND, "image": "k"}]}}
    settled = settle(obj, earlier)
    assert settled["spec"]["containers"][0] is wrong
    assert settled["spec"]["volumes"] is EARLIER["spec"]["volumes"]
    assert settled["metadata"] is EARLIER["metadata"]
    moved = {**earlier, "spec": {**earlier["spec"], "containers": [SECOND, wrong]}}
    with pytest.raises(shape.ShapeError):
        settle(moved, earlier)
