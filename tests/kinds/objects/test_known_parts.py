"""Parts that an object shares with one that was decoded before: results are the same, and these parts are not visited.
"""

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
    "metadata": {"name": "a", "labels": {"b": "1", "a": "2"}, "ownerReferences": [{"kind": "X", "name": "x", "uid": "u", "apiVersion": "v1"}]},
    "spec": {
        "volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "secret": {"secretName": "s"}}],
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.1"}}, "ports": [{"containerPort": 80}]},
            {"name": "d", "image": "j", "livenessProbe": {"httpGet": {"path": "/", "port": "http"}}},
        ],
    },
}


def settle(obj: Object, known: Object | None = None) -> Object:
    """Canonical shape, defaults and order."""
    filled = default.fill(shape.canonical(obj, TYPE, known), TYPE, SETTINGS, known)
    return order_members(filled, TYPE, known)


def outcome(work: Callable[[], Object]) -> str:
    """The JSON of the result, or the text of the error."""
    try:
        return json.dumps(work())
    except shape.ShapeError as error:
        return str(error)


KNOWN = settle(SENT)
FIRST, SECOND = KNOWN["spec"]["containers"]
#: Merge patches. The result shares the other parts with the known object.
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
    {"spec": {"volumes": [*KNOWN["spec"]["volumes"], {"emptyDir": {}, "name": "x"}]}},
    {"spec": {"volumes": [{"name": "v", "configMap": {"defaultMode": None, "name": "d"}}, KNOWN["spec"]["volumes"][1]]}},
    {"spec": {"securityContext": {"runAsUser": 1.5}}},
    {"spec": {"securityContext": {"sysctls": [{"value": "1", "name": "x"}]}}},
    {"status": {"podIPs": [{"ip": "1.2.3.4"}], "phase": "Running"}},
)


@given(st.lists(st.sampled_from(PATCHES), max_size=3))
def test_the_result_is_the_same(patches: list[Object]) -> None:
    """Shape, defaults, order and errors equal those without a known object."""
    obj = KNOWN
    for patch in patches:
        obj = merge(obj, patch)
    assert outcome(lambda: settle(obj, KNOWN)) == outcome(lambda: settle(obj))


def test_known_parts_are_not_visited() -> None:
    """A shared part is used unchanged, but only at the same place of the object."""
    wrong = {"name": 1}
    known = {**KNOWN, "spec": {**KNOWN["spec"], "containers": [wrong, SECOND]}}
    obj = {**known, "spec": {**known["spec"], "containers": [wrong, {**SECOND, "image": "k"}]}}
    settled = settle(obj, known)
    assert settled["spec"]["containers"][0] is wrong
    assert settled["spec"]["volumes"] is KNOWN["spec"]["volumes"]
    assert settled["metadata"] is KNOWN["metadata"]
    moved = {**known, "spec": {**known["spec"], "containers": [SECOND, wrong]}}
    with pytest.raises(shape.ShapeError):
        settle(moved, known)
