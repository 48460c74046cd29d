"""Rules of pods between several fields: profiles in annotations, host processes, devices of volumes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.mounts import devices
from orchd.kinds.objects.validate.core.podannotations import apparmor_agrees, seccomp_agrees
from orchd.kinds.objects.validate.core.podupdates import update_status
from orchd.kinds.objects.validate.core.security import host_process
from orchd.kinds.objects.validate.paths import SPEC
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.release import NEWEST, SPECIFICATION

Object = dict[str, Any]
OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/c"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
UNCONFINED, DEFAULT = {"type": "Unconfined"}, {"type": "RuntimeDefault"}


def local(path: str) -> Object:
    return {"type": "Localhost", "localhostProfile": path}


def report(**settings: Any) -> Report:
    return Report(ObjectSettings(dialect=KUBERNETES, **settings))


def fields(found: Report) -> list[str]:
    return [cause.field for cause in found.causes]


SAME: list[tuple[str, Object, str]] = [
    ("unconfined", UNCONFINED, ""),
    ("runtime/default", UNCONFINED, "type"),
    ("runtime/default", DEFAULT, ""),
    ("unconfined", DEFAULT, "type"),
    ("localhost/a", local("a"), ""),
    ("localhost/a", local("b"), "localhostProfile"),
    ("unconfined", local("a"), "type"),
    ("a", local("a"), "type"),
]


@pytest.mark.parametrize("annotation, profile, wrong", [*SAME, ("docker/default", DEFAULT, "")])
def test_seccomp_profiles_agree(annotation: str, profile: Object, wrong: str) -> None:
    """The annotation of a pod or of a container and its field name the same profile."""
    context = {"securityContext": {"seccompProfile": profile}}
    for key, spec, at in (
        (OF_POD, context, "spec"),
        (OF_CONTAINER, {"containers": [{"name": "d", **context}, {"name": "c", **context}]}, "spec.containers[1]"),
        (OF_CONTAINER, {"initContainers": [{"name": "c", **context}]}, "spec.initContainers[0]"),
    ):
        found = report()
        seccomp_agrees({"annotations": {key: annotation}}, spec, SPEC, found)
        assert fields(found) == ([f"{at}.securityContext.seccompProfile.{wrong}"] if wrong else [])


@pytest.mark.parametrize("annotation, profile, wrong", SAME)
def test_app_armor_profiles_agree(annotation: str, profile: Object, wrong: str) -> None:
    """The profile of a container is that of its pod if it has none, from the release on that has fields."""
    own = {"appArmorProfile": profile}
    for pod, container in (({}, own), (own, {}), ({"appArmorProfile": {"type": "x"}}, own)):
        spec = {"securityContext": pod, "containers": [{"name": "c", "securityContext": container}]}
        found = report(release=NEWEST)
        apparmor_agrees({"annotations": {APP_ARMOR: annotation}}, spec, SPEC, found)
        assert fields(found) == ([f"spec.containers[0].securityContext.appArmorProfile.{wrong}"] if wrong else [])
        found = report(release=NEWEST)
        apparmor_agrees({"annotations": {APP_ARMOR: annotation}}, {**spec, "os": {"name": "windows"}}, SPEC, found)
        apparmor_agrees({"annotations": {APP_ARMOR + "x": annotation}}, spec, SPEC, found)
        assert not found.causes
        found = report(release=SPECIFICATION)
        apparmor_agrees({"annotations": {APP_ARMOR: annotation}}, spec, SPEC, found)
        assert not found.causes


def windows(value: bool | None) -> Object:
    return {"securityContext": {"windowsOptions": {} if value is None else {"hostProcess": value}}}


ALL = "spec"
NET = "spec.hostNetwork"
OWN = "spec.containers[0].securityContext.windowsOptions.hostProcess"


@pytest.mark.parametrize(
    "pod, containers, others, expected",
    [
        (None, (None,), {}, []),
        (False, (None,), {}, []),
        (True, (None,), {"hostNetwork": True}, []),
        (None, (True,), {"hostNetwork": True}, []),
        (True, (None,), {}, [NET]),
        (None, (True, None), {"hostNetwork": True}, [ALL]),
        (None, (True, False), {"hostNetwork": True}, [ALL]),
        (True, (False,), {"hostNetwork": True}, [OWN]),
        (False, (True,), {"hostNetwork": True}, [OWN]),
        (True, (True,), {"hostNetwork": True, "initContainers": [{}]}, []),
        (None, (True,), {"hostNetwork": True, "initContainers": [{}]}, [ALL]),
        (None, (True,), {"hostNetwork": True, "ephemeralContainers": [windows(True)]}, []),
    ],
)
def test_host_processes(
    pod: bool | None, containers: tuple[bool | None, ...], others: Object, expected: list[str]
) -> None:
    """All containers of a pod are processes of the host or none is, with the network of the host."""
    spec = {**windows(pod), "containers": [windows(each) for each in containers], **others}
    found = report(allow_privileged=True)
    host_process(spec, SPEC, found)
    assert fields(found) == expected
    found = report()
    host_process(spec, SPEC, found)
    is_any = bool(pod) or True in containers
    # Pods with host processes are for clusters that allow privileged ones.
    if (pod, containers) != (True, (False,)):
        assert fields(found) == expected + [ALL] * is_any


@pytest.mark.parametrize(
    "spec, expected",
    [
        ({}, []),
        (windows(None), []),
        (windows(False), ["spec.securityContext.windowsOptions.hostProcess"]),
        ({"containers": [windows(False)]}, [OWN]),
        ({"containers": [windows(True)]}, [OWN, "spec"]),
    ],
)
def test_host_processes_without_their_gate(spec: Object, expected: list[str]) -> None:
    found = report(features={"WindowsHostProcessContainers": False})
    host_process(spec, SPEC, found)
    assert fields(found) == expected


CLAIM: Object = {"persistentVolumeClaim": {"claimName": "x"}}
VOLUMES: dict[str, Object] = {"a": CLAIM, "b": {"ephemeral": {}}, "e": {"emptyDir": {}}}


@pytest.mark.parametrize(
    "listed, mounts, expected",
    [
        ([("a", "/x"), ("b", "/y")], [], []),
        ([("", "/x")], [], [("name", "Required value"), ("name", "Not found")]),
        ([("a", "")], [], [("devicePath", "Required value")]),
        ([("z", "/x")], [], [("name", "Not found")]),
        ([("e", "/x")], [], [("name", "can only use")]),
        ([("a", "/x"), ("a", "/y")], [], [("name", "must be unique")]),
        ([("a", "/x"), ("b", "/x")], [], [("devicePath", "must be unique")]),
        ([("a", "/x/../y")], [], [("devicePath", "can not contain backsteps")]),
        ([("a", "/x/..y")], [], []),
        ([("a", "/x")], [("a", "/m")], [("name", "must not already exist")]),
        ([("a", "/m")], [("e", "/m")], [("devicePath", "must not already exist as a path")]),
    ],
)
def test_volume_devices(listed: list[Any], mounts: list[Any], expected: list[tuple[str, str]]) -> None:
    container = {
        "volumeDevices": [{"name": name, "devicePath": path} for name, path in listed],
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts],
    }
    found = report()
    devices(container, VOLUMES, SPEC / "volumeDevices", found)
    last = len(listed) - 1
    assert fields(found) == [f"spec.volumeDevices[{last}].{member}" for member, _ in expected]
    assert all(words in cause.message for cause, (_, words) in zip(found.causes, expected, strict=True))


MIRROR = "kubernetes.io/config.mirror"


@pytest.mark.parametrize(
    "before, after, why",
    [
        ({MIRROR: "x"}, {MIRROR: "x"}, ""),
        ({MIRROR: "x"}, {}, "may not remove or update mirror pod annotation"),
        ({MIRROR: "x"}, {MIRROR: "y"}, "may not remove or update mirror pod annotation"),
        ({}, {MIRROR: "x"}, "may not add mirror pod annotation"),
        ({APP_ARMOR: "unconfined"}, {}, "may not remove or update AppArmor annotations"),
        ({}, {APP_ARMOR: "unconfined"}, "may not add AppArmor annotations"),
        ({"a": "1"}, {"a": "2", "b": "3"}, ""),
    ],
)
def test_annotations_of_status_updates(before: Object, after: Object, why: str) -> None:
    """What a node has read from annotations cannot change."""

    def pod(annotations: Object) -> Object:
        metadata = {"name": "a", "namespace": "b", "annotations": annotations}
        return {"metadata": metadata, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {}}

    found = report()
    update_status(pod(after), pod(before), found)
    assert [cause.message for cause in found.causes] == ([f"Forbidden: {why}"] if why else [])
