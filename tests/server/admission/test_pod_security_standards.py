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
