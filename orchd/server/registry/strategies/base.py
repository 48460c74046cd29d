"""The default strategy, driven by the row of the kind (`orchd.kinds.rows.KindRow`), and base class of kind-specific
ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from zope.interface import implementer

from orchd.errors import Cause
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import feature_gates, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.patch.fieldset import FieldSet, of_paths
from orchd.server.registry.interfaces import Context, IAddressRecords, IStrategy
from orchd.txkit.turns import Gathering

_NO_CLAIMS: frozenset[str] = frozenset()


def nothing_taken() -> None:
    """Release function of a write that allocated nothing."""


def _member(obj: Object, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for name in path:
        value = (value or {}).get(name)
    return value


def _paths(*paths: str) -> FieldSet:
    """The set of dotted paths."""
    return of_paths(*(tuple(f"f:{name}" for name in path.split(".")) for path in paths))


#: Subresources that return the object itself, whose rows state what they reset.
_RESETTING: Final = ("status", "approval", "ephemeralcontainers", "resize")


@implementer(IStrategy)
class Strategy:
    """The rules that the row of a kind states as data, and those of every kind with a status."""

    graceful_deletion = False
    two_phase_deletion = False
    waits_for_content = False
    dependents_finalizer = ""
    records: IAddressRecords | None = None
    gathering: Gathering | None = None

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        """`resource` is any served version; objects are in its storage version."""
        row = resource.row
        self.resource = resource
        self.row = row
        self.settings = settings
        self.type: Type = catalog.storage_type(resource)
        self.creates_on_update = row.creates_on_update
        self.creates_unnamed = row.creates_unnamed
        self.unconditional_update = row.unconditional_update
        self.returns_object = row.returns_deleted
        collected = row.collected and settings.garbage_collection
        self.default_propagation = "" if not collected else "Orphan" if row.orphans else "Background"
        status = resource.subresources.get("status")
        self._status_type = self.type.fields["status"].type if "status" in self.type.fields else None
        self.has_status = status is not None and "status" in self.type.fields and not row.writes_status
        self._generation = None if row.generation is None else tuple(tuple(path.split(".")) for path in row.generation)
        self._kept_metadata = () if status is None else status.keeps_metadata
        self._empty_status: Any = None
        #: Fields that a write of the object, or of a subresource of it, resets; "" is the object.
        self._resets = {
            "": _paths(*(("status",) if self.has_status else ()), *row.resets),
            "status": _paths("spec"),
            **{
                name: _paths(*described.resets)
                for name in _RESETTING
                if (described := resource.subresources.get(name)) is not None
            },
        }

    # -- create

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = feature_gates.drop_disabled(obj, None, self.type, self.settings)
        if self.has_status and self.row.clears_status:
            obj = self.with_status(obj, self.empty_status())
        if self._generation is not None and self.row.first_generation:
            obj = {**obj, "metadata": {**obj["metadata"], "generation": 1}}
        return obj

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        return validation.validate_create(obj, self.resource, self.settings)

    def empty_status(self) -> Any:
        """The initial status in canonical form; None where the kind omits it."""
        if self._empty_status is None:
            self._empty_status = shape.empty(self.type.fields["status"].type)
        return self._empty_status

    def with_status(self, obj: Object, status: Any) -> Object:
        """`obj` with another status; an empty one is omitted if the field has the mark omit."""
        if not status and self.type.fields["status"].omit and self.type.fields["status"].ptr:
            return {k: v for k, v in obj.items() if k != "status"}
        return {**obj, "status": status}

    def reset_fields(self, subresource: str) -> FieldSet:
        return self._resets.get(subresource, self._resets[""])

    # -- update

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        if context.subresource == "status":
            return self.status_update(obj, old)
        obj = feature_gates.drop_disabled(obj, old, self.type, self.settings)
        if self.has_status:
            obj = {k: v for k, v in obj.items() if k != "status"}
            if "status" in old:
                obj["status"] = old["status"]
        return self.raise_generation(obj, old)

    def status_update(self, obj: Object, old: Object) -> Object:
        """A change through the status endpoint: other fields are reset, except metadata that clients may change."""
        kept = {k: v for k, v in old.items() if k not in ("metadata", "status")}
        kept["metadata"] = self._with_old(obj["metadata"], old["metadata"])
        if self._status_type is not None and "status" in obj:
            kept["status"] = feature_gates.drop_disabled_status(
                obj["status"], old.get("status"), self._status_type, self.settings
            )
        return kept

    def _with_old(self, metadata: Object, old: Object) -> Object:
        if not self._kept_metadata:
            return metadata
        out = {k: v for k, v in metadata.items() if k not in self._kept_metadata}
        out.update((k, old[k]) for k in self._kept_metadata if k in old)
        return out

    def raise_generation(self, obj: Object, old: Object) -> Object:
        """Add one to metadata.generation if a field changed that the generation counts."""
        if not self._generation or all(_member(obj, m) == _member(old, m) for m in self._generation):
            return obj
        generation = (old["metadata"].get("generation") or 0) + 1
        return {**obj, "metadata": {**obj["metadata"], "generation": generation}}

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        settings = feature_gates.for_update(self.settings, old, self.type)
        return validation.validate_update(obj, old, self.resource, settings, subresource=context.subresource)

    def warnings(self, context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        if context.subresource:
            return ()
        return validation.warnings(obj, self.resource, self.settings, old=old)

    async def allocate(self, context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        return obj, nothing_taken

    def unique_values(self, obj: Object) -> frozenset[str]:
        return _NO_CLAIMS

    def recorded_values(self, obj: Object) -> frozenset[str]:
        return _NO_CLAIMS

    def observe_update(self, obj: Object, old: Object) -> None:
        """Record nothing."""

    def time_to_live(self, obj: Object) -> int | None:
        return None

    # -- delete

    def deletion_warnings(self, options: Mapping[str, Any]) -> Sequence[str]:
        return ()

    def completes_deletion(self, context: Context, obj: Object, old: Object) -> bool:
        metadata, before = obj["metadata"], old["metadata"]
        if metadata.get("finalizers") or self.blocks_deletion(obj):
            return False
        return bool(before.get("deletionTimestamp")) and before.get("deletionGracePeriodSeconds") == 0

    def blocks_deletion(self, obj: Object) -> bool:
        return False

    def deletion_error(self, name: str) -> str:
        return ""

    def prepare_deletion(self, context: Context, obj: Object, old: Object) -> Object:
        return obj

    def grace_period(self, obj: Object, options: Mapping[str, Any]) -> int:
        return 0
