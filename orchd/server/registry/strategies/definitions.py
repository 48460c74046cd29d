"""CustomResourceDefinitions: records stored versions and dropped rules; deletion waits for the instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.crd.conditions import FINALIZER, TERMINATING, with_condition
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check.definitions import dropped_rules
from orchd.kinds.objects.schema_check.formats import unknown_formats
from orchd.kinds.objects.schema_check.limits import LongValidationError
from orchd.kinds.objects.schema_check.rules import GATE
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import apiextensions
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.times import timestamp
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy
from orchd.txkit.compute_thread import LARGE


def _with_storage_version(obj: Object) -> Object:
    """`obj` with its storage version added to status.storedVersions."""
    status = fields.status(obj)
    stored_versions = list(status.get("storedVersions") or ())
    name = next((v["name"] for v in fields.spec(obj).get("versions") or () if v.get("storage")), None)
    if name is None or name in stored_versions:
        return obj
    return {**obj, "status": {**status, "storedVersions": [*stored_versions, name]}}


def _no_warnings(settings: ObjectSettings, obj: Object, old: Object | None) -> Sequence[str]:
    return ()


def _formats(settings: ObjectSettings, definition: Object | None) -> list[str]:
    """The unknown formats of all schemas of a definition."""
    spec = fields.spec(definition or {})
    schemas = [spec.get("validation"), *(version.get("schema") for version in spec.get("versions") or ())]
    return [name for schema in schemas for name in unknown_formats(fields.mapping(schema, "openAPIV3Schema"), settings)]


def _warn_of_formats(settings: ObjectSettings, obj: Object, old: Object | None) -> Sequence[str]:
    """Formats that are not checked, except those that the stored definition has."""
    old_formats = set(_formats(settings, old))
    return [f"unrecognized format {quote(name)}" for name in _formats(settings, obj) if name not in old_formats]


#: Warnings about definitions, from a release on.
_WARNINGS: Final = (("", _no_warnings), ("1.34", _warn_of_formats))


class DefinitionStrategy(Strategy):
    """The first delete only marks a definition; the definition reconciler deletes the instances and the finalizer."""

    two_phase_deletion = True

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        #: True if this API version has weaker validation than the storage version.
        self._old_form = resource.version == "v1beta1"

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj, count = self._without_rules(context, obj)
        return self._with_dropped(context, _with_storage_version(super().prepare_create(context, obj)), count)

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        if context.subresource == "status":
            return super().prepare_update(context, obj, old)
        obj, count = self._without_rules(context, obj)
        obj = _with_storage_version(super().prepare_update(context, obj, old))
        return self._with_dropped(context, obj, count) if count or obj.get("spec") != old.get("spec") else obj

    def _without_rules(self, context: Context, obj: Object) -> tuple[Object, int]:
        """The definition without rules, if their feature is off, and how many it had, of which the client is warned."""
        if self.settings.feature(GATE):
            return obj, 0
        obj, count = dropped_rules.without_rules(obj, self.settings.dialect)
        if count:
            context.warn(dropped_rules.warning(count, self.settings.dialect))
        return obj, count

    def _with_dropped(self, context: Context, obj: Object, count: int) -> Object:
        status = fields.status(obj)
        changed = dropped_rules.with_dropped(status, count, self.settings.dialect, now=timestamp(context.now))
        return obj if changed == status else {**obj, "status": changed}

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        _leave_reactor(context)
        if not self._old_form:
            return super().validate_create(context, obj)
        report = Report(self.settings)
        apiextensions.create(obj, report, old_form=True)
        return report.causes

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        if context.subresource != "status":
            _leave_reactor(context)
        if not self._old_form or context.subresource:
            return super().validate_update(context, obj, old)
        report = Report(self.settings)
        apiextensions.update(obj, old, report, old_form=True)
        return report.causes

    def warnings(self, context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        return () if context.subresource else self.settings.release.choose(_WARNINGS)(self.settings, obj, old)

    def blocks_deletion(self, obj: Object) -> bool:
        return not obj["metadata"].get("deletionTimestamp")

    def prepare_deletion(self, context: Context, obj: Object, old: Object) -> Object:
        # The propagation policy is ignored: instances are a definition's only dependents.
        finalizers = list(old["metadata"].get("finalizers") or ())
        finalizer = self.settings.dialect(FINALIZER)
        if finalizer not in finalizers:
            finalizers.append(finalizer)
        text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        now = timestamp(context.now)
        status = with_condition(fields.status(obj), TERMINATING, "True", "InstanceDeletionPending", text, now=now)
        return {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}, "status": status}

    def completes_deletion(self, context: Context, obj: Object, old: Object) -> bool:
        return not obj["metadata"].get("finalizers") and bool(old["metadata"].get("deletionTimestamp"))


def _leave_reactor(context: Context) -> None:
    """Raise LongValidationError: a small definition, too, may have many patterns and rules to be compiled."""
    if context.size <= LARGE:
        raise LongValidationError
