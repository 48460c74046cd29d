"""``scale`` and ``rollout``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd import errors
from orchd.client.requests import Call
from orchd.ctl.commands.rollout.status import progress
from orchd.ctl.errors import CommandError
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


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


ROLLED_OUT = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
SPREAD = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}
READY = {"readyReplicas": 3, "updatedReplicas": 3, "updateRevision": "r2", "currentRevision": "r2"}
PARTITION = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}
DEPLOYMENT, DAEMON_SET = (f'Waiting for {words} "w" rollout to finish: ' for words in ("deployment", "daemon set"))


@pytest.mark.parametrize(
    ("kind", "spec", "status", "message", "complete"),
    [
        ("Deployment", {}, ROLLED_OUT, 'deployment "w" successfully rolled out', True),
        ("Deployment", {}, {**ROLLED_OUT, "updatedReplicas": 2}, DEPLOYMENT + "2 out of 3 new replicas have been updated...", False),
        ("Deployment", {}, {**ROLLED_OUT, "replicas": 5}, DEPLOYMENT + "2 old replicas are pending termination...", False),
        ("Deployment", {}, {**ROLLED_OUT, "availableReplicas": 2}, DEPLOYMENT + "2 of 3 updated replicas are available...", False),
        ("Deployment", {}, {**ROLLED_OUT, "conditions": [{"type": "Progressing", "reason": "NewReplicaSetAvailable"},
                                                         {"type": "Other", "reason": "ProgressDeadlineExceeded"}]},
         'deployment "w" successfully rolled out', True),
        ("DaemonSet", {}, SPREAD, 'daemon set "w" successfully rolled out', True),
        ("DaemonSet", {}, {**SPREAD, "updatedNumberScheduled": 1}, DAEMON_SET + "1 out of 3 new pods have been updated...", False),
        ("DaemonSet", {}, {**SPREAD, "numberAvailable": 2}, DAEMON_SET + "2 of 3 updated pods are available...", False),
        ("DaemonSet", {}, {}, 'daemon set "w" successfully rolled out', True),
        ("StatefulSet", {}, READY, "statefulset rolling update complete 3 pods at revision r2...", True),
        ("StatefulSet", {}, {**READY, "readyReplicas": 1}, "Waiting for 2 pods to be ready...", False),
        ("StatefulSet", {}, {**READY, "currentRevision": "r1", "updatedReplicas": 2},
         "waiting for statefulset rolling update to complete 2 pods at revision r2...", False),
        ("StatefulSet", PARTITION, {**READY, "updatedReplicas": 2, "currentRevision": "r1"},
         "partitioned roll out complete: 2 new pods have been updated...", True),
        ("StatefulSet", PARTITION, {**READY, "updatedReplicas": 1},
         "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...", False),
    ],
)  # fmt: skip
def test_progress_of_a_rollout(
    kind: str, spec: dict[str, Any], status: dict[str, Any], message: str, complete: bool
) -> None:
    """The message of each stage, and whether it is the last; a change that no controller has seen comes first."""
    spec, status = {"replicas": 3, **spec}, {**status, "observedGeneration": 2}
    workload = {"kind": kind, "metadata": {"name": "w", "generation": 2}, "spec": spec, "status": status}
    assert progress(workload) == (message, complete)
    words = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemon set"}[kind]
    newer = {**workload, "metadata": {"name": "w", "generation": 3}}
    assert progress(newer) == (f"Waiting for {words} spec update to be observed...", False)


@pytest.mark.parametrize(
    ("kind", "spec", "status", "problem"),
    [
        ("Deployment", {}, {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]},
         'deployment "w" exceeded its progress deadline: see its events with describe'),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, {},
         "rollout status is only available for the update strategy RollingUpdate"),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, {},
         "rollout status is only available for the update strategy RollingUpdate"),
    ],
)  # fmt: skip
def test_rollouts_without_progress(kind: str, spec: dict[str, Any], status: dict[str, Any], problem: str) -> None:
    """A failed rollout, and one that waits for somebody who deletes pods, are errors."""
    with pytest.raises(CommandError, match=problem):
        progress({"kind": kind, "metadata": {"name": "w"}, "spec": spec, "status": status})


def test_the_revision_that_is_waited_for(ctl: Ctl) -> None:
    """With --revision another revision is an error."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    flags = ("rollout", "status", "deploy/web", "--watch=false")
    error = ctl(*flags, "--revision=2", status=1).error
    assert "the revision of deployment.apps/web is 0, not 2: see rollout history" in error
    ctl("annotate", "deploy/web", f"{ctl.server.dialect('deployment.{long}.io/revision')}=2")
    assert ctl(*flags, "--revision=2").lines == ["Waiting for deployment spec update to be observed..."]


def test_users_that_may_not_read_pods_see_no_reasons(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forbid(call: Call) -> None:
        if call.path.endswith("/pods"):
            raise errors.forbidden("", "pods", "", "no rule allows it")

    ctl("create", "deployment", "web", "--image=nginx:1")
    calls = precede(ctl, monkeypatch, forbid)
    error = ctl("rollout", "status", "deploy/web", "--timeout=12s", status=1).error
    assert "timed out: the rollout of deployment.apps/web is not complete" in error
    assert [call.path for call in calls].count("/api/v1/namespaces/default/pods") == 1


def test_objects_of_revisions(ctl: Ctl) -> None:
    """history -o prints what keeps the revisions, --revision one of them, and causes are those of annotations."""
    ctl("create", "-f", "-", send=REVISIONS)
    uid = ctl("get", "sts/w", "-o", "jsonpath={.metadata.uid}").out
    for number, cause in ((1, ""), (2, "second")):
        notes = ctl.server.dialect(f'"{{long}}.io/change-cause": {cause}') if cause else ""
        ctl("create", "-f", "-", send=REVISION.format(number=number, uid=uid, notes=notes))
    assert ctl("rollout", "history", "sts/w").lines == [
        "statefulset.apps/w", "REVISION   CHANGE-CAUSE", "1          <none>", "2          second", "",
    ]  # fmt: skip
    several = json.loads(ctl("rollout", "history", "sts/w", "-o", "json").out)
    assert [each["metadata"]["name"] for each in several["items"]] == ["w-1", "w-2"]
    assert json.loads(ctl("rollout", "history", "sts/w", "--revision=2", "-o", "json").out)["revision"] == 2
    ctl("delete", "controllerrevision", "w-1")
    assert json.loads(ctl("rollout", "history", "sts/w", "-o", "json").out)["revision"] == 2
    shown = ctl("rollout", "history", "sts/w", "--revision=2").lines
    assert shown[0] == "statefulset.apps/w with revision #2" and "    Image:         i:2" in shown


REVISIONS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: w}
spec:
  serviceName: w
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "i:2"}]}}
"""
REVISION = """
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: w-{number}
  labels: {{a: b}}
  annotations: {{{notes}}}
  ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: w, uid: {uid}, controller: true}}]
data: {{spec: {{template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: "i:{number}"}}]}}}}}}}}
revision: {number}
"""
