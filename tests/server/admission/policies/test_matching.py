"""Which writes the constraints of a policy or binding select."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST
from orchd.server.admission.interfaces import CREATE, UPDATE
from orchd.server.admission.policies.matching import MatchResources
from orchd.server.admission.selection import NAMESPACES, Namespaces
from orchd.testing.doubles.results import result_of
from tests.server.admission.conftest import World

POD: Object = {"metadata": {"name": "a", "labels": {"app": "a"}}}


def rule(plural: str = "pods", group: str = "", version: str = "v1", **more: Any) -> Object:
    return {"apiGroups": [group], "apiVersions": [version], "operations": [CREATE], "resources": [plural], **more}


SCALERS_V1, SCALERS_V2 = (rule("horizontalpodautoscalers", "autoscaling", version) for version in ("v1", "v2"))
SCALER: Any = {"plural": "horizontalpodautoscalers", "group": "autoscaling", "version": "v2"}


@pytest.mark.parametrize(
    ("constraints", "write", "version"),
    [
        ({}, {}, "v1"),
        ({"resourceRules": [rule()]}, {}, "v1"),
        ({"resourceRules": [rule("services"), rule()]}, {}, "v1"),
        ({"resourceRules": [rule("services")]}, {}, None),
        ({"resourceRules": [rule()]}, {"operation": UPDATE}, None),
        ({"resourceRules": [rule()]}, {"sub": "status"}, None),
        ({"resourceRules": [rule("pods/status")]}, {"sub": "status"}, "v1"),
        ({"resourceRules": [rule(scope="Cluster")]}, {}, None),
        ({"resourceRules": [rule(scope="Namespaced")]}, {}, "v1"),
        ({"resourceRules": [rule("nodes", scope="Namespaced")]}, {"plural": "nodes"}, None),
        ({"resourceRules": [rule(resourceNames=["b"])]}, {}, None),
        ({"resourceRules": [rule(resourceNames=["b", "a"])]}, {}, "v1"),
        ({"resourceRules": [rule(resourceNames=[])]}, {}, "v1"),
        ({"resourceRules": [SCALERS_V2]}, SCALER, "v2"),
        ({"resourceRules": [SCALERS_V1]}, SCALER, "v1"),
        ({"resourceRules": [SCALERS_V1, SCALERS_V2]}, SCALER, "v2"),
        ({"resourceRules": [SCALERS_V1], "matchPolicy": "Equivalent"}, SCALER, "v1"),
        ({"resourceRules": [SCALERS_V1], "matchPolicy": "Exact"}, SCALER, None),
        ({"resourceRules": [SCALERS_V2], "matchPolicy": "Exact"}, SCALER, "v2"),
        ({"resourceRules": [{**SCALERS_V1, "resourceNames": ["b"]}]}, SCALER, None),
        ({"excludeResourceRules": [rule()]}, {}, None),
        ({"excludeResourceRules": [rule(resourceNames=["b"])]}, {}, "v1"),
        ({"excludeResourceRules": [SCALERS_V1]}, SCALER, None),
        ({"excludeResourceRules": [SCALERS_V1], "matchPolicy": "Exact"}, SCALER, "v2"),
        ({"resourceRules": [rule()], "excludeResourceRules": [rule()]}, {}, None),
        ({"objectSelector": {"matchLabels": {"app": "a"}}}, {}, "v1"),
        ({"objectSelector": {"matchLabels": {"app": "b"}}}, {}, None),
        ({"namespaceSelector": {"matchLabels": {"team": "t"}}}, {}, "v1"),
        ({"namespaceSelector": {"matchLabels": {"team": "u"}}}, {}, None),
        ({"namespaceSelector": {"matchLabels": {"team": "u"}}}, {"plural": "nodes"}, "v1"),
    ],
)
def test_selected_writes(constraints: Object, write: Any, version: str | None) -> None:
    """By rules, names, selectors, and versions of the same objects. The result is the version that expressions see."""
    world = World(release=NEWEST)
    world.namespace("ns", labels={"team": "t"})
    review = world.review(**{"plural": "pods", "obj": POD, **write})
    namespaces = Namespaces(world.context, world.informers.informer(NAMESPACES))
    selection = MatchResources.of(constraints)
    resource = result_of(selection.match(review, namespaces, world.catalog))
    assert (None if resource is None else resource.version) == version
    if version is not None:
        assert selection.may_concern(review.operation, review.resource, review.subresource, world.catalog)


@pytest.mark.parametrize(
    ("rules", "write", "expected"),
    [
        ([], {}, True),
        ([rule("services")], {}, False),
        ([rule("services"), rule()], {}, True),
        ([rule(scope="Cluster")], {}, True),
        ([rule()], {"operation": UPDATE}, False),
        ([rule()], {"sub": "status"}, False),
        ([SCALERS_V1], SCALER, True),
    ],
)
def test_writes_that_no_object_can_make_match(rules: list[Object], write: Any, expected: bool) -> None:
    world = World(release=NEWEST)
    review = world.review(**{"plural": "pods", "obj": POD, **write})
    selection = MatchResources.of({"resourceRules": rules})
    assert selection.may_concern(review.operation, review.resource, review.subresource, world.catalog) is expected
