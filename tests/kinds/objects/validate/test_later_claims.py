"""What release 1.35 checks of claims of devices and of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import Cause
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.feature_gates import drop_disabled
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.release import NEWEST
from orchd.kinds.users import User
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.device_claims import DeviceClaimStrategy
from tests.kinds.objects.validate.test_later_rules import resource

Object = dict[str, Any]
SETTINGS = ObjectSettings(dialect=ORCH, release=NEWEST)
OPAQUE = {"driver": "d.example.com", "parameters": {}}
RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}


def claim(**status: Any) -> Object:
    exactly = {"deviceClassName": "c", "allocationMode": "All"}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return {"metadata": {"name": "a", "namespace": "n"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({}, ""),
        ({"device": "y"}, "status.devices[0]"),
        ({"networkData": {"ips": ["10.0.0.1"]}}, "status.devices[0].networkData.ips[0]"),
        ({"networkData": {"ips": ["010.0.0.1/8"]}}, "status.devices[0].networkData.ips[0]"),
        ({"networkData": {"interfaceName": "i" * 257}}, "status.devices[0].networkData.interfaceName"),
        ({"data": [1]}, "status.devices[0].data"),
        ({"conditions": [{"type": "A", "status": "Maybe"}]}, "status.devices[0].conditions[0].status"),
    ],
)
def test_statuses_of_devices(status: Object, field: str) -> None:
    """A driver reports about allocated devices only, in a limited form."""
    allocation = {"devices": {"results": [RESULT]}}
    value = claim(allocation=allocation, devices=[{**RESULT, **status}])
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    causes = dispatch.validate_update(value, claim(allocation=allocation), of, SETTINGS, subresource="status")
    assert field in [cause.field for cause in causes] if field else not causes


@pytest.mark.parametrize(
    ("devices", "field"),
    [
        ({}, ""),
        ({"results": [{**RESULT, "request": "other"}]}, "results[0].request"),
        ({"results": [{**RESULT, "driver": ""}]}, "results[0].driver"),
        ({"results": [{**RESULT, "pool": "A"}]}, "results[0].pool"),
        ({"results": [{**RESULT, "device": "A"}]}, "results[0].device"),
        ({"results": [RESULT] * 33}, "results"),
        ({"config": [{"opaque": OPAQUE}]}, "config[0].source"),
        ({"config": [{"source": "X", "opaque": OPAQUE}]}, "config[0].source"),
        ({"config": [{"source": "FromClass", "opaque": OPAQUE}]}, ""),
        ({"config": [{"source": "FromClaim", "requests": ["other"], "opaque": OPAQUE}]}, "config[0].requests[0]"),
        ({"config": [{"source": "FromClaim", "requests": ["r"] * 2, "opaque": OPAQUE}]}, "config[0].requests[1]"),
        ({"config": [{"source": "FromClaim"}]}, "config[0].opaque"),
        ({"config": [{"source": "FromClass", "opaque": OPAQUE}] * 64}, ""),
        ({"config": [{"source": "FromClass", "opaque": OPAQUE}] * 65}, "config"),
    ],
)
def test_allocations(devices: Object, field: str) -> None:
    """An allocation names requests of the claim, devices and configurations; an old one is not examined again."""
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    allocation = {"devices": {"results": [RESULT], **devices}}
    causes = dispatch.validate_update(claim(allocation=allocation), claim(), of, SETTINGS, subresource="status")
    assert [cause.field for cause in causes] == ([f"status.allocation.devices.{field}"] if field else [])
    stored = claim(allocation=allocation)
    assert dispatch.validate_update(stored, stored, of, SETTINGS, subresource="status") == []


def test_nodes_of_an_allocation() -> None:
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    allocation = {"devices": {"results": [RESULT]}, "nodeSelector": {"nodeSelectorTerms": []}}
    causes = dispatch.validate_update(claim(allocation=allocation), claim(), of, SETTINGS, subresource="status")
    assert [cause.field for cause in causes] == ["status.allocation.nodeSelector.nodeSelectorTerms"]


CONSUMER = {"resource": "pods", "name": "p", "uid": "1"}


@pytest.mark.parametrize(
    ("before", "consumers", "metadata", "fields"),
    [
        ([], [CONSUMER], {}, []),
        ([], [{}], {}, ["[0].resource", "[0].name", "[0].uid"]),
        ([], [CONSUMER, CONSUMER], {}, ["[1]"]),
        ([], [{**CONSUMER, "uid": str(i)} for i in range(256)], {}, []),
        ([], [{**CONSUMER, "uid": str(i)} for i in range(257)], {}, [""]),
        # No pod is added to a claim that is going away.
        ([CONSUMER], [CONSUMER], {"deletionTimestamp": "x"}, []),
        ([CONSUMER], [], {"deletionTimestamp": "x"}, []),
        ([], [CONSUMER], {"deletionTimestamp": "x"}, [""]),
    ],
)
def test_consumers_of_a_claim(
    before: list[Object], consumers: list[Object], metadata: Object, fields: list[str]
) -> None:
    """Each consumer is named once."""
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    allocation = {"devices": {"results": [RESULT]}}
    old = claim(allocation=allocation, reservedFor=before)
    new = claim(allocation=allocation, reservedFor=consumers)
    for value in (old, new):
        value["metadata"] = {**value["metadata"], **metadata}
    causes = dispatch.validate_update(new, old, of, SETTINGS, subresource="status")
    assert [cause.field for cause in causes] == [f"status.reservedFor{field}" for field in fields]


_TIME = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("make", "limit", "field"),
    [
        (
            lambda count: {
                "conditions": [
                    {"type": f"T{i}", "status": "True", "reason": "R", "lastTransitionTime": _TIME}
                    for i in range(count)
                ]
            },
            8,
            "conditions",
        ),
        (lambda count: {"networkData": {"interfaceName": "i" * count}}, 256, "networkData.interfaceName"),
        (lambda count: {"networkData": {"hardwareAddress": "h" * count}}, 128, "networkData.hardwareAddress"),
        (lambda count: {"networkData": {"ips": [f"10.0.0.{i}/24" for i in range(count)]}}, 16, "networkData.ips"),
        (lambda count: {"data": {"a": "x" * (count - 8)}}, 10 * 1024, "data"),
    ],
)
def test_sizes_of_statuses_of_devices(make: Any, limit: int, field: str) -> None:
    """Each part of what a driver reports has its own limit."""
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    allocation = {"devices": {"results": [RESULT]}}
    for count in (limit, limit + 1):
        value = claim(allocation=allocation, devices=[{**RESULT, **make(count)}])
        causes = dispatch.validate_update(value, claim(allocation=allocation), of, SETTINGS, subresource="status")
        assert [cause.field for cause in causes] == [f"status.devices[0].{field}"] * (count > limit)


def _requests(count: int, **exactly: Any) -> Object:
    whole = {"deviceClassName": "c", "allocationMode": "All", **exactly}
    return {"requests": [{"name": f"r{i}", "exactly": whole} for i in range(count)]}


@pytest.mark.parametrize(
    ("make", "limit", "field"),
    [
        (_requests, 32, "requests"),
        (
            lambda count: {
                "requests": [
                    {
                        "name": "r",
                        "firstAvailable": [
                            {"name": f"c{i}", "deviceClassName": "c", "allocationMode": "All"} for i in range(count)
                        ],
                    }
                ]
            },
            8,
            "requests[0].firstAvailable",
        ),
        (
            lambda count: _requests(1, selectors=[{"cel": {"expression": "true"}}] * count),
            32,
            "requests[0].exactly.selectors",
        ),
        (
            lambda count: _requests(1, selectors=[{"cel": {"expression": "true" + " " * (count - 4)}}]),
            10 * 1024,
            "requests[0].exactly.selectors[0].cel.expression",
        ),
        (lambda count: {**_requests(1), "constraints": [{"matchAttribute": "a.b/c"}] * count}, 32, "constraints"),
        (
            lambda count: {
                **_requests(1),
                "config": [{"opaque": {"driver": "d.example.com", "parameters": {"a": "x" * (count - 8)}}}],
            },
            10 * 1024,
            "config[0].opaque.parameters",
        ),
    ],
)
def test_sizes_of_claims_of_devices(make: Any, limit: int, field: str) -> None:
    """Requests, choices, selectors, constraints and parameters are bounded, each in its number or its size."""
    of = resource(NEWEST, "resource.{abbr}.io", "v1", "resourceclaims")
    for count in (limit, limit + 1):
        value = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"devices": make(count)}}
        causes = dispatch.validate_create(value, of, SETTINGS)
        assert [cause.field for cause in causes] == [f"spec.devices.{field}"] * (count > limit)


@pytest.mark.parametrize("plural", ["resourceclaims", "resourceclaimtemplates"])
def test_admin_access_needs_a_label_of_the_namespace(plural: str) -> None:
    """A claim, or a template of claims, with admin access is refused in a namespace without the label."""
    of = resource(NEWEST, "resource.{abbr}.io", "v1", plural)
    strategy = DeviceClaimStrategy(of, builtin_catalog(ORCH, NEWEST), SETTINGS)
    value = claim()
    del value["status"]
    value["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    if plural == "resourceclaimtemplates":
        value["spec"] = {"spec": value["spec"]}
    context = Context(resource=of, user=User(name="u"), namespace="n", now=0.0)
    strategy.namespace_labels = {"n": {"resource.orch.io/admin-access": "true"}}.__getitem__
    assert not strategy.validate_create(context, value)
    strategy.namespace_labels = {"n": {"resource.orch.io/admin-access": "yes"}}.__getitem__
    why = "Forbidden: admin access to devices requires the `resource.orch.io/admin-access: true` label on the containing namespace"
    field = "spec.devices.requests[0].adminAccess"
    assert list(strategy.validate_create(context, value)) == [Cause("FieldValueForbidden", why, field)]


def test_features_that_a_node_declares() -> None:
    """They are sorted names; a new node has none while their gate is off."""
    of = resource(NEWEST, "", "v1", "nodes")
    node: Object = {"metadata": {"name": "n"}, "status": {"declaredFeatures": ["B", "A", "A", "x"]}}
    causes = dispatch.validate_update(node, {"metadata": {"name": "n"}}, of, SETTINGS, subresource="status")
    assert [cause.field for cause in causes] == [f"status.declaredFeatures[{i}]" for i in (1, 2, 3)]
    assert "declaredFeatures" not in drop_disabled(node, None, of.type, SETTINGS)["status"]
