"""What strategies make of an object before it is stored, without a server."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.pki.certificates import chain_pem, self_signed
from orchd.server.registry.strategies import servicefields
from orchd.server.registry.strategies.core_kinds import ClaimStrategy, ServiceAccountStrategy, VolumeStrategy
from orchd.server.registry.strategies.custom import CustomStrategy
from orchd.server.registry.strategies.device_claims import DeviceClaimStrategy
from orchd.server.registry.strategies.pods import PodStrategy
from orchd.server.registry.strategies.signing_requests import SigningRequestStrategy
from orchd.server.registry.strategies.workloads import DeploymentStrategy
from orchd.server.registry.version_translation import ConversionNeededError, VersionTranslation

Object = dict[str, Any]
NOW = "2027-01-15T08:00:00Z"


def strategy(type_: Any, path: str, release: Release = SPECIFICATION, **settings: Any) -> Any:
    """A strategy for the resource ``[GROUP/]VERSION/PLURAL``."""
    catalog = builtin_catalog(KUBERNETES, release, enabled=lambda group, version, default: True)
    group, version, plural = path.rpartition("/")[0].rpartition("/")[0], *path.split("/")[-2:]
    resource = catalog.resource(group, version, plural)
    assert resource is not None, path
    return type_(resource, catalog, ObjectSettings(dialect=KUBERNETES, release=release, **settings))


def context(subresource: str = "", size: int = 0) -> Any:
    return SimpleNamespace(
        subresource=subresource, size=size, now=1_800_000_000.0, interrupted=None, warn=lambda text: None, stored=b""
    )


# --- custom kinds ---------------------------------------------------------------------------------


def custom(*, status: bool = True, defaults: bool = False, release: Release = NEWEST) -> Any:
    inner: Object = {"type": "object", "properties": {"phase": {"type": "string"}}}
    if defaults:
        inner["default"] = {"phase": "New"}
    schema = {"type": "object", "properties": {"spec": {"type": "object"}, "status": inner}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}} if status else {}}],
        },
        "status": {"acceptedNames": names, "conditions": [{"type": "Established", "status": "True"}]},
    }
    catalog = builtin_catalog(KUBERNETES, release)
    [resource] = custom_kind(definition, lambda: definition, catalog.types, KUBERNETES).resources
    settings = ObjectSettings(dialect=KUBERNETES, release=release)
    return CustomStrategy(resource, catalog.adding((resource,)), settings)


def thing(generation: int | None = None, **members: Any) -> Object:
    metadata = {"name": "t", "namespace": "a", **({} if generation is None else {"generation": generation})}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, **members}


def test_new_custom_objects() -> None:
    """The status of a new object is that of its defaults, if status is written apart."""
    sent = thing(7, spec={"a": 1}, status={"phase": "Sent"})
    assert custom().prepare_create(context(), sent) == thing(1, spec={"a": 1})
    assert custom(defaults=True).prepare_create(context(), sent) == thing(1, spec={"a": 1}, status={"phase": "New"})
    assert custom(status=False).prepare_create(context(), sent) == thing(1, spec={"a": 1}, status={"phase": "Sent"})


@pytest.mark.parametrize(
    "status, old, sent, expected",
    [
        # Every member but metadata counts for the generation; the status only where it is not written apart.
        (True, thing(3, spec={"a": 1}), thing(3, spec={"a": 1}), thing(3, spec={"a": 1})),
        (True, thing(3, spec={"a": 1}), thing(3, spec={"a": 2}), thing(4, spec={"a": 2})),
        (True, thing(3, spec={"a": 1}), thing(3), thing(4)),
        (True, thing(3), thing(3, other=1), thing(4, other=1)),
        (True, thing(), thing(spec={}), thing(1, spec={})),
        (True, thing(3, status={"p": 1}), thing(3, status={"p": 2}), thing(3, status={"p": 1})),
        (True, thing(3), thing(3, status={"p": 2}), thing(3)),
        (False, thing(3, status={"p": 1}), thing(3, status={"p": 2}), thing(4, status={"p": 2})),
    ],
)
def test_changed_custom_objects(status: bool, old: Object, sent: Object, expected: Object) -> None:
    assert custom(status=status).prepare_update(context(), sent, old) == expected


def test_status_of_custom_objects() -> None:
    """Only the status and the managers of the object change."""
    old = thing(3, spec={"a": 1}, status={"p": 1})
    old["metadata"] |= {"labels": {"a": "b"}, "managedFields": ["old"]}
    sent = thing(9, spec={"a": 2}, status={"p": 2})
    expected = thing(3, spec={"a": 1}, status={"p": 2})
    expected["metadata"] |= {"labels": {"a": "b"}}
    assert custom().prepare_update(context("status"), sent, old) == expected
    sent["metadata"]["managedFields"] = ["new"]
    expected["metadata"]["managedFields"] = ["new"]
    assert custom().prepare_update(context("status"), sent, old) == expected
    del sent["status"], expected["status"]
    assert custom().prepare_update(context("status"), sent, old) == expected


@pytest.mark.parametrize("write", ["create", "update", "status"])
def test_objects_of_other_kinds(write: str) -> None:
    kinds, other = custom(), {**thing(), "kind": "Other"}
    with pytest.raises(ApiError) as refused:
        if write == "create":
            kinds.prepare_create(context(), other)
        else:
            kinds.prepare_update(context("" if write == "update" else "status"), other, thing())
    assert refused.value.code == 422 and "Thing" in refused.value.message


@pytest.mark.parametrize(
    "name, words",
    [
        ("example.com/a", []),
        ("orphan", []),
        ("foregroundDeletion", []),
        ("kubernetes", []),
        ("plain", ["prefer a domain-qualified finalizer name to avoid"]),
        ("example.com", ["prefer a domain-qualified finalizer name including a path (/) to avoid"]),
        ("a b", ["name part must consist of", "prefer a domain-qualified"]),
    ],
)
def test_warnings_of_finalizers(name: str, words: list[str]) -> None:
    """New finalizers that others may use too are warned of in later releases."""
    obj = thing()
    obj["metadata"]["finalizers"] = [name]
    texts = custom().warnings(context(), obj, None)
    assert len(texts) == len(words)
    assert all(text.startswith(f'metadata.finalizers: "{name}": ') for text in texts)
    assert all(word in text for word, text in zip(words, texts, strict=True))
    assert not custom().warnings(context(), obj, obj) and not custom().warnings(context("status"), obj, None)
    assert not custom(release=SPECIFICATION).warnings(context(), obj, None)


@pytest.mark.parametrize(
    ("before", "now", "completes"),
    [
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, {}, True),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, {"finalizers": ["a/b"]}, False),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 1}, {}, False),
        ({"deletionTimestamp": NOW}, {}, False),
        ({"deletionGracePeriodSeconds": 0}, {}, False),
        ({}, {}, False),
    ],
)
def test_updates_that_complete_a_deletion(before: Object, now: Object, completes: bool) -> None:
    """An object that is being deleted without grace goes away with its last finalizer."""
    old, obj = ({"metadata": {"name": "a", **members}} for members in (before, now))
    assert custom().completes_deletion(context(), obj, old) is completes


# --- volumes, claims, accounts --------------------------------------------------------------------

CLAIM, SNAPSHOT = {"kind": "PersistentVolumeClaim", "name": "x"}, {"kind": "VolumeSnapshot", "name": "x"}
OF_SNAPSHOTS = {**SNAPSHOT, "apiGroup": "snapshot.storage.k8s.io"}
OTHER = {"kind": "Other", "apiGroup": "example.com", "name": "x"}


@pytest.mark.parametrize(
    "feature, before, spec, expected",
    [
        (True, {}, {}, (None, None)),
        (True, {}, {"dataSource": CLAIM}, (CLAIM, CLAIM)),
        (True, {}, {"dataSource": OF_SNAPSHOTS}, (OF_SNAPSHOTS, OF_SNAPSHOTS)),
        (True, {}, {"dataSource": SNAPSHOT}, (None, None)),
        (True, {}, {"dataSource": OTHER}, (None, None)),
        (True, {}, {"dataSourceRef": OTHER}, (OTHER, OTHER)),
        # The source is in the namespace of the claim.
        (True, {}, {"dataSourceRef": {**OTHER, "namespace": ""}}, (OTHER, {**OTHER, "namespace": ""})),
        (True, {}, {"dataSourceRef": {**OTHER, "namespace": "n"}}, (None, {**OTHER, "namespace": "n"})),
        (True, {}, {"dataSource": CLAIM, "dataSourceRef": OTHER}, (CLAIM, OTHER)),
        # A source that the claim has had stays.
        (True, {"dataSource": OTHER}, {"dataSource": OTHER}, (OTHER, OTHER)),
        (True, {"dataSourceRef": OTHER}, {"dataSource": OTHER}, (OTHER, OTHER)),
        (False, {}, {"dataSource": CLAIM}, (CLAIM, None)),
        (False, {}, {"dataSource": OTHER}, (None, None)),
    ],
)
def test_sources_of_claims(feature: bool, before: Object, spec: Object, expected: tuple[Any, Any]) -> None:
    """The source and the reference are the same where one is left out; unknown sources are dropped."""
    claims = strategy(ClaimStrategy, "v1/persistentvolumeclaims", features={"AnyVolumeDataSource": feature})
    obj = {"metadata": {"name": "c"}, "spec": spec, "status": {}}
    if before:
        result = claims.prepare_update(context(), obj, {**obj, "spec": before})
    else:
        result = claims.prepare_create(context(), obj)
        assert result["status"] == {"phase": "Pending"}
    assert (result["spec"].get("dataSource"), result["spec"].get("dataSourceRef")) == expected


@pytest.mark.parametrize(
    "before, status, time",
    [
        ({"phase": "Pending"}, {"phase": "Bound"}, NOW),
        ({"phase": "Pending", "t": "1"}, {"phase": "Bound", "t": "1"}, NOW),
        ({"phase": "Pending", "t": "1"}, {"phase": "Bound", "t": "2"}, "2"),
        ({"phase": "Bound", "t": "1"}, {"phase": "Bound"}, "1"),
        ({"phase": "Bound", "t": "1"}, {"phase": "Bound", "t": "2"}, "2"),
        ({"phase": "Bound"}, {"phase": "Bound"}, None),
    ],
)
def test_times_of_phases(before: Object, status: Object, time: str | None) -> None:
    """The time at which the phase of a volume changed is the server's, unless the client says another."""
    volumes = strategy(VolumeStrategy, "v1/persistentvolumes", NEWEST)

    def volume(status: Object) -> Object:
        named = {"t": "lastPhaseTransitionTime"}
        return {"metadata": {"name": "v"}, "spec": {}, "status": {named.get(k, k): v for k, v in status.items()}}

    result = volumes.prepare_update(context("status"), volume(status), volume(before))
    assert result["status"].get("lastPhaseTransitionTime") == time
    assert volumes.prepare_create(context(), volume({}))["status"] == {
        "phase": "Pending",
        "lastPhaseTransitionTime": NOW,
    }
    early = strategy(VolumeStrategy, "v1/persistentvolumes")
    assert early.prepare_create(context(), volume({}))["status"] == {"phase": "Pending"}


def test_secrets_of_accounts() -> None:
    """References to secrets are their names."""
    accounts = strategy(ServiceAccountStrategy, "v1/serviceaccounts")
    obj = {"metadata": {"name": "a"}, "secrets": [{"name": "s", "namespace": "x"}, {"uid": "u"}], "other": 1}
    expected = {**obj, "secrets": [{"name": "s"}, {}]}
    assert accounts.prepare_create(context(), obj) == accounts.prepare_update(context(), obj, obj) == expected
    bare = {"metadata": {"name": "a"}}
    assert accounts.prepare_create(context(), bare) == bare


# --- workloads and pods ---------------------------------------------------------------------------


def test_generations_of_deployments() -> None:
    """The spec and the annotations count."""
    deployments = strategy(DeploymentStrategy, "apps/v1/deployments")

    def deployment(replicas: int, generation: int | None = 5, **metadata: Any) -> Object:
        if generation is not None:
            metadata["generation"] = generation
        return {"metadata": {"name": "d", **metadata}, "spec": {"replicas": replicas}}

    old = deployment(1, annotations={"a": "b"})
    for new, generation in (
        (deployment(1, annotations={"a": "b"}), 5),
        (deployment(1, annotations={"a": "b"}, labels={"c": "d"}), 5),
        (deployment(2, annotations={"a": "b"}), 6),
        (deployment(1), 6),
        (deployment(2), 6),
    ):
        assert deployments.raise_generation(new, old)["metadata"]["generation"] == generation
    unset = deployment(1, None)
    assert (
        deployments.raise_generation({**unset, "metadata": {"annotations": {}}}, unset)["metadata"]["generation"] == 1
    )
    kept = deployments.prepare_update(context("status"), deployment(1, labels={"new": "x"}), old)
    assert "labels" not in kept["metadata"]


def test_ephemeral_containers() -> None:
    """Nothing else of a pod changes by that subresource."""
    pods = strategy(PodStrategy, "v1/pods", NEWEST)
    old = {
        "metadata": {"name": "p", "generation": 2, "labels": {"a": "b"}, "managedFields": ["old"]},
        "spec": {"containers": [{"name": "c"}], "ephemeralContainers": [{"name": "e"}]},
        "status": {"phase": "Running"},
    }
    sent: Object = {"metadata": {"name": "p", "labels": {}}, "spec": {"ephemeralContainers": [{"name": "f"}]}}
    result = pods.prepare_update(context("ephemeralcontainers"), sent, old)
    assert result["spec"] == {"containers": [{"name": "c"}], "ephemeralContainers": [{"name": "f"}]}
    assert (result["metadata"]["labels"], result["status"]) == ({"a": "b"}, {"phase": "Running"})
    assert "managedFields" not in result["metadata"] and result["metadata"]["generation"] == 3
    sent = {"metadata": {"name": "p", "managedFields": ["new"]}, "spec": {}}
    result = pods.prepare_update(context("ephemeralcontainers"), sent, old)
    assert result["spec"] == {"containers": [{"name": "c"}]} and result["metadata"]["managedFields"] == ["new"]
    assert pods.prepare_update(context("binding"), sent, old) is sent


def conditions(*pairs: tuple[str, int]) -> list[Object]:
    return [{"type": name, **({"observedGeneration": number} if number else {})} for name, number in pairs]


@pytest.mark.parametrize(
    "before, status, expected",
    [
        ({}, {"phase": "x"}, {"phase": "x"}),
        ({"qosClass": "Burstable"}, {}, {"qosClass": "Burstable"}),
        ({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}, {"qosClass": "BestEffort"}),
        ({"observedGeneration": 3}, {}, {"observedGeneration": 3}),
        ({"observedGeneration": 3}, {"observedGeneration": 4}, {"observedGeneration": 4}),
        (
            {"conditions": conditions(("A", 1), ("B", 0), ("C", 2))},
            {"conditions": conditions(("C", 0), ("B", 0), ("A", 7), ("D", 0))},
            {"conditions": conditions(("C", 2), ("B", 0), ("A", 7), ("D", 0))},
        ),
        ({"conditions": conditions(("A", 1))}, {}, {}),
        ({"conditions": conditions(("A", 1), ("A", 2))}, {"conditions": conditions(("A", 0), ("A", 0), ("A", 0))},
         {"conditions": conditions(("A", 1), ("A", 2), ("A", 0))}),
    ],
)  # fmt: skip
def test_status_of_pods_by_old_clients(before: Object, status: Object, expected: Object) -> None:
    """What clients that do not know a field leave out is kept."""
    pods = strategy(PodStrategy, "v1/pods", NEWEST)
    pod = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    result = pods.prepare_update(context("status"), {**pod, "status": status}, {**pod, "status": before})
    assert result["status"] == expected
    early = strategy(PodStrategy, "v1/pods").prepare_update(
        context("status"), {**pod, "status": status}, {**pod, "status": before}
    )
    assert early["status"] == status


# --- device claims and signing requests -----------------------------------------------------------


def test_access_to_devices_in_use() -> None:
    """The namespace of a claim has to allow it, when the claim is created and when it gets devices."""
    claims = strategy(DeviceClaimStrategy, "resource.k8s.io/v1/resourceclaims", NEWEST)
    labels: dict[str, Object] = {"yes": {"resource.kubernetes.io/admin-access": "true"}, "no": {}}
    claims.namespace_labels = lambda namespace: labels[namespace]

    def claim(namespace: str, *access: bool, granted: tuple[bool, ...] = ()) -> Object:
        exactly = {"deviceClassName": "c", "allocationMode": "All"}
        requests = [{"name": f"r{i}", "exactly": {**exactly, "adminAccess": each}} for i, each in enumerate(access)]
        results = [{"adminAccess": each} for each in granted]
        status = {"allocation": {"devices": {"results": results}}} if granted else {}
        return {
            "metadata": {"name": "c", "namespace": namespace},
            "spec": {"devices": {"requests": requests}},
            "status": status,
        }

    def refused(causes: Any) -> list[str]:
        return [
            cause.field for cause in causes if cause.message.startswith("Forbidden: admin access to devices requires")
        ]

    def created(*arguments: Any) -> list[str]:
        return refused(claims.validate_create(context(), claim(*arguments)))

    assert created("no", False, True) == ["spec.devices.requests[1].adminAccess"]
    assert created("no", False) == created("no") == created("yes", True) == []
    template = {"metadata": {"name": "t", "namespace": "no"}, "spec": {"spec": claim("no", True)["spec"]}}
    assert refused(claims.validate_create(context(), template)) == ["spec.devices.requests[0].adminAccess"]

    def granted(
        namespace: str, before: tuple[bool, ...], after: tuple[bool, ...], subresource: str = "status"
    ) -> list[str]:
        old, new = (claim(namespace, granted=each) for each in (before, after))
        return refused(claims.validate_update(context(subresource), new, old))

    at = "status.allocation.devices.results"
    assert granted("no", (), (False, True)) == [f"{at}[1].adminAccess"]
    assert granted("no", (True,), (True,)) == granted("yes", (), (True,)) == granted("no", (), (True,), "") == []


def issued(seconds: float) -> str:
    pem = chain_pem(
        self_signed(
            "a", names=["a"], now=datetime(2027, 1, 1, tzinfo=UTC), lifetime=timedelta(seconds=seconds)
        ).certificate
    )
    return b64encode(pem).decode()


@pytest.mark.parametrize(
    "spec, certificate, before, requested, honored",
    [
        ({"expirationSeconds": 86400, "signerName": "kubernetes.io/s"}, issued(86400), "", "kubernetes.io/s", True),
        ({"expirationSeconds": 86400, "signerName": "example.com/s"}, issued(86400), "", "other", True),
        ({"expirationSeconds": 86400}, issued(10 * 86400), "", "other", False),
        ({"expirationSeconds": 86400}, b64encode(b"odd").decode(), "", "other", False),
        ({"expirationSeconds": 86400}, issued(86400), "there", None, False),
        ({"expirationSeconds": 86400}, "", "", None, False),
        ({}, issued(86400), "", None, False),
    ],
)
def test_requested_durations(spec: Object, certificate: str, before: str, requested: str | None, honored: bool) -> None:
    """A certificate that is issued with about the requested duration counts as such."""
    requests = strategy(SigningRequestStrategy, "certificates.k8s.io/v1/certificatesigningrequests")
    old = {"spec": spec, "status": {"certificate": before} if before else {}}
    requests.observe_update({"spec": spec, "status": {"certificate": certificate} if certificate else {}}, old)
    counts = [dict(each.numbers()) for each in requests.instruments]
    label: dict[tuple[str, ...], float] = {(requested,): 1} if requested else {}
    assert counts == [label, label if honored else {}]


# --- services -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec, address, ports",
    [
        ({}, True, False),
        ({"type": "ClusterIP"}, True, False),
        ({"type": "NodePort"}, True, True),
        ({"type": "LoadBalancer"}, True, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}, True, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, True, False),
        ({"type": "NodePort", "allocateLoadBalancerNodePorts": False}, True, True),
        ({"type": "ExternalName"}, False, False),
    ],
)
def test_what_services_need(spec: Object, address: bool, ports: bool) -> None:
    settings = ObjectSettings(dialect=KUBERNETES, release=NEWEST)
    assert servicefields.needs_cluster_ip(spec) is address
    assert servicefields.allocates_node_ports(spec, settings) is ports
    ungated = ObjectSettings(dialect=KUBERNETES, release=SPECIFICATION, features={"ServiceLBNodePortControl": False})
    assert servicefields.allocates_node_ports(spec, ungated) is (spec.get("type") in ("NodePort", "LoadBalancer"))


# --- conversions ----------------------------------------------------------------------------------


def test_conversions_that_are_missing() -> None:
    """An object that a webhook has to convert is asked for once; what is there or empty needs none."""
    translation = VersionTranslation()
    resource: Resource = custom().resource
    obj = {"apiVersion": "example.com/v0", "kind": "Thing", "metadata": {"name": "a"}}
    assert translation.find(resource, thing()) == thing()
    assert translation.find(resource, {"apiVersion": "example.com/v0", "kind": "Thing"}) == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
    }
    with pytest.raises(ConversionNeededError) as needed:
        translation.find(resource, obj)
    assert needed.value.object == obj and needed.value.resource is resource
    translation.add(needed.value, thing())
    assert translation.find(resource, dict(obj)) == thing()
    with pytest.raises(ConversionNeededError):
        translation.find(resource, {**obj, "metadata": {"name": "b"}})
