"""Commands for nodes: cordon, drain, taint, and placement explanations."""

from __future__ import annotations

import json

import pytest

from orchd.ctl.errors import CommandError
from orchd.ctl.nodes import apply_taint_changes, evictable, split_taints
from orchd.ctl.scheduling import explanation_lines
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import timestamp
from tests.ctl.ctl_runner import Ctl

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c, image: nginx}]}\n"


@pytest.fixture
def cluster(ctl: Ctl) -> Ctl:
    """A node with a pod that has no controller."""
    ctl("create", "-f", "-", send=NODE)
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send=POD)
    return ctl


def test_cordon_and_uncordon_change_the_node_once(cluster: Ctl) -> None:
    """Cordon and uncordon change spec.unschedulable; a repeated command changes nothing."""
    assert cluster("cordon", "n1").lines == ["node/n1 cordoned"]
    assert cluster("cordon", "n1").lines == ["node/n1 already cordoned"]
    assert cluster("get", "node/n1", "-o", "jsonpath={.spec.unschedulable}").out == "true"
    cluster("uncordon", "n1")
    assert cluster("get", "node/n1", "-o", "jsonpath={.spec.unschedulable}").out == ""


def test_drain_names_the_missing_flag(cluster: Ctl) -> None:
    """Drain refuses to delete pods that would be lost, names the flag that allows it, and evicts them with it."""
    cluster("cordon", "n1")
    assert "--force (pods without a controller): default/p1" in cluster("drain", "n1", status=1).error
    assert cluster("drain", "n1", "--force", "--dry-run").lines[1] == "evicting pod default/p1 (server dry run)"
    lines = cluster("drain", "n1", "--force", "--grace-period=0").lines
    assert lines == ["node/n1 already cordoned", "evicting pod default/p1", "node/n1 drained"]
    assert "No resources" in cluster("get", "pods").error


def test_drain_retries_refused_evictions(cluster: Ctl) -> None:
    """An eviction that a disruption budget refuses is repeated until the timeout; --disable-eviction deletes instead.
    """
    cluster("create", "-f", "-", send="""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
""")
    phase = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    cluster("patch", "pod", "p1", "--subresource=status", "-p", json.dumps(phase))
    cluster("cordon", "n1")
    error = cluster("drain", "n1", "--force", "--timeout=11s", status=1).error
    assert "cannot be evicted" in error
    cluster("drain", "n1", "--force", "--disable-eviction", "--grace-period=0")
    assert "No resources" in cluster("get", "pods").error


def test_mirror_and_daemon_pods_are_not_evicted() -> None:
    """Mirror pods are skipped, pods of daemon sets with --ignore-daemonsets; pods with emptyDir data need a flag."""
    def pod(name: str, owner: str = "", volumes: list[Object] | None = None, **annotations: str) -> Object:
        owners = [{"kind": owner, "controller": True}] if owner else []
        metadata = {"name": name, "namespace": "x", "ownerReferences": owners, "annotations": annotations}
        return {"metadata": metadata, "spec": {"volumes": volumes or []}}

    pods = [pod("a", "ReplicaSet"), pod("d", "DaemonSet"), pod("m", mirror="1"), pod("e", "Job", [{"emptyDir": {}}])]
    with pytest.raises(CommandError, match=r"--ignore-daemonsets .*x/d; --delete-emptydir-data .*x/e"):
        evictable(pods, "mirror", ignore_daemonsets=False, delete_emptydir_data=False, force=False)
    chosen = evictable(pods, "mirror", ignore_daemonsets=True, delete_emptydir_data=True, force=False)
    assert [each["metadata"]["name"] for each in chosen] == ["a", "e"]


def test_taints_are_set_overwritten_and_removed(cluster: Ctl) -> None:
    """Taints are added, changed only with --overwrite, and removed by key."""
    cluster("taint", "node", "n1", "a=b:NoSchedule")
    keys = "jsonpath={.spec.taints[?(@.key=='a')].value}"
    assert cluster("get", "node/n1", "-o", keys).out == "b"
    assert "--overwrite changes it" in cluster("taint", "node", "n1", "a=c:NoSchedule", status=1).error
    cluster("taint", "nodes", "n1", "a=c:NoSchedule", "--overwrite")
    assert cluster("get", "node/n1", "-o", keys).out == "c"
    assert cluster("taint", "node", "n1", "a-").lines == ["node/n1 untainted"]
    assert "not found on node n1" in cluster("taint", "node", "n1", "a-", status=1).error
    assert "the effect must be one of" in cluster("taint", "node", "n1", "a=b:Frob", status=1).error


def test_taint_arguments() -> None:
    """A taint may have no value; names may follow the type."""
    names, changes = split_taints(("node", "n1", "n2", "k:NoExecute", "x:NoSchedule-"))
    assert names == ["n1", "n2"]
    assert changes == [({"key": "k", "effect": "NoExecute"}, False), ({"key": "x", "effect": "NoSchedule"}, True)]
    there = [{"key": "x", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]
    assert apply_taint_changes("n", there, changes, overwrite=False) == [there[1], changes[0][0]]


def test_describe_shows_related_objects_and_events(cluster: Ctl) -> None:
    """Pods and nodes are described with related objects, then events."""
    pod = cluster("describe", "pod", "p1").out
    assert "Node:            n1" in pod
    assert "Image:           nginx" in pod
    assert "default/p1" in cluster("describe", "node/n1").out
    uid = cluster("get", "pod/p1", "-o", "jsonpath={.metadata.uid}").out.strip()
    last = timestamp(cluster.server.clock.seconds() - 90)
    cluster("create", "-f", "-", send=f"""
apiVersion: v1
kind: Event
metadata: {{name: e1, namespace: default}}
involvedObject: {{kind: Pod, namespace: default, name: p1, uid: {uid}}}
type: Warning
reason: Failed
message: no image
lastTimestamp: "{last}"
""")
    line = cluster("describe", "pod", "p1").lines[-1]
    assert line.split()[:3] == ["Warning", "Failed", "1m30s"]
    assert cluster("events", "--for", "pod/p1").lines[1].split()[1:4] == ["Warning", "Failed", "pod/p1"]
    assert "No events" in cluster("events", "--types=Normal").error
    cluster("create", "deployment", "web", "--image=nginx:1")
    assert "1 desired | 0 updated" in cluster("describe", "deploy", "web").out
    assert "Finalizers:" in cluster("describe", "ns", "default").out


def test_explanation_lists_feasible_and_refused_nodes() -> None:
    """Feasible nodes are listed by descending score; refused ones with the plugin, its reasons and a remedy."""
    answer = {
        "node": "b", "feasible": {"a": {"total": 1, "plugins": {}}, "b": {"total": 9, "plugins": {"P": 9}}},
        "filtered": {"c": {"plugin": "Q", "reasons": ["full"], "remedy": "free 1 CPU"}},
    }  # fmt: skip
    assert explanation_lines(answer) == [
        "Node:      b", "Feasible nodes, best first:", "  b  total=9  P=9", "  a  total=1", "Refused nodes:",
        "  c  Q: full  remedy: free 1 CPU",
    ]  # fmt: skip


def test_missing_server_features_are_named(cluster: Ctl) -> None:
    """Without a scheduler, metrics or streams the error says what is missing."""
    assert "--scheduler=true" in cluster("explain-scheduling", "p1", status=1).error
    assert "no metrics API (metrics." in cluster("top", "nodes", status=1).error
    assert "container x is not in pod p1" in cluster("logs", "p1", "-c", "x", status=1).error
