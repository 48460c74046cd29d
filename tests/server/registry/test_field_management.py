"""Managed fields in the versions of a kind: with a conversion webhook, without one, and of built-in kinds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.objects.convert import convert
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.registry.field_management import FieldManagement
from orchd.server.registry.interfaces import Context
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import ComputeThread

Object = dict[str, Any]
WEBHOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
NAMES = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
NUMBER = {"type": "integer"}
#: The member of each version that has the size; v3 is not served.
MEMBERS = {"v1": "size", "v2": "amount", "v3": "volume"}
BUILT_IN = builtin_catalog(KUBERNETES, NEWEST)


def custom(conversion: Object) -> Catalog:
    versions = [
        {
            "name": version, "served": version != "v3", "storage": version == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {member: NUMBER, "note": NUMBER}}},
        }
        for version, member in MEMBERS.items()
    ]  # fmt: skip
    spec = {"group": "a.b", "scope": "Namespaced", "names": NAMES, "versions": versions, "conversion": conversion}
    definition = {
        "metadata": {"name": "things.a.b"},
        "spec": spec,
        "status": {"acceptedNames": NAMES, "conditions": [{"type": "Established", "status": "True"}]},
    }
    return BUILT_IN.adding(custom_kind(definition, lambda: definition, BUILT_IN.types, KUBERNETES).resources)


class Webhook:
    """Renames the member of the size; counts the conversions."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.targets: list[str] = []
        self._error = error

    async def to_requested(self, resource: Resource, objects: Sequence[Object]) -> list[Object]:
        self.targets.append(resource.version)
        if self._error is not None:
            raise self._error
        return [_in_version(obj, resource.version) for obj in objects]


def _in_version(obj: Object, version: str) -> Object:
    before = MEMBERS[obj["apiVersion"].rpartition("/")[2]]
    out = {MEMBERS[version] if name == before else name: value for name, value in obj.items()}
    return {**out, "apiVersion": f"a.b/{version}"}


class Fields:
    """Field management of one resource."""

    def __init__(
        self, resource: str = "a.b/v1/things", conversion: Object | None = None, *, webhook: Webhook | None = None,
        features: dict[str, bool] | None = None, release: Release = NEWEST,
    ) -> None:  # fmt: skip
        self.catalog = custom(WEBHOOK if conversion is None else conversion)
        self.webhook = webhook or Webhook()
        settings = ObjectSettings(dialect=KUBERNETES, release=release, features=features or {})
        access: Any = SimpleNamespace(
            settings=settings, catalog=lambda: self.catalog, versions=self.webhook, dialect=KUBERNETES
        )
        strategy: Any = SimpleNamespace(reset_fields=lambda subresource: {})
        self.management = FieldManagement(access, lambda resource: strategy, ComputeThread())
        self.path = resource

    def context(
        self, manager: str, path: str = "", subresource: str = "", warnings: list[str] | None = None
    ) -> Context:
        group, version, plural = (path or self.path).split("/")
        resource = self.catalog.resource(group, version, plural)
        assert resource is not None
        said = [] if warnings is None else warnings
        return Context(
            user=None, resource=resource, namespace="n", now=0, manager=manager, subresource=subresource, warn=said.append  # type: ignore[arg-type]
        )  # fmt: skip

    def apply(self, manager: str, config: Object, live: Object | None = None, *, force: bool = False) -> Object:
        version = config["apiVersion"].rpartition("/")[2]
        context = self.context(manager, self.path.replace("/v1/", f"/{version}/"))
        if live is not None and live["apiVersion"] != config["apiVersion"]:
            live = _in_version(live, version)
        applied: Object = run(self.management.apply(context, live, config, force=force))
        return applied


def thing(version: str = "v1", **members: Any) -> Object:
    return {"apiVersion": f"a.b/{version}", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}, **members}


def owners(obj: Object) -> dict[str, tuple[str, Any]]:
    """Version and fields of each manager."""
    entries = obj["metadata"].get("managedFields") or ()
    return {entry["manager"]: (entry["apiVersion"], entry["fieldsV1"]) for entry in entries}


SIZE: Object = {"f:size": {}}
AMOUNT: Object = {"f:amount": {}}
NOTE: Object = {"f:note": {}}


def test_fields_are_compared_in_the_version_of_their_manager() -> None:
    """A webhook converts to the version in which another manager owns the field."""
    fields = Fields()
    first = fields.apply("one", thing(size=1))
    assert owners(first) == {"one": ("a.b/v1", SIZE)} and fields.webhook.targets == []
    with pytest.raises(ApiError, match='conflict with "one"'):
        fields.apply("two", thing("v2", amount=2), first)
    second = fields.apply("two", thing("v2", amount=2), first, force=True)
    assert owners(second) == {"two": ("a.b/v2", AMOUNT)} and second["amount"] == 2
    assert set(fields.webhook.targets) == {"v1"}


def test_the_same_value_in_another_version_is_no_conflict() -> None:
    fields = Fields()
    both = fields.apply("two", thing("v2", amount=1), fields.apply("one", thing(size=1)))
    assert owners(both) == {"one": ("a.b/v1", SIZE), "two": ("a.b/v2", AMOUNT)}


def test_a_webhook_that_fails_loses_the_managers_of_an_update_and_refuses_an_apply() -> None:
    """The write itself succeeds."""
    live = Fields().apply("one", thing(size=1))
    fields = Fields(webhook=Webhook(errors.internal("the webhook is down")))
    changed = {**_in_version(live, "v2"), "amount": 2}
    context = fields.context("two", "a.b/v2/things")
    assert "managedFields" not in run(fields.management.update(context, _in_version(live, "v2"), changed))["metadata"]
    with pytest.raises(ApiError, match="the webhook is down"):
        fields.apply("two", thing("v2", amount=2), live, force=True)


def test_versions_without_a_webhook_differ_in_their_name_alone() -> None:
    """Fields of the same name are the same in all versions."""
    fields = Fields(conversion={"strategy": "None"})
    live = {**fields.apply("one", thing(note=1)), "apiVersion": "a.b/v2"}
    context = fields.context("two", "a.b/v2/things")
    with pytest.raises(ApiError, match='conflict with "one"'):
        run(fields.management.apply(context, live, thing("v2", note=2), force=False))
    merged = run(fields.management.apply(context, live, thing("v2", note=2), force=True))
    assert owners(merged) == {"two": ("a.b/v2", NOTE)} and merged["apiVersion"] == "a.b/v2"
    assert fields.webhook.targets == []


@pytest.mark.parametrize(("version", "kept"), [("a.b/v3", True), ("a.b/v9", False), ("c.d/v1", False)])
@pytest.mark.parametrize("conversion", [WEBHOOK, {"strategy": "None"}], ids=["webhook", "none"])
def test_managers_of_versions(conversion: Object, version: str, kept: bool) -> None:
    """A manager keeps its fields in a version that is not served, and loses those in one that the kind never had."""
    fields = Fields(conversion=conversion)
    first = fields.apply("one", thing(note=1))
    metadata = first["metadata"]
    entry = {**metadata["managedFields"][0], "manager": "old", "apiVersion": version}
    live = {**first, "metadata": {**metadata, "managedFields": [*metadata["managedFields"], entry]}}
    labelled = {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}}
    owned = run(fields.management.update(fields.context("two"), live, labelled))
    assert ("old" in owners(owned)) == kept and {"one", "two"} <= set(owners(owned))


def test_targets_follow_the_catalog() -> None:
    """What a kind without a webhook looks like is read again when the catalog changes."""
    fields = Fields("/v1/configmaps")
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": {"a": "b"}}
    first = run(fields.management.update(fields.context("one"), None, data))
    assert owners(first) == {"one": ("v1", {"f:data": {".": {}, "f:a": {}}})}
    targets = fields.management._targets
    kept = dict(targets)
    run(fields.management.update(fields.context("one"), None, data))
    assert all(targets[key] is target for key, target in kept.items())
    fields.catalog = custom({"strategy": "None"})
    run(fields.management.update(fields.context("one"), None, data))
    assert all(targets[key] is not target for key, target in kept.items())


SCALER: Object = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "h", "namespace": "n"}}
TARGET = {"kind": "Deployment", "name": "d"}


def cpu(share: int) -> Object:
    """A metric of autoscalers; the first version has a member for it."""
    target = {"type": "Utilization", "averageUtilization": share}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_built_in_kinds_are_converted_to_the_version_of_a_manager() -> None:
    """The share of the CPU that one manager owns in v1 is a metric of v2, which another changes."""
    fields = Fields("autoscaling/v2/horizontalpodautoscalers")
    spec = {"maxReplicas": 1, "scaleTargetRef": TARGET}
    old = {**SCALER, "apiVersion": "autoscaling/v1", "spec": {**spec, "targetCPUUtilizationPercentage": 50}}
    in_v1 = fields.context("one", "autoscaling/v1/horizontalpodautoscalers")
    live = convert(run(fields.management.apply(in_v1, None, old, force=False)), "autoscaling/v2", fields.catalog)
    config = {**SCALER, "apiVersion": "autoscaling/v2", "spec": {**spec, "metrics": [cpu(70)]}}
    in_v2 = fields.context("two")
    with pytest.raises(ApiError, match=r'conflict with "one": .spec.targetCPUUtilizationPercentage'):
        run(fields.management.apply(in_v2, live, config, force=False))
    same = {**config, "spec": {**spec, "metrics": [cpu(50)]}}
    for applied, share in ((run(fields.management.apply(in_v2, live, same, force=False)), True),
                           (run(fields.management.apply(in_v2, live, config, force=True)), False)):  # fmt: skip
        version, owned = owners(applied)["one"]
        assert version == "autoscaling/v1" and "f:maxReplicas" in owned["f:spec"]
        assert ("f:targetCPUUtilizationPercentage" in owned["f:spec"]) == share
        assert owners(applied)["two"][0] == "autoscaling/v2"


METRICS = KUBERNETES("autoscaling.alpha.{long}.io/metrics")


def memory(amount: object, member: str = "averageValue") -> Object:
    target = {"type": "AverageValue", "averageValue": amount} if member == "averageValue" else {}
    return {"type": "Resource", "resource": {"name": "memory", **({"target": target} if target else {member: amount})}}


@pytest.mark.parametrize(("amount", "same"), [("1", True), (1, True), ("2", False), (2, False)])
def test_values_are_compared_in_canonical_form(amount: object, same: bool) -> None:
    """A quantity that is sent as a number equals the text in the annotation of v1 that another manager owns."""
    fields = Fields("autoscaling/v2/horizontalpodautoscalers")
    spec = {"maxReplicas": 1, "scaleTargetRef": TARGET}
    note = json.dumps([memory("1", "targetAverageValue")], separators=(",", ":"))
    metadata = {**SCALER["metadata"], "annotations": {METRICS: note}}
    old = {**SCALER, "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec}
    in_v1 = fields.context("one", "autoscaling/v1/horizontalpodautoscalers")
    live = convert(run(fields.management.apply(in_v1, None, old, force=False)), "autoscaling/v2", fields.catalog)
    config = {**SCALER, "apiVersion": "autoscaling/v2", "spec": {**spec, "metrics": [memory(amount)]}}
    applied = run(fields.management.apply(fields.context("two"), live, config, force=True))
    owned = owners(applied)["one"][1].get("f:metadata", {})
    assert (f"f:{METRICS}" in owned.get("f:annotations", {})) == same


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}


@pytest.mark.parametrize("patched", [False, True])
def test_an_owner_is_named_once(patched: bool) -> None:
    """Repeated owners are removed with a warning, of patched objects after their fields are owned."""
    fields, warnings = Fields("/v1/configmaps"), list[str]()
    metadata = {"name": "m", "namespace": "n", "ownerReferences": [OWNER, OWNER]}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    context = fields.context("one", warnings=warnings)
    owned = run(fields.management.update(context, None, obj, patched=patched))
    assert owned["metadata"]["ownerReferences"] == [OWNER]
    assert len(warnings) == 1


def test_without_server_side_apply_nothing_is_managed() -> None:
    """The gate of release 1.23: managers that an object had are removed."""
    fields = Fields("/v1/configmaps", features={"ServerSideApply": False}, release=SPECIFICATION)
    metadata = {"name": "m", "namespace": "n", "managedFields": [{"manager": "x"}]}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
    owned = run(fields.management.update(fields.context("one"), None, obj))
    assert owned == {**obj, "metadata": {"name": "m", "namespace": "n"}}


@pytest.mark.parametrize(
    ("release", "subresource", "tracked"),
    [(NEWEST, "ephemeralcontainers", True), (SPECIFICATION, "ephemeralcontainers", False), (SPECIFICATION, "", True)],
)
def test_managers_of_debug_containers(release: Release, subresource: str, tracked: bool) -> None:
    """Before release 1.25 they are not tracked: the managers stay as they were."""
    fields = Fields("/v1/pods", release=release)
    metadata = {"name": "p", "namespace": "n", "labels": {"a": "b"}}
    live: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}]}}
    live = run(fields.management.update(fields.context("first"), None, live))
    changed = {**live, "spec": {**live["spec"], "ephemeralContainers": [{"name": "d"}]}}
    owned = run(fields.management.update(fields.context("one", subresource=subresource), live, changed))
    assert set(owners(owned)) == ({"first", "one"} if tracked else {"first"})
