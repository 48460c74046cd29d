"""What the rows of kinds, and the strategies of some, make of objects, without a server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.stored_encoding import encode, with_revision
from orchd.kinds.objects.schema_check.limits import LongValidationError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.registry.strategies.base import Strategy
from orchd.server.registry.strategies.definitions import DefinitionStrategy
from orchd.server.registry.strategies.namespaces import NamespaceStrategy
from orchd.server.registry.strategies.pods import PodStrategy
from orchd.server.registry.strategies.policies import PolicyStrategy
from orchd.server.registry.strategies.service_allocations import RecordedAddresses, ServiceRanges
from orchd.server.registry.strategies.signing_requests import SigningRequestStrategy
from orchd.server.registry.strategies.slices import SliceStrategy
from orchd.server.registry.strategies.workloads import DaemonSetStrategy, JobStrategy, RevisionStrategy
from orchd.txkit.compute_thread import LARGE
from tests.server.registry.test_strategy_rules import NOW, Object, context, strategy

#: Propagation policy, whether the status is written apart, whether a PUT creates, and whether it may omit the version.
ROWS = {
    "v1/configmaps": ("Background", False, False, True),
    "v1/pods": ("Background", True, False, True),
    "v1/replicationcontrollers": ("Orphan", True, False, True),
    "v1/events": ("", False, True, True),
    "coordination.k8s.io/v1/leases": ("Background", False, True, False),
    "policy/v1/poddisruptionbudgets": ("Background", True, False, False),
}


@pytest.mark.parametrize("path", ROWS)
def test_rules_of_rows(path: str) -> None:
    made = strategy(Strategy, path)
    rules = (made.default_propagation, made.has_status, made.creates_on_update, made.unconditional_update)
    assert rules == ROWS[path]
    assert strategy(Strategy, path, garbage_collection=False).default_propagation == ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("v1/events", {"metadata": {"name": "d"}, "status": {"x": 1}}),
        ("apps/v1/deployments", {"metadata": {"name": "d", "generation": 1}, "status": {}}),
        (
            "policy/v1/poddisruptionbudgets",
            {
                "metadata": {"name": "d", "generation": 1},
                "status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
            },
        ),
    ],
)
def test_new_objects_of_rows(path: str, expected: Object) -> None:
    """A kind with a generation begins with 1, and one with a status with an empty one."""
    sent: Object = {"metadata": {"name": "d"}, "status": {"x": 1}}
    assert strategy(Strategy, path).prepare_create(context(), sent) == expected


def test_changed_objects_of_rows() -> None:
    """The main endpoint leaves the status and counts what the generation counts; that of the status leaves the rest."""
    budgets = strategy(Strategy, "policy/v1/poddisruptionbudgets")
    old: Object = {"metadata": {"name": "d", "generation": 3}, "spec": {"a": 1}, "status": {"x": 1}}

    def update(old: Object, **members: Any) -> Object:
        changed: Object = budgets.prepare_update(context(), {"metadata": {"name": "d"}, **members}, old)
        return changed

    assert update(old, spec={"a": 1}, status={"x": 2})["status"] == {"x": 1}
    assert "generation" not in update(old, spec={"a": 1})["metadata"]
    assert update(old, spec={"a": 2})["metadata"]["generation"] == 4
    assert update({"metadata": {}, "spec": {}}, spec={"a": 2}) == {
        "metadata": {"name": "d", "generation": 1},
        "spec": {"a": 2},
    }
    sent = {"metadata": {"name": "d", "labels": {"a": "b"}}, "spec": {"a": 2}, "status": {"x": 2}}
    assert budgets.prepare_update(context("status"), sent, old) == {
        **old,
        "metadata": sent["metadata"],
        "status": {"x": 2},
    }
    services = strategy(Strategy, "apiregistration.k8s.io/v1/apiservices")
    before = {"name": "d", "labels": {"old": "x"}}
    after = {"name": "d", "labels": {"new": "x"}, "annotations": {"new": "x"}, "managedFields": ["new"]}
    written = services.prepare_update(context("status"), {"metadata": after, "status": {}}, {"metadata": before})
    assert written["metadata"] == {"name": "d", "labels": {"old": "x"}, "managedFields": ["new"]}
    del sent["status"]
    assert "status" not in budgets.prepare_update(context("status"), sent, old)


@pytest.mark.parametrize(
    ("path", "subresource", "fields"),
    [
        ("apps/v1/deployments", "", {"f:status": {}}),
        ("apps/v1/deployments", "status", {"f:spec": {}, "f:metadata": {"f:labels": {}}}),
        ("apps/v1/deployments", "scale", {"f:status": {}}),
        ("v1/configmaps", "", {}),
        ("v1/configmaps", "status", {"f:spec": {}}),
        ("v1/pods", "status", {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}}),
    ],
)
def test_fields_that_endpoints_reset(path: str, subresource: str, fields: Object) -> None:
    assert strategy(Strategy, path).reset_fields(subresource) == fields


@pytest.mark.parametrize(
    ("now", "before", "completes"),
    [
        ({}, {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, True),
        ({"finalizers": ["x"]}, {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, False),
        ({}, {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 1}, False),
        ({}, {"deletionGracePeriodSeconds": 0}, False),
    ],
)
def test_changes_that_complete_a_deletion(now: Object, before: Object, completes: bool) -> None:
    """Without grace period, an object that is marked goes with its last finalizer; namespaces and definitions also with
    one, unless something else holds them."""
    obj, old = {"metadata": {**now, "deletionTimestamp": NOW}}, {"metadata": before}
    assert strategy(Strategy, "v1/configmaps").completes_deletion(context(), obj, old) is completes
    phased = not now and "deletionTimestamp" in before
    path = "apiextensions.k8s.io/v1/customresourcedefinitions"
    assert strategy(DefinitionStrategy, path).completes_deletion(context(), obj, old) is phased
    namespaces = strategy(NamespaceStrategy, "v1/namespaces")
    assert namespaces.completes_deletion(context(), obj, old) is phased
    assert not namespaces.completes_deletion(context(), {**obj, "spec": {"finalizers": ["x"]}}, old)


@pytest.mark.parametrize(
    ("spec", "phase", "options", "seconds"),
    [
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Running", {}, 20),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Running", {"gracePeriodSeconds": 5}, 5),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Running", {"gracePeriodSeconds": 0}, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Running", {"gracePeriodSeconds": -2}, 1),
        ({"nodeName": "n"}, "Running", {}, 0),
        ({"terminationGracePeriodSeconds": 20}, "Pending", {}, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Failed", {}, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 20}, "Succeeded", {}, 0),
    ],
)
def test_grace_periods_of_pods(spec: Object, phase: str, options: Object, seconds: int) -> None:
    """That of the request or of the pod, none for a pod that does not run."""
    obj = {"metadata": {}, "spec": spec, "status": {"phase": phase}}
    assert strategy(PodStrategy, "v1/pods").grace_period(obj, options) == seconds


def test_new_pods() -> None:
    """They are pending, gated ones with a condition; label keys of constraints are merged where there are labels."""
    pods = strategy(PodStrategy, "v1/pods", NEWEST)

    def created(labels: Object | None = None, **spec: Any) -> Object:
        metadata = {"name": "p", "creationTimestamp": NOW, **({"labels": labels} if labels else {})}
        made: Object = pods.prepare_create(context(), {"metadata": metadata, "spec": {"containers": [], **spec}})
        return made

    assert created()["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    (condition,) = created(schedulingGates=[{"name": "g"}])["status"]["conditions"]
    assert (condition["reason"], condition["lastTransitionTime"]) == ("SchedulingGated", NOW)
    spread = {"maxSkew": 1, "topologyKey": "t", "labelSelector": {}, "matchLabelKeys": ["app"]}
    for labels, merged in (({"app": "web"}, True), (None, False)):
        (constraint,) = created(labels, topologySpreadConstraints=[spread])["spec"]["topologySpreadConstraints"]
        assert (constraint["labelSelector"] != {}) is merged


def test_resized_pods() -> None:
    """The resources and resize policies of containers are those that were sent; other containers are for validation to
    refuse."""
    pods = strategy(PodStrategy, "v1/pods", NEWEST)
    old = {
        "metadata": {"name": "p", "labels": {"a": "b"}, "generation": 1},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"x": 1}, "resizePolicy": [1]}],
            "nodeName": "n",
        },
        "status": {"phase": "Running"},
    }

    def resize(**spec: Any) -> Object:
        resized: Object = pods.prepare_update(context("resize"), {"metadata": {"name": "p"}, "spec": spec}, old)
        return resized

    result = resize(containers=[{"name": "c", "image": "other", "resources": {"x": 2}}])
    assert result["spec"] == {"containers": [{"name": "c", "image": "i", "resources": {"x": 2}}], "nodeName": "n"}
    assert (result["metadata"]["labels"], result["status"]) == ({"a": "b"}, {"phase": "Running"})
    assert result["metadata"]["generation"] == 2
    for containers in ([{"name": "d"}], [], [{"name": "c"}, {"name": "d"}]):
        assert resize(containers=containers)["spec"]["containers"] == containers


def test_namespaces() -> None:
    """New ones get the finalizer and the label of their name; finalizers change through their own endpoint."""
    made = strategy(NamespaceStrategy, "v1/namespaces")
    active = {"phase": "Active"}
    assert made.prepare_create(context(), {"metadata": {"name": "d"}}) == {
        "metadata": {"name": "d", "labels": {"kubernetes.io/metadata.name": "d"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": active,
    }
    unnamed = {"metadata": {"generateName": "g"}, "spec": {"finalizers": ["a/b"]}, "status": {"phase": "x"}}
    assert made.prepare_create(context(), unnamed) == {
        **unnamed, "spec": {"finalizers": ["a/b", "kubernetes"]}, "status": active
    }  # fmt: skip
    both = {"metadata": {"name": "d", "labels": {"a": "b"}}, "spec": {"finalizers": ["kubernetes"]}}
    assert made.prepare_create(context(), both)["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "d"}
    assert made.prepare_create(context(), both)["spec"] == {"finalizers": ["kubernetes"]}
    for metadata, spec, blocks in (
        ({}, {}, True),
        ({"deletionTimestamp": NOW}, {}, False),
        ({"deletionTimestamp": NOW}, {"finalizers": ["x"]}, True),
    ):
        assert made.blocks_deletion({"metadata": metadata, "spec": spec}) is blocks


def version(name: str, *, storage: bool = False, format_: str = "") -> Object:
    member = {"type": "string", **({"format": format_} if format_ else {})}
    return {
        "name": name,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": member}}},
    }


def test_definitions() -> None:
    """The storage version is recorded once; formats that nobody knows are warned of when they are new."""
    made = strategy(DefinitionStrategy, "apiextensions.k8s.io/v1/customresourcedefinitions", NEWEST)

    def stored(before: Object, *versions: Object, subresource: str = "") -> Any:
        sent = {"metadata": {"name": "d"}, "spec": {"versions": list(versions)}, "status": {"storedVersions": ["sent"]}}
        old = {"metadata": {"name": "d"}, "spec": {}, "status": before}
        return made.prepare_update(context(subresource), sent, old)["status"].get("storedVersions")

    new = {"metadata": {"name": "d"}, "spec": {"versions": [version("v1"), version("v2", storage=True)]}}
    assert made.prepare_create(context(), new)["status"]["storedVersions"] == ["v2"]
    assert stored({"storedVersions": ["v2"]}, version("v1", storage=True), version("v2")) == ["v2", "v1"]
    assert stored({"storedVersions": ["v1", "v2"]}, version("v1", storage=True)) == ["v1", "v2"]
    assert stored({"storedVersions": ["v2"]}, version("v1")) == ["v2"]
    assert stored({"storedVersions": ["v2"]}, version("v1", storage=True), subresource="status") == ["sent"]
    odd = {"spec": {"versions": [version("v1", format_="odd"), version("v2", format_="date")]}}
    assert made.warnings(context(), odd, None) == ['unrecognized format "odd"']
    assert not made.warnings(context(), odd, odd) and not made.warnings(context("status"), odd, None)
    early = strategy(DefinitionStrategy, "apiextensions.k8s.io/v1/customresourcedefinitions")
    assert not early.warnings(context(), odd, None)
    finalizer = "customresourcecleanup.apiextensions.k8s.io"
    for before, after in (([], [finalizer]), (["x"], ["x", finalizer]), ([finalizer, "x"], [finalizer, "x"])):
        obj = made.prepare_deletion(context(), {"metadata": {"name": "d"}}, {"metadata": {"finalizers": before}})
        assert obj["metadata"]["finalizers"] == after
        (condition,) = obj["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["lastTransitionTime"]) == ("Terminating", "True", NOW)
    assert made.blocks_deletion({"metadata": {}}) and not made.blocks_deletion({"metadata": {"deletionTimestamp": NOW}})


@pytest.mark.parametrize(("version_", "refused"), [("v1", True), ("v1beta1", False)])
def test_definitions_of_the_first_version(version_: str, refused: bool) -> None:
    """They may preserve unknown fields; other errors are those of every version."""
    made = strategy(DefinitionStrategy, f"apiextensions.k8s.io/{version_}/customresourcedefinitions")
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    versions = [{**version("v1", storage=True), "served": True}]
    spec = {"group": "a.b", "names": names, "scope": "x", "versions": versions}
    old = {"metadata": {"name": "things.a.b"}, "spec": spec, "status": {"storedVersions": ["v1"]}}
    obj = {**old, "spec": {**spec, "preserveUnknownFields": True}}
    large = context(size=LARGE + 1)
    for causes in (made.validate_create(large, obj), made.validate_update(large, obj, old)):
        fields = [cause.field for cause in causes]
        assert "spec.scope" in fields and ("spec.preserveUnknownFields" in fields) is refused
    assert not made.validate_update(context("status"), obj, obj)


def test_rules_of_definitions_are_dropped_without_their_feature() -> None:
    """The client is warned, and an update that leaves the specification leaves the status."""
    made = strategy(
        DefinitionStrategy, "apiextensions.k8s.io/v1/customresourcedefinitions",
        features={"CustomResourceValidationExpressions": False},
    )  # fmt: skip
    ruled = version("v1", storage=True)
    ruled["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "true"}]
    plain = version("v1", storage=True)
    warnings: list[str] = []
    written = context()
    written.warn = warnings.append

    def obj(*versions: Object, **status: Any) -> Object:
        return {"metadata": {"name": "d"}, "spec": {"versions": list(versions)}, "status": status}

    created = made.prepare_create(written, obj(ruled))
    assert created["spec"]["versions"] == [plain] and len(warnings) == 1
    conditions = len(created["status"].get("conditions") or ())
    stored = obj(plain, storedVersions=["v1"])
    again = made.prepare_update(written, obj(ruled), stored)
    assert again["spec"]["versions"] == [plain] and len(warnings) == 2
    assert len(again["status"].get("conditions") or ()) == conditions
    assert made.prepare_update(written, obj(plain), stored)["status"] == {"storedVersions": ["v1"]}
    assert len(warnings) == 2


@pytest.mark.parametrize(("size", "elsewhere"), [(4096, False), (4097, True), (LARGE, True), (LARGE + 1, False)])
def test_expressions_are_compiled_elsewhere(size: int, elsewhere: bool) -> None:
    """Those of a small object are few; a large one is elsewhere already."""
    made = strategy(PolicyStrategy, "resource.k8s.io/v1/deviceclasses", NEWEST)
    obj: Object = {"metadata": {"name": "c"}, "spec": {}}
    for validate, arguments in ((made.validate_create, (obj,)), (made.validate_update, (obj, obj))):
        if elsewhere:
            with pytest.raises(LongValidationError):
                validate(context(size=size), *arguments)
        else:
            validate(context(size=size), *arguments)
    made.validate_update(context("status", size=size), obj, obj)


@pytest.mark.parametrize(
    ("annotation", "template", "expected"),
    [("3", {"a": 1}, "3"), ("3", {"a": 2}, "4"), (None, {"a": 1}, "0"), (None, {"a": 2}, "1"), ("x", {"a": 2}, "1")],
)
def test_template_generations_of_daemon_sets(annotation: str | None, template: Object, expected: str) -> None:
    """A change of the template raises it, and clients do not; the annotation is no change itself."""
    made = strategy(DaemonSetStrategy, "apps/v1/daemonsets")
    key = "deprecated.daemonset.template.generation"
    before = {} if annotation is None else {key: annotation}
    old = {"metadata": {"generation": 5, "annotations": before}, "spec": {"template": {"a": 1}}}
    sent = {"metadata": {"annotations": {key: "99", "b": "c"}}, "spec": {"template": template}}
    result = made.raise_generation(sent, old)["metadata"]
    assert result["annotations"] == {key: expected, "b": "c"}
    assert result.get("generation") == (6 if template == {"a": 2} else None)
    kept = {"3": "3", None: "0", "x": "0"}[annotation]
    assert made.prepare_update(context("status"), sent, old)["metadata"]["annotations"] == {key: kept, "b": "c"}


@pytest.mark.parametrize(
    ("release", "features", "marked"),
    [
        (SPECIFICATION, {"JobTrackingWithFinalizers": True}, True),
        (SPECIFICATION, {"JobTrackingWithFinalizers": False}, False),
        (NEWEST, {}, False),
    ],
)
def test_new_jobs(release: Release, features: dict[str, bool], marked: bool) -> None:
    """A job without a manual selector gets one; the mark of its tracking is of early releases."""
    made = strategy(JobStrategy, "batch/v1/jobs", release, features=features)
    job: Object = {"metadata": {"name": "j", "uid": "u", "labels": {"own": "x"}}, "spec": {"template": {"spec": {}}}}
    result = made.prepare_create(context(), job)
    assert ("annotations" in result["metadata"]) is marked and result["metadata"]["labels"] == {"own": "x"}
    selected = result["spec"]["selector"]["matchLabels"]
    assert (
        set(selected.values()) == {"u"} and selected.items() <= result["spec"]["template"]["metadata"]["labels"].items()
    )
    manual = {**job, "spec": {**job["spec"], "manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}}
    assert made.prepare_create(context(), manual)["spec"] == manual["spec"]
    assert len(made.deletion_warnings({})) == 1
    for asked in ({"propagationPolicy": "Background"}, {"orphanDependents": False}):
        assert made.deletion_warnings(asked) == ()
    crons = strategy(JobStrategy, "batch/v1/cronjobs")
    assert crons.deletion_warnings({}) == ()


def test_conditions_of_signing_requests() -> None:
    """The approval endpoint writes conditions, that of the status everything but the approval; times are completed."""
    made = strategy(SigningRequestStrategy, "certificates.k8s.io/v1/certificatesigningrequests")

    def condition(kind: str, time: str = "", status: str = "True") -> Object:
        times = {"lastTransitionTime": time, "lastUpdateTime": time} if time else {}
        return {"type": kind, "status": status, **times}

    approved, failed = condition("Approved", "t1"), condition("Failed", "t2")
    old: Object = {
        "metadata": {"name": "r"},
        "spec": {"a": 1},
        "status": {"certificate": "c", "conditions": [approved]},
    }

    def write(subresource: str, *conditions: Object, before: Object = old, **status: Any) -> Object:
        sent = {
            "metadata": {"name": "r", "labels": {"x": "y"}},
            "spec": {"a": 2},
            "status": {**status, "conditions": [*conditions]},
        }
        result: Object = made.prepare_update(context(subresource), sent, before)
        assert result["spec"] == {"a": 1} and result["metadata"] == sent["metadata"]
        status_: Object = result["status"]
        return status_

    assert write("", failed, certificate="d") == old["status"]
    assert write("approval", failed, certificate="d") == {"certificate": "c", "conditions": [failed]}
    assert write("status", condition("Approved", "t9"), failed, certificate="d") == {
        "certificate": "d",
        "conditions": [approved, failed],
    }
    # Another number of them is for validation to refuse.
    assert write("status", failed)["conditions"] == [failed]
    both = {**old, "status": {"conditions": [failed, approved]}}
    assert write("status", condition("Approved", "t9"), failed, before=both)["conditions"] == [approved, failed]
    denied = {**old, "status": {"conditions": [condition("Denied", "t3")]}}
    assert write("status", condition("Denied", "t9"), before=denied) == {"conditions": [condition("Denied", "t3")]}
    assert write("status", before=denied) == {}
    fresh = {**condition("Failed"), "lastTransitionTime": NOW, "lastUpdateTime": NOW}
    assert write("approval", condition("Failed"))["conditions"] == [fresh]
    again = {**condition("Approved"), "lastTransitionTime": "t1", "lastUpdateTime": NOW}
    assert write("approval", condition("Approved"))["conditions"] == [again]
    timeless = {**old, "status": {"conditions": [condition("Approved")]}}
    assert write("approval", condition("Failed"), before=timeless)["conditions"] == [fresh]
    changed = {**condition("Approved", status="False"), "lastTransitionTime": NOW, "lastUpdateTime": NOW}
    assert write("approval", condition("Approved", status="False"))["conditions"] == [changed]


@pytest.mark.parametrize(
    ("version_", "topology", "before", "expected"),
    [
        ("v1beta1", {"x": "y"}, None, {"topology": {"x": "y"}}),
        ("v1", {"x": "y"}, None, {}),
        ("v1", {"x": "y"}, {"x": "y"}, {"topology": {"x": "y"}}),
        ("v1", {"x": "z"}, {"x": "y"}, {}),
        ("v1", {"kubernetes.io/hostname": "n"}, {"kubernetes.io/hostname": "n", "x": "y"}, {"nodeName": "n"}),
        ("v1", {"kubernetes.io/hostname": "m"}, {"kubernetes.io/hostname": "n", "x": "y"}, {}),
        ("v1", {}, None, {}),
    ],
)
def test_topology_of_endpoints(version_: str, topology: Object, before: Object | None, expected: Object) -> None:
    """Only the first version writes it; others keep it while the endpoints are the same, and the node that was there."""
    made = strategy(SliceStrategy, "discovery.k8s.io/v1/endpointslices")
    written: Any = context()
    written.resource = SimpleNamespace(version=version_)

    def obj(topology: Object | None) -> Object:
        endpoint = {"addresses": ["10.0.0.1"], "conditions": {}, **({"topology": topology} if topology else {})}
        head = {"apiVersion": "discovery.k8s.io/v1beta1", "kind": "EndpointSlice", "metadata": {"name": "s"}}
        return {**head, "addressType": "IPv4", "endpoints": [endpoint], "ports": []}

    if before is None:
        result = made.prepare_create(written, obj(topology))
    else:
        result = made.prepare_update(written, obj(topology), obj(before))
    (endpoint,) = result["endpoints"]
    kept = {name: endpoint[name] for name in ("topology", "nodeName") if endpoint.get(name)}
    if "nodeName" in expected:
        assert kept.get("nodeName", kept.get("topology", {}).get("kubernetes.io/hostname")) == "n"
    else:
        assert kept == expected


def test_data_of_revisions() -> None:
    """An apply that changes nothing keeps the text of the data; another one sorts it, and a replacement leaves it."""
    made = strategy(RevisionStrategy, "apps/v1/controllerrevisions")
    written: Any = context()
    written.applies = False
    obj = {"metadata": {"name": "r"}, "data": {"b": 1, "a": 2}, "revision": 1}
    assert made.prepare_update(written, obj, obj) == obj
    written.applies = True
    written.stored = b'{"metadata":{"name":"r"},"data":{"b":1,"a":2},"revision":1}'
    assert made.prepare_update(written, obj, obj)["metadata"] == {"name": "r"}
    labelled = {**obj, "metadata": {"name": "r", "labels": {"a": "b"}}}
    for changed in (labelled, {**obj, "revision": 2}):
        result = made.prepare_update(written, changed, obj)
        assert (result["metadata"], result["revision"]) == (changed["metadata"], changed["revision"])


class _Cache:
    """A cache of entries, whose changes a test announces."""

    def __init__(self, *entries: Entry) -> None:
        self.entries, self.revision, self.pages = list(entries), 9, 0
        self.tell: Any = None
        self.end: Any = None

    def page(self) -> _Cache:
        self.pages += 1
        return self

    def subscribe(self, *, after: int, prefix: str, on_change: Any, on_end: Any) -> object:
        assert (after, prefix) == (9, "")
        self.tell, self.end = on_change, on_end
        return object()


def entry(name: str, *conditions: Object, cidrs: tuple[str, ...] = (), deleted: bool = False) -> Entry:
    metadata = {"name": name, **({"deletionTimestamp": NOW} if deleted else {})}
    obj = {"metadata": metadata, "spec": {"cidrs": list(cidrs)}, "status": {"conditions": list(conditions)}}
    return Entry(name, 1, 1, with_revision(encode(obj), 1), {}, {})


def test_recorded_addresses_follow_their_objects() -> None:
    """They are read once, and again after the cache has restarted; names that are no addresses do not count."""
    cache: Any = _Cache(entry("10.0.0.1"), entry("fd00--1"), entry("fd00::1"), entry("odd"))
    made = RecordedAddresses(lambda: cache)
    assert (made.addresses(4), made.addresses(6)) == ({0x0A000001}, {0xFD000000000000000000000000000001})
    cache.tell(Change(ChangeType.ADDED, entry("10.0.0.2"), None))
    cache.tell(Change(ChangeType.DELETED, entry("10.0.0.1"), entry("10.0.0.1")))
    cache.tell(Change(ChangeType.DELETED, entry("odd"), entry("odd")))
    assert made.addresses(4) == {0x0A000002} and cache.pages == 1
    cache.end(Exception())
    cache.entries = [entry("10.0.0.3")]
    assert (made.addresses(4), made.addresses(6), cache.pages) == ({0x0A000003}, set(), 2)


def test_ranges_follow_their_objects() -> None:
    """Those that are ready, or do not say, and are not being deleted."""

    def ready(status: str) -> Object:
        return {"type": "Ready", "status": status}

    other = {"type": "Other", "status": "False"}
    cache: Any = _Cache(
        entry("a", ready("True"), other, cidrs=("10.0.0.0/24", "fd00::/64")),
        entry("b", ready("False"), cidrs=("10.0.1.0/24",)),
        entry("c", cidrs=("10.0.2.0/24",)),
        entry("d", ready("True"), cidrs=("10.0.3.0/24",), deleted=True),
    )
    made = ServiceRanges(lambda: cache)

    def networks() -> list[str]:
        return sorted(map(str, made.networks()))

    assert networks() == ["10.0.0.0/24", "10.0.2.0/24", "fd00::/64"]
    cache.tell(Change(ChangeType.MODIFIED, entry("b", ready("True"), cidrs=("10.0.1.0/24",)), None))
    cache.tell(Change(ChangeType.MODIFIED, entry("c", ready("False"), cidrs=("10.0.2.0/24",)), None))
    cache.tell(Change(ChangeType.DELETED, entry("a"), None))
    assert networks() == ["10.0.1.0/24"]
    cache.end(Exception())
    cache.entries = []
    assert networks() == []
