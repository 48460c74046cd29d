"""``scale`` and ``rollout``."""

from __future__ import annotations

import json

from orchd.ctl.commands.rollout.status import progress
from tests.ctl.ctl_runner import Ctl


def test_scale_and_rollout(ctl: Ctl) -> None:
    """Scale uses the subresource; restart annotates the template; pause sets spec.paused."""
    ctl("create", "deployment", "web", "--image=nginx:1", "-r", "2")
    assert "has 2 replicas, not 5" in ctl("scale", "deploy/web", "--replicas=3", "--current-replicas=5", status=1).error
    ctl("scale", "deploy/web", "--replicas=3")
    assert ctl("get", "deploy/web", "-o", "jsonpath={.spec.replicas}").out == "3"
    ctl("rollout", "restart", "deploy/web")
    assert "restartedAt" in ctl("get", "deploy/web", "-o", "jsonpath={.spec.template.metadata.annotations}").out
    ctl("rollout", "pause", "deploy/web")
    assert ctl("get", "deploy/web", "-o", "jsonpath={.spec.paused}").out == "true"
    assert "resume it first" in ctl("rollout", "undo", "deploy/web", status=1).error
    assert "no rollouts" in ctl("rollout", "status", "ns/default", status=1).error
    assert "cannot be scaled" in ctl("scale", "ns/default", "--replicas=1", status=1).error


def test_rollout_undo(ctl: Ctl) -> None:
    """Undo restores the template of an earlier ReplicaSet, without its pod-template-hash label."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    owner = ctl("get", "deploy/web", "-o", "jsonpath={.metadata.uid}").out.strip()
    key = ctl.server.dialect("deployment.{long}.io/revision")
    for number, image in ((1, "nginx:0"), (2, "nginx:1")):
        ctl("create", "-f", "-", send=f"""
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-{number}
  annotations: {{{key}: "{number}"}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {owner}, controller: true}}]
spec:
  selector: {{matchLabels: {{app: web, pod-template-hash: h{number}}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: h{number}}}}}
    spec: {{containers: [{{name: nginx, image: "{image}"}}]}}
""")  # fmt: skip
    # That of another deployment is no revision of this one.
    ctl(
        "create",
        "-f",
        "-",
        send=f"""
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: foreign, annotations: {{{key}: "7"}}}}
spec:
  selector: {{matchLabels: {{app: web, pod-template-hash: f}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: f}}}}
    spec: {{containers: [{{name: nginx, image: "i"}}]}}
""",
    )
    assert [line.split()[0] for line in ctl("rollout", "history", "deploy/web").lines[2:-1]] == ["1", "2"]
    assert "nginx:0\n" in ctl("rollout", "history", "deploy/web", "--revision=1").out
    ctl("rollout", "undo", "deploy/web")
    template = "{.spec.template.spec.containers[0].image} {.spec.template.metadata.labels}"
    assert ctl("get", "deploy/web", "-o", f"jsonpath={template}").out == 'nginx:0 {"app":"web"}'
    assert "no revision 9" in ctl("rollout", "undo", "deploy/web", "--to-revision=9", status=1).error


def test_rollout_status_completes_when_all_replicas_are_updated() -> None:
    """A rollout is complete when all replicas are updated and available and no old ones are left."""

    def deployment(**status: int) -> dict[str, object]:
        return {
            "kind": "Deployment",
            "metadata": {"name": "w", "generation": 2},
            "spec": {"replicas": 2},
            "status": status,
        }

    assert "to be observed" in progress(deployment(observedGeneration=1))[0]
    assert "1 out of 2" in progress(deployment(observedGeneration=2, updatedReplicas=1))[0]
    assert "1 old" in progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=3))[0]
    assert "1 of 2" in progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=2, availableReplicas=1))[0]
    assert progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=2, availableReplicas=2))[1]


POD = """
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web}}
spec: {containers: [{name: c, image: i}]}
"""


def test_pods_that_cannot_be_scheduled_are_named(ctl: Ctl) -> None:
    """A rollout that waits names what keeps pods from nodes, once per state; one that was told in time does not."""
    ctl("create", "serviceaccount", "default")
    ctl("create", "deployment", "web", "--image=nginx:1")
    ctl("create", "-f", "-", send=POD)
    assert "cannot be scheduled" not in ctl("rollout", "status", "deploy/web", "--timeout=20s", status=1).error
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
    }
    ctl("patch", "pod", "web-1", "--subresource=status", "-p", json.dumps({"status": {"conditions": [condition]}}))
    error = ctl("rollout", "status", "deploy/web", "--timeout=20s", status=1).error
    # One that is being deleted does not count.
    leaving = POD.replace("name: web-1,", "name: web-0, finalizers: [example.org/hold],")
    ctl("create", "-f", "-", send=leaving)
    ctl("patch", "pod", "web-0", "--subresource=status", "-p", json.dumps({"status": {"conditions": [condition]}}))
    ctl("delete", "pod", "web-0", "--wait=false", "--grace-period=0", "--force")
    assert "1 pods cannot be" in ctl("rollout", "status", "deploy/web", "--timeout=20s", status=1).error
    assert (
        error.count("1 pods cannot be scheduled, among them web-1: 0/3 nodes are available (explain-scheduling web-1")
        == 1
    )


def test_rollout_status_without_a_timeout_waits(ctl: Ctl) -> None:
    """Without --timeout a rollout is waited for; --watch=false looks once."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    ctl.patience = 40
    waited = ctl("rollout", "status", "deploy/web")
    assert waited.lines == ["Waiting for deployment spec update to be observed..."]
    assert ctl.server.clock.seconds() and ctl.waited == 40
    assert ctl("rollout", "status", "deploy/web", "--watch=false").lines == waited.lines
    assert ctl.waited == 0
