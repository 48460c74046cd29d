"""The resource quota controller: the status of a quota follows its spec and the objects of its namespace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer, Object, ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import batch_seconds
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CLAIMS, PODS, QUOTAS, SERVICES, deleting, namespace, seconds_of, spec, status
from orchd.controllers.resourcequota.counting import ObjectCounts
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.quota.amounts import Usage, add, amounts
from orchd.kinds.objects.quota.scopes import in_scopes
from orchd.kinds.objects.quota.usage import ONE, concerns, count_name, usage_of
from orchd.kinds.objects.scalars import Quantity

#: Kinds with a usage of their own; all others are only counted.
_MEASURED: Final = (PODS, SERVICES, CLAIMS)
#: Seconds after which a quota is looked at again that names a kind which is not served, or not counted yet.
_UNKNOWN: Final = 5.0
#: What can be done with objects that are counted.
_COUNTABLE: Final = frozenset(("create", "list", "watch", "delete"))


def resources_of(catalog: Catalog, hard: Iterable[str], dialect: Any) -> dict[ResourceRef, tuple[Resource, list[str]]]:
    """The resources that the names of a quota are about, each in one version, with these names."""
    wanted = set(hard)
    found: dict[tuple[str, str], tuple[Resource, list[str]]] = {}
    for group in catalog.groups:
        for version in (group.preferred, *group.versions):
            for resource in catalog.in_version(group.name, version):
                countable = resource.namespaced and set(resource.verbs) >= _COUNTABLE
                if not countable or (resource.group, resource.plural) in found:
                    continue
                names = sorted(n for n in wanted if concerns(resource, n, dialect))
                if names:
                    found[resource.group, resource.plural] = resource, names
    return {ResourceRef(r.group, r.version, r.plural): (r, names) for r, names in found.values()}


class ResourceQuotaController(Controller):
    """Counts again when objects went away or use something else, when a quota changed, and now and then. What is created is
    counted by admission, so that nothing is to be done then."""

    name = "resourcequota"
    account = "resourcequota-controller"
    subject = ("v1", "ResourceQuota")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_resource_quota_syncs)
        self._period = float(env.settings.resource_quota_sync_period)
        self._quotas = self.follow(QUOTAS, self._quota_changed, primary=True)
        self._measured: dict[ResourceRef, IInformer] = {}
        for ref in _MEASURED:
            self._measured[ref] = self.follow(ref, self._listener(ref))
        self._counts = ObjectCounts(self.client, env.clock, env.random, self._counted)
        self._resources: dict[frozenset[str], dict[ResourceRef, tuple[Resource, list[str]]]] = {}
        self._catalog: Catalog | None = None
        #: Numbers of objects that are measured for a quota.
        self._sizes: dict[Key, int] = {}

    async def stop(self) -> None:
        await super().stop()
        await self._counts.stop()

    # -- what makes work

    def _quota_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Changes of the status alone are admission's, or our own."""
        if new is not None and (old is None or spec(old) != spec(new) or "used" not in status(new)):
            self.queue.add(key_of(new))
        if new is None:
            self._counts.keep({ref for quota in self._quotas.list() for ref in self._concerned(quota)})

    def _listener(self, ref: ResourceRef) -> Any:
        def changed(event: str, old: Object | None, new: Object | None) -> None:
            if old is None or next(iter(self._quotas.list(namespace(old))), None) is None:
                return
            resource = self.env.catalog().resource(ref.group, ref.version, ref.plural)
            if resource is None:
                return
            if new is None or usage_of(resource, old, self.dialect) != usage_of(resource, new, self.dialect):
                self._counted(ref, namespace(old))

        return changed

    def _counted(self, ref: ResourceRef, within: str) -> None:
        for quota in self._quotas.list(within):
            if ref in self._concerned(quota):
                key = key_of(quota)
                self.queue.add_after(key, batch_seconds(self._sizes.get(key, 0)))

    def _concerned(self, quota: Object) -> dict[ResourceRef, tuple[Resource, list[str]]]:
        catalog = self.env.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            self._resources.clear()
        names = frozenset(spec(quota).get("hard") or ())
        found = self._resources.get(names)
        if found is None:
            found = self._resources[names] = resources_of(catalog, names, self.dialect)
        return found

    # -- the work

    async def reconcile(self, key: Key) -> float | None:
        quota = self._quotas.get(*key)
        if quota is None:
            self._sizes.pop(key, None)
            return None
        hard = amounts(spec(quota).get("hard"))
        fresh, complete = self._usage(quota)
        before = status(quota)
        known = amounts(before.get("used"))
        used = {name: fresh.get(name, known.get(name)) for name in hard}
        wanted: dict[str, Any] = {}
        if hard:
            wanted["hard"] = {name: str(value) for name, value in hard.items()}
        wanted["used"] = {name: str(value) for name, value in used.items() if value is not None}
        if amounts(before.get("hard")) != hard or "used" not in before or known != amounts(wanted["used"]):
            await self._write(quota, wanted)
        return self._period if complete else min(_UNKNOWN, self._period)

    async def _write(self, quota: Object, wanted: dict[str, Any]) -> None:
        try:
            await self.client.update(QUOTAS, *key_of(quota), {**quota, "status": wanted}, subresource="status")
        except ApiError as error:
            if error.code != 404:
                raise

    def _usage(self, quota: Object) -> tuple[Usage, bool]:
        """What is used of the quota, and whether that says something about every name in it."""
        out: Usage = {}
        concerned = self._concerned(quota)
        size = 0
        for ref, (resource, names) in concerned.items():
            if ref in self._measured:
                objects = list(self._measured[ref].list(namespace(quota)))
                size += len(objects)
                out |= self._sum(quota, objects, ref, resource, names)
            elif spec(quota).get("scopes") or spec(quota).get("scopeSelector"):
                # Only pods are in any scope.
                out |= {name: _none() for name in names}
            else:
                number = self._counts.count(ref, namespace(quota))
                if number is not None:
                    out |= {name: Quantity.of(number) for name in names}
        self._sizes[key_of(quota)] = size
        tracked = {name for _, names in concerned.values() for name in names}
        return out, len(out) == len(tracked) == len(spec(quota).get("hard") or ())

    def _sum(self, quota: Object, objects: list[Object], ref: ResourceRef, resource: Resource, names: list[str]) -> Usage:
        total = {name: _none() for name in names}
        now = self.env.wall()
        for obj in objects:
            if not in_scopes(resource, obj, quota):
                continue
            used = usage_of(resource, obj, self.dialect)
            if ref == PODS and _overdue(obj, now):
                used = {count_name(resource): ONE}
            total = add(total, {name: used[name] for name in names if name in used})
        return total


def _none() -> Quantity:
    return Quantity.of(0)


def _overdue(pod: Object, now: float) -> bool:
    """True if the pod's grace period is over: its node may be lost, so that no agent confirms the deletion."""
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    if not deleting(pod) or grace is None:
        return False
    return now > (seconds_of(pod["metadata"]["deletionTimestamp"]) or 0.0) + int(grace)
