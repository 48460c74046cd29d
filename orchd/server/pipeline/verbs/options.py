"""Query parameters of verbs: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and ListOptions (meta/v1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.gotext.values import show_json
from orchd.kinds.objects.list_options import OptionRules
from orchd.kinds.objects.list_query import ListQuery
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import managers
from orchd.kinds.release import Release
from orchd.server.pipeline.interfaces import Request

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")
#: Query parameters of writes.
_PARAMETERS = frozenset(("dryRun", "fieldManager", "fieldValidation", "force"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options common to create, update and patch. `force` is None where it was not given."""

    dry_run: bool = False
    manager: str = ""
    validation: str = ""
    force: bool | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)


def number(request: Request, name: str) -> int:
    """An integer parameter, 0 without one. Raises ApiError 400 with the reference's message."""
    return request.query.number(name)


def boolean(request: Request, name: str) -> bool | None:
    """A boolean parameter: every value means true except "false" and "0"; None without one."""
    return request.query.flag(name)


def _in_go(values: Sequence[str]) -> str:
    return "[]string{" + ", ".join(f'"{v}"' for v in values) + "}"


#: Prints the values of an option in errors, from a release on.
_PRINTERS: Final[tuple[tuple[str, Callable[[Sequence[str]], str]], ...]] = (("", _in_go), ("1.34", show_json))


def _dry_run(values: Sequence[str] | None, causes: list[Cause], release: Release) -> bool:
    if not values:
        return False
    if any(v != "All" for v in values):
        message = f'Unsupported value: {release.choose(_PRINTERS)(list(values))}: supported values: "All"'
        causes.append(Cause("FieldValueNotSupported", message, "dryRun"))
    return True


def write_options(settings: ObjectSettings, request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """Options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions. Raises ApiError 422."""
    query = request.query
    if not apply and _PARAMETERS.isdisjoint(query):
        return _PLAIN
    causes: list[Cause] = []
    manager = request.param("fieldManager")
    force = boolean(request, "force") if kind == "PatchOptions" else None
    validation = request.param("fieldValidation")
    if kind == "PatchOptions":
        if apply and not manager:
            causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
        elif not apply and force is not None:
            message = "Forbidden: may not be specified for non-apply patch"
            causes.append(Cause("FieldValueForbidden", message, "force"))
    causes.extend(managers.validate_manager(manager, settings.release))
    dry_run = _dry_run(query.get("dryRun"), causes, settings.release)
    if validation not in _VALIDATIONS:
        listed = ", ".join(f'"{v}"' for v in _VALIDATIONS)
        message = f'Unsupported value: "{validation}": supported values: {listed}'
        causes.append(Cause("FieldValueNotSupported", message, "fieldValidation"))
    if causes:
        raise errors.invalid(settings.dialect.meta_group, kind, "", causes)
    options: dict[str, Any] = {}
    if dry_run:
        options["dryRun"] = ["All"]
    if manager:
        options["fieldManager"] = manager
    if validation:
        options["fieldValidation"] = validation
    if force is not None:
        options["force"] = force
    return WriteOptions(dry_run=dry_run, manager=manager, validation=validation, force=force, sent=options)


_PLAIN = WriteOptions()


def list_query(dialect: Dialect, request: Request, resource: Resource, namespace: str, rules: OptionRules) -> ListQuery:
    """The query of a list, watch or deletecollection of `resource`, by the `rules` of its options. Raises ApiError 400
    or 422."""
    assert request.info is not None
    asked = rules.complete(request.query.list_options())
    return ListQuery.of(dialect, resource, namespace, asked, rules=rules, name=request.info.name)


def delete_options(settings: ObjectSettings, request: Request, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """A DeleteOptions object from the body or, without one, from the query. Raises ApiError 400 or 422."""
    options: dict[str, Any]
    if body is None:
        options = {}
        if "gracePeriodSeconds" in request.query:
            options["gracePeriodSeconds"] = number(request, "gracePeriodSeconds")
        orphan = boolean(request, "orphanDependents")
        if orphan is not None:
            options["orphanDependents"] = orphan
        if "propagationPolicy" in request.query:
            options["propagationPolicy"] = request.param("propagationPolicy")
        if "dryRun" in request.query:
            options["dryRun"] = list(request.query["dryRun"])
        preconditions = {name: request.param(name) for name in ("uid", "resourceVersion") if request.param(name)}
        if preconditions:
            options["preconditions"] = preconditions
    else:
        options = {k: v for k, v in body.items() if k not in ("kind", "apiVersion")}
    causes: list[Cause] = []
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy is not None and orphan is not None:
        message = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        causes.append(Cause("FieldValueInvalid", message, "propagationPolicy"))
    if policy is not None and policy not in _POLICIES:
        listed = ", ".join(f'"{p}"' for p in (*_POLICIES, "nil"))
        message = f'Unsupported value: "{policy}": supported values: {listed}'
        causes.append(Cause("FieldValueNotSupported", message, "propagationPolicy"))
    _dry_run(options.get("dryRun"), causes, settings.release)
    if causes:
        raise errors.invalid(settings.dialect.meta_group, "DeleteOptions", "", causes)
    return options
