"""What an object uses of a quota, by kind. Pure functions from objects to amounts by resource name.

Pods, services and persistent volume claims have usages of their own; every stored resource is counted as
``count/PLURAL.GROUP`` and a few under their old names too (specification, "ResourceQuota").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.scalars import Quantity
from orchd.server.admission.plugin import annotations_of, spec
from orchd.server.admission.plugins.limitranger import amounts

Object = dict[str, Any]
Usage = dict[str, Quantity]
ONE = Quantity.of(1)
#: Resources of the core group that are counted under their plain name too.
_PLAIN_COUNTS = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
#: If a quota names one of these, every container must ask for it.
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


def count_name(resource: Resource) -> str:
    return f"count/{resource.plural}.{resource.group}" if resource.group else f"count/{resource.plural}"


def add(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Usage:
    out = dict(left)
    for name, value in right.items():
        out[name] = out[name] + value if name in out else value
    return out


def subtract(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Usage:
    return add(left, {name: -value for name, value in right.items()})


def shown(usage: Mapping[str, Quantity]) -> str:
    """``a=1,b=2``"""
    return ",".join(f"{name}={usage[name]}" for name in sorted(usage))


def usage_of(resource: Resource, obj: Object, dialect: Dialect) -> Usage:
    """What `obj` of `resource` uses, whatever quotas there are."""
    found: Usage = {count_name(resource): ONE}
    if resource.group == "":
        if resource.plural == "pods":
            if (obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                found |= _compute(*pod_totals(obj), dialect) | {"pods": ONE}
        elif resource.plural == "services":
            found |= _service(obj)
        elif resource.plural == "persistentvolumeclaims":
            found |= _claim(obj, dialect)
        elif resource.plural in _PLAIN_COUNTS:
            found[resource.plural] = ONE
    return found


def concerns(resource: Resource, name: str, dialect: Dialect) -> bool:
    """Is the quota resource `name` about objects of `resource`?"""
    if name == count_name(resource):
        return True
    if resource.group != "":
        return False
    if resource.plural == "pods":
        plain = name.removeprefix("requests.").removeprefix("limits.")
        return name == "pods" or plain in _COMPUTE or plain.startswith("hugepages-") or _is_extended(plain, dialect)
    if resource.plural == "services":
        return name in ("services", "services.nodeports", "services.loadbalancers")
    if resource.plural == "persistentvolumeclaims":
        suffix = dialect(".storageclass.storage.{abbr}.io/")
        return name in ("persistentvolumeclaims", "requests.storage") or suffix in name
    return name == resource.plural and name in _PLAIN_COUNTS


def _is_extended(name: str, dialect: Dialect) -> bool:
    """A resource that a vendor defines: with a domain, and not the product's."""
    domain, slash, _ = name.partition("/")
    own = dialect("{long}.io")
    return bool(slash) and domain != own and not domain.endswith("." + own) and not domain.startswith("count")


def is_extended(name: str, dialect: Dialect) -> bool:
    return _is_extended(name, dialect) and not name.startswith("requests.")


def pod_totals(pod: Object) -> tuple[Usage, Usage]:
    """Requests and limits of a pod: its containers together, or its hungriest init container, and its overhead."""
    totals: list[Usage] = []
    for key in ("requests", "limits"):
        total: Usage = {}
        for container in spec(pod).get("containers") or ():
            total = add(total, amounts((container.get("resources") or {}).get(key)))
        for container in spec(pod).get("initContainers") or ():
            for name, value in amounts((container.get("resources") or {}).get(key)).items():
                if name not in total or value > total[name]:
                    total[name] = value
        overhead = amounts(spec(pod).get("overhead"))
        if key == "limits":
            overhead = {n: v for n, v in overhead.items() if n in total}
        totals.append(add(total, overhead))
    return totals[0], totals[1]


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity], dialect: Dialect) -> Usage:
    found: Usage = {}
    for name, value in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = found["requests." + name] = value
        elif is_extended(name, dialect):
            found["requests." + name] = value
    for name, value in limits.items():
        if name in _COMPUTE:
            found["limits." + name] = value
    return found


def unspecified(pod: Object, names: Iterable[str], dialect: Dialect) -> list[str]:
    """Of the quota resources `names`, those for which some container of a pod asks for nothing."""
    required = _REQUIRED.intersection(names)
    missing: set[str] = set()
    if required:
        for key in ("containers", "initContainers"):
            for container in spec(pod).get(key) or ():
                resources = container.get("resources") or {}
                held = _compute(amounts(resources.get("requests")), amounts(resources.get("limits")), dialect)
                missing |= required.difference(held)
    return sorted(missing)


def _service(service: Object) -> Usage:
    body = spec(service)
    ports = body.get("ports") or []
    nodeports = balancers = 0
    if body.get("type") == "NodePort":
        nodeports = len(ports)
    elif body.get("type") == "LoadBalancer":
        balancers = 1
        suppressed = body.get("allocateLoadBalancerNodePorts") is False
        nodeports = sum(1 for p in ports if p.get("nodePort")) if suppressed else len(ports)
    return {
        "services": ONE,
        "services.nodeports": Quantity.of(nodeports),
        "services.loadbalancers": Quantity.of(balancers),
    }


def claim_class(claim: Object, dialect: Dialect) -> str:
    """The storage class of a claim, by the old annotation first; "" without one."""
    old = annotations_of(claim).get(dialect("volume.beta.{long}.io/storage-class"))
    name: str = old if old is not None else spec(claim).get("storageClassName") or ""
    return name


def _claim(claim: Object, dialect: Dialect) -> Usage:
    found: Usage = {"persistentvolumeclaims": ONE}
    name = claim_class(claim, dialect)
    suffix = name + dialect(".storageclass.storage.{abbr}.io/") if name else ""
    if suffix:
        found[suffix + "persistentvolumeclaims"] = ONE
    storage = amounts((spec(claim).get("resources") or {}).get("requests")).get("storage")
    if storage is not None:
        whole = Quantity.of(storage.value, storage.format)
        found["requests.storage"] = whole
        if suffix:
            found[suffix + "requests.storage"] = whole
    return found


# --- scopes -------------------------------------------------------------------------------------


def quality(pod: Object) -> str:
    """BestEffort when no container asks for cpu or memory, NotBestEffort otherwise."""
    for key in ("containers", "initContainers"):
        for container in spec(pod).get(key) or ():
            resources = container.get("resources") or {}
            for part in ("requests", "limits"):
                values = amounts(resources.get(part))
                if any(values[n].nano for n in ("cpu", "memory") if n in values):
                    return "NotBestEffort"
    return "BestEffort"


def _crosses_namespaces(pod: Object) -> bool:
    affinity = spec(pod).get("affinity") or {}
    for key in ("podAffinity", "podAntiAffinity"):
        block = affinity.get(key) or {}
        terms = list(block.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = block.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms.extend(p.get("podAffinityTerm") or {} for p in preferred)
        if any(t.get("namespaces") or t.get("namespaceSelector") is not None for t in terms):
            return True
    return False


def _in_scope(pod: Object, scope: str, operator: str, values: Iterable[str]) -> bool:
    if scope in ("Terminating", "NotTerminating"):
        return (spec(pod).get("activeDeadlineSeconds") is not None) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return quality(pod) == scope
    if scope == "CrossNamespacePodAffinity":
        return _crosses_namespaces(pod)
    if scope != "PriorityClass":
        return False
    name = spec(pod).get("priorityClassName") or ""
    match operator:
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def in_scopes(resource: Resource, obj: Object, quota: Object) -> bool:
    """Is `obj` in every scope of a quota? Only pods are in any."""
    body = spec(quota)
    scopes = [(s, "Exists", ()) for s in body.get("scopes") or ()]
    scopes.extend(
        (e.get("scopeName", ""), e.get("operator", ""), e.get("values") or ())
        for e in (body.get("scopeSelector") or {}).get("matchExpressions") or ()
    )
    if not scopes:
        return True
    return resource.group == "" and resource.plural == "pods" and all(_in_scope(obj, *scope) for scope in scopes)
