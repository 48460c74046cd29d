"""`Registry`: reads and writes of every resource, the entry point of this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zope.interface import implementer

from orchd import errors
from orchd.cache.entries import Entry
from orchd.cache.interfaces import ICache
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.list_query import ListQuery
from orchd.server.registry import objectmeta, reads
from orchd.server.registry.deletion import Deleter
from orchd.server.registry.interfaces import Context, Deleted, IAdmission, IRegistry, IStrategy, ListPage, Written
from orchd.server.registry.object_store import ObjectStore, path_of
from orchd.server.registry.operations import Delete, Write
from orchd.server.registry.strategies.table import Strategies
from orchd.server.registry.writing import Writer
from orchd.txkit.compute_thread import ComputeThread


@implementer(IRegistry)
class Registry:
    """One server's objects. Admission is a contract, so that this package does not import it."""

    def __init__(
        self,
        access: ObjectStore,
        strategies: Strategies,
        naming: objectmeta.Naming,
        admission: IAdmission,
        *,
        compute: ComputeThread | None = None,
    ) -> None:
        """`compute` computes large objects away from the reactor; without it they are computed where they are."""
        self.access = access
        self.strategies = strategies
        self._compute = compute = compute or ComputeThread()
        self._reads = reads.ReadRules.of(access.settings.release)
        self._writer = Writer(access, strategies, naming, admission, compute)
        self._deleter = Deleter(access, strategies, admission, compute)

    async def get(self, resource: Resource, namespace: str, name: str, *, resource_version: str = "") -> Entry:
        if not name:
            raise errors.bad_request("Name parameter required.")
        path = path_of(resource, namespace, name)
        entry = await reads.read_entry(self.access.cache(resource), resource, path, resource_version)
        if entry is None:
            raise errors.not_found(resource.group, resource.plural, name)
        if resource.converter is None:
            return entry
        return (await self.access.to_requested_version(resource, [entry]))[0]

    async def list(self, query: ListQuery) -> ListPage:
        page = await reads.read_page(self.access.dialect, self.access.cache(query.resource), query, self._reads)
        if query.resource.converter is not None:
            page = replace(page, entries=await self.access.to_requested_version(query.resource, page.entries))
        return page

    async def to_requested_version(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        return await self.access.to_requested_version(resource, entries)

    def cache(self, resource: Resource) -> ICache:
        return self.access.cache(resource)

    def strategy(self, resource: Resource) -> IStrategy:
        return self.strategies(resource)

    async def deleted_entry(self, resource: Resource, namespace: str, deleted: Deleted) -> Entry:
        path = path_of(resource, namespace, deleted.object["metadata"].get("name", ""))
        return await self._compute(deleted.size, self.access.transient_entry, resource, path, deleted.object)

    async def write(self, context: Context, operation: Write) -> Written:
        written = await self._writer.write(context, operation)
        if context.resource.converter is None:
            return written
        return replace(written, entry=(await self.access.to_requested_version(context.resource, [written.entry]))[0])

    async def transform(self, context: Context, operation: Write, live: Object | None) -> Object:
        return await self._writer.transformer.transform(context, operation, live)

    async def delete(self, context: Context, operation: Delete) -> Deleted:
        deleted = await self._deleter.delete(context, operation)
        if deleted.gone or context.resource.converter is None:
            return deleted
        (obj,) = await self.access.versions.to_requested(context.resource, (deleted.object,))
        return replace(deleted, object=obj)
