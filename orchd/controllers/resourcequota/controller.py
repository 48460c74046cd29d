"""The resource quota controller: the status of a quota follows its spec and the objects of its namespace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from twisted.internet.task import deferLater

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.controllers.base import Controller, Key, Listener
from orchd.controllers.batching import batch_seconds
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import CLAIMS, PODS, QUOTAS, SERVICES
from orchd.controllers.resourcequota.charges import Charges, ChargesOfQuotas, Concerned
from orchd.controllers.resourcequota.counting import ObjectCounts
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.fields import namespace, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, amounts
from orchd.kinds.objects.quota.usage import ZERO, concerned_names
from orchd.kinds.objects.scalars import Quantity

#: Kinds with computed usage; all others are only counted.
_MEASURED: Final = (PODS, SERVICES, CLAIMS)
#: Seconds until a quota is checked again that names a kind which is not served or not counted yet.
_UNKNOWN: Final = 5.0
#: Objects that are processed in one turn of the reactor.
_PIECE: Final = 30
#: Bytes of JSON that a name in a quota stands for, where work on many names is done in the compute thread.
_PER_NAME: Final = 64
#: Resources that a quota names, with the names about each.
Resources = dict[ResourceRef, tuple[Resource, list[str]]]
#: Verbs that a counted resource must support.
_COUNTABLE: Final = frozenset(("create", "list", "watch", "delete"))


def resources_of(catalog: Catalog, hard: Iterable[str], dialect: Any) -> Resources:
    """The resources that a quota names, each in one version, with their names."""
    limited = frozenset(hard)
    resources: dict[tuple[str, str], tuple[Resource, list[str]]] = {}
    for group in catalog.groups:
        for version in (group.preferred, *group.versions):
            for resource in catalog.in_version(group.name, version):
                countable = resource.namespaced and set(resource.verbs) >= _COUNTABLE
                if not countable or (resource.group, resource.plural) in resources:
                    continue
                names = sorted(concerned_names(resource, limited, dialect))
                if names:
                    resources[resource.group, resource.plural] = resource, names
    return {ResourceRef(r.group, r.version, r.plural): (r, names) for r, names in resources.values()}


def changed_status(quota: Object, fresh: Usage) -> dict[str, Any] | None:
    """The status of a quota with the usage `fresh`; names that it lacks keep their usage. None if the status says so
    already."""
    hard, before = amounts(spec(quota).get("hard")), status(quota)
    used_before = amounts(before.get("used"))
    used = {name: fresh.get(name, used_before.get(name)) for name in hard}
    desired: dict[str, Any] = {}
    if hard:
        desired["hard"] = {name: str(value) for name, value in hard.items()}
    desired["used"] = {name: str(value) for name, value in used.items() if value is not None}
    same = "used" in before and amounts(before.get("hard")) == hard and used_before == amounts(desired["used"])
    return None if same else desired


class ResourceQuotaController(Controller):
    """Recomputes a quota after objects were deleted or changed their usage, after a change of the quota, and
    periodically. Admission counts created objects, so that creations need no pass."""

    name = "resourcequota"
    account = "resourcequota-controller"
    subject = ("v1", "ResourceQuota")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_resource_quota_syncs)
        self._period = float(env.settings.resource_quota_sync_period)
        self._quotas = self.follow(QUOTAS, self._quota_changed, primary=True)
        self._measured: dict[ResourceRef, IInformer] = {}
        for ref in _MEASURED:
            self._measured[ref] = self.follow(ref, self._listener(ref), complete=True)
        self._counts = ObjectCounts(self.client, env.clock, env.random, self._counts_changed)
        self._resources: dict[frozenset[str], Resources] = {}
        self._catalog: Catalog | None = None
        self._charges = ChargesOfQuotas()

    async def stop(self) -> None:
        await super().stop()
        await self._counts.stop()

    # -- event handlers

    def _quota_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Queue changed quotas; changes of the status alone come from admission or this controller."""
        if new is not None and (old is None or spec(old) != spec(new) or "used" not in status(new)):
            self.queue.add(key_of(new))
        if new is None and old is not None:
            self._charges.forget(key_of(old))
            self._counts.keep({ref for quota in self._quotas.list() for ref in self._concerned(quota)})

    def _listener(self, ref: ResourceRef) -> Listener:
        def changed(event: str, old: Object | None, new: Object | None) -> None:
            obj = new or old
            if obj is not None:
                quotas = self._charges.observe(ref, key_of(obj), new)
                # What is new is charged by admission.
                for key in quotas if old is not None else ():
                    self._queue_soon(key)

        return changed

    def _counts_changed(self, ref: ResourceRef, within: str) -> None:
        for quota in self._quotas.list(within):
            if ref in self._concerned(quota):
                self._queue_soon(key_of(quota))

    def _queue_soon(self, key: Key) -> None:
        """Queue a quota; in a namespace with many objects after a delay, since each pass writes the quota."""
        self.queue.add_after(key, batch_seconds(self._charges.count(key)))

    def _concerned(self, quota: Object) -> Resources:
        names, resources = self._cached_resources(quota)
        if resources is None:
            resources = self._resources[names] = resources_of(self.env.catalog(), names, self.dialect)
        return resources

    def _cached_resources(self, quota: Object) -> tuple[frozenset[str], Resources | None]:
        """The names in a quota, and their resources if those were determined for the current catalog."""
        catalog = self.env.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            self._resources.clear()
        names = frozenset(spec(quota).get("hard") or ())
        return names, self._resources.get(names)

    async def _determine(self, quota: Object) -> Resources:
        """Like `_concerned`; runs in a thread for many names."""
        names, resources = self._cached_resources(quota)
        if resources is None:
            catalog = self.env.catalog()
            resources = await self.env.compute(_PER_NAME * len(names), resources_of, catalog, names, self.dialect)
            if catalog is self._catalog:
                self._resources[names] = resources
        return resources

    # -- reconciliation

    async def reconcile(self, key: Key) -> float | None:
        quota = self._quotas.get(*key)
        if quota is None:
            return None
        fresh, complete = await self._usage(quota)
        size = _PER_NAME * len(spec(quota).get("hard") or ())
        desired = await self.env.compute(size, changed_status, quota, fresh)
        if desired is not None:
            await self.write_status(QUOTAS, quota, desired)
        return self._period if complete else min(_UNKNOWN, self._period)

    async def _usage(self, quota: Object) -> tuple[Usage, bool]:
        """The usage of the quota, and True if it covers every name in it."""
        out: Usage = {}
        concerned = await self._determine(quota)
        charges = await self._charged(
            quota, {ref: observed for ref, observed in concerned.items() if ref in self._measured}
        )
        for ref, (_, names) in concerned.items():
            if ref in charges.concerned:
                out |= charges.total(ref, self.env.wall())
            elif spec(quota).get("scopes") or spec(quota).get("scopeSelector"):
                # Scopes select pods only.
                out |= dict.fromkeys(names, ZERO)
            else:
                number = self._counts.count(ref, namespace(quota))
                if number is not None:
                    out |= dict.fromkeys(names, Quantity.of(number))
        tracked = {name for _, names in concerned.values() for name in names}
        return out, len(out) == len(tracked) == len(spec(quota).get("hard") or ())

    async def _charged(self, quota: Object, measured: Concerned) -> Charges:
        """The charges of a quota; the first call visits all objects of its namespace. Raises RetryError if the quota
        was changed meanwhile."""
        charged = self._charges.get(quota, measured)
        if charged is not None:
            return charged
        charges = Charges(quota, measured, self.dialect)
        self._charges.begin(charges)
        for ref in measured:
            for count, obj in enumerate(self._measured[ref].list(namespace(quota)), 1):
                if not self._charges.fill(charges, ref, obj):
                    raise RetryError
                if not count % _PIECE:
                    await deferLater(self.env.clock, 0)
        self._charges.finish(charges)
        return charges
