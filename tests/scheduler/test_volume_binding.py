"""VolumeBinding: feasible nodes, reservations, writes and the wait for the binding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from orchd import errors
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST
from orchd.scheduler.config.model import VolumeBindingArgs
from orchd.scheduler.plugins.volumebinder import VolumeBinder
from orchd.scheduler.plugins.volumebinding import VolumeBinding
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Code, CycleState, Status
from tests.scheduler.volume_support import Cluster

CONFLICT = "UNRESOLVABLE: node(s) had volume node affinity conflict"
NOTHING = "UNRESOLVABLE: node(s) didn't find available persistent volumes to bind"
NO_SPACE = "UNRESOLVABLE: node(s) did not have enough free storage"
GONE = "UNRESOLVABLE: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "UNRESOLVABLE: pod has unbound immediate PersistentVolumeClaims"
WAITING = 'UNRESOLVABLE: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-w0"'
SELECTED, COMPLETED = "volume.orch.io/selected-node", "pv.orch.io/bind-completed"


def on(*hosts: str) -> Object:
    term = {"matchExpressions": [{"key": "host", "operator": "In", "values": list(hosts)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.node(name, zone="a" if name == "n1" else "b")
    cluster.storage_class()
    cluster.storage_class("i", immediate=True)
    return cluster


def plugin_for(cluster: Cluster, seconds: int = 600) -> VolumeBinding:
    return VolumeBinding(cluster.handle, VolumeBindingArgs(bind_timeout_seconds=seconds, shape=()))


def verdict(cluster: Cluster, *claims: str) -> Any:
    """The result by node; one text if it is the same for all nodes."""
    verdicts = cluster.verdicts(plugin_for(cluster), cluster.pod("p", *claims))
    if isinstance(verdicts, str):
        return verdicts
    return verdicts if len(set(verdicts.values())) > 1 else next(iter(verdicts.values()))


def test_pod_without_claims_fits_everywhere(cluster: Cluster) -> None:
    """A pod without claims fits everywhere, and no filter is compiled for it."""
    plugin, pod = plugin_for(cluster), cluster.pod("p", volumes=[{"emptyDir": {}}])
    assert cluster.verdicts(plugin, pod) == {"n1": "", "n2": "", "n3": ""}
    state = CycleState()
    assert plugin.pre_filter(state, pod) is None
    assert plugin.compile_filter(state, pod) is None
    assert plugin.reserve(state, pod, "n1") is None


def test_other_points_fail_without_the_pre_filter(cluster: Cluster) -> None:
    """If a profile disables only the pre-filter point, the others raise an error, even for pods without claims."""
    plugin, pod, state = plugin_for(cluster), cluster.pod("p"), CycleState()
    row = cluster.snapshot.row_of("n1")
    compiled = plugin.compile_filter(state, pod)
    assert compiled is not None
    for found in (
        compiled.status(int(compiled.codes(None)[row])), plugin.filter(state, pod, cluster.snapshot.node(row)),
        plugin.reserve(state, pod, "n1"),
    ):  # fmt: skip
        assert found is not None
        assert (found.code, found.reasons) == (Code.ERROR, ("not found",))


def test_unusable_claims_refuse_every_node(cluster: Cluster) -> None:
    """A claim that is missing, lost, terminating or unexpectedly unbound rejects every node."""
    cluster.claim("lost", phase="Lost", volumeName="v")
    cluster.claim("ending", metadata={"deletionTimestamp": "2020-01-01T00:00:00Z"})
    cluster.claim("immediate", storageClassName="i")
    cluster.claim("classless", storageClassName="")
    cluster.claim("prebound", volumeName="v")
    assert verdict(cluster, "none") == 'UNRESOLVABLE: persistentvolumeclaim "none" not found'
    assert (
        verdict(cluster, "lost")
        == 'UNRESOLVABLE: persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"'
    )
    assert verdict(cluster, "ending") == 'UNRESOLVABLE: persistentvolumeclaim "ending" is being deleted'
    assert verdict(cluster, "immediate") == verdict(cluster, "classless") == verdict(cluster, "prebound") == UNBOUND


def test_ephemeral_claim_must_belong_to_the_pod(cluster: Cluster) -> None:
    """The claim of an ephemeral volume must be owned by the pod."""
    pod = cluster.pod("p", volumes=[{"ephemeral": {"volumeClaimTemplate": {}}}])
    plugin = plugin_for(cluster)
    assert cluster.verdicts(plugin, pod) == WAITING
    cluster.claim("p-w0")
    foreign = "UNRESOLVABLE: PVC ns/p-w0 was not created for pod ns/p (pod is not owner)"
    assert cluster.verdicts(plugin, pod) == foreign
    owner = {"ownerReferences": [{"controller": True, "uid": pod.uid, "kind": "Pod", "name": "p"}]}
    cluster.claim("p-w0", metadata=owner)
    cluster.volume("v", nodeAffinity=on("n1"))
    assert cluster.verdicts(plugin, pod) == {"n1": "", "n2": NOTHING, "n3": NOTHING}


def test_bound_volume_must_be_usable_on_the_node(cluster: Cluster) -> None:
    """A bound volume must be usable on the node; the first unusable one gives the reason."""
    cluster.volume("v1", nodeAffinity=on("n1"))
    cluster.volume("v2", nodeAffinity=on("n2", "n3"))
    for name in ("v1", "v2", "v9"):
        cluster.claim(f"c{name}", bound=name)
    assert verdict(cluster, "cv1") == {"n1": "", "n2": CONFLICT, "n3": CONFLICT}
    assert verdict(cluster, "cv1", "cv2") == CONFLICT
    assert verdict(cluster, "cv9") == GONE
    assert verdict(cluster, "cv2", "cv9") == {"n1": CONFLICT, "n2": GONE, "n3": GONE}


def test_each_claim_needs_its_own_volume(cluster: Cluster) -> None:
    """Each unbound claim needs its own volume on the node."""
    cluster.volume("v1", nodeAffinity=on("n1"))
    cluster.volume("v2", "2Gi", nodeAffinity=on("n1", "n2"))
    cluster.claim("c1")
    cluster.claim("c2", "2Gi")
    assert verdict(cluster, "c1") == {"n1": "", "n2": "", "n3": NOTHING}
    assert verdict(cluster, "c2") == {"n1": "", "n2": "", "n3": NOTHING}
    assert verdict(cluster, "c2", "c1") == {"n1": "", "n2": NOTHING, "n3": NOTHING}


def test_provisioning_topology_and_selected_node(cluster: Cluster) -> None:
    """A claim without a volume needs a class that provisions one in an allowed topology, on the node that was selected
    before."""
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]
    cluster.storage_class("dyn", provisioner="p", allowedTopologies=allowed)
    cluster.claim("c1", storageClassName="dyn")
    cluster.claim("c2", storageClassName="dyn", metadata={"annotations": {SELECTED: "n2"}})
    cluster.claim("c3", storageClassName="dyn", metadata={"annotations": {SELECTED: "gone"}})
    assert verdict(cluster, "c1") == {"n1": NOTHING, "n2": "", "n3": ""}
    assert verdict(cluster, "c1", "c2") == {"n1": NOTHING, "n2": "", "n3": NOTHING}
    assert verdict(cluster, "c3") == NOTHING


def test_first_unprovisionable_claim_gives_the_reason(cluster: Cluster) -> None:
    """Of several claims that cannot be provisioned the first gives the reason."""
    cluster.storage_class("dyn", provisioner="p")
    cluster.put("CSIDriver", "p", spec={"storageCapacity": True})
    cluster.claim("c1")
    cluster.claim("c2", "2Gi", storageClassName="dyn")
    cluster.claim("c3", "3Gi")
    assert verdict(cluster, "c1", "c2") == verdict(cluster, "c2", "c1") == NOTHING
    assert verdict(cluster, "c2", "c3") == NO_SPACE


def test_reasons_of_several_provisioned_claims(cluster: Cluster) -> None:
    """On each node the first claim that cannot be provisioned there gives the reason; a volume that matches elsewhere
    does not help."""
    for name, zone, provisioner in (("in-a", "a", "p"), ("in-b", "b", "p"), ("limited", "b", "q")):
        allowed = [{"matchLabelExpressions": [{"key": "zone", "values": [zone]}]}]
        cluster.storage_class(name, provisioner=provisioner, allowedTopologies=allowed)
        cluster.claim(name, storageClassName=name)
    cluster.put("CSIDriver", "q", spec={"storageCapacity": True})
    assert verdict(cluster, "in-a") == {"n1": "", "n2": NOTHING, "n3": NOTHING}
    assert verdict(cluster, "in-a", "in-b") == NOTHING
    assert verdict(cluster, "limited") == {"n1": NOTHING, "n2": NO_SPACE, "n3": NO_SPACE}
    assert verdict(cluster, "limited", "in-a") == {"n1": NOTHING, "n2": NO_SPACE, "n3": NO_SPACE}
    assert verdict(cluster, "in-a", "limited") == NOTHING
    cluster.volume("v", storageClassName="in-a", nodeAffinity=on("n2"))
    assert verdict(cluster, "in-a") == {"n1": "", "n2": "", "n3": NOTHING}
    assert verdict(cluster, "in-a", "limited") == {"n1": NOTHING, "n2": NO_SPACE, "n3": NOTHING}


def test_the_smallest_claim_gets_the_smallest_volume(cluster: Cluster) -> None:
    """Claims are matched in the order of their sizes, not in that of the pod."""
    cluster.volume("v2", "2Gi")
    cluster.volume("v3", "3Gi")
    cluster.claim("big", "2Gi")
    cluster.claim("small", "1Gi")
    cycle = begin(cluster, "big", "small")
    cycle.reserve("n1")
    cycle.bind("n1")
    cluster.clock.advance(1)
    assert [(each["metadata"]["name"], each["spec"]["claimRef"]["name"]) for each in cluster.writes] == [
        ("v2", "small"),
        ("v3", "big"),
    ]


def test_storage_capacity_must_suffice(cluster: Cluster) -> None:
    """A driver that publishes its capacity must have enough of it reachable from the node."""
    cluster.storage_class("dyn", provisioner="p")
    cluster.claim("c", "2Gi", storageClassName="dyn")
    cluster.put("CSIDriver", "p", spec={"storageCapacity": True})
    assert verdict(cluster, "c") == NO_SPACE

    def pool(name: str, zone: str, **limits: str) -> None:
        topology = {"matchLabels": {"zone": zone}}
        cluster.put("CSIStorageCapacity", name, "x", storageClassName="dyn", nodeTopology=topology, **limits)

    pool("a", "a", capacity="10Gi")
    assert verdict(cluster, "c") == {"n1": "", "n2": NO_SPACE, "n3": NO_SPACE}
    pool("b", "b", capacity="10Gi", maximumVolumeSize="1Gi")
    assert verdict(cluster, "c") == {"n1": "", "n2": NO_SPACE, "n3": NO_SPACE}
    pool("b", "b", capacity="1Gi", maximumVolumeSize="2Gi")
    assert verdict(cluster, "c") == ""
    cluster.put("CSIStorageCapacity", "nowhere", "x", storageClassName="dyn", capacity="10Gi")
    cluster.put("CSIDriver", "p", spec={"storageCapacity": False})
    cluster.informer("CSIStorageCapacity").remove("x", "a")
    assert verdict(cluster, "c") == ""


def test_missing_class_fails_the_cycle(cluster: Cluster) -> None:
    """A class that was deleted meanwhile is an error, not a rejection of the node."""
    cluster.claim("c", metadata={"annotations": {SELECTED: "n1"}})
    plugin, state, pod = plugin_for(cluster), CycleState(), cluster.pod("p", "c")
    assert plugin.pre_filter(state, pod) is None
    cluster.informer("StorageClass").remove("", "s")
    compiled = plugin.compile_filter(state, pod)
    assert compiled is not None
    row = cluster.snapshot.row_of("n1")
    assert compiled.status(int(compiled.codes(None)[row])).message == 'failed to find storage class "s"'
    found = plugin.filter(state, pod, cluster.snapshot.node(row))
    assert found is not None
    assert found.message == 'failed to find storage class "s"'


def test_migrated_volumes_use_the_drivers_topology(cluster: Cluster) -> None:
    """On nodes whose driver serves an in-tree volume its zone is the driver's."""
    cluster.put(
        "CSINode",
        "n1",
        metadata={"annotations": {"storage.alpha.orch.io/migrated-plugins": "orch.io/aws-ebs"}},
        spec={},
    )
    # Its driver serves other volumes.
    cluster.put("CSINode", "n2", metadata={}, spec={})
    expression = {"key": "topology.orch.io/zone", "operator": "In", "values": ["z"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    cluster.volume("v", awsElasticBlockStore={"volumeID": "x"}, nodeAffinity=affinity)
    cluster.claim("c", bound="v")
    cluster.node("n1", **{"topology.orch.io/zone": "z"})
    cluster.node("n2", **{"topology.orch.io/zone": "z"})
    assert verdict(cluster, "c") == {"n1": CONFLICT, "n2": "", "n3": CONFLICT}
    cluster.node("n1", **{"topology.ebs.csi.aws.com/zone": "z"})
    assert verdict(cluster, "c") == {"n1": "", "n2": "", "n3": CONFLICT}


# -- with a node


class Cycle:
    """The scheduling cycle of one pod."""

    def __init__(self, cluster: Cluster, plugin: VolumeBinding, pod: Pod) -> None:
        self.plugin = plugin
        self.pod = pod
        self.state = CycleState()
        assert plugin.pre_filter(self.state, pod) is None

    def reserve(self, node: str) -> Status | None:
        return self.plugin.reserve(self.state, self.pod, node)

    def bind(self, node: str) -> list[Any]:
        """The result of pre-bind; empty while it waits."""
        found: list[Any] = []
        Deferred.fromCoroutine(self.plugin.pre_bind(self.state, self.pod, node)).addBoth(found.append)
        return found


def begin(cluster: Cluster, *claims: str, seconds: int = 600) -> Cycle:
    return Cycle(cluster, plugin_for(cluster, seconds), cluster.pod("p", *claims))


def complete(cluster: Cluster, name: str, volume: str, **annotations: str) -> None:
    """Do the volume controller's part: bind the claim."""
    known = {f"{key.replace('_', '-')}": value for key, value in annotations.items()}
    cluster.claim(name, volumeName=volume, metadata={"annotations": {COMPLETED: "yes", **known}})


def test_assumed_volume_is_not_given_to_another_pod(cluster: Cluster) -> None:
    """A volume that is assumed for one pod is not given to another until it is released."""
    cluster.volume("v")
    cluster.claim("c1")
    cluster.claim("c2")
    plugin = plugin_for(cluster)
    first, second = cluster.pod("p", "c1"), cluster.pod("q", "c2")
    cycle = Cycle(cluster, plugin, first)
    assert cycle.reserve("n1") is None
    assert cluster.verdicts(plugin, second) == {"n1": NOTHING, "n2": NOTHING, "n3": NOTHING}
    plugin.unreserve(cycle.state, first, "n1")
    plugin.unreserve(cycle.state, first, "n1")
    assert cluster.verdicts(plugin, second) == {"n1": "", "n2": "", "n3": ""}


def test_pre_bind_writes_volumes_and_waits(cluster: Cluster) -> None:
    """The volume is written with its claim; pre-bind ends when the claim is fully bound."""
    cluster.volume("v")
    cluster.claim("c")
    cluster.answer = lambda obj: cluster.put(
        "PersistentVolume", "v", metadata=obj["metadata"], spec=obj["spec"], status={"phase": "Bound"}
    )
    cycle = begin(cluster, "c")
    assert cycle.reserve("n1") is None
    outcome = cycle.bind("n1")
    (written,) = cluster.writes
    assert written["spec"]["claimRef"]["name"] == "c"
    assert written["metadata"]["annotations"] == {"pv.orch.io/bound-by-controller": "yes"}
    assert outcome == []
    cluster.volume("v", claimRef={"namespace": "ns", "name": "c", "uid": "uid-c"}, metadata={"resourceVersion": "900"})
    complete(cluster, "c", "v")
    assert outcome == [None]


def test_pre_bind_selects_the_node_and_waits(cluster: Cluster) -> None:
    """A claim without a volume is annotated with the node; pre-bind ends when it is bound to a volume there."""
    cluster.storage_class("dyn", provisioner="p")
    cluster.claim("c", storageClassName="dyn")
    cycle = begin(cluster, "c")
    assert cycle.reserve("n1") is None
    outcome = cycle.bind("n1")
    assert cluster.writes[0]["metadata"]["annotations"] == {SELECTED: "n1"}
    bound = {"annotations": {SELECTED: "n1", COMPLETED: "yes"}}
    cluster.put(
        "PersistentVolumeClaim", "c", "ns", metadata={**bound, "resourceVersion": "900"}, spec={"volumeName": "v"}
    )
    assert outcome == []
    cluster.volume("v", nodeAffinity=on("n1"))
    assert outcome == [None]


FAILURES: dict[str, tuple[Object, str]] = {
    "given up": ({"metadata": {"annotations": {}}}, 'provisioning failed for PVC "c"'),
    "reset": ({"metadata": {}}, 'selectedNode annotation reset for PVC "c"'),
    "elsewhere": (
        {"metadata": {"annotations": {SELECTED: "n1"}}, "spec": {"volumeName": "far"}},
        'pv "far" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failed_provisioning_ends_the_wait(cluster: Cluster, case: str) -> None:
    """A claim that cannot be bound on the node ends the wait with the reason."""
    change, expected = FAILURES[case]
    cluster.storage_class("dyn", provisioner="p")
    cluster.volume("far", nodeAffinity=on("n2"))
    cluster.claim("c", storageClassName="dyn")
    cycle = begin(cluster, "c")
    cycle.reserve("n1")
    outcome = cycle.bind("n1")
    metadata = {"resourceVersion": "900", **change["metadata"]}
    cluster.put("PersistentVolumeClaim", "c", "ns", metadata=metadata, spec=change.get("spec", {}))
    assert [status.message for status in outcome] == [f"binding volumes: {expected}"]


def test_deleted_objects_end_the_wait(cluster: Cluster) -> None:
    """The deletion of the pod, node or claim ends the wait."""
    cluster.storage_class("dyn", provisioner="p")

    def waiting() -> list[Any]:
        cluster.claim("c", storageClassName="dyn")
        cycle = begin(cluster, "c")
        cycle.reserve("n1")
        return cycle.bind("n1")

    found = waiting()
    cluster.pods.clear()
    cluster.clock.advance(1)
    assert found[0].message == 'binding volumes: pod does not exist any more: pod "p" not found'
    found = waiting()
    cluster.informer("PersistentVolumeClaim").remove("ns", "c")
    assert found[0].message == (
        'binding volumes: failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "ns/c"'
    )
    found = waiting()
    cluster.snapshot.remove_node("n1")
    cluster.clock.advance(1)
    assert found[0].message == 'binding volumes: failed to get node "n1": node "n1" not found'


def test_binding_wait_times_out(cluster: Cluster) -> None:
    """Pre-bind fails if claims are not bound within the configured timeout."""
    cluster.storage_class("dyn", provisioner="p")
    cluster.claim("c", storageClassName="dyn")
    cycle = begin(cluster, "c", seconds=3)
    cycle.reserve("n1")
    outcome = cycle.bind("n1")
    for _ in range(3):
        assert outcome == []
        cluster.clock.advance(1)
    assert outcome[0].message == "binding volumes: timed out waiting for the condition"
    assert cluster.clock.getDelayedCalls() == []


def test_messages_of_newer_releases() -> None:
    """Release 1.35 calls a volume on other nodes, and the end of the wait, otherwise."""
    cluster = Cluster(NEWEST)
    cluster.node("n1")
    cluster.volume("v", nodeAffinity=on("other"))
    cluster.claim("c", bound="v")
    refused = "UNRESOLVABLE: node(s) didn't match PersistentVolume's node affinity"
    assert verdict(cluster, "c") == refused
    assert VolumeBinder(cluster.handle).words.timed_out == "context deadline exceeded"


def test_refused_write_fails_the_binding(cluster: Cluster) -> None:
    """A rejected write fails pre-bind with the API's message, and all assumptions are dropped."""

    def refuse(obj: Object) -> Object:
        raise errors.conflict("", "persistentvolumes", "v", "changed")

    cluster.volume("v")
    cluster.claim("c")
    cluster.answer = refuse
    cycle = begin(cluster, "c")
    cycle.reserve("n1")
    outcome = cycle.bind("n1")
    assert "changed" in outcome[0].message
    cluster.claim("d")
    assert cluster.verdicts(cycle.plugin, cluster.pod("q", "d")) == {"n1": "", "n2": "", "n3": ""}


def test_newer_version_ends_an_assumption(cluster: Cluster) -> None:
    """An assumption ends when the API has a newer version of the object."""
    cluster.volume("v")
    cluster.claim("c")
    cluster.claim("d")
    cycle = begin(cluster, "c")
    cycle.reserve("n1")
    assert cluster.verdicts(cycle.plugin, cluster.pod("q", "d")) == {"n1": NOTHING, "n2": NOTHING, "n3": NOTHING}
    cluster.volume("v")
    assert cluster.verdicts(cycle.plugin, cluster.pod("q", "d")) == {"n1": "", "n2": "", "n3": ""}


HOSTS = st.lists(st.sampled_from(["n1", "n2", "n3"]), min_size=1, max_size=3, unique=True)
VOLUMES = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.sampled_from(["1Gi", "2Gi"]),
            "hosts": st.none() | HOSTS,
            "claim": st.sampled_from([None, None, None, "c0", "c1"]),
        }
    ),
    max_size=5,
)
CLAIMS = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.sampled_from(["1Gi", "2Gi"]),
            "kind": st.sampled_from(["bound", "static", "static", "dynamic", "selected", "limited"]),
        }
    ),
    min_size=1,
    max_size=3,
)


@given(VOLUMES, CLAIMS)
def test_columnar_and_plain_volume_binding_agree(volumes: list[Object], claims: list[Object]) -> None:
    """Both forms agree for every node, for any volumes and claims."""
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.node(name)
    cluster.storage_class()
    cluster.storage_class(
        "dyn", provisioner="p", allowedTopologies=[{"matchLabelExpressions": [{"key": "host", "values": ["n1", "n2"]}]}]
    )
    cluster.storage_class("lim", provisioner="q")
    cluster.put("CSIDriver", "q", spec={"storageCapacity": True})
    topology = {"matchLabels": {"host": "n1"}}
    cluster.put("CSIStorageCapacity", "a", "x", storageClassName="lim", nodeTopology=topology, capacity="1Gi")
    for at, each in enumerate(volumes):
        spec: Object = {} if each["hosts"] is None else {"nodeAffinity": on(*each["hosts"])}
        if each["claim"]:
            spec["claimRef"] = {"namespace": "ns", "name": each["claim"]}
        cluster.volume(f"v{at}", each["size"], **spec)
    for at, each in enumerate(claims):
        kind, name = each["kind"], f"c{at}"
        if kind == "bound":
            cluster.claim(name, bound=f"v{at}")
        else:
            metadata = {"annotations": {SELECTED: "n2"}} if kind == "selected" else {}
            class_name = {"static": "s", "limited": "lim"}.get(kind, "dyn")
            cluster.claim(name, each["size"], metadata=metadata, storageClassName=class_name)
    cluster.assert_forms_agree(plugin_for(cluster), cluster.pod("p", *(f"c{at}" for at in range(len(claims)))))
