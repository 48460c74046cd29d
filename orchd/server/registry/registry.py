"""`Registry`: reads and writes of every resource, the entry point of this package."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from zope.interface import implementer

from orchd import errors
from orchd.cache.interfaces import Entry, ICache, Page
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.list_options import ListOptions, Selection, cached, selection, validate_options
from orchd.server.registry import objectmeta, reads
from orchd.server.registry.deletion import Deleter
from orchd.server.registry.interfaces import Admit, Context, Deleted, IRegistry, IStrategy, Object, Transform
from orchd.server.registry.object_store import ObjectStore, path_of
from orchd.server.registry.strategies.table import Strategies
from orchd.server.registry.writing import Writer
from orchd.txkit.aside import Aside


@implementer(IRegistry)
class Registry:
    """One server's objects. Admission is passed as two callables, so that this package does not import it."""

    def __init__(
        self,
        access: ObjectStore,
        strategies: Strategies,
        naming: objectmeta.Naming,
        *,
        mutate: Admit,
        validate: Admit,
        aside: Aside | None = None,
    ) -> None:
        """`aside` validates large objects away from the reactor; without it they are validated where they are."""
        self.access = access
        self.strategies = strategies
        self.naming = naming
        self.mutate = mutate
        self.validate = validate
        self._writer = Writer(access, strategies, naming, mutate=mutate, validate=validate, aside=aside or Aside())
        self._deleter = Deleter(access, strategies, mutate=mutate, validate=validate)

    async def get(self, resource: Resource, namespace: str, name: str, *, resource_version: str = "") -> Entry:
        if not name:
            raise errors.bad_request("Name parameter required.")
        path = path_of(resource, namespace, name)
        entry = await reads.read_entry(
            self.access.cache(resource), path, resource_version, cached=cached(resource)
        )
        if entry is None:
            raise errors.not_found(resource.group, resource.plural, name)
        return (await self.access.to_requested_version(resource, [entry]))[0]

    async def list(
        self, resource: Resource, namespace: str, options: ListOptions
    ) -> tuple[Page, str, Selection]:
        validate_options(self.access.dialect, options)
        chosen = selection(resource, options.label_selector, options.field_selector)
        prefix = f"{namespace}/" if namespace and resource.namespaced else ""
        page, token = await reads.read_page(
            self.access.dialect,
            self.access.cache(resource),
            prefix,
            chosen,
            options,
            single="metadata.name" in (chosen.fields or ()) and bool(prefix or not resource.namespaced),
            cached=cached(resource),
        )
        if resource.converter is not None:
            page = dataclasses.replace(page, entries=await self.access.to_requested_version(resource, page.entries))
        return page, token, chosen

    async def to_requested_version(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        return await self.access.to_requested_version(resource, entries)

    async def translate(self, resource: Resource, obj: Object) -> Object:
        return await self.access.to_working_version(resource, obj)

    def cache(self, resource: Resource) -> ICache:
        return self.access.cache(resource)

    def strategy(self, resource: Resource) -> IStrategy:
        return self.strategies(resource)

    def transient_entry(self, resource: Resource, namespace: str, obj: Object) -> Entry:
        return self.access.transient_entry(resource, path_of(resource, namespace, obj["metadata"].get("name", "")), obj)

    async def create(self, context: Context, obj: Object) -> Entry:
        entry = await self._writer.create(context, obj)
        return (await self.access.to_requested_version(context.resource, [entry]))[0]

    async def update(
        self, context: Context, name: str, transform: Transform, *, create: bool = False, uid: str = ""
    ) -> tuple[Entry, bool]:
        entry, created = await self._writer.update(context, name, transform, create=create, uid=uid)
        return (await self.access.to_requested_version(context.resource, [entry]))[0], created

    async def delete(self, context: Context, name: str, *, options: Mapping[str, Any]) -> Deleted:
        deleted = await self._deleter.delete(context, name, options=options)
        if deleted.gone or context.resource.converter is None:
            return deleted
        return dataclasses.replace(
            deleted, object=await self.access.to_working_version(context.resource, deleted.object)
        )
