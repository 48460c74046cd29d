"""Plugins that check or set one thing each: images, security contexts, topologies, addresses, owners, claims, nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE
from orchd.server.authz.interfaces import Action
from tests.server.admission.conftest import World

HOSTNAME = ORCH("{long}.io/hostname")
ZONE, REGION = ORCH("topology.{long}.io/zone"), ORCH("topology.{long}.io/region")
STORAGE = "storage.{abbr}.io"


def _container(name: str = "c", **more: Any) -> Object:
    return {"name": name, "image": "i", **more}


@pytest.mark.parametrize(
    ("new", "old", "pulled"),
    [
        ({"containers": [_container()]}, None, True),
        ({"containers": [_container()]}, {"containers": [_container()]}, False),
        ({"containers": [_container(), _container("d")]}, {"containers": [_container()]}, False),
        ({"containers": [_container(image="j")]}, {"containers": [_container()]}, True),
        ({"initContainers": [_container(image="j")]}, {"containers": [_container()]}, True),
        ({"ephemeralContainers": [_container(image="j")]}, {"containers": [_container()]}, True),
    ],
)
def test_new_images_are_always_pulled(world: type[World], new: Object, old: Object | None, pulled: bool) -> None:
    """Containers of a new pod, and all of an update that has a new image, pull it always; other updates are left
    alone."""
    w = world(only=["AlwaysPullImages"])
    ((key, containers),) = new.items()
    before = None if old is None else {"metadata": {"name": "p"}, "spec": old}
    more = {"operation": CREATE if old is None else UPDATE}
    stored = w.run("pods", {"metadata": {"name": "p"}, "spec": new}, before, **more)
    policies = [each.get("imagePullPolicy") for each in stored["spec"][key]]
    assert policies == ["Always" if pulled else None] * len(containers)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"securityContext": {"runAsNonRoot": True, "fsGroupChangePolicy": "Always"}}, ""),
        ({"securityContext": {"supplementalGroups": []}}, "pod.Spec.SecurityContext.SupplementalGroups is forbidden"),
        ({"securityContext": {"seLinuxOptions": {}}}, "pod.Spec.SecurityContext.SELinuxOptions is forbidden"),
        ({"securityContext": {"runAsUser": 0}}, "pod.Spec.SecurityContext.RunAsUser is forbidden"),
        ({"securityContext": {"fsGroup": 0}}, "pod.Spec.SecurityContext.FSGroup is forbidden"),
        ({"containers": [_container(securityContext={"privileged": True, "runAsGroup": 1})]}, ""),
        ({"containers": [_container(securityContext={"seLinuxOptions": {}})]}, "SecurityContext.SELinuxOptions is forbidden"),
        ({"containers": [_container(), _container(securityContext={"runAsUser": 0})]}, "SecurityContext.RunAsUser is forbidden"),
        ({"initContainers": [_container(securityContext={"runAsUser": 1})]}, "SecurityContext.RunAsUser is forbidden"),
        ({"ephemeralContainers": [_container(securityContext={"runAsUser": 1})]}, "SecurityContext.RunAsUser is forbidden"),
    ],
)  # fmt: skip
def test_security_contexts_are_denied(
    world: type[World], pod: Callable[..., Object], spec: Object, problem: str
) -> None:
    """Users, groups and SELinux options are refused whatever their value, in a pod and in each of its containers."""
    w = world(only=["SecurityContextDeny"])
    if problem:
        assert w.refusal("pods", pod(**spec)).message == f'pods "p" is forbidden: {problem}'
    else:
        w.run("pods", pod(**spec))


@pytest.mark.parametrize(
    ("kind", "keys", "refused"),
    [
        ("requiredDuringSchedulingIgnoredDuringExecution", [HOSTNAME], ""),
        ("requiredDuringSchedulingIgnoredDuringExecution", [HOSTNAME, ZONE], ZONE),
        ("preferredDuringSchedulingIgnoredDuringExecution", [ZONE], ""),
    ],
)
def test_required_anti_affinity_is_between_hosts(
    world: type[World], pod: Callable[..., Object], kind: str, keys: list[str], refused: str
) -> None:
    """Required anti-affinity has the topology of host names; preferred anti-affinity may have any."""
    w = world(only=["LimitPodHardAntiAffinityTopology"])
    new = pod(affinity={"podAntiAffinity": {kind: [{"topologyKey": key} for key in keys]}})
    if refused:
        assert w.refusal("pods", new).message == (
            'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey '
            f"{refused} but only key {HOSTNAME} is allowed"
        )
    else:
        w.run("pods", new)


def test_extended_resources_are_tolerated_once(world: type[World], pod: Callable[..., Object]) -> None:
    """Each extended resource of a container or init container gets a toleration, in order of names, after the pod's
    own."""
    w = world(only=["ExtendedResourceToleration"])
    gpu, nic = ({"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in ("a.com/gpu", "b.com/nic"))
    requests = [{"b.com/nic": "1", "cpu": "1"}, {"a.com/gpu": "1"}]
    containers = [_container(resources={"requests": each}) for each in requests]
    own = {"key": "own", "operator": "Exists"}
    spec = w.run("pods", pod(containers=containers[:1], initContainers=containers[1:], tolerations=[own, nic]))["spec"]
    assert spec["tolerations"] == [own, nic, gpu]
    plain = pod(containers=[_container(resources={"requests": {"cpu": "1"}, "limits": {"memory": "1"}})])
    assert w.run("pods", plain) == plain


class _Compared(dict[str, str]):
    """A toleration that counts its comparisons."""

    count = 0
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        _Compared.count += 1
        return super().__eq__(other)


def test_resources_are_not_compared_with_all_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """A pod may have thousands of both."""
    w = world(only=["ExtendedResourceToleration"])
    containers = [_container(resources={"requests": {f"a.com/r{n}": "1" for n in range(50)}})]
    tolerations = [_Compared(key=f"a.com/r{n}", operator="Exists", effect="NoSchedule") for n in range(50)]
    assert len(w.run("pods", pod(containers=containers, tolerations=tolerations))["spec"]["tolerations"]) == 50
    assert 50 <= _Compared.count <= 200


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ([], ["1.2.3.4"], True),
        (["1.2.3.4"], ["1.2.3.4"], False),
        (["1.2.3.4", "1.2.3.5"], ["1.2.3.5"], False),
        (["1.2.3.4"], ["1.2.3.4", "1.2.3.5"], True),
        (["1.2.3.4"], [], False),
    ],
)
def test_external_addresses_are_not_added(world: type[World], old: list[str], new: list[str], refused: bool) -> None:
    """Services keep and lose external addresses, and get no more of them."""
    w = world(only=["DenyServiceExternalIPs"])
    before, after = ({"metadata": {"name": "s"}, "spec": {"externalIPs": each}} for each in (old, new))
    if refused:
        message = w.refusal("services", after, before, operation=UPDATE).message
        assert message == 'services "s" is forbidden: Use of external IPs is denied by admission control'
    else:
        w.run("services", after, before, operation=UPDATE)


def _claim(storage: str, *, phase: str = "Bound", name: str | None = "std", **meta: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": storage} if storage else {}}}
    if name is not None:
        spec["storageClassName"] = name
    return {"metadata": {"name": "c", **meta}, "spec": spec, "status": {"phase": phase}}


NO_RESIZE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (_claim("1Gi"), _claim("2Gi"), ""),
        (_claim("1Gi", phase="Pending"), _claim("2Gi", phase="Pending"), "Only bound persistent volume claims can be expanded"),
        (_claim("1Gi", phase="Pending"), _claim("1024Mi", phase="Pending"), ""),
        (_claim("2Gi", name="fixed"), _claim("1Gi", name="fixed"), ""),
        (_claim("2Gi", name="fixed"), _claim("", name="fixed"), ""),
        (_claim("", name="fixed"), _claim("1Gi", name="fixed"), NO_RESIZE),
        (_claim("1Gi", name="fixed"), _claim("2Gi", name="fixed"), NO_RESIZE),
        (_claim("1Gi", name="none"), _claim("2Gi", name="none"), NO_RESIZE),
        (_claim("1Gi", name=""), _claim("2Gi", name=""), NO_RESIZE),
        (_claim("1Gi", name="fixed"), _claim("2Gi", name="std"), NO_RESIZE),
    ],
)  # fmt: skip
def test_claims_grow_as_their_class_allows(world: type[World], old: Object, new: Object, problem: str) -> None:
    """Bound claims grow if their class allows expansion; amounts that do not grow are not judged."""
    w = world(only=["PersistentVolumeClaimResize"])
    w.put("storageclasses", {"metadata": {"name": "std"}, "allowVolumeExpansion": True}, STORAGE)
    w.put("storageclasses", {"metadata": {"name": "fixed"}, "allowVolumeExpansion": False}, STORAGE)
    if problem:
        message = w.refusal("persistentvolumeclaims", new, old, operation=UPDATE).message
        assert message == f'persistentvolumeclaims "c" is forbidden: {problem}'
    else:
        w.run("persistentvolumeclaims", new, old, operation=UPDATE)


@pytest.mark.parametrize(
    ("plural", "group", "finalizer"),
    [
        ("persistentvolumeclaims", "", "{long}.io/pvc-protection"),
        ("persistentvolumes", "", "{long}.io/pv-protection"),
        ("volumeattributesclasses", STORAGE, "{long}.io/vac-protection"),
    ],
)
def test_storage_objects_are_protected(world: type[World], plural: str, group: str, finalizer: str) -> None:
    """A new object gets the finalizer of its kind, once and after its own."""
    w = world(only=["StorageObjectInUseProtection"], release=NEWEST)
    own, added = "example.org/a", ORCH(finalizer)
    for held, expected in (([], [added]), ([own], [own, added]), ([added, own], [added, own])):
        new: Object = {"metadata": {"name": "a", "finalizers": held}}
        assert w.run(plural, new, group=group)["metadata"]["finalizers"] == expected
    assert w.run(plural, configmap(), configmap(), group=group, operation=UPDATE) == configmap()


def test_not_ready_taint_is_added_once(world: type[World]) -> None:
    """A new node has the taint once, after its own taints; one with another effect is another taint."""
    w = world(only=["TaintNodesByCondition"])
    taint = {"key": ORCH("node.{long}.io/not-ready"), "effect": "NoSchedule"}
    for own, expected in (
        ([taint], [taint]),
        ([{**taint, "effect": "NoExecute"}], [{**taint, "effect": "NoExecute"}, taint]),
        ([{**taint, "key": "a"}], [{**taint, "key": "a"}, taint]),
    ):
        assert w.run("nodes", {"metadata": {"name": "n"}, "spec": {"taints": own}})["spec"]["taints"] == expected


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        ({"kind": "Node", "name": "n"}, {"own": "x", ZONE: "z", REGION: "r"}),
        ({"kind": "Node", "name": "none"}, {"own": "x"}),
        ({"kind": "Other", "name": "n"}, {"own": "x"}),
        ({}, {"own": "x"}),
    ],
)
def test_pods_get_the_topology_of_their_node(
    world: type[World], pod: Callable[..., Object], target: Object, labels: dict[str, str]
) -> None:
    """Zone and region of the node become labels of a binding, or of a pod that is created on the node; others do
    not."""
    w = world(only=["PodTopologyLabels"], release=NEWEST)
    w.put("nodes", {"metadata": {"name": "n", "labels": {ZONE: "z", REGION: "r", HOSTNAME: "n"}}})
    metadata = {"name": "p", "labels": {"own": "x", **({ZONE: "other"} if len(labels) > 1 else {})}}
    assert w.run("pods", {"metadata": metadata, "target": target}, sub="binding")["metadata"]["labels"] == labels
    if target.get("kind") != "Other":
        new = {**pod(nodeName=target.get("name", "")), "metadata": metadata}
        assert w.run("pods", new)["metadata"]["labels"] == labels


def configmap(name: str = "a", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}}


OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "u"}


def _owned(**more: Any) -> Object:
    return configmap(ownerReferences=[{**OWNER, **more}])


@pytest.mark.parametrize(
    ("new", "old", "asked"),
    [
        (_owned(), None, []),
        (_owned(blockOwnerDeletion=True), None, ["update deployments/finalizers ns o"]),
        (_owned(), configmap(), ["delete configmaps ns a"]),
        (configmap(), _owned(), ["delete configmaps ns a"]),
        (_owned(), _owned(), []),
        (_owned(blockOwnerDeletion=True), _owned(), ["delete configmaps ns a", "update deployments/finalizers ns o"]),
        (_owned(blockOwnerDeletion=True, controller=True), _owned(blockOwnerDeletion=True), ["delete configmaps ns a"]),
        (_owned(blockOwnerDeletion=True, uid="v"), _owned(blockOwnerDeletion=True),
         ["delete configmaps ns a", "update deployments/finalizers ns o"]),
        (_owned(apiVersion="v1", kind="Node", blockOwnerDeletion=True), None, ["update nodes/finalizers  o"]),
    ],
)  # fmt: skip
def test_permissions_that_owners_need(world: type[World], new: Object, old: Object | None, asked: list[str]) -> None:
    """A change of owners needs permission to delete the object; a reference that blocks the deletion of its owner and
    did not before needs permission for the owner's finalizers."""
    actions: list[str] = []

    def allowed(action: Action) -> bool:
        resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
        actions.append(f"{action.verb} {resource} {action.namespace} {action.name}")
        return True

    w = world(only=["OwnerReferencesPermissionEnforcement"], allowed=allowed)
    w.run("configmaps", new, old, operation=CREATE if old is None else UPDATE)
    assert actions == asked


def test_owners_of_unknown_kinds_block_nothing(world: type[World]) -> None:
    w = world(only=["OwnerReferencesPermissionEnforcement"])
    for api_version, text in (("v9", "Thing"), ("example.org/v9", "Thing.example.org")):
        owned = _owned(apiVersion=api_version, kind="Thing", blockOwnerDeletion=True)
        assert w.refusal("configmaps", owned).message == (
            'configmaps "a" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for '
            f'APIVersion {api_version} Kind Thing: no matches for kind "{text}" in version "v9"'
        )


def test_namespace_that_another_request_creates(world: type[World], monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace that exists by now is no error of its creation; other errors are. An existing one is not created."""
    w = world(only=["NamespaceAutoProvision"])
    w.run("configmaps", configmap())
    assert w.client.calls == []
    failures = [errors.already_exists("", "namespaces", "new"), errors.internal("no store")]

    async def fail(*args: Any, **more: Any) -> Object:
        raise failures.pop(0)

    monkeypatch.setattr(w.client, "create", fail)
    w.run("configmaps", configmap(), namespace="new")
    message = w.refusal("configmaps", configmap(), namespace="new").message
    assert message.startswith('configmaps "a" is forbidden: ') and "no store" in message


def test_namespace_must_exist_for_every_write(world: type[World]) -> None:
    """Creates, updates and deletions in a missing namespace fail; one that only the informer lacks is read."""
    w = world(only=["NamespaceExists"])
    for operation in (CREATE, UPDATE, DELETE):
        error = w.refusal("configmaps", configmap(), configmap(), namespace="none", operation=operation)
        assert (error.code, error.message) == (404, 'namespaces "none" not found')
        w.run("configmaps", configmap(), configmap(), operation=operation)
    assert w.client.calls == [("get", "namespaces", "", "none")] * 3
    w.run("nodes", configmap())


def test_signing_needs_permission_for_certificates_and_conditions(world: type[World]) -> None:
    """A change of the certificate or of the conditions needs permission on the signer; no other change of the status
    does."""
    group = "certificates.{abbr}.io"
    signer = {"metadata": {"name": "c"}, "spec": {"signerName": "example.com/s"}}
    for status, signs in (
        ({"certificate": "x"}, True),
        ({"conditions": [{"type": "Failed"}]}, True),
        ({"conditions": []}, False),
        ({"other": 1}, False),
    ):
        asked: list[str] = []

        def allowed(action: Action, asked: list[str] = asked) -> bool:
            asked.append(f"{action.verb} {action.resource} {action.name}")
            return False

        w = world(only=["CertificateSigning"], allowed=allowed)
        arguments: Any = ("certificatesigningrequests", {**signer, "status": status}, signer)
        if signs:
            w.refusal(*arguments, group=group, operation=UPDATE, sub="status")
        else:
            w.run(*arguments, group=group, operation=UPDATE, sub="status")
        assert asked == ["sign signers example.com/s", "sign signers example.com/*"] * signs


def test_old_class_annotation_of_ingresses(world: type[World]) -> None:
    """Only a class with the mark is a default one; an ingress with a class of either sort keeps it."""
    w, group = world(only=["DefaultIngressClass"]), "networking.{abbr}.io"
    mark = ORCH("ingressclass.{long}.io/is-default-class")
    w.put("ingressclasses", {"metadata": {"name": "no", "annotations": {mark: "false"}}}, group)
    plain: Object = {"metadata": {"name": "a"}, "spec": {}}
    assert w.run("ingresses", plain, group=group) == plain
    w.put("ingressclasses", {"metadata": {"name": "yes", "annotations": {mark: "true"}}}, group)
    assert w.run("ingresses", plain, group=group)["spec"] == {"ingressClassName": "yes"}
    own = {**plain, "spec": {"ingressClassName": "own"}}
    assert w.run("ingresses", own, group=group) == own


def test_classes_of_claims_are_kept(world: type[World]) -> None:
    """A claim with a class, an empty one or the old annotation is not given the default class."""
    w = world(only=["DefaultStorageClass"])
    mark = {ORCH("storageclass.{long}.io/is-default-class"): "true"}
    w.put("storageclasses", {"metadata": {"name": "std", "annotations": mark}}, STORAGE)
    annotated = _claim("1", name=None, annotations={ORCH("volume.beta.{long}.io/storage-class"): "own"})
    for claim in (_claim("1", name="own"), _claim("1", name=""), annotated):
        assert w.run("persistentvolumeclaims", claim) == claim
    assert w.run("persistentvolumeclaims", _claim("1", name=None))["spec"]["storageClassName"] == "std"
