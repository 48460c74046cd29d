"""The strategy of custom kinds: rules from their definition only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd import errors
from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert, default
from orchd.kinds.objects.schema_check import objects as check
from orchd.kinds.objects.schema_check.limits import Limits
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.names import qualified_name
from orchd.kinds.patch.fieldset import of_paths
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy
from orchd.txkit.compute_thread import LARGE


def _no_warnings(settings: ObjectSettings, obj: Object, old: Object | None) -> Sequence[str]:
    return ()


def _warn_of_finalizers(settings: ObjectSettings, obj: Object, old: Object | None) -> Sequence[str]:
    """New finalizers whose names others may use too."""
    before = fields.metadata(old or {}).get("finalizers") or ()
    out: list[str] = []
    for name in sorted(set(fields.metadata(obj).get("finalizers") or ()).difference(before)):
        texts = [str(text) for text in qualified_name(name)]
        if "/" not in name and name not in ("orphan", "foregroundDeletion", settings.dialect("{long}")):
            path = " including a path (/)" if "." in name else ""
            texts.append(
                f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
        out += (f"metadata.finalizers: {quote(name)}: {text}" for text in texts)
    return out


#: Warnings about objects of custom kinds, from a release on.
_WARNINGS: Final = (("", _no_warnings), ("1.29", _warn_of_finalizers))


class CustomStrategy(Strategy):
    """One version of a custom kind. Schemas are those of the requested version."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        self._catalog = catalog
        self._stores_status = "status" in resource.subresources
        self.has_status = self._stores_status
        status = catalog.storage_type(resource).fields.get("status") if self._stores_status else None
        self._usual_status = status is not None and status.default is not None
        self._resets = {"": of_paths(("f:status",)) if self._stores_status else {}, "status": of_paths(("f:spec",))}

    # -- create

    def prepare_create(self, context: Context, obj: Object) -> Object:
        self._check_identity(obj)
        if self._stores_status:
            obj = _without_status(obj)
            if self._usual_status:
                # Objects are defaulted when they are read, which is done here once.
                obj = default.fill(obj, self._catalog.storage_type(self.resource), self.settings)
        return fields.with_metadata(obj, generation=1)

    def _check_identity(self, obj: Object) -> None:
        """Raises 422 for an object of another kind; further validation would be meaningless."""
        if obj.get("kind") != self.resource.kind:
            causes = check.identity_causes({**obj, "apiVersion": self.resource.api_version}, self.resource)
            name = fields.metadata(obj).get("name", "")
            raise errors.invalid(self.resource.group, obj.get("kind") or "", name, causes)

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        return check.create_causes(self._to_requested(obj), self.resource, self.settings, limits=_limits(context))

    def _to_requested(self, obj: Object) -> Object:
        """An object of the storage version in the requested version, whose schema it must satisfy."""
        if obj["apiVersion"] == self.resource.api_version:
            return obj
        return convert.convert(obj, self.resource.api_version, self._catalog)

    # -- update

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        self._check_identity(obj)
        if context.subresource == "status":
            return self.status_update(obj, old)
        if self._stores_status:
            obj = _without_status(obj)
            if "status" in old:
                obj["status"] = old["status"]
        return self.raise_generation(obj, old)

    def status_update(self, obj: Object, old: Object) -> Object:
        """Only status and managedFields change."""
        kept = {key: value for key, value in old.items() if key not in ("metadata", "status")}
        metadata = dict(old["metadata"])
        metadata.pop("managedFields", None)
        managed = obj["metadata"].get("managedFields")
        if managed:
            metadata["managedFields"] = managed
        kept["metadata"] = metadata
        if "status" in obj:
            kept["status"] = obj["status"]
        return kept

    def raise_generation(self, obj: Object, old: Object) -> Object:
        """Every field except metadata counts."""
        names = (obj.keys() | old.keys()) - {"metadata"}
        if all(name in obj and name in old and obj[name] == old[name] for name in names):
            return obj
        generation = (old["metadata"].get("generation") or 0) + 1
        return fields.with_metadata(obj, generation=generation)

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        return check.update_causes(
            self._to_requested(obj), self._to_requested(old), self.resource, self.settings,
            subresource=context.subresource, limits=_limits(context), warn=context.warn,
        )  # fmt: skip

    def warnings(self, context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        return () if context.subresource else self.settings.release.choose(_WARNINGS)(self.settings, obj, old)


def _limits(context: Context) -> Limits:
    return Limits(quick=context.size <= LARGE, interrupted=context.interrupted)


def _without_status(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "status"}
