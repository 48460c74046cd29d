"""Linked fields of services that the server defaults, carries over or clears on writes.

All functions work on specs in stored form and build new ones. Field names follow the API; `before` is the stored spec,
empty on creation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.gotext.values import show
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.services import needs_health_check
from orchd.kinds.objects.validate.names import parse_ip

Spec = dict[str, Any]

HEADLESS = "None"
#: Types with external traffic.
EXTERNAL = frozenset(("NodePort", "LoadBalancer"))
_DUAL = ("PreferDualStack", "RequireDualStack")
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def needs_cluster_ip(spec: Mapping[str, Any]) -> bool:
    """True for every type but ExternalName (the value may be None for headless services)."""
    return spec.get("type", "ClusterIP") in ("ClusterIP", "NodePort", "LoadBalancer")


def allocates_node_ports(spec: Mapping[str, Any], settings: ObjectSettings) -> bool:
    if spec.get("type") != "LoadBalancer":
        return spec.get("type") == "NodePort"
    return spec.get("allocateLoadBalancerNodePorts", True) is not False or not settings.feature(
        "ServiceLBNodePortControl"
    )


# --- before allocation --------------------------------------------------------------------------


def carried_over(spec: Spec, before: Mapping[str, Any]) -> Spec:
    """`spec` with previously allocated values that are omitted now: repeated writes of a manifest do not lose them."""
    out = dict(spec)
    if needs_cluster_ip(out) and needs_cluster_ip(before):
        if not out.get("clusterIP"):
            _take(out, before, "clusterIP")
        if not out.get("clusterIPs"):
            _take(out, before, "clusterIPs")
    if out.get("type") in EXTERNAL and before.get("type") in EXTERNAL:
        out["ports"] = _with_ports(out.get("ports") or (), before.get("ports") or ())
    if needs_health_check(out) and needs_health_check(before) and not out.get("healthCheckNodePort"):
        _take(out, before, "healthCheckNodePort")
    return out


def _take(spec: Spec, before: Mapping[str, Any], member: str) -> None:
    if before.get(member):
        spec[member] = before[member]


def _with_ports(ports: Sequence[Spec], before: Sequence[Spec]) -> list[Spec]:
    """Node ports carried over by port name, unless another port requests them."""
    node_ports = {p.get("name") or "": p.get("nodePort") for p in before}
    used = {p.get("nodePort") for p in ports}
    out = []
    for port in ports:
        number = node_ports.get(port.get("name") or "")
        if number and not port.get("nodePort") and number not in used:
            port = {**port, "nodePort": number}
        out.append(port)
    return out


def normalize(spec: Spec, before: Mapping[str, Any] | None) -> Spec:
    """`spec` with clusterIP and clusterIPs in sync, where the client's intent is unambiguous. `before` is None on
    creation."""
    one, many = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if before is None:
        return {**spec, "clusterIPs": [one]} if one and not many else spec
    old_one, old_many = before.get("clusterIP") or "", before.get("clusterIPs") or []
    if old_many and not many and one == old_one:
        many = old_many
    if one != old_one and many == old_many:
        # An older client, which sends only one of the two fields.
        many = [one] if one else []
    if many == (spec.get("clusterIPs") or []):
        return spec
    out = {k: v for k, v in spec.items() if k != "clusterIPs"}
    return {**out, "clusterIPs": many} if many else out


def stays_preferred(spec: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """PreferDualStack services keep their families when the cluster's families change."""
    policies = (spec.get("ipFamilyPolicy"), before.get("ipFamilyPolicy"))
    return (
        needs_cluster_ip(spec)
        and spec.get("type") == before.get("type")
        and policies == ("PreferDualStack", "PreferDualStack")
        and same_addresses(spec, before)
        and _same_list(spec, before, "ipFamilies")
    )


def same_addresses(spec: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return (spec.get("clusterIP") or "") == (before.get("clusterIP") or "") and _same_list(spec, before, "clusterIPs")


def _same_list(spec: Mapping[str, Any], before: Mapping[str, Any], member: str) -> bool:
    return (spec.get(member) or []) == (before.get(member) or [])


# --- IP families --------------------------------------------------------------------------------


def with_policy(spec: Spec, before: Mapping[str, Any]) -> Spec:
    """`spec` with an IP family policy: the stored one, else RequireDualStack for headless services without selector,
    else SingleStack."""
    if spec.get("ipFamilyPolicy") is not None:
        return spec
    policy = before.get("ipFamilyPolicy")
    if policy is None:
        alone = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
        policy = "RequireDualStack" if alone else "SingleStack"
    return {**spec, "ipFamilyPolicy": policy}


def with_families(
    spec: Spec, before: Mapping[str, Any], configured: Sequence[str], printed: Callable[[Any], str] = show
) -> tuple[Spec, list[Cause]]:
    """`spec` (with valid address fields) with its IP families, or the errors that prevent it.

    `configured` are the cluster's families, the default one first; `printed` makes the texts of values in errors.
    """
    out, causes = dict(spec), []
    policy = out["ipFamilyPolicy"]
    if before:
        causes += _fewer_than_before(out, before, policy)
    addresses, families = list(out.get("clusterIPs") or ()), list(out.get("ipFamilies") or ())
    if policy not in _DUAL:
        for listed, what in ((addresses, "cluster IPs"), (families, "IP families")):
            if len(listed) == 2:
                why = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                causes.append(_policy(policy, why))
    for i, address in enumerate(addresses):
        if address == HEADLESS:
            break
        parsed = parse_ip(address)
        family = f"IPv{4 if parsed is None else parsed.version}"
        if i >= len(families):
            if family in configured:
                families.append(family)
            else:
                why = f"Invalid value: {printed(addresses)}: {family} is not configured on this cluster"
                causes.append(Cause("FieldValueInvalid", why, f"spec.clusterIPs[{i}]"))
    if causes:
        return spec, causes
    if not (out.get("clusterIP") == HEADLESS and not out.get("selector")):
        if policy == "RequireDualStack" and len(configured) < 2:
            causes.append(_policy(policy, "this cluster is not configured for dual-stack services"))
        for i, family in enumerate(families):
            if family not in configured:
                why = f"Invalid value: {show(family)}: not configured on this cluster"
                causes.append(Cause("FieldValueInvalid", why, f"spec.ipFamilies[{i}]"))
        both = len(configured) == 2
    else:
        # Headless services without selector may use families that the cluster lacks.
        both = True
    if not families:
        families = [configured[0]]
    if policy in _DUAL and len(families) == 1 and both:
        families.append(_OTHER[families[0]])
    out["ipFamilies"] = families
    return (spec, causes) if causes else (out, [])


def _fewer_than_before(out: Spec, before: Mapping[str, Any], policy: str) -> list[Cause]:
    """Errors or changes of a downgrade to one family, which requires the policy SingleStack; the second values are
    dropped."""
    causes = []
    for member, what, same in (
        ("clusterIPs", "cluster IP", same_addresses(out, before)),
        ("ipFamilies", "IP family", _same_list(out, before, "ipFamilies")),
    ):
        now, was = out.get(member) or [], before.get(member) or []
        if policy == "SingleStack":
            if same and len(now) > 1:
                out[member] = now[:1]
        elif now and len(now) == 1 < len(was) and now[0] == was[0]:
            causes.append(_policy(policy, f"must be 'SingleStack' to release the secondary {what}"))
    return causes


def _policy(policy: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {show(policy)}: {why}", "spec.ipFamilyPolicy")


# --- after the type has changed -----------------------------------------------------------------


def without_foreign(spec: Spec, before: Mapping[str, Any]) -> Spec:
    """`spec` without the fields of its previous type, unless the client changed them as well."""
    out = dict(spec)
    if before.get("type") != "ExternalName" == out.get("type"):
        if same_addresses(out, before):
            out.pop("clusterIP", None)
            out.pop("clusterIPs", None)
        _drop_same(out, before, "ipFamilies", "ipFamilyPolicy")
    foreign = before.get("type") in EXTERNAL and out.get("type") not in EXTERNAL
    if foreign and _node_ports(out) <= _node_ports(before):
        out["ports"] = [{k: v for k, v in p.items() if k != "nodePort"} for p in out.get("ports") or ()]
    if needs_health_check(before) and not needs_health_check(out):
        _drop_same(out, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and out.get("type") != "LoadBalancer":
        _drop_same(out, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if foreign:
        _drop_same(out, before, "externalTrafficPolicy")
    return out


def _as_is(spec: Spec) -> Spec:
    return spec


def _without_unused_policy(spec: Spec) -> Spec:
    """`spec` without the internal traffic policy that a type without cluster IPs has no use for; validation refuses an
    unknown one."""
    if spec.get("type") != "ExternalName" or spec.get("internalTrafficPolicy") not in ("Cluster", "Local"):
        return spec
    return {name: value for name, value in spec.items() if name != "internalTrafficPolicy"}


#: What of a spec is shown to clients, by release.
READABLE: Final[tuple[tuple[str, Callable[[Spec], Spec]], ...]] = (("", _as_is), ("1.26", _without_unused_policy))


def _drop_same(spec: Spec, before: Mapping[str, Any], *members: str) -> None:
    for member in members:
        if spec.get(member) == before.get(member):
            spec.pop(member, None)


def _node_ports(spec: Mapping[str, Any]) -> set[int]:
    return {p["nodePort"] for p in spec.get("ports") or () if p.get("nodePort")}
