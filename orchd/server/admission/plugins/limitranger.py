"""LimitRanger: sets default requests and limits of a namespace, and enforces its minima and maxima.

Messages are the reference's; quantities in them keep their format, in canonical form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final

from zope.interface import implementer

from orchd.kinds.fields import annotations_of, mapping, metadata, spec, with_metadata, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.pod_amounts import whole
from orchd.kinds.objects.quota.amounts import amounts
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.validate.meta import ANNOTATIONS_LIMIT
from orchd.server.admission.interfaces import CREATE, UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse_all

Amounts = Mapping[str, Quantity]


#: The lists of a pod whose containers limits of containers apply to.
_LIMITED: Final = ("containers", "initContainers")


class _Notes:
    """What was set in a pod, for its annotation."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        self.texts.append(text)
        self._size += len(text)

    @property
    def fit(self) -> bool:
        """False if no valid pod has an annotation of that size."""
        return self._size <= ANNOTATIONS_LIMIT


@implementer(IMutatingPlugin, IValidatingPlugin)
class LimitRanger(Plugin):
    name = "LimitRanger"
    help = "Applies the limit ranges of a namespace to its pods and persistent volume claims."
    operations = (CREATE, UPDATE)
    resources = ("pods", "persistentvolumeclaims")
    informers = (("", "v1", "limitranges"),)

    def setup(self) -> None:
        self.index_namespaces("limitranges")
        self._annotation = self.dialect("{long}.io/limit-ranger")

    async def _limits(self, review: Review) -> list[Object]:
        """The LimitRangeItems that apply. Updates of pods are exempt, since containers cannot change."""
        if review.resource.plural == "pods" and review.operation == UPDATE:
            return []
        if metadata(review.object).get("deletionTimestamp"):
            return []
        await self.wait_ready(review)
        return [
            item for r in self.in_namespace("limitranges", review.namespace) for item in spec(r).get("limits") or ()
        ]

    async def admit(self, review: Review) -> None:
        pod = review.written
        if review.resource.plural != "pods":
            return
        for item in await self._limits(review):
            if item.get("type") == "Container":
                pod = self._with_defaults(pod, item)
        review.object = pod

    def _with_defaults(self, pod: Object, item: Object) -> Object:
        """`pod` with an item's defaults, and an annotation that names them. Containers that follow when the annotation
        is too long remain as they are: validation refuses the pod for it."""
        notes = _Notes()
        changes = {}
        for key, word in (("containers", "container"), ("initContainers", "init container")):
            containers = spec(pod).get(key)
            if containers:
                changes[key] = [_with_default_requests(c, item, word, notes) if notes.fit else c for c in containers]
        if not notes.texts:
            return pod
        held = {**annotations_of(pod), self._annotation: "LimitRanger plugin set: " + "; ".join(notes.texts)}
        return with_metadata(with_spec(pod, **changes), annotations=held)

    async def validate(self, review: Review) -> None:
        obj = review.written
        problems: list[str] = []
        for item in await self._limits(review):
            kind = item.get("type")
            if review.resource.plural == "persistentvolumeclaims":
                if kind == "PersistentVolumeClaim":
                    problems.extend(_check_claim(item, obj))
            elif kind == "Container":
                for container in chain.from_iterable(spec(obj).get(key) or () for key in _LIMITED):
                    resources = mapping(container, "resources")
                    problems.extend(_check(item, amounts(resources.get("requests")), amounts(resources.get("limits"))))
            elif kind == "Pod":
                total = self.context.settings.release.choose(_POD_TOTALS)
                problems.extend(_check(item, total(obj, "requests"), total(obj, "limits")))
        if problems:
            raise refuse_all(review, problems)


def _with_default_requests(container: Object, item: Object, word: str, notes: _Notes) -> Object:
    resources = dict(mapping(container, "resources"))
    for key, source in (("requests", "defaultRequest"), ("limits", "default")):
        held = resources.get(key) or {}
        missing = {k: v for k, v in (item.get(source) or {}).items() if k not in held}
        if missing:
            resources[key] = {**held, **missing}
            notes.add(f"{', '.join(sorted(missing))} {key[:-1]} for {word} {container.get('name', '')}")
    return {**container, "resources": resources}


def _pod_total(pod: Object, key: str) -> dict[str, Quantity]:
    """Total of a pod without its overhead. Sums are in decimal format."""
    return {name: Quantity(value.nano) for name, value in whole(spec(pod), key).items()}


def _common_total(pod: Object, key: str) -> dict[str, Quantity]:
    """The former total of a pod: amounts that all of its containers have, or the largest of an init container."""
    held = [amounts(mapping(container, "resources").get(key)) for container in spec(pod).get("containers") or ()]
    names = set.intersection(*map(set, held)) if held else set()
    total = {name: Quantity(sum(each[name].nano for each in held)) for name in names}
    for container in spec(pod).get("initContainers") or ():
        for name, amount in amounts(mapping(container, "resources").get(key)).items():
            if name not in total or amount > total[name]:
                total[name] = amount
    return total


#: How the amounts of a pod's containers are added up, from a release on.
_POD_TOTALS: Final[tuple[tuple[str, Callable[[Object, str], dict[str, Quantity]]], ...]] = (
    ("", _common_total),
    ("1.28", _pod_total),
)


def _check_claim(item: Object, claim: Object) -> Iterable[str]:
    requests = amounts(mapping(spec(claim), "resources").get("requests"))
    for name, bound in sorted(amounts(item.get("min")).items()):
        yield from _minimum("PersistentVolumeClaim", name, bound, requests.get(name), None)
    for name, bound in sorted(amounts(item.get("max")).items()):
        head = f"maximum {name} usage per PersistentVolumeClaim is {bound}"
        request = requests.get(name)
        if request is None:
            yield f"{head}.  No request is specified"
        elif request > bound:
            yield f"{head}, but request is {request}"


def _check(item: Object, requests: Amounts, limits: Amounts) -> Iterable[str]:
    kind = item["type"]
    for name, bound in sorted(amounts(item.get("min")).items()):
        yield from _minimum(kind, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(amounts(item.get("max")).items()):
        yield from _maximum(kind, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(amounts(item.get("maxLimitRequestRatio")).items()):
        yield from _ratio(kind, name, bound, requests.get(name), limits.get(name))


def _minimum(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterable[str]:
    head = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{head}.  No request is specified"
    elif request < bound:
        yield f"{head}, but request is {request}"
    elif limit is not None and limit < bound:
        yield f"{head}, but limit is {limit}"


def _maximum(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterable[str]:
    head = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{head}.  No limit is specified"
    elif limit > bound:
        yield f"{head}, but limit is {limit}"
    elif request is not None and request > bound:
        yield f"{head}, but request is {request}"


def _ratio(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterable[str]:
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or not request.nano:
        yield f"{head}, but no request is specified or request is 0"
    elif limit is None or not limit.nano:
        yield f"{head}, but no limit is specified or limit is 0"
    elif limit.nano * 10**9 > bound.nano * request.nano:
        yield f"{head}, but provided ratio is {limit.nano / request.nano:f}"
