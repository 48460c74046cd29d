"""Amounts of resources that the containers of a pod need together. Pure."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, add, amounts


def aggregate(spec: Object, member: str) -> Usage:
    """The amounts that the containers of a pod have together in `member`, ``requests`` or ``limits``, of their
    resources.

    Ordinary containers and init containers that keep running add up; the other init containers take turns, each beside
    those that keep running before it.
    """
    total: Usage = {}
    for container in spec.get("containers") or ():
        total = add(total, _of(container, member))
    beside: Usage = {}
    most: Usage = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, member)
        if container.get("restartPolicy") == "Always":
            total, beside = add(total, own), add(beside, own)
            own = beside
        else:
            own = add(own, beside)
        most = _greater(most, own)
    return _greater(total, most)


def whole(spec: Object, member: str) -> Usage:
    """The amounts of a pod without its overhead: what it specifies as a whole replaces the sum of its containers."""
    own = amounts((spec.get("resources") or {}).get(member))
    return {**aggregate(spec, member), **{name: value for name, value in own.items() if of_whole_pods(name)}}


def of_whole_pods(name: str) -> bool:
    """True for resources that a pod can specify for all its containers together."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _of(container: Object, member: str) -> Usage:
    return amounts((container.get("resources") or {}).get(member))


def _greater(left: Usage, right: Usage) -> Usage:
    more = {name: value for name, value in right.items() if name not in left or value > left[name]}
    return {**left, **more} if more else left


def pod_totals(pod: Object) -> tuple[Usage, Usage]:
    """Requests and limits of a pod: those of its containers together or of the pod as a whole, plus overhead."""
    overhead = amounts(fields.spec(pod).get("overhead"))
    requests, limits = (whole(fields.spec(pod), key) for key in ("requests", "limits"))
    return add(requests, overhead), add(limits, {name: value for name, value in overhead.items() if name in limits})
