"""Kernel parameters: safe ones are allowed unless forbidden, others only when the policy names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchd.errors import quoted
from orchd.server.admission.plugins.podsecuritypolicies.findings import forbidden

SAFE = frozenset(
    "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start".split()
)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(p[:-1]) if p.endswith("*") else name == p for p in patterns)


def findings(policy: dict[str, Any], context: dict[str, Any]) -> list[str]:
    out = []
    for i, sysctl in enumerate(context.get("sysctls") or ()):
        name, path = sysctl["name"], f"pod.spec.securityContext.sysctls[{i}]"
        if _matches(name, policy.get("forbiddenSysctls") or ()):
            out.append(forbidden(path, f"sysctl {quoted(name)} is not allowed"))
        elif name not in SAFE and not _matches(name, policy.get("allowedUnsafeSysctls") or ()):
            out.append(forbidden(path, f"unsafe sysctl {quoted(name)} is not allowed"))
    return out
