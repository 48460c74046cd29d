"""The default strategy, driven by tables, and base class of kind-specific ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zope.interface import implementer

from orchd.errors import Cause
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.ir import Type
from orchd.kinds.objects import feature_gates, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.patch.fieldset import FieldSet, of_paths
from orchd.server.registry.interfaces import Context, IStrategy, Object
from orchd.server.registry.strategies import kind_rules

_NO_CLAIMS: frozenset[str] = frozenset()


def nothing_taken() -> None:
    """Release function of a write that allocated nothing."""


def _member(obj: Object, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for name in path:
        value = (value or {}).get(name)
    return value


@implementer(IStrategy)
class Strategy:
    """Facts by plural, and the rules that apply to every kind with a status."""

    grace = False
    ends_in_two = False
    waits_for_content = False
    unless_orphaned = ""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        """`resource` is any served version; objects are in its storage version."""
        plural = resource.plural
        self.resource = resource
        self.settings = settings
        self.type: Type = catalog.storage_type(resource)
        self.creates_on_update = plural in kind_rules.CREATES_ON_UPDATE
        self.unconditional_update = plural not in kind_rules.GUARDED
        self.returns_deleted = plural in kind_rules.RETURNS_DELETED
        self.propagation = "" if plural in kind_rules.UNCOLLECTED else "Background"
        if resource.api_version in kind_rules.ORPHANS.get(plural, ()):
            self.propagation = "Orphan"
        self.has_status = "status" in resource.subresources and "status" in self.type.fields
        self._generation = kind_rules.GENERATION.get(plural)
        self._kept_metadata = kind_rules.STATUS_KEEPS_METADATA.get(plural, ())
        self._empty_status: Any = None
        self._reset_on_main = of_paths(("f:status",)) if self.has_status else {}
        self._reset_on_status = of_paths(*(p for p in kind_rules.STATUS_KEEPS.get(plural, kind_rules.STATUS_KEEPS[""])))

    # -- create

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = feature_gates.drop_disabled(obj, None, self.type, self.settings)
        if self.has_status and self.resource.plural not in kind_rules.KEEPS_STATUS:
            obj = self.with_status(obj, self.empty_status())
        if self._generation is not None and self.resource.plural not in kind_rules.UNNUMBERED:
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
        """`obj` with another status; an empty one is left out where the kind's table says so."""
        if not status and self.type.fields["status"].omit and self.type.fields["status"].ptr:
            return {k: v for k, v in obj.items() if k != "status"}
        return {**obj, "status": status}

    def reset_fields(self, subresource: str) -> FieldSet:
        return self._reset_on_status if subresource == "status" else self._reset_on_main

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
        """A change through the status endpoint: everything else stays, except metadata that clients may change."""
        kept = {k: v for k, v in old.items() if k not in ("metadata", "status")}
        kept["metadata"] = self._with_old(obj["metadata"], old["metadata"])
        if "status" in obj:
            kept["status"] = obj["status"]
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
        return validation.validate_update(obj, old, self.resource, self.settings, subresource=context.subresource)

    def warnings(self, context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        if context.subresource:
            return ()
        return validation.warnings(obj, self.resource, self.settings, old=old)

    async def allocate(self, context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        return obj, nothing_taken

    def claims(self, obj: Object) -> frozenset[str]:
        return _NO_CLAIMS

    def ttl(self, obj: Object) -> int | None:
        return None

    # -- delete

    def deletion_warnings(self, options: Mapping[str, Any]) -> Sequence[str]:
        return ()

    def gone_after_update(self, context: Context, obj: Object, old: Object) -> bool:
        metadata, before = obj["metadata"], old["metadata"]
        if metadata.get("finalizers") or self.holds(obj):
            return False
        return bool(before.get("deletionTimestamp")) and before.get("deletionGracePeriodSeconds") == 0

    def holds(self, obj: Object) -> bool:
        return False

    def deletion_error(self, name: str) -> str:
        return ""

    def prepare_deletion(self, context: Context, obj: Object, old: Object) -> Object:
        return obj

    def deletion_grace(self, obj: Object, options: Mapping[str, Any]) -> int:
        return 0
