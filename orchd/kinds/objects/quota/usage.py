"""What an object uses of a quota, by kind. Pure functions from objects to amounts by resource name.

Pods, services and persistent volume claims have usages of their own; every stored resource is counted as
``count/PLURAL.GROUP`` and a few under their old names too (specification, "ResourceQuota").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.quota.amounts import Object, Usage, add, amounts, spec
from orchd.kinds.objects.scalars import Quantity

ONE = Quantity.of(1)
#: Resources of the core group that are counted under their plain name too.
_PLAIN_COUNTS = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
#: If a quota names one of these, every container must ask for it.
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


def count_name(resource: Resource) -> str:
    return f"count/{resource.plural}.{resource.group}" if resource.group else f"count/{resource.plural}"


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
    old = (claim["metadata"].get("annotations") or {}).get(dialect("volume.beta.{long}.io/storage-class"))
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
