"""The Pod Security Standards that releases know, by minor version."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.admission.plugins.podsecuritychecks import BASELINE, RESTRICTED, Standards

ALL = 1 << 30
GOOD: Any = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def reasons(release: Release, level: str, minor: int, spec: Any, **container: Any) -> list[str]:
    pod = {"metadata": {}, "spec": {**spec, "containers": [{"name": "c", **container}]}}
    return [each.reason for each in Standards(release).evaluate(pod, level, minor, ORCH)]


def sysctl(name: str) -> Any:
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}}


PROBE = {"livenessProbe": {"httpGet": {"host": "h"}}}
UNMASKED = {"securityContext": {**GOOD, "procMount": "Unmasked"}}
#: A pod's spec, its container, level, minor version, and the reasons in the specification's release and in the newest
#: one.
CASES: list[tuple[Any, Any, str, int, list[str], list[str]]] = [
    ({}, PROBE, BASELINE, ALL, [], ["probe or lifecycle host"]),
    ({}, PROBE, BASELINE, 33, [], []),
    (sysctl("net.ipv4.tcp_rmem"), {}, BASELINE, ALL, ["forbidden sysctls"], []),
    (sysctl("net.ipv4.tcp_rmem"), {}, BASELINE, 31, ["forbidden sysctls"], ["forbidden sysctls"]),
    ({"hostUsers": False}, UNMASKED, BASELINE, ALL, ["procMount"], []),
    ({"hostUsers": False}, UNMASKED, RESTRICTED, ALL, ["procMount"], ["procMount"]),
    ({"hostUsers": False}, UNMASKED, BASELINE, 34, ["procMount"], ["procMount"]),
    ({"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}}, {}, RESTRICTED, ALL,
     ["allowPrivilegeEscalation != false", "unrestricted capabilities", "seccompProfile"], []),
    ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, {}, BASELINE, ALL, [], ["forbidden AppArmor profile"]),
    ({"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}}, {}, BASELINE, ALL, ["seLinuxOptions"], []),
    ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, {"securityContext": GOOD}, RESTRICTED, ALL,
     ["hostPath volumes", "restricted volume types"], ["restricted volume types"]),
    ({"volumes": [{"name": "v", "image": {"reference": "r"}}]}, {"securityContext": GOOD}, RESTRICTED, ALL, [], []),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "container", "level", "minor", "old", "new"), CASES)
def test_standards_of_releases(
    spec: Any, container: Any, level: str, minor: int, old: list[str], new: list[str]
) -> None:
    """Each release applies its own standards, and the newest that it knows for later versions."""
    assert reasons(SPECIFICATION, level, minor, spec, **container) == old
    assert reasons(NEWEST, level, minor, spec, **container) == new


@pytest.mark.parametrize(
    ("annotations", "detail"),
    [
        ({}, ""),
        ({"{}pod": "runtime/default", "container.{}c": "docker/default"}, ""),
        ({"{}pod": "localhost/x", "container.{}c": "localhost/"}, ""),
        ({"{}other": "unconfined"}, ""),
        ({"{}pod": "unconfined"}, 'forbidden annotation {}pod="unconfined"'),
        ({"container.{}c": "*"}, 'forbidden annotation container.{}c="*"'),
        ({"{}pod": "", "container.{}c": "x"}, 'forbidden annotations container.{}c="x", {}pod=""'),
    ],
)
def test_seccomp_annotations_before_the_fields(annotations: dict[str, str], detail: str) -> None:
    """Up to version 1.18 the profiles are annotations."""
    prefix = "seccomp.security.alpha.orch.io/"
    notes = {key.replace("{}", prefix): value for key, value in annotations.items()}
    pod: Any = {"metadata": {"annotations": notes}, "spec": {"containers": [{"name": "c"}]}}
    violations = Standards(SPECIFICATION).evaluate(pod, BASELINE, 18, ORCH)
    assert [each.detail for each in violations] == ([detail.replace("{}", prefix)] if detail else [])
    assert Standards(SPECIFICATION).evaluate({**pod, "metadata": {}}, BASELINE, 18, ORCH) == []


@pytest.mark.parametrize(
    ("spec", "container", "said"),
    [
        ({"securityContext": {"runAsUser": 0}}, {}, ["pod must not set runAsUser=0"]), ({"securityContext": {"runAsUser": 1}}, {}, []),
        ({}, {"securityContext": {"runAsUser": 0}}, ['container "c" must not set runAsUser=0']), ({}, {"securityContext": {"runAsUser": 1}}, []),
        ({"securityContext": {"seLinuxOptions": {"role": "r"}}}, {}, ["pod set forbidden securityContext.seLinuxOptions: role may not be set"]),
        ({"securityContext": {"seLinuxOptions": {"user": "u", "type": "t"}}}, {},
         ['pod set forbidden securityContext.seLinuxOptions: type "t"; user may not be set']),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, {"securityContext": {"seccompProfile": {"type": "Odd"}}},
         ['pod and container "c" must not set securityContext.seccompProfile.type to "Odd", "Unconfined"']),
        ({}, {"securityContext": {"seccompProfile": {"type": "Odd"}}}, ['container "c" must not set securityContext.seccompProfile.type to "Odd"']),
    ],
)  # fmt: skip
def test_what_is_said_of_violations(spec: Any, container: Any, said: list[str]) -> None:
    """Who sets what, in the baseline and the check of users."""
    pod = {"metadata": {}, "spec": {**spec, "containers": [{"name": "c", **container}]}}
    wanted = ("runAsUser=0", "seLinuxOptions", "seccompProfile")
    found = [each for each in Standards(NEWEST).evaluate(pod, RESTRICTED, ALL, ORCH) if each.reason in wanted]
    assert [each.detail for each in found if "must set" not in each.detail] == said
