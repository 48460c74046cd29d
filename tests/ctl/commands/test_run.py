"""``run``, ``expose`` and ``autoscale``."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.ctl.cluster.api import MERGE
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


def spec(ctl: Ctl, what: str = "deploy/web") -> Any:
    obj = json.loads(ctl("get", what, "-o", "json").out)
    return obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]


def test_run_creates_a_pod_and_service(ctl: Ctl) -> None:
    """Run creates a pod with one container; --expose adds a service; overrides are merged."""
    ctl("create", "serviceaccount", "default")
    ran = ctl(
        "run",
        "a",
        "--image=i:1",
        "--port=80",
        "--expose",
        "--env=A=b",
        "-l",
        "x=y",
        "--restart=Never",
        "--",
        "one",
        "two",
    )
    assert ran.lines == ["service/a created", "pod/a created"]
    container = spec(ctl, "pod/a")["containers"][0]
    assert (container["args"], container["env"], container["ports"][0]["containerPort"]) == (
        ["one", "two"],
        [{"name": "A", "value": "b"}],
        80,
    )
    assert spec(ctl, "svc/a")["selector"] == {"x": "y"}
    overrides = '{"spec":{"nodeName":"n","restartPolicy":"OnFailure"}}'
    ctl("run", "b", "--image=i", "--command", f"--overrides={overrides}", "--", "cmd")
    pod = spec(ctl, "pod/b")
    assert (pod["nodeName"], pod["restartPolicy"], pod["containers"][0]["command"]) == ("n", "OnFailure", ["cmd"])
    assert ctl("get", "pod/b", "-o", "jsonpath={.metadata.labels.run}").out == "b"
    assert "kind: Pod" in ctl("run", "c", "--image=i", "--dry-run=client", "-o", "yaml").out
    for words, says in (
        (("--rm",), "--rm needs"),
        (("--expose",), "--expose needs"),
        (("--env=A",), "--env=KEY=VALUE"),
    ):
        assert says in ctl("run", "c", "--image=i", *words, status=1).error


def test_run_fails_if_the_pod_does_not_start(ctl: Ctl) -> None:
    """A pod that does not start in time is reported as an error; --rm deletes it."""
    ctl("create", "serviceaccount", "default")
    error = ctl("run", "a", "--image=i", "-i", "--rm", "--pod-running-timeout=3s", status=1).error
    assert "does not run after 3 s" in error
    assert "not found" in ctl("get", "pod/a", status=1).error


def test_run_does_not_wait_for_a_pod_that_has_ended(ctl: Ctl) -> None:
    """A pod or container that has ended before it could be attached to is an error at once."""
    ctl("create", "serviceaccount", "default")
    pods = ResourceRef("", "v1", "pods")
    terminated = {
        "containerStatuses": [
            {
                "name": "a",
                "image": "i",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": {"exitCode": 1}},
            }
        ]
    }
    for status in ({"phase": "Failed"}, {"phase": "Running", **terminated}):

        def end(second: int, status: dict[str, Any] = status) -> None:
            if second == 1:
                run(
                    ctl.server.client().patch(
                        pods, "default", "a", {"status": status}, content_type=MERGE, subresource="status"
                    )
                )

        ctl.while_waiting = end
        assert "has ended before it could be attached to" in ctl("run", "a", "--image=i", "-i", "--rm", status=1).error
        assert ctl.waited < 10


def test_expose_derives_a_service_from_the_object(web: Ctl) -> None:
    """Selector, labels and ports come from the object unless flags override them."""
    assert "names no ports: give --port" in web("expose", "deploy/web", status=1).error
    assert web("expose", "deploy/web", "--port=80,443", "--target-port=http", "--name=s").lines == ["service/s exposed"]
    service_spec = spec(web, "svc/s")
    assert service_spec["selector"] == {"app": "web"}
    assert [(each["name"], each["port"], each["targetPort"]) for each in service_spec["ports"]] == [
        ("port-1", 80, "http"),
        ("port-2", 443, "http"),
    ]
    assert web("expose", "svc/s", "--name=t", "--type=NodePort", "--port=80").lines == ["service/t exposed"]
    web("create", "configmap", "m")
    assert "cannot expose a ConfigMap" in web("expose", "cm/m", "--port=80", status=1).error
    assert "--port=x: ports are numbers" in web("expose", "deploy/web", "--port=x", status=1).error


def test_autoscale_creates_an_autoscaler(web: Ctl) -> None:
    """The autoscaler has the object's name; kinds without a scale subresource are rejected."""
    assert web("autoscale", "deploy/web", "--min=2", "--max=5", "--cpu-percent=80").lines == [
        "horizontalpodautoscaler.autoscaling/web autoscaled"
    ]
    scaler = spec(web, "hpa/web")
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 5)
    target = {"type": "Utilization", "averageUtilization": 80}
    assert scaler["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert scaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    least = json.loads(web("autoscale", "deploy/web", "--max=2", "--min=2", "--name=b", "-o", "json").out)
    assert (least["metadata"]["name"], least["spec"]["minReplicas"]) == ("b", 2)
    draft = json.loads(web("autoscale", "deploy/web", "--max=2", "--dry-run=client", "-o", "json").out)
    assert draft["spec"] == {"maxReplicas": 2, "scaleTargetRef": scaler["scaleTargetRef"]}
    web("create", "configmap", "m")
    assert "cannot be scaled" in web("autoscale", "cm/m", "--max=2", status=1).error
    assert "--min=3 is above --max=2" in web("autoscale", "deploy/web", "--min=3", "--max=2", status=1).error


EXPOSED = {
    "pod": "apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: c, image: i, ports: [{containerPort: 80},"
    " {containerPort: 53, protocol: UDP}, {containerPort: 80}]}]}",
    "bare": "apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}",
    "service": "apiVersion: v1, kind: Service, metadata: {name: p}, spec: {selector: {a: b}, ports: [{port: 53, protocol: UDP}]}",
    "headless": "apiVersion: v1, kind: Service, metadata: {name: p}, spec: {ports: [{port: 53}]}",
    "expressions": "apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: p}, spec: {selector: {matchLabels: {a: b}, matchExpressions:"
    " [{key: a, operator: Exists}]}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}",
}


def _tcp(number: int, target: Any = None, protocol: str = "TCP") -> dict[str, Any]:
    return {"port": number, "targetPort": target or number, "protocol": protocol}


@pytest.mark.parametrize(
    ("of", "flags", "ports"),
    [
        ("pod", "", [{"name": "port-1", **_tcp(80)}, {"name": "port-2", **_tcp(53, None, "UDP")}]),
        ("pod", "--port=53", [_tcp(53, None, "UDP")]),
        ("pod", "--port=54 --protocol=sctp", [_tcp(54, None, "SCTP")]),
        ("pod", "--port=1,65535 --target-port=8080", [{"name": "port-1", **_tcp(1, 8080)}, {"name": "port-2", **_tcp(65535, 8080)}]),
        ("service", "", [_tcp(53, None, "UDP")]),
        ("service", "--target-port=dns", [_tcp(53, "dns", "UDP")]),
        ("bare", "--port=80 --selector=a=b", [_tcp(80)]),
    ],
)  # fmt: skip
def test_ports_that_are_exposed(ctl: Ctl, of: str, flags: str, ports: list[dict[str, Any]]) -> None:
    """Ports are those of the object, or the ones of --port with the protocol that the object has there."""
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send=f"{{{EXPOSED[of]}}}")
    out = ctl(
        "expose", "-f", "-", *flags.split(), "--name=s", "--dry-run=client", "-o", "json", send=f"{{{EXPOSED[of]}}}"
    ).out
    service = json.loads(out)
    assert service["spec"] == {"selector": {"a": "b"}, "ports": ports}
    assert (service["metadata"].get("labels"), service["metadata"]["namespace"]) == (
        {"a": "b"} if of == "pod" else None,
        "default",
    )


@pytest.mark.parametrize(
    ("of", "flags", "says"),
    [
        ("bare", "--port=80", "pod/p has no labels by which a service could choose it"),
        ("headless", "", "service/p has no selector: give --selector"),
        ("expressions", "--port=80", "the selector of replicaset.apps/p has expressions"),
        ("pod", "--port=0", "--port=0: ports are numbers from 1 to 65535"),
        ("pod", "--port=80,65536", "--port=80,65536: ports are numbers"),
    ],
)
def test_objects_that_cannot_be_exposed(ctl: Ctl, of: str, flags: str, says: str) -> None:
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send=f"{{{EXPOSED[of]}}}")
    assert says in ctl("expose", "-f", "-", *flags.split(), send=f"{{{EXPOSED[of]}}}", status=1).error


def test_flags_of_a_service(web: Ctl) -> None:
    """Each flag is a field of the service; what is not set is left out."""
    flags = (
        "--port=80",
        "--type=LoadBalancer",
        "--load-balancer-ip=192.0.2.1",
        "--external-ip=192.0.2.2",
        "--session-affinity=ClientIP",
    )
    out = web("expose", "deploy/web", *flags, "-l", "x=y", "--dry-run=client", "-o", "json").out
    service = json.loads(out)
    assert service["metadata"] == {"name": "web", "labels": {"x": "y"}, "namespace": "default"}
    assert service["spec"] == {
        "selector": {"app": "web"}, "ports": [_tcp(80)], "type": "LoadBalancer", "loadBalancerIP": "192.0.2.1",
        "externalIPs": ["192.0.2.2"], "sessionAffinity": "ClientIP",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"name": "a", "image": "i"}),
        ("-i --leave-stdin-open", {"name": "a", "image": "i", "stdin": True, "stdinOnce": False, "tty": False}),
        ("-i -t", {"name": "a", "image": "i", "stdin": True, "stdinOnce": True, "tty": True}),
        ("--privileged --image-pull-policy=Never", {"name": "a", "image": "i", "securityContext": {"privileged": True}, "imagePullPolicy": "Never"}),
        ("--env=A=b=c --env=D=", {"name": "a", "image": "i", "env": [{"name": "A", "value": "b=c"}, {"name": "D", "value": ""}]}),
    ],
)  # fmt: skip
def test_containers_of_a_pod(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, flags: str, expected: dict[str, Any]) -> None:
    """Each flag is a field of the container."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    ctl("create", "serviceaccount", "default")
    calls = precede(ctl, monkeypatch, nothing)
    ctl(
        "run",
        "a",
        "--image=i",
        "--attach=false" if "-i" not in flags else "--pod-running-timeout=0s",
        *flags.split(),
        status=1 if "-i" in flags else 0,
    )
    [body] = [call.body for call in calls if call.method == "POST"]
    assert body["spec"] == {"containers": [expected], "restartPolicy": "Always"}
    assert body["metadata"]["labels"] == {"run": "a"} and "annotations" not in body["metadata"]


def test_what_run_prints(ctl: Ctl) -> None:
    """Pod and service are documents of one output; names are lines; the end of the pod is told unless --quiet is
    set."""
    ctl("create", "serviceaccount", "default")
    flags = ("--image=i", "--port=80", "--expose", "--dry-run=client")
    documents = ctl("run", "a", *flags, "-o", "yaml").out.split("---\n")
    assert [yaml.safe_load(each)["kind"] for each in documents] == ["Service", "Pod"]
    assert ctl("run", "a", *flags, "-o", "name").lines == ["service/a", "pod/a"]
    for words, lines in (((), ['pod "a" deleted from default namespace']), (("-q",), [])):
        ran = ctl("run", "a", "--image=i", "--attach", "--rm", "--pod-running-timeout=1s", *words, status=1)
        assert ran.lines == lines
    with_notes = json.loads(ctl("run", "a", "--image=i", "--annotations=x=y,z=w", "--dry-run=client", "-o", "json").out)
    assert with_notes["metadata"]["annotations"] == {"x": "y", "z": "w"}
