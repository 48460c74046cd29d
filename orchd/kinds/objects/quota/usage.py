"""Quota usage of objects: pure functions from objects to amounts by resource name (specification, "ResourceQuota").

Every stored object counts as ``count/PLURAL.GROUP``. `orchd.kinds.rows.Quota` names the functions of kinds with further
usage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import annotations_of, mapping, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.pod_amounts import of_whole_pods, pod_totals
from orchd.kinds.objects.quota.amounts import Usage, amounts
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.rows import resolve

ZERO, ONE = Quantity.of(0), Quantity.of(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
#: If a quota names one of these, every container must request it.
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


def count_name(resource: Resource) -> str:
    return f"count/{resource.plural}.{resource.group}" if resource.group else f"count/{resource.plural}"


def usage_of(resource: Resource, obj: Object, dialect: Dialect) -> Usage:
    """The usage of `obj` of `resource`, independent of existing quotas."""
    usage: Usage = {count_name(resource): ONE}
    quota = resource.row.quota
    if quota is not None:
        usage |= {quota.counted_as: ONE} if quota.counted_as else resolve(quota.usage)(obj, dialect)
    return usage


def concerned_names(resource: Resource, names: Collection[str], dialect: Dialect) -> frozenset[str]:
    """Those of `names`, a mapping or a set, that count objects of `resource`. Most kinds have one possible name, so
    that the others are not looked at."""
    quota, counted = resource.row.quota, count_name(resource)
    possible = (counted, "" if quota is None else quota.counted_as)
    members = {name for name in possible if name in names}
    if quota is not None and not quota.counted_as:
        concerned = resolve(quota.concerns)
        # A quota may count thousands of other resources.
        members.update(name for name in names if not name.startswith("count/") and concerned(name, dialect))
    return frozenset(members)


def pod_usage(pod: Object, dialect: Dialect) -> Usage:
    """The usage of a pod, {} for a terminated one."""
    if status(pod).get("phase") in ("Succeeded", "Failed"):
        return {}
    return _compute(*pod_totals(pod), dialect) | {"pods": ONE}


def concerns_pod(name: str, dialect: Dialect) -> bool:
    plain = name.removeprefix("requests.").removeprefix("limits.")
    if name == "pods" or plain in _COMPUTE or plain.startswith("hugepages-"):
        return True
    return name.startswith("requests.") and is_extended(plain, dialect)


def is_extended(name: str, dialect: Dialect) -> bool:
    """True for extended resources: qualified with a domain that is not the product's."""
    domain, slash, _ = name.partition("/")
    own = dialect("{long}.io")
    return bool(slash) and domain != own and not domain.endswith("." + own) and not name.startswith("requests.")


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity], dialect: Dialect) -> Usage:
    usage: Usage = {}
    for name, value in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            usage[name] = usage["requests." + name] = value
        elif is_extended(name, dialect):
            usage["requests." + name] = value
    for name, value in limits.items():
        if name in _COMPUTE:
            usage["limits." + name] = value
    return usage


def unspecified(pod: Object, names: Iterable[str], dialect: Dialect) -> dict[str, list[str]]:
    """The quota resources among `names` that some container of a pod does not specify, and the names of these
    containers, both sorted. None are missing where the pod itself has resources."""
    required = _REQUIRED.intersection(names)
    missing: dict[str, set[str]] = {}
    if required and not _has_resources(pod):
        for key in ("containers", "initContainers"):
            for container in spec(pod).get(key) or ():
                resources = mapping(container, "resources")
                held = _compute(amounts(resources.get("requests")), amounts(resources.get("limits")), dialect)
                for name in required.difference(held):
                    missing.setdefault(name, set()).add(container["name"])
    return {name: sorted(missing[name]) for name in sorted(missing)}


def _has_resources(pod: Object) -> bool:
    """True if a pod specifies amounts for all its containers together."""
    resources = mapping(spec(pod), "resources")
    return any(of_whole_pods(name) for key in ("requests", "limits") for name in resources.get(key) or ())


def concerns_service(name: str, dialect: Dialect) -> bool:
    return name in ("services", "services.nodeports", "services.loadbalancers")


def service_usage(service: Object, dialect: Dialect) -> Usage:
    """One service, its node ports, and one load balancer for the type LoadBalancer."""
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
    """The storage class of a claim, from the former annotation if it is set; "" without one."""
    old = annotations_of(claim).get(dialect("volume.beta.{long}.io/storage-class"))
    name: str = old if old is not None else spec(claim).get("storageClassName") or ""
    return name


def concerns_claim(name: str, dialect: Dialect) -> bool:
    suffix = dialect(".storageclass.storage.{abbr}.io/")
    return name in ("persistentvolumeclaims", "requests.storage") or suffix in name


def claim_usage(claim: Object, dialect: Dialect) -> Usage:
    """One claim and the storage that it requests, in total and of its class."""
    usage: Usage = {"persistentvolumeclaims": ONE}
    name = claim_class(claim, dialect)
    suffix = name + dialect(".storageclass.storage.{abbr}.io/") if name else ""
    if suffix:
        usage[suffix + "persistentvolumeclaims"] = ONE
    storage = amounts(mapping(spec(claim), "resources").get("requests")).get("storage")
    if storage is not None:
        whole = Quantity.of(storage.value, storage.format)
        usage["requests.storage"] = whole
        if suffix:
            usage[suffix + "requests.storage"] = whole
    return usage
