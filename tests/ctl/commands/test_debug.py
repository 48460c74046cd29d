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
from tests.ctl.node_double import Socket, connect_node

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


@pytest.mark.parametrize(
    ("changes", "container"),
    [
        ({}, {"name": "c", "args": ["a"], "stdin": False, "tty": False}),
        ({"words": ("x",)}, {"name": "c", "command": ["x"], "stdin": False, "tty": False}),
        ({"words": ("x",), "arguments_only": True}, {"name": "c", "args": ["x"], "stdin": False, "tty": False}),
        ({"image": "i", "image_pull_policy": "Never", "stdin": True, "tty": True},
         {"name": "c", "args": ["a"], "image": "i", "imagePullPolicy": "Never", "stdin": True, "tty": True}),
        ({"variables": (("a", "b"),)}, {"name": "c", "args": ["a"], "env": [{"name": "a", "value": "b"}], "stdin": False, "tty": False}),
    ],
)  # fmt: skip
def test_containers_with_the_values_of_flags(changes: Any, container: Any) -> None:
    """What no flag says stays."""
    before = {"name": "c", "args": ["a"]}
    assert _changes(**changes).apply(before) == container and before == {"name": "c", "args": ["a"]}


def test_copies() -> None:
    """Ephemeral containers are not copied, and the node only where it is asked for; a new container has a free name."""
    containers = [{"name": "a", "image": "1"}, {"name": "debugger-xnqgl"}]
    spec = {
        "containers": containers,
        "ephemeralContainers": [{"name": "e"}],
        "nodeName": "n",
        "shareProcessNamespace": True,
    }
    pod = {"metadata": {"name": "p", "namespace": "x", "annotations": {"k": "v"}}, "spec": spec}
    for same_node, share in ((False, None), (True, False)):
        changes = _changes(image="i", container="own")
        copy, name = copied_pod(pod, "q", changes, {}, same_node=same_node, share_processes=share, random=Random(1))
        assert copy["metadata"] == {"name": "q", "namespace": "x", "annotations": {"k": "v"}}
        assert copy["spec"] == {
            "containers": [
                *({"image": "", **each} for each in containers),
                {"name": "own", "image": "i", "stdin": False, "tty": False},
            ],
            "shareProcessNamespace": share is None,
            **({"nodeName": "n"} if same_node else {}),
        }
        assert name == "own"


class _Letters(Random):
    """Chooses the letters of a text in turn."""

    def __init__(self, text: str) -> None:
        super().__init__(1)
        self.left = list(text)

    def choice(self, seq: Any) -> Any:
        return self.left.pop(0)


@pytest.mark.parametrize("of", ["initContainers", "containers", "ephemeralContainers"])
def test_names_of_new_containers_are_free(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"containers": [{"name": "a"}], of: [{"name": "debugger-bbbbb"}]},
    }
    _, name = copied_pod(
        pod, "q", _changes(image="i"), {}, same_node=False, share_processes=None, random=_Letters("bbbbbccccc")
    )
    assert name == "debugger-ccccc"
    assert capsys.readouterr().err == "Defaulting debug container name to debugger-ccccc.\n"


def test_images_of_several_containers(pod: Ctl) -> None:
    pod("debug", "p", "--copy-to=q", "--set-image=,c=x,", "--set-image=d=y", "-q")
    assert [each["image"] for each in _spec(pod, "q")["containers"]] == ["x", "y"]
    for wrong in ("c", "=x", "c=x,d"):
        assert (
            "write --set-image=NAME=VALUE" in pod("debug", "p", "--copy-to=r", f"--set-image={wrong}", status=1).error
        )


def test_debugging_attaches(pod: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -i or --attach the command attaches to the container once it runs; --attach=false only makes it."""
    node = connect_node(pod, monkeypatch, lambda path, query: Socket(b'\3{"status": "Success"}'))
    statuses = [
        {"name": "tool", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    ]
    status = {"status": {"phase": "Running", "ephemeralContainerStatuses": statuses}}
    pod("patch", "pod", "p", "--subresource=status", "-p", json.dumps(status))
    pod("debug", "p", "--image=i", "-c", "tool", "--attach")
    [(path, query, _)] = node.asked
    assert path == "/api/v1/namespaces/default/pods/p/attach" and ("container", "tool") in query


@pytest.mark.parametrize(
    ("phase", "state", "says"),
    [
        ("Running", None, "pod/p does not run after 2 s: look at it"), ("Running", {"waiting": {"reason": "Pull"}}, "pod/p does not run after 2 s (Pull): look"),
        ("Running", {"terminated": {"exitCode": 0}}, "pod/p has ended before it could be attached to"), ("Failed", None, "pod/p has ended before"),
        ("Succeeded", {"waiting": {}}, "pod/p has ended before"),
    ],
)  # fmt: skip
def test_containers_that_do_not_run(pod: Ctl, phase: str, state: Any, says: str) -> None:
    """That the pod runs says nothing about a container that was added to it."""
    statuses = (
        [{"name": "tool", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}]
        if state
        else []
    )
    status = {"status": {"phase": phase, "ephemeralContainerStatuses": statuses}}
    pod("patch", "pod", "p", "--subresource=status", "-p", json.dumps(status))
    error = pod("debug", "p", "--image=i", "-c", "tool", "--attach", "--pod-running-timeout=2s", status=1).error
    assert says in error and pod.waited == (2 if "does not run" in says else 0)
