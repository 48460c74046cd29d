"""``cordon``, ``drain``, ``taint``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.client.requests import Call
from orchd.ctl.commands.drain import evictable, is_stuck
from orchd.ctl.commands.taint import apply_taint_changes, split_taints
from orchd.ctl.errors import CommandError
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


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
    """An eviction that a disruption budget refuses is repeated until the timeout; --disable-eviction deletes
    instead."""
    cluster(
        "create",
        "-f",
        "-",
        send="""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
""",
    )
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


def test_missing_server_features_are_named(cluster: Ctl) -> None:
    """Without a scheduler, metrics or streams the error says what is missing."""
    assert "--scheduler=true" in cluster("explain-scheduling", "p1", status=1).error
    assert "no metrics API (metrics." in cluster("top", "nodes", status=1).error
    assert "container x is not in pod p1" in cluster("logs", "p1", "-c", "x", status=1).error


@pytest.mark.parametrize(
    ("code", "reason", "retried"),
    [(429, "TooManyRequests", True), (403, "Forbidden", False), (500, "InternalError", False)],
)
def test_only_refused_evictions_are_repeated(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, code: int, reason: str, retried: bool
) -> None:
    """An eviction is repeated after 429, which a disruption budget answers; another error ends the drain at once."""

    async def refuse(call: Call) -> None:
        if call.path.endswith("/eviction") and len([each for each in calls if each.path.endswith("/eviction")]) == 1:
            raise ApiError(code, reason, "no")

    calls = precede(cluster, monkeypatch, refuse)
    ran = cluster("drain", "n1", "--force", "--grace-period=0", status=0 if retried else 1)
    evictions = [call for call in calls if call.path.endswith("/eviction")]
    assert len(evictions) == (2 if retried else 1)
    assert ("drained" in ran.out) == retried and ("no" in ran.error) != retried
    assert cluster.waited >= (5 if retried else 0) and cluster.waited < 10


@pytest.mark.parametrize(
    ("since", "seconds", "stuck"),
    [(None, 5, False), (1000, 0, False), (1000, 5, True), (1000, 11, False), (1009, 1, False)],
)
def test_pods_whose_deletion_takes_too_long_are_not_waited_for(since: int | None, seconds: int, stuck: bool) -> None:
    """With --skip-wait-for-delete-timeout a pod counts for so many seconds after the beginning of its deletion; 0 is
    without limit."""
    pod = {"metadata": {"deletionTimestamp": timestamp(since)} if since else {}}
    assert is_stuck(pod, 1010, seconds) == stuck


def test_taints_of_selected_nodes(cluster: Ctl) -> None:
    """All nodes, or those with labels."""
    cluster("create", "-f", "-", send="apiVersion: v1\nkind: Node\nmetadata: {name: n2, labels: {role: db}}\n")
    assert cluster("taint", "nodes", "-l", "role=db", "a=b:NoSchedule").lines == ["node/n2 tainted"]
    assert cluster("taint", "nodes", "--all", "c=d:NoExecute").lines == ["node/n1 tainted", "node/n2 tainted"]
    assert cluster("taint", "nodes", "-l", "role=web", "a=b:NoSchedule").error == "No resources found\n"
    assert cluster("cordon", "-l", "role=db").lines == ["node/n2 cordoned"]
    for words in (("n1", "-l", "role=db"), ()):
        assert cluster("cordon", *words, status=1).error


def test_drained_pods_of_a_selector(cluster: Ctl) -> None:
    """With --pod-selector other pods stay; a dry run evicts none."""
    other = "apiVersion: v1\nkind: Pod\nmetadata: {name: p2, labels: {app: b}}\nspec: {nodeName: n1, containers: [{name: c, image: i}]}\n"
    cluster("create", "-f", "-", send=other)
    flags = ("drain", "n1", "--force", "--grace-period=0", "--pod-selector=app=b")
    assert cluster(*flags, "--dry-run=client").lines == [
        "node/n1 cordoned (dry run)",
        "evicting pod default/p2 (dry run)",
        "node/n1 drained (dry run)",
    ]
    assert cluster(*flags).lines == ["node/n1 cordoned", "evicting pod default/p2", "node/n1 drained"]
    assert cluster("get", "pods", "-o", "name").lines == ["pod/p1"]


def test_pods_that_are_gone_meanwhile_need_no_eviction(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    async def remove(call: Call) -> None:
        if call.path.endswith("/eviction"):
            raise ApiError(404, "NotFound", "gone")
        if call.method == "GET" and call.path.endswith("/pods/p1"):
            raise ApiError(404, "NotFound", "gone")

    precede(cluster, monkeypatch, remove)
    assert cluster("drain", "n1", "--force").lines[-1] == "node/n1 drained"
    assert cluster.waited == 0


def test_drains_wait_for_pods_to_be_gone(cluster: Ctl) -> None:
    """A pod that is being deleted is waited for until the timeout, unless that takes too long already."""
    error = cluster("drain", "n1", "--force", "--timeout=3s", status=1).error
    assert "timed out: pod/p1 is still there" in error and cluster.waited == 3
    cluster.server.clock.advance(60)
    ran = cluster("drain", "n1", "--force", "--skip-wait-for-delete-timeout=5")
    assert ran.lines == ["node/n1 already cordoned", "node/n1 drained"]


def test_owners_that_do_not_control_a_pod() -> None:
    """A pod with an owner that is not its controller is as one without."""
    owner = {"kind": "DaemonSet", "name": "d"}
    pod = {"metadata": {"name": "a", "namespace": "x", "ownerReferences": [owner]}, "spec": {}}
    flags = {"ignore_daemonsets": True, "delete_emptydir_data": False}
    assert evictable([pod], "mirror", **flags, force=True) == [pod]
    with pytest.raises(CommandError, match=r"--force \(pods without a controller\): x/a"):
        evictable([pod], "mirror", **flags, force=False)


def _taint(key: str, effect: str = "NoSchedule", **value: str) -> Object:
    return {"key": key, **value, "effect": effect}


@pytest.mark.parametrize(
    ("words", "names", "changes"),
    [
        ("n1 a=b:NoSchedule", ["n1"], [(_taint("a", value="b"), False)]), ("node/n1 nodes/n2 a:NoExecute-", ["n1", "n2"], [(_taint("a", "NoExecute"), True)]),
        ("nodes a-", [], [(_taint("a", ""), True)]), ("a-", ["a-"], []), ("a:NoSchedule-", [], [(_taint("a"), True)]), ("no n1 -", ["n1", "-"], []),
        ("n1 a- b=c:PreferNoSchedule", ["n1"], [(_taint("a", ""), True), (_taint("b", "PreferNoSchedule", value="c"), False)]), ("", [], []),
    ],
)  # fmt: skip
def test_words_of_taints(words: str, names: list[str], changes: list[Any]) -> None:
    """A hyphen at the end removes a taint, but a word that could be a node is one."""
    assert split_taints(tuple(words.split())) == (names, changes)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("a=b", "the effect is missing: write a=b:NoSchedule"),
        ("a:", "the effect must be one of"),
        ("a:Odd-", "the effect must be one of"),
    ],
)
def test_words_that_are_no_taints(word: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        split_taints(("n1", word))


def test_changes_of_taints() -> None:
    """Without an effect all taints of a key are removed; one is added once per effect."""
    taints = [_taint("a"), _taint("a", "NoExecute"), _taint("b")]
    changes = [(_taint("a", ""), True), (_taint("b", "NoExecute"), False)]
    assert apply_taint_changes("n", taints, changes, overwrite=False) == [_taint("b"), _taint("b", "NoExecute")]
    assert apply_taint_changes("n", taints, [(_taint("b", value="x"), False)], overwrite=True)[-1] == _taint(
        "b", value="x"
    )
    with pytest.raises(CommandError, match="node n already has taint b:NoSchedule: --overwrite changes it"):
        apply_taint_changes("n", taints, [(_taint("b", value="x"), False)], overwrite=False)
    with pytest.raises(CommandError, match='taint "c" not found on node n'):
        apply_taint_changes("n", taints, [(_taint("c", ""), True)], overwrite=True)


def test_what_is_said_about_taints(cluster: Ctl) -> None:
    """Dry runs change nothing; the last taint that goes leaves none."""
    for mode, suffix in (("client", " (dry run)"), ("server", " (server dry run)")):
        assert cluster("taint", "nodes", "n1", "a=b:NoExecute", f"--dry-run={mode}").lines == [
            f"node/n1 tainted{suffix}"
        ]
    cluster("taint", "nodes", "n1", "a=b:NoExecute", "c:NoExecute")
    taints = "jsonpath={.spec.taints[?(@.effect=='NoExecute')].key}"
    assert cluster("get", "node/n1", "-o", taints).out == "a c"
    assert cluster("taint", "nodes", "n1", "a=x:NoExecute", "--overwrite").lines == ["node/n1 modified"]
    assert cluster("taint", "nodes", "n1", "a-", "d:NoExecute").lines == ["node/n1 tainted"]
    assert cluster("taint", "nodes", "n1", "c-", "d-", "-o", "jsonpath={.kind}").out == "Node"
    assert cluster("get", "node/n1", "-o", taints).out == ""
    assert "--all goes without names and -l" in cluster("taint", "nodes", "n1", "--all", "a:NoExecute", status=1).error
    assert (
        "--all goes without names and -l"
        in cluster("taint", "nodes", "-l", "a=b", "--all", "a:NoExecute", status=1).error
    )
    assert "name a taint" in cluster("taint", "nodes", "n1", status=1).error
