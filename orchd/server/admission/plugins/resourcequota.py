"""ResourceQuota: rejects writes that exceed a quota of their namespace, and records usage.

Usage is added to the status of every matching quota before the object is stored, guarded by the quota's version, so
that concurrent writes cannot exceed it together. Within this process, writes of one namespace that arrive while a
status is written are checked together afterwards, so that one status update records the usage of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, TimeoutError
from zope.interface import implementer

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.digits import integer
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, subtract
from orchd.kinds.objects.quota.limited import LimitedResource, uncovered_names, uncovered_scopes
from orchd.kinds.objects.quota.usage import usage_of
from orchd.server.admission.interfaces import CREATE, UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.quota_ledger import Ledger
from orchd.txkit.background import Background
from orchd.txkit.timeouts import within
from orchd.txkit.turns import shared_budget

QUOTAS = ResourceRef("", "v1", "resourcequotas")
_ATTEMPTS = 4
_REMEMBERED = 1024
#: Maximum seconds that a write waits for the check.
_PATIENCE = 10.0


class _Waiter:
    """A write that waits for its check. `charged` names the quotas whose status has its usage."""

    def __init__(self, review: Review, delta: Usage) -> None:
        self.review = review
        self.delta = delta
        self.charged: set[str] = set()
        #: Fires when the usage is recorded, fails with an ApiError if the write is rejected.
        self.outcome: Deferred[None] = Deferred()
        self.settled = False

    def settle(self, error: Exception | None = None) -> None:
        """Set the outcome. Further calls have no effect, nor have calls for a write that has stopped waiting."""
        if self.settled:
            return
        self.settled = True
        if error is None:
            self.outcome.callback(None)
        else:
            self.outcome.errback(error)


def _version(obj: Object) -> int:
    return integer(fields.metadata(obj).get("resourceVersion") or "0")


@implementer(IValidatingPlugin)
class ResourceQuota(Plugin):
    name = "ResourceQuota"
    help = "Enforces the resource quotas of namespaces."
    operations = (CREATE, UPDATE)
    informers = (("", "v1", "resourcequotas"),)

    def setup(self) -> None:
        self.index_namespaces("resourcequotas")
        self._limited: Sequence[LimitedResource] = (self.context.settings.configuration or {}).get(
            "limitedResources"
        ) or ()
        for index, each in enumerate(self._limited):
            if not each["resource"]:
                raise ValueError(f"limitedResources[{index}].resource: Required value")
        #: Writes to be checked, by namespace; a namespace is here while it is being served.
        self._waiting: dict[str, list[_Waiter]] = {}
        self._serving = Background()
        reactor = self.context.runtime.reactor
        self._turns = None if reactor is None else shared_budget(reactor)
        #: Quotas as written by this plugin, until the informer has caught up.
        self._written: dict[tuple[str, str], Object] = {}

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        ignored = resource.group == "" and resource.plural == "events"
        if subresource:
            return resource.row.quota is not None and subresource in resource.row.quota.subresources
        return resource.namespaced and resource.stored and not ignored

    async def validate(self, review: Review) -> None:
        resource = review.resource
        if review.object is None:
            return
        changes = review.subresource or (resource.row.quota is not None and resource.row.quota.on_update)
        if review.operation == UPDATE and not changes:
            return
        await self.wait_ready(review)
        if not self._limited and not self.in_namespace("resourcequotas", review.namespace):
            return
        delta = self._delta(review)
        ledgers = [ledger for ledger in self._ledgers(review.namespace) if ledger.concerns(review)]
        if self._limited and delta:
            self._check_covered(review, ledgers)
        if not ledgers:
            return
        if review.dry_run:
            for ledger in ledgers:
                ledger.check(review, delta)
            return
        await self._charge(review, delta)

    def _check_covered(self, review: Review, ledgers: list[Ledger]) -> None:
        """Raises ApiError if the write consumes a limited resource, or is in a limited scope, that no quota covers."""
        for ledger in ledgers:
            ledger.check_known(review)
        resource, obj = review.resource, review.object or {}
        covered = {name for ledger in ledgers for name in ledger.names(resource)}
        names = uncovered_names(self._limited, resource, usage_of(resource, obj, self.dialect), covered)
        if names:
            raise refuse(review, f"insufficient quota to consume: {','.join(names)}")
        scopes = uncovered_scopes(self._limited, resource, obj, self._quotas(review.namespace))
        if scopes:
            scopes_text = " ".join(f"{{{each.name} {each.operator} [{' '.join(each.values)}]}}" for each in scopes)
            raise ApiError(500, "", f"insufficient quota to match these scopes: [{scopes_text}]")

    def _delta(self, review: Review) -> Usage:
        used = usage_of(review.resource, review.object or {}, self.dialect)
        negative = sorted(name for name, value in used.items() if value.nano < 0)
        if negative:
            raise refuse(review, f"quota usage is negative for resource(s): {','.join(negative)}")
        if review.old_object is not None:
            used = subtract(used, usage_of(review.resource, review.old_object, self.dialect))
        # The controller of quotas finds out what has become less.
        return {name: value for name, value in used.items() if value.nano > 0}

    def _quotas(self, namespace: str) -> list[Object]:
        quotas = []
        for quota in self.in_namespace("resourcequotas", namespace):
            key = namespace, quota["metadata"]["name"]
            written = self._written.get(key)
            if written is not None and written["metadata"].get("uid") == quota["metadata"].get("uid"):
                if _version(written) > _version(quota):
                    quota = written
                else:
                    del self._written[key]
            quotas.append(quota)
        return sorted(quotas, key=lambda q: q["metadata"]["name"])

    def _ledgers(self, namespace: str) -> list[Ledger]:
        return [Ledger(quota, self.dialect, self.context.settings.release) for quota in self._quotas(namespace)]

    async def _charge(self, review: Review, delta: Usage) -> None:
        """Record the usage of a write in all quotas that limit it. Raises ApiError 403 if it exceeds one."""
        waiter = _Waiter(review, delta)
        waiting = self._waiting.get(review.namespace)
        if waiting is None:
            self._waiting[review.namespace] = [waiter]
            self._serving.add(self._serve(review.namespace), f"quotas of namespace {review.namespace}")
        else:
            waiting.append(waiter)
        try:
            if self.context.runtime.reactor is None:
                await waiter.outcome
            else:
                await within(waiter.outcome, _PATIENCE, self.context.runtime.reactor)
        except TimeoutError as error:
            raise errors.internal("resource quota evaluation timed out") from error
        finally:
            waiter.settled = True
        if self._turns is not None:
            await self._turns.wait()

    async def _serve(self, namespace: str) -> None:
        """Check the waiting writes of a namespace until none is left."""
        try:
            while self._waiting[namespace]:
                batch, self._waiting[namespace] = self._waiting[namespace], []
                try:
                    await self._charge_together(namespace, batch)
                except Exception as error:  # each write must get an outcome, and those that follow must be checked
                    for waiter in batch:
                        waiter.settle(error)
        finally:
            del self._waiting[namespace]

    async def _charge_together(self, namespace: str, batch: list[_Waiter]) -> None:
        """Check writes in their order, and write the status of each changed quota once. Of quotas that were changed by
        others meanwhile, the live state is checked again."""
        fresh: dict[str, Object] = {}
        for left in reversed(range(_ATTEMPTS)):
            charges: dict[str, tuple[Ledger, list[_Waiter]]] = {}
            ledgers = [
                Ledger(fresh.get(q["metadata"]["name"], q), self.dialect, self.context.settings.release)
                for q in self._quotas(namespace)
            ]
            for waiter in batch:
                if not waiter.settled:
                    self._add(waiter, [each for each in ledgers if each.name not in waiter.charged], charges)
            for ledger, charged in charges.values():
                try:
                    await self._write(namespace, ledger)
                except ApiError as error:
                    if error.code not in (404, 409) or not left:
                        for waiter in charged:
                            waiter.settle(error)
                        continue
                    live = await self._live(namespace, ledger.name)
                    if live is not None:
                        fresh[ledger.name] = live
                        continue
                    # Deleted: it no longer limits the writes.
                for waiter in charged:
                    waiter.charged.add(ledger.name)
            for waiter in batch:
                if all(ledger.name in waiter.charged for ledger, charged in charges.values() if waiter in charged):
                    waiter.settle()

    def _add(self, waiter: _Waiter, ledgers: list[Ledger], charges: dict[str, tuple[Ledger, list[_Waiter]]]) -> None:
        """Add the usage of a write to the ledgers that count it, and the write to their charges; to none if one rejects
        it."""
        concerned = [ledger for ledger in ledgers if ledger.concerns(waiter.review)]
        try:
            asked = [ledger.check(waiter.review, waiter.delta) for ledger in concerned]
        except ApiError as error:
            waiter.settle(error)
            return
        for ledger, usage in zip(concerned, asked, strict=True):
            if usage:
                ledger.add(usage)
                charges.setdefault(ledger.name, (ledger, []))[1].append(waiter)

    async def _write(self, namespace: str, ledger: Ledger) -> None:
        status: dict[str, Any] = {**fields.status(ledger.quota), "used": ledger.used}
        body = {"apiVersion": "v1", "kind": "ResourceQuota", **ledger.quota, "status": status}
        written = await self.context.api.client.update(QUOTAS, namespace, ledger.name, body, subresource="status")
        if len(self._written) >= _REMEMBERED:
            self._written.clear()
        self._written[(namespace, ledger.name)] = written

    async def _live(self, namespace: str, name: str) -> Object | None:
        try:
            quota: Object = await self.context.api.client.get(QUOTAS, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return quota
