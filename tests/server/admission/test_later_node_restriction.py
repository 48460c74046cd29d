"""NodeRestriction of later releases: resource slices, certificate requests, owners, mirror pods and audiences of
tokens."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.kinds.users import User
from orchd.server.admission.interfaces import DELETE, UPDATE
from tests.server.admission.conftest import World

NODE = User(name="system:node:n1", groups=("system:nodes",))
MIRROR = ORCH("{long}.io/config.mirror")
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "nu", "controller": True}


def later(**more: Any) -> World:
    world = World(only=["NodeRestriction"], release=NEWEST, **more)
    world.put("nodes", {"metadata": {"name": "n1", "uid": "nu"}})
    return world


def mirror(*volumes: Object, **spec: Any) -> Object:
    listed = [{"name": f"v{i}", **volume} for i, volume in enumerate(volumes)]
    return {
        "metadata": {"name": "m", "annotations": {MIRROR: "x"}, "ownerReferences": [OWNER]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "volumes": listed, **spec},
    }


def projected(source: Object) -> Object:
    return {"projected": {"sources": [source]}}


@pytest.mark.parametrize(
    ("pod", "reference"),
    [
        (mirror({"emptyDir": {}}, {"hostPath": {"path": "/"}}, projected({"downwardAPI": {}})), ""),
        (mirror(serviceAccountName="a"), "serviceaccounts"),
        (mirror({"secret": {"secretName": "s"}}), "secrets"),
        (mirror({"secret": {}}), "secrets (via secret volumes)"),
        (mirror(resourceClaims=[{"name": "r"}]), "resourceclaims"),
        (mirror({"csi": {"driver": "d"}}), "csidrivers (via CSI volumes)"),
        (mirror({"glusterfs": {}}), "endpoints (via glusterFS volumes)"),
        (mirror({"persistentVolumeClaim": {"claimName": "c"}}), "persistentvolumeclaims"),
        (mirror(projected({"serviceAccountToken": {}})), "serviceaccounts (via projected volumes)"),
        (mirror(projected({"clusterTrustBundle": {}})), "clustertrustbundles"),
    ],
)
def test_mirror_pods_refer_to_no_objects(pod: Object, reference: str) -> None:
    """A mirror pod that refers to an object of the API is refused, also by a volume without a name of the object."""
    if not reference:
        later().run("pods", pod, user=NODE)
        return
    error = later().refusal("pods", pod, user=NODE)
    assert error.message.endswith(f'node "n1" can not create pods that reference {reference}')


def test_mirror_pods_with_unknown_volumes() -> None:
    """A volume without a known source is refused before validation."""
    why = 'error checking mirror pod for API references: unknown volume type for volume  "v0"'
    assert later().refusal("pods", mirror({}), user=NODE).message.endswith(why)


def test_nodes_cannot_change_their_owners() -> None:
    """A node cannot make another object its owner, which would have it deleted."""
    old: Object = {"metadata": {"name": "n1"}}
    owned = {"metadata": {"name": "n1", "ownerReferences": [OWNER]}}
    error = later().refusal("nodes", owned, old, operation=UPDATE, user=NODE)
    assert error.message.endswith('node "n1" is not allowed to modify ownerReferences')


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("resourceClaimStatuses", [{"name": "r", "resourceClaimName": "c"}], "resource claim statues"),
        ("extendedResourceClaimStatus", {"resourceClaimName": "c"}, "extended resource claim status"),
    ],
)
def test_nodes_cannot_change_claims_of_pods(field: str, value: Any, what: str) -> None:
    """Access to claims follows from the status of pods, so nodes cannot change it."""
    old: Object = {"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}, "status": {}}
    new = {**old, "status": {field: value}}
    error = later().refusal("pods", new, old, operation=UPDATE, user=NODE, sub="status")
    assert error.message.endswith(f'node "n1" cannot update {what}')
    # Earlier releases have no such fields to protect.
    earlier = World(only=["NodeRestriction"], release=SPECIFICATION)
    assert earlier.run("pods", new, old, operation=UPDATE, user=NODE, sub="status") == new


@pytest.mark.parametrize("name", ["allocatedResources", "allocatedResourceStatuses"])
def test_nodes_report_the_growth_of_claims(name: str) -> None:
    """Nodes set what is allocated to a claim while it grows, and nothing else of its status."""
    old: Object = {"metadata": {"name": "c"}, "spec": {}, "status": {}}
    claims = {"operation": UPDATE, "user": NODE, "sub": "status"}
    later().run("persistentvolumeclaims", {**old, "status": {name: {"storage": "1"}}}, old, **claims)
    error = later().refusal("persistentvolumeclaims", {**old, "status": {"phase": "Bound"}}, old, **claims)
    assert "fields other than status.quantity and status.conditions: status" in error.message


def test_resource_slices_of_nodes() -> None:
    """A node creates and deletes resource slices of its own only."""
    own, other = ({"metadata": {"name": "s"}, "spec": {"nodeName": n, "driver": "d"}} for n in ("n1", "n2"))
    slices = {"group": "resource.{abbr}.io", "user": NODE}
    later().run("resourceslices", own, **slices)
    later().run("resourceslices", None, own, operation=DELETE, **slices)
    why = "ResourceSlice with the same NodeName as the requesting node"
    assert later().refusal("resourceslices", other, **slices).message.endswith(f"can only create {why}")
    refused = later().refusal("resourceslices", None, other, operation=DELETE, **slices)
    assert refused.message.endswith(f"can only delete {why}")


def request(name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(builder.public_bytes(serialization.Encoding.PEM)).decode()


@pytest.mark.parametrize(
    ("signer", "name", "refused"),
    [
        ("{long}.io/{short}-apiserver-client-{short}let", "system:node:n1", False),
        ("{long}.io/{short}-apiserver-client-{short}let", "system:node:n2", True),
        ("{long}.io/{short}let-serving", "system:node:n2", True),
        ("{long}.io/{short}-apiserver-client", "system:node:n2", False),
    ],
)
def test_certificate_requests_of_nodes(signer: str, name: str, refused: bool) -> None:
    """A node requests certificates of nodes for itself only."""
    obj = {"metadata": {"name": "q"}, "spec": {"signerName": ORCH(signer), "request": request(name)}}
    more = {"group": "certificates.{abbr}.io", "user": NODE}
    if refused:
        error = later().refusal("certificatesigningrequests", obj, **more)
        assert error.message.endswith("can only create a node CSR with CN=system:node:n1")
    else:
        later().run("certificatesigningrequests", obj, **more)


VOLUMES = [
    projected({"serviceAccountToken": {"audience": "of-volume"}}),
    {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "b", "csi": {"driver": "inline"}},
    {"name": "e", "awsElasticBlockStore": {"volumeID": "x"}},
]
MISSING = 'audience "other" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience'


def with_volumes(allowed: str = "") -> World:
    world = later(allowed=lambda action: action.resource == allowed)
    world.put(
        "pods",
        {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n1", "volumes": VOLUMES}},
    )
    world.put("persistentvolumeclaims", {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"volumeName": "pv"}})
    world.put("persistentvolumes", {"metadata": {"name": "pv"}, "spec": {"csi": {"driver": "bound"}}})
    for driver in ("bound", "inline", "ebs.csi.aws.com", "disk.csi.azure.com"):
        spec = {"tokenRequests": [{"audience": f"of-{driver}"}]}
        world.put("csidrivers", {"metadata": {"name": driver}, "spec": spec}, "storage.{abbr}.io")
    return world


def token(*audiences: str) -> dict[str, Any]:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    body = {"spec": {"boundObjectRef": bound, "audiences": list(audiences)}}
    return {"obj": body, "sub": "token", "user": NODE, "name": "default"}


@pytest.mark.parametrize(
    ("audience", "why"),
    [
        ("of-volume", ""),
        ("of-bound", ""),
        ("of-inline", ""),
        ("of-ebs.csi.aws.com", ""),
        ("permitted", ""),
        ("other", MISSING),
        ("of-disk.csi.azure.com", MISSING.replace("other", "of-disk.csi.azure.com")),
        ("", MISSING.replace("other", "")),
    ],
)
def test_audiences_of_tokens(audience: str, why: str) -> None:
    """A node requests tokens for the audiences of the pod's volumes and of their drivers, and those that it has
    permission for."""
    world = with_volumes("permitted")
    if why:
        assert world.refusal("serviceaccounts", **token(audience)).message.endswith(why)
    else:
        world.run("serviceaccounts", **token(audience))


def test_several_audiences() -> None:
    """A node requests tokens for one audience at a time."""
    error = with_volumes().refusal("serviceaccounts", **token("of-volume", "of-bound"))
    assert error.message.endswith("node may only request 0 or 1 audiences")


def test_audiences_with_a_missing_volume() -> None:
    """A claim that cannot be followed to its driver is named, unless another volume has the audience."""
    world = with_volumes()
    world.put("persistentvolumeclaims", {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"volumeName": "none"}})
    world.run("serviceaccounts", **token("of-inline"))
    error = world.refusal("serviceaccounts", **token("other"))
    assert error.message.endswith('error validating audience "other": persistentvolume "none" not found')


def test_earlier_releases_do_not_restrict_audiences() -> None:
    """In release 1.23 any audience may be requested for a pod of the node."""
    world = World(only=["NodeRestriction"], allowed=lambda action: False)
    world.put("pods", {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n1"}})
    world.run("serviceaccounts", **token("any"))
