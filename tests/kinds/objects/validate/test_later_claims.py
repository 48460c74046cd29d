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
