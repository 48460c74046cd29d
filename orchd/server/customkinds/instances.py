"""Deletes the instances of a custom kind when its definition is deleted."""

from __future__ import annotations

from collections.abc import Callable

from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import CustomKind
from orchd.kinds.users import User
from orchd.server.registry.interfaces import Context, IRegistry
from orchd.server.registry.operations import Delete


class Instances:
    """Deletes through the registry: with admission and finalizers, and also if no version is served any more."""

    def __init__(self, registry: IRegistry, user: User, wall: Callable[[], float]) -> None:
        self._registry = registry
        self._user = user
        self._wall = wall

    async def delete(self, kind: CustomKind) -> int:
        """Delete every object of `kind`; returns the number of remaining objects, blocked by finalizers."""
        registry, resource = self._registry, kind.stored
        cache = registry.cache(resource)
        await cache.fresh()
        for entry in cache.page().entries:
            namespace, _, name = entry.path.rpartition("/")
            await self._delete(resource, namespace, name)
        await cache.fresh()
        return len(cache.page().entries)

    async def _delete(self, resource: Resource, namespace: str, name: str) -> None:
        context = Context(user=self._user, resource=resource, namespace=namespace, now=self._wall())
        try:
            await self._registry.delete(context, Delete(name=name))
        except ApiError as error:
            # Deleted concurrently counts as success; other failures show in the remaining objects.
            if error.code not in (404, 409):
                raise
