"""ResourceQuota: rejects writes that exceed a quota of their namespace, and records usage.

Usage is added to the status of every matching quota before the object is stored, guarded by the quota's version, so
that concurrent writes cannot exceed it together. Within this process, writes of one namespace are serialized.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import DeferredLock
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.digits import integer
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, add, amounts, format_amounts, subtract
from orchd.kinds.objects.quota.scopes import in_scopes
from orchd.kinds.objects.quota.usage import concerns, unspecified, usage_of
from orchd.kinds.objects.scalars import Quantity
from orchd.server.admission.interfaces import CREATE, UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, metadata, refuse

QUOTAS = ResourceRef("", "v1", "resourcequotas")
_ATTEMPTS = 4
_REMEMBERED = 1024


def _version(obj: Object) -> int:
    return integer(metadata(obj).get("resourceVersion") or "0")


@implementer(IValidatingPlugin)
class ResourceQuota(Plugin):
    name = "ResourceQuota"
    help = "Enforces the resource quotas of namespaces."
    operations = (CREATE, UPDATE)
    informers = (("", "v1", "resourcequotas"),)

    def setup(self) -> None:
        self.index_namespaces(0)
        self._locks: dict[str, DeferredLock] = {}
        #: Quotas as written by this plugin, until the informer has caught up.
        self._written: dict[tuple[str, str], Object] = {}

    def interested(self, resource: Resource, subresource: str) -> bool:
        ignored = resource.group == "" and resource.plural == "events"
        return resource.namespaced and resource.stored and not subresource and not ignored

    async def validate(self, review: Review) -> None:
        resource = review.resource
        if review.object is None:
            return
        if review.operation == UPDATE and not (resource.row.quota and resource.row.quota.on_update):
            return
        await self.wait_ready(review)
        if not self.in_namespace(0, review.namespace):
            return
        delta = self._delta(review)
        if review.dry_run:
            self._check(review, delta, self._quotas(review.namespace))
            return
        lock = self._locks.setdefault(review.namespace, DeferredLock())
        await lock.acquire()
        try:
            await self._charge(review, delta)
        finally:
            lock.release()
            if not lock.locked and not lock.waiting:
                self._locks.pop(review.namespace, None)

    def _delta(self, review: Review) -> Usage:
        used = usage_of(review.resource, review.object or {}, self.dialect)
        negative = sorted(name for name, value in used.items() if value.nano < 0)
        if negative:
            raise refuse(review, f"quota usage is negative for resource(s): {','.join(negative)}")
        if review.operation == UPDATE and review.old_object is not None:
            used = subtract(used, usage_of(review.resource, review.old_object, self.dialect))
        return {name: value for name, value in used.items() if value.nano}

    def _quotas(self, namespace: str) -> list[Object]:
        quotas = []
        for quota in self.in_namespace(0, namespace):
            key = namespace, quota["metadata"]["name"]
            written = self._written.get(key)
            if written is not None and written["metadata"].get("uid") == quota["metadata"].get("uid"):
                if _version(written) > _version(quota):
                    quota = written
                else:
                    del self._written[key]
            quotas.append(quota)
        return sorted(quotas, key=lambda q: q["metadata"]["name"])

    def _check(self, review: Review, delta: Usage, quotas: list[Object]) -> list[tuple[Object, dict[str, str]]]:
        """The quotas to update, each with its new ``status.used``. Raises ApiError 403."""
        changed = []
        for quota in quotas:
            status = quota.get("status") or {}
            hard = amounts(status.get("hard"))
            names = [n for n in hard if concerns(review.resource, n, self.dialect)]
            if not names or not in_scopes(review.resource, review.object or {}, quota):
                continue
            used = amounts(status.get("used"))
            self._check_known(review, quota, names, used)
            asked = {n: delta[n] for n in names if n in delta}
            if not asked:
                continue
            new = add(used, asked)
            _check_hard(review, quota, asked, used, new, hard)
            changed.append((quota, {n: str(v) for n, v in new.items()}))
        return changed

    def _check_known(self, review: Review, quota: Object, names: list[str], used: Mapping[str, Quantity]) -> None:
        title = quota["metadata"]["name"]
        if review.resource.plural == "pods" and review.resource.group == "":
            missing = unspecified(review.object or {}, names, self.dialect)
            if missing:
                raise refuse(review, f"failed quota: {title}: must specify {','.join(missing)}")
        if any(n not in used for n in names):
            raise refuse(review, f"status unknown for quota: {title}, resources: {','.join(sorted(names))}")

    async def _charge(self, review: Review, delta: Usage) -> None:
        charged: set[str] = set()
        fresh: dict[str, Object] = {}
        for attempt in range(_ATTEMPTS):
            quotas = [fresh.get(q["metadata"]["name"], q) for q in self._quotas(review.namespace)]
            quotas = [q for q in quotas if q["metadata"]["name"] not in charged]
            raced: list[str] = []
            for quota, used in self._check(review, delta, quotas):
                name = quota["metadata"]["name"]
                try:
                    await self._write(review.namespace, quota, used)
                    charged.add(name)
                except ApiError as error:
                    if error.code not in (404, 409) or attempt == _ATTEMPTS - 1:
                        raise
                    raced.append(name)
            if not raced:
                return
            for name in raced:
                live = await self._live(review.namespace, name)
                if live is None:
                    # Deleted: it no longer limits the write.
                    charged.add(name)
                else:
                    fresh[name] = live

    async def _write(self, namespace: str, quota: Object, used: Mapping[str, str]) -> None:
        status: dict[str, Any] = {**(quota.get("status") or {}), "used": dict(used)}
        name = quota["metadata"]["name"]
        body = {"apiVersion": "v1", "kind": "ResourceQuota", **quota, "status": status}
        written = await self.context.client.update(QUOTAS, namespace, name, body, subresource="status")
        if len(self._written) >= _REMEMBERED:
            self._written.clear()
        self._written[(namespace, name)] = written

    async def _live(self, namespace: str, name: str) -> Object | None:
        try:
            found: Object = await self.context.client.get(QUOTAS, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return found


def _check_hard(
    review: Review, quota: Object, asked: Usage, used: Mapping[str, Quantity], new: Usage, hard: Mapping[str, Quantity]
) -> None:
    over = [n for n in asked if new[n] > hard[n]]
    if over:
        raise refuse(
            review,
            f"exceeded quota: {quota['metadata']['name']}, requested: {format_amounts({n: asked[n] for n in over})}, "
            f"used: {format_amounts({n: used[n] for n in over})}, limited: {format_amounts({n: hard[n] for n in over})}",
        )
