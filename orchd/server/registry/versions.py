"""`Versions`: the three conversions of a write.

An object is converted to the requested version (that of the URL), to the working version (in which the write sequence
computes) or to the stored version. Working and stored version are the same, the storage version, except for custom
kinds with a conversion webhook: these are processed in the requested version, and converted for the store and from
other stored versions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from orchd import errors
from orchd.kinds.bounds import exceeds
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert, default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.txkit.compute_thread import LARGE, ComputeThread

#: `conversion(resource, objects, to)`: the objects in the version with apiVersion `to`.
Conversion = Callable[[Resource, Sequence[Object], str], Awaitable[list[Object]]]


def size_of(objects: Sequence[Object]) -> int:
    """The size of objects for `ComputeThread`: whatever a webhook has made of smaller ones, more than `LARGE` if they
    are."""
    return LARGE + 1 if exceeds(objects, LARGE) else 0


def _shaped(objects: Sequence[Object], converted: Sequence[Object], type_: Type) -> list[Object]:
    """The converted objects in canonical shape. Raises ShapeError."""
    return [new if new is old else shape.canonical(new, type_) for old, new in zip(objects, converted, strict=True)]


class Versions:
    """Objects go in in any version of their kind. All conversions raise ApiError 500 when a webhook fails."""

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        settings: ObjectSettings,
        conversion: Conversion | None,
        compute: ComputeThread,
    ) -> None:
        """`catalog` returns the current catalog; `conversion` converts objects of kinds with a conversion webhook,
        `compute` large ones of others."""
        self._catalog = catalog
        self._settings = settings
        self._conversion = conversion
        self._compute = compute

    async def to_requested(self, resource: Resource, objects: Sequence[Object], size: int = 0) -> Sequence[Object]:
        """Objects in the version of `resource`, in their order. `size` is that of their JSON in bytes, if it may be
        large."""
        return await self._convert(resource, objects, resource.api_version, resource.type, size)

    async def to_working(self, resource: Resource, obj: Object, size: int = 0) -> Object:
        """An object in the version of the write sequence. `size` is that of its JSON in bytes, if it may be large."""
        if resource.converter is None:
            return (await self._convert(resource, (obj,), resource.storage_version, None, size))[0]
        return (await self._convert(resource, (obj,), resource.api_version, resource.type))[0]

    async def to_stored(self, resource: Resource, obj: Object) -> Object:
        """An object of the working version in the stored one, with that version's defaults; defaults of other versions
        are applied on reads. Raises ApiError 500 for an object of another kind too."""
        out = obj
        if resource.converter is not None:
            type_ = self._catalog().storage_type(resource)
            (out,) = await self._convert(resource, (obj,), resource.storage_version, type_)
            if out is not obj:
                out = default.fill(out, type_, self._settings)
        elif resource.custom and resource.api_version != resource.storage_version:
            out = default.fill(out, self._catalog().storage_type(resource), self._settings)
        head = out.get("apiVersion"), out.get("kind")
        if head != (resource.storage_version, resource.kind):
            # Lists are joined from stored bytes: all objects must be of this kind.
            what = f"{resource.kind} of {resource.storage_version}"
            raise errors.internal(f"an object of kind {head[1]} and version {head[0]} cannot be stored as {what}")
        return out

    async def _convert(
        self, resource: Resource, objects: Sequence[Object], to: str, type_: Type | None, size: int = 0
    ) -> Sequence[Object]:
        """`type_` is the type of the version `to`, which the response of a webhook must match."""
        if all(obj["apiVersion"] == to for obj in objects):
            return objects
        if resource.converter is None:
            catalog = self._catalog()
            return [await self._compute(size, convert.convert, obj, to, catalog) for obj in objects]
        if self._conversion is None:
            return objects
        converted = await self._conversion(resource, objects, to)
        assert type_ is not None
        try:
            return await self._compute(size_of(converted), _shaped, objects, converted, type_)
        except shape.ShapeError as error:
            raise errors.internal(f"conversion made an object that is no {resource.kind}: {error}") from None

    def canonicalize(self, resource: Resource, obj: Object, earlier: Object | None = None) -> Object:
        """Canonical shape and defaults, which parts of `earlier` have, of an object in the working version, after
        admission changed it."""
        type_ = resource.type if resource.converter is not None else self._catalog().storage_type(resource)
        try:
            shaped = shape.canonical(obj, type_, earlier)
        except shape.ShapeError as error:
            # Errors in an object that admission produced are not client errors.
            raise errors.internal(f"admission left an object that is no {resource.kind}: {error}") from None
        return default.fill(shaped, type_, self._settings, earlier)
