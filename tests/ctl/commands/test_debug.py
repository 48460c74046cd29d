"""``debug``."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from orchd.ctl.commands.debug import DebugContainer, copied_pod, node_pod
from orchd.ctl.errors import CommandError
from orchd.dialect import COMMAND_LINE, DIALECTS
from tests.ctl.ctl_runner import Ctl

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}, annotations: {note: kept}}
spec: {nodeName: n1, containers: [{name: c, image: i, command: [run], args: [now]}, {name: d, image: j}]}
"""


@pytest.fixture
def pod(ctl: Ctl) -> Ctl:
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send="apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    ctl("create", "-f", "-", send=POD)
    return ctl


def _spec(ctl: Ctl, name: str) -> Any:
    return json.loads(ctl("get", "pod", name, "-o", "json").out)["spec"]


def test_ephemeral_containers_are_added(pod: Ctl) -> None:
    """A container is added to the pod, beside those that are there, and shares the processes of its target."""
    ran = pod("debug", "p", "--image=busybox", "--target=c", "--env=A=b=c", "--", "sh", "-c", "true")
    assert "Defaulting debug container name to debugger-" in ran.error
    assert "Targeting container 'c'" in ran.error
    pod("debug", "pod/p", "--image=alpine", "-c", "second", "--arguments-only", "-q", "--", "x")
    first, second = sorted(_spec(pod, "p")["ephemeralContainers"], key=lambda each: str(each["name"]))
    assert (first["targetContainerName"], first["command"], first["env"]) == (
        "c",
        ["sh", "-c", "true"],
        [{"name": "A", "value": "b=c"}],
    )
    assert (second["name"], second["args"], second.get("command")) == ("second", ["x"], None)


def test_pods_are_copied(pod: Ctl) -> None:
    """The copy has the changes of the flags, no labels and no node; with --replace the original is deleted."""
    pod("debug", "p", "--copy-to=q", "--image=busybox", "-c", "tool", "--share-processes", "--set-image=d=k", "-q")
    copy = json.loads(pod("get", "pod", "q", "-o", "json").out)
    assert copy["metadata"].get("labels") is None and copy["metadata"]["annotations"] == {"note": "kept"}
    assert [(each["name"], each["image"]) for each in copy["spec"]["containers"]] == [
        ("c", "i"),
        ("d", "k"),
        ("tool", "busybox"),
    ]
    assert copy["spec"]["shareProcessNamespace"] is True and "nodeName" not in copy["spec"]
    pod("debug", "p", "--copy-to=r", "-c", "c", "--same-node", "--replace", "-q", "--", "sh")
    spec = _spec(pod, "r")
    assert (spec["nodeName"], spec["containers"][0]["command"], "args" in spec["containers"][0]) == (
        "n1",
        ["sh"],
        False,
    )
    original = json.loads(pod("get", "pod", "p", "-o", "json", "--ignore-not-found").out or "null")
    assert original is None or not original.get("items", True) or "deletionTimestamp" in original["metadata"]


def test_nodes_are_debugged_in_a_pod(pod: Ctl) -> None:
    """The pod is bound to the node and has its file system, processes and network."""
    ran = pod("debug", "node/n1", "--image=busybox")
    name = ran.error.split()[3]
    spec = _spec(pod, name)
    label = pod.server.dialect("app.{long}.io/managed-by")
    assert pod("get", "pods", "-l", f"{label}={COMMAND_LINE}-debug", "-o", "name").lines == [f"pod/{name}"]
    assert name.startswith("node-debugger-n1-") and spec["nodeName"] == "n1"
    assert (spec["hostPID"], spec["hostNetwork"], spec["hostIPC"], spec["restartPolicy"]) == (True, True, True, "Never")
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/host"
    assert any(each == {"operator": "Exists"} for each in spec["tolerations"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "which pod or node?"), (("p",), "--image is needed"), (("node/n1",), "--image is needed"), (("p", "--image=i", "-t"), "-t needs -i"),
        (("p", "--image=i", "--replace"), "go with --copy-to"), (("p", "--copy-to=q", "--target=c", "--image=i"), "leave out --copy-to"),
        (("p", "--copy-to=q"), "what is changed in the copy?"), (("p", "--image=i", "--target=x"), "pod p has c, d"),
        (("ns/default", "--image=i"), "debug a pod or a node"), (("p", "--image=i", "--env=A"), "write --env=NAME=VALUE"),
        (("p", "--image=i", "-i", "--pod-running-timeout=3s"), "does not run after 3 s"),
    ],
)  # fmt: skip
def test_wrong_use_is_explained(pod: Ctl, words: tuple[str, ...], says: str) -> None:
    """What is missing or does not go together is named."""
    assert says in pod("debug", *words, status=1).error


def _changes(**given: Any) -> DebugContainer:
    plain: dict[str, Any] = {
        "image": "",
        "container": "",
        "words": (),
        "variables": (),
        "image_pull_policy": "",
        "arguments_only": False,
        "stdin": False,
        "tty": False,
    }
    return DebugContainer(**(plain | given))


def test_a_copy_with_other_images_alone_has_no_container_to_attach_to() -> None:
    """--set-image changes all containers by *, and single ones by their names."""
    pod = {
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
    }
    copy, container = copied_pod(
        pod, "q", _changes(), {"*": "9", "b": "8"}, same_node=False, share_processes=None, random=Random(1)
    )
    assert ([each["image"] for each in copy["spec"]["containers"]], container) == (["9", "8"], "")


def test_names_of_pods_for_nodes_are_not_too_long() -> None:
    """The name of a long node is cut."""
    pod, _ = node_pod("n" * 253, _changes(image="i"), next(iter(DIALECTS.values())), Random(1))
    assert len(pod["metadata"]["name"]) == 253
    with pytest.raises(CommandError, match="--image"):
        node_pod("n", _changes(), next(iter(DIALECTS.values())), Random(1))
