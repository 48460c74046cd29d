"""VolumeRestrictions, VolumeZone and volume limits: the columnar filters against tables and the plain ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.plugins.nodevolumelimits import NodeVolumeLimits, limit_name
from orchd.scheduler.plugins.volumelimits import AZURE_DISK, CINDER, EBS, GCE_PD, DiskLimits
from orchd.scheduler.plugins.volumerestrictions import VolumeRestrictions
from orchd.scheduler.plugins.volumezone import VolumeZone
from tests.scheduler.volume_support import Cluster

DISK = "UNSCHEDULABLE: node(s) had no available disk"
FULL = "UNSCHEDULABLE: node(s) exceed max volume count"
ZONE = "UNRESOLVABLE: node(s) had no available volume zone"


def gce(name: str, *, read: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read}}


def ebs(name: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": True}}


def rbd(*monitors: str, read: bool = False, **members: str) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": "i", "pool": "p", "readOnly": read, **members}}


def iscsi(iqn: str, *, read: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "readOnly": read}}


RESTRICTIONS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (gce("d"), gce("d"), True),
    (gce("d"), gce("e"), False),
    (gce("d", read=True), gce("d", read=True), False),
    (gce("d", read=True), gce("d"), True),
    (ebs("d"), ebs("d"), True),
    (ebs("d"), gce("d"), False),
    (iscsi("q"), iscsi("q"), True),
    (iscsi("q", read=True), iscsi("q", read=True), False),
    (rbd("m", "n"), rbd("n"), True),
    (rbd("m"), rbd("n"), False),
    (rbd("m"), rbd("m", image="j"), False),
    (rbd("m"), rbd("m", pool="q"), False),
    (rbd("m", read=True), rbd("m", read=True), False),
    ({"emptyDir": {}}, gce("d"), False),
]


@pytest.mark.parametrize(("new", "present", "refused"), RESTRICTIONS)
def test_used_disk_refuses_the_node(new: dict[str, Any], present: dict[str, Any], refused: bool) -> None:
    """A disk that a pod on the node uses is a conflict, except read-only use of disk types that allow it."""
    cluster = Cluster()
    cluster.node("n1")
    cluster.node("n2")
    cluster.pod("a", node="n1", volumes=[present])
    plugin = VolumeRestrictions(cluster.handle, None)
    assert cluster.verdicts(plugin, cluster.pod("p", volumes=[new])) == {"n1": DISK if refused else "", "n2": ""}


def test_read_write_once_pod_claim_is_exclusive() -> None:
    """A ReadWriteOncePod claim that is in use by any pod rejects all nodes."""
    cluster = Cluster()
    cluster.node("n1")
    cluster.claim("c", accessModes=["ReadWriteOncePod"])
    cluster.claim("d")
    plugin = VolumeRestrictions(cluster.handle, None)
    assert cluster.verdicts(plugin, cluster.pod("p", "c", "d")) == {"n1": ""}
    cluster.pod("a", "c", "d", node="n1")
    used = "UNRESOLVABLE: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
    assert cluster.verdicts(plugin, cluster.pod("p", "c")) == used
    assert cluster.verdicts(plugin, cluster.pod("p", "d")) == {"n1": ""}
    assert cluster.verdicts(plugin, cluster.pod("p", "missing")) == {"n1": ""}


ZONED, REGION, OLD = "topology.orch.io/zone", "topology.orch.io/region", "failure-domain.beta.orch.io/zone"


@pytest.mark.parametrize(
    ("labels", "passing"),
    [
        ({}, "n1 n2 n3"),
        ({ZONED: "a"}, "n1 n3"),
        ({ZONED: "a__b"}, "n1 n2 n3"),
        ({ZONED: "a", REGION: "r2"}, "n3"),
        ({ZONED: "a", REGION: "r1"}, "n1 n3"),
        ({OLD: "a"}, "n3"),
        ({ZONED: ""}, "n1 n2 n3"),
    ],
)
def test_zone_labels_of_volumes_must_match(labels: dict[str, str], passing: str) -> None:
    """A node with zone or region labels must match all those of a bound volume."""
    cluster = Cluster()
    cluster.node("n1", **{ZONED: "a", REGION: "r1"})
    cluster.node("n2", **{ZONED: "b", REGION: "r1"})
    cluster.node("n3")
    cluster.volume("v", metadata={"labels": labels})
    cluster.claim("c", bound="v")
    verdicts = cluster.verdicts(VolumeZone(cluster.handle, None), cluster.pod("p", "c"))
    assert isinstance(verdicts, dict)
    assert {name for name, why in verdicts.items() if not why} == set(passing.split())
    assert set(verdicts.values()) <= {"", ZONE}


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("gone", 'persistentvolumeclaim "gone" not found'),
        ("classless", "PersistentVolumeClaim had no pv name and storageClass name"),
        ("immediate", "PersistentVolume had no name"),
        ("unknown", 'storageclass.storage.orch.io "x" not found'),
        ("lost", 'persistentvolume "w" not found'),
        ("waiting", ""),
    ],
)
def test_unbound_claim_refuses_zoned_nodes(claim: str, expected: str) -> None:
    """A claim without a known volume rejects nodes with zones, unless it waits for its first consumer."""
    cluster = Cluster()
    cluster.node("n1", **{ZONED: "a"})
    cluster.node("n2")
    cluster.storage_class("s")
    cluster.storage_class("i", immediate=True)
    cluster.claim("classless", storageClassName="")
    cluster.claim("immediate", storageClassName="i")
    cluster.claim("unknown", storageClassName="x")
    cluster.claim("lost", bound="w")
    cluster.claim("waiting")
    verdicts = cluster.verdicts(VolumeZone(cluster.handle, None), cluster.pod("p", claim))
    assert verdicts == {"n1": f"UNRESOLVABLE: {expected}" if expected else "", "n2": ""}


@pytest.mark.parametrize(("release", "early"), [(SPECIFICATION, False), (NEWEST, True)])
def test_claims_without_their_volume_are_refused_early_in_newer_releases(release: Release, early: bool) -> None:
    """A pod whose claim names a volume that is gone is refused by the pre-filter, but not in release 1.23."""
    cluster = Cluster(release)
    cluster.claim("c", bound="gone")
    verdicts = cluster.verdicts(VolumeZone(cluster.handle, None), cluster.pod("p", "c"))
    assert verdicts == ('UNRESOLVABLE: persistentvolume "gone" not found' if early else {})


def test_volume_changes_raise_the_zone_epoch() -> None:
    """The epoch of compiled filters increases with every change of a claim, volume or class."""
    cluster = Cluster()
    plugin = VolumeZone(cluster.handle, None)
    before = plugin.epoch
    cluster.volume("v")
    assert plugin.epoch > before


@pytest.mark.parametrize(
    ("cloud", "source", "member", "resource", "limit"),
    [
        (EBS, "awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs", 39),
        (GCE_PD, "gcePersistentDisk", "pdName", "attachable-volumes-gce-pd", 16),
        (AZURE_DISK, "azureDisk", "diskName", "attachable-volumes-azure-disk", 16),
        (CINDER, "cinder", "volumeID", "attachable-volumes-cinder", 256),
    ],
)
def test_cloud_disk_limits(cloud: Any, source: str, member: str, resource: str, limit: int) -> None:
    """Disks of a cloud are counted once per node, up to its allocatable number or the default."""
    cluster = Cluster()
    cluster.node("n1", {resource: "2"})
    cluster.node("n2", {resource: "1"})
    cluster.node("n3")

    def disks(*names: str) -> list[dict[str, Any]]:
        return [{source: {member: name}} for name in names]

    plugin = DiskLimits(cluster.handle, "Limits", cloud)
    cluster.pod("a", node="n1", volumes=disks("d1"))
    cluster.pod("b", node="n2", volumes=disks("d1"))
    assert cluster.verdicts(plugin, cluster.pod("p1", volumes=disks("d2"))) == {"n1": "", "n2": FULL, "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p2", volumes=disks("d1"))) == {"n1": "", "n2": "", "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p3", volumes=disks("d2", "d3"))) == {"n1": FULL, "n2": FULL, "n3": ""}
    many = disks(*(f"m{n}" for n in range(limit)))
    assert cluster.verdicts(plugin, cluster.pod("p4", volumes=many)) == {"n1": FULL, "n2": FULL, "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p5", volumes=[*many, *disks("d1")])) == {
        "n1": FULL,
        "n2": FULL,
        "n3": FULL,
    }


def test_ebs_limit_by_instance_type() -> None:
    """The EBS default depends on the node's instance type."""
    cluster = Cluster()
    cluster.node("n1", **{"node.orch.io/instance-type": "c5.large"})
    cluster.node("n2", **{"node.orch.io/instance-type": "c4.large"})
    volumes = [ebs(f"d{n}") for n in range(26)]
    verdicts = cluster.verdicts(DiskLimits(cluster.handle, "EBSLimits", EBS), cluster.pod("p", volumes=volumes))
    assert verdicts == {"n1": FULL, "n2": ""}


def test_claims_count_towards_disk_limits() -> None:
    """A claim counts by its volume, or by its class without one; a CSI driver that replaces the in-tree plugin counts
    instead."""
    cluster = Cluster()
    cluster.node("n1", {"attachable-volumes-aws-ebs": "1"})
    cluster.storage_class("e", provisioner="orch.io/aws-ebs")
    cluster.storage_class("s")
    cluster.volume("v1", awsElasticBlockStore={"volumeID": "d1"})
    cluster.volume("v2", nfs={})
    for name, volume in (("c1", "v1"), ("c2", "v2"), ("c3", "gone")):
        cluster.claim(name, bound=volume, storageClassName="e" if name == "c3" else "s")
    cluster.claim("c4", storageClassName="e")
    cluster.claim("c5")
    plugin = DiskLimits(cluster.handle, "EBSLimits", EBS)
    cluster.pod("a", "c1", "missing", node="n1")
    for claim, expected in (("c1", ""), ("c2", ""), ("c3", FULL), ("c4", FULL), ("c5", "")):
        assert cluster.verdicts(plugin, cluster.pod(f"p-{claim}", claim)) == {"n1": expected}, claim
    error = 'ERROR: looking up PVC ns/missing: persistentvolumeclaim "missing" not found'
    assert cluster.verdicts(plugin, cluster.pod("p", "missing")) == {"n1": error}
    served = {"annotations": {"storage.alpha.orch.io/migrated-plugins": "orch.io/gce-pd,orch.io/aws-ebs"}}
    cluster.put("CSINode", "n1", metadata=served, spec={"drivers": []})
    assert cluster.verdicts(plugin, cluster.pod("q", "c4")) == {"n1": ""}


def drivers(**counts: int | None) -> dict[str, Any]:
    listed = [
        {"name": name, "allocatable": {"count": count} if count is not None else {}} for name, count in counts.items()
    ]
    return {"drivers": listed}


def test_csi_driver_limits() -> None:
    """Volumes of a CSI driver are counted once per node, up to the limit of its CSINode."""
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.node(name)
    cluster.put("CSINode", "n1", spec=drivers(d=1, e=5))
    cluster.put("CSINode", "n2", spec=drivers(d=2))
    cluster.put("CSINode", "n3", spec=drivers(d=None))
    for number, driver in enumerate("ddde", 1):
        cluster.volume(f"v{number}", csi={"driver": driver, "volumeHandle": f"h{number}"})
        cluster.claim(f"c{number}", bound=f"v{number}")
    plugin = NodeVolumeLimits(cluster.handle, None)
    cluster.pod("a", "c1", node="n1")
    cluster.pod("b", "c2", node="n2")
    assert cluster.verdicts(plugin, cluster.pod("p1", "c3")) == {"n1": FULL, "n2": "", "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p2", "c1")) == {"n1": "", "n2": "", "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p3", "c3", "c1")) == {"n1": FULL, "n2": FULL, "n3": ""}
    assert cluster.verdicts(plugin, cluster.pod("p4", "c4")) == {"n1": "", "n2": "", "n3": ""}


def test_csi_limits_count_unbound_claims() -> None:
    """An unbound claim counts for the driver of its class; the limit may be in the node's allocatable."""
    cluster = Cluster()
    cluster.node("n1", {"attachable-volumes-csi-d": "0"})
    cluster.storage_class("s", provisioner="d")
    cluster.claim("c1")
    cluster.claim("c2", storageClassName="unknown")
    plugin = NodeVolumeLimits(cluster.handle, None)
    assert cluster.verdicts(plugin, cluster.pod("p1", "c1")) == {"n1": FULL}
    assert cluster.verdicts(plugin, cluster.pod("p2", "c2")) == {"n1": ""}


def test_unbound_claims_count_for_the_current_driver() -> None:
    """Unbound claims count for the driver that their class has now."""
    cluster = Cluster()
    cluster.node("n1")
    cluster.put("CSINode", "n1", spec=drivers(d=1))
    cluster.storage_class("s", provisioner="other")
    cluster.volume("v", csi={"driver": "d", "volumeHandle": "h"})
    cluster.claim("c1")
    cluster.claim("c2", bound="v")
    cluster.pod("a", "c1", node="n1")
    plugin, pod = NodeVolumeLimits(cluster.handle, None), cluster.pod("p", "c2")
    assert cluster.verdicts(plugin, pod) == {"n1": ""}
    cluster.storage_class("s", provisioner="d")
    assert cluster.verdicts(plugin, pod) == {"n1": FULL}


def test_migrated_volumes_count_for_the_driver() -> None:
    """An in-tree volume counts for the driver on nodes whose CSINode declares the migration."""
    cluster = Cluster()
    served = {"annotations": {"storage.alpha.orch.io/migrated-plugins": "orch.io/aws-ebs"}}
    for name, metadata in (("n1", served), ("n2", {})):
        cluster.node(name)
        cluster.put("CSINode", name, metadata=metadata, spec=drivers(**{"ebs.csi.aws.com": 1}))
    cluster.volume("v1", awsElasticBlockStore={"volumeID": "aws://zone/vol-1"})
    cluster.volume("v2", csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"})
    cluster.volume("v3", awsElasticBlockStore={"volumeID": "vol-3"})
    for number in (1, 2, 3):
        cluster.claim(f"c{number}", bound=f"v{number}")
    plugin = NodeVolumeLimits(cluster.handle, None)
    cluster.pod("a", "c2", node="n1")
    cluster.pod("b", "c2", node="n2")
    assert cluster.verdicts(plugin, cluster.pod("p1", "c3")) == {"n1": FULL, "n2": ""}
    assert cluster.verdicts(plugin, cluster.pod("p2", "c1")) == {"n1": "", "n2": ""}


@pytest.mark.parametrize("length", [40, 41, 60])
def test_csi_limit_resource_names(length: int) -> None:
    """Long driver names are truncated and get a hash; a resource name stays below 63 characters."""
    one, two = limit_name("a" * length), limit_name("a" * (length - 1) + "b")
    assert one.startswith("attachable-volumes-csi-a")
    assert one != two
    assert len(one) < 63
    assert (one == f"attachable-volumes-csi-{'a' * length}") is (length < 40)


DISKS = st.lists(
    st.sampled_from([gce("a"), gce("a", read=True), gce("b", read=True), ebs("a"), rbd("m"), iscsi("q")]), max_size=3
)


@given(st.lists(st.tuples(st.sampled_from(["n1", "n2"]), DISKS), max_size=4), DISKS)
def test_columnar_and_plain_disk_filters_agree(
    placed: list[tuple[str, list[dict[str, Any]]]], disks: list[dict[str, Any]]
) -> None:
    """Both forms of the disk filters agree for every node."""
    cluster = Cluster()
    cluster.node("n1", {"attachable-volumes-gce-pd": "1"})
    cluster.node("n2", {"attachable-volumes-aws-ebs": "1"})
    for at, (node, volumes) in enumerate(placed):
        cluster.pod(f"a{at}", node=node, volumes=volumes)
    pod = cluster.pod("p", volumes=disks)
    for plugin in (
        VolumeRestrictions(cluster.handle, None),
        DiskLimits(cluster.handle, "x", EBS),
        DiskLimits(cluster.handle, "y", GCE_PD),
    ):
        cluster.assert_forms_agree(plugin, pod)


CLAIMS = [f"c{number}" for number in range(4)]
NAMES = ["n1", "n2"]
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from(NAMES), st.sampled_from([None, 0, 1])),
        st.tuples(st.just("no node"), st.sampled_from(NAMES)),
        st.tuples(st.just("csinode"), st.sampled_from(NAMES), st.sampled_from([None, 0, 1, 2]), st.booleans()),
        st.tuples(st.just("no csinode"), st.sampled_from(NAMES)),
        st.tuples(st.just("pod"), st.sampled_from(NAMES), st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2)),
        st.tuples(st.just("no pod"), st.integers(0, 5)),
        st.tuples(st.just("bind"), st.sampled_from(CLAIMS), st.sampled_from(["v0", "v1", "v2"])),
        st.tuples(st.just("class"), st.sampled_from(["d.example", "orch.io/aws-ebs"])),
        st.tuples(st.just("no volume"), st.sampled_from(["v0", "v1", "v2"])),
    ),
    max_size=12,
)


class Changing:
    """A cluster that changes; its running pods by number."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cluster.storage_class("s", provisioner="d.example")
        for number, source in enumerate(
            (
                {"csi": {"driver": "d.example", "volumeHandle": "h"}},
                ebs("vol-1"),
                {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}},
            )
        ):
            self.cluster.volume(f"v{number}", **source)
        for name in CLAIMS:
            self.cluster.claim(name)
        handle = self.cluster.handle
        self.plugins = (
            NodeVolumeLimits(handle, None), DiskLimits(handle, "EBSLimits", EBS), VolumeRestrictions(handle, None),
        )  # fmt: skip
        self.running: list[Any] = []
        for name in NAMES:
            self.apply("node", name, None)

    def apply(self, what: str, *args: Any) -> None:
        cluster = self.cluster
        match what, args:
            case "node", (name, limit):
                resources = ("attachable-volumes-csi-d.example", "attachable-volumes-aws-ebs")
                cluster.node(name, {} if limit is None else dict.fromkeys(resources, str(limit)))
            case "no node", (name,):
                cluster.snapshot.remove_node(name)
            case "csinode", (name, count, served):
                plugins = {"storage.alpha.orch.io/migrated-plugins": "orch.io/aws-ebs"} if served else {}
                spec = drivers(**{"d.example": count, "ebs.csi.aws.com": 1})
                cluster.put("CSINode", name, metadata={"annotations": plugins}, spec=spec)
            case "no csinode", (name,) if cluster.informer("CSINode").get("", name):
                cluster.informer("CSINode").remove("", name)
            case "pod", (name, claims):
                number = len(self.running)
                disks = [ebs(f"d{number % 2}")] if number % 3 else [gce("g", read=number % 2 == 0)]
                self.running.append(cluster.pod(f"a{number}", *claims, node=name, volumes=disks))
            case "no pod", (number,) if number < len(self.running) and self.running[number] is not None:
                cluster.snapshot.remove_pod(self.running[number])
                self.running[number] = None
            case "bind", (claim, volume):
                cluster.claim(claim, bound=volume)
            case "class", (provisioner,):
                cluster.storage_class("s", provisioner=provisioner)
            case "no volume", (name,) if cluster.informer("PersistentVolume").get("", name):
                cluster.informer("PersistentVolume").remove("", name)


@given(CHANGES)
def test_columns_agree_after_changes(changes: list[tuple[Any, ...]]) -> None:
    """After any changes the columns agree with the plain forms."""
    changing = Changing()
    for at, (what, *args) in enumerate(changes):
        changing.apply(what, *args)
        for number, claims in enumerate((["c0"], ["c1", "c2"])):
            pod = changing.cluster.pod(f"p{at}-{number}", *claims, volumes=[ebs("d1"), gce("g", read=True)])
            for plugin in changing.plugins:
                changing.cluster.assert_forms_agree(plugin, pod)
