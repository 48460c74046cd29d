"""``run``, ``expose`` and ``autoscale``."""

from __future__ import annotations

import json
from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.ctl.cluster.api import MERGE
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl


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
    web("create", "configmap", "m")
    assert "cannot be scaled" in web("autoscale", "cm/m", "--max=2", status=1).error
    assert "--min=3 is above --max=2" in web("autoscale", "deploy/web", "--min=3", "--max=2", status=1).error
