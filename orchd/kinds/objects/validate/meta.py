"""Validation of ObjectMeta on create and update (specification, "Metadata")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from orchd.kinds.catalog import split_group_version
from orchd.kinds.fields import mapping, metadata
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import GoText, show
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.names import label, qualified_name, subdomain
from orchd.kinds.objects.validate.paths import METADATA, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import labels

#: The errors of a name; the flag is True for a prefix of a name.
NameRule = Callable[[str, bool], Sequence[str]]

ANNOTATIONS_LIMIT: Final = 256 * 1024
FIELD_MANAGER_LIMIT: Final = 128
STANDARD_FINALIZERS: Final = ("{long}", "orphan", "foregroundDeletion")


def create(
    obj: Object, report: Report, *, namespaced: bool, name_rule: NameRule, at: Path = METADATA, core: bool = True
) -> None:
    """Validate metadata of a new object. `core` adds the rule for finalizers that most kinds have. Called again for
    an object without errors, it validates what can differ between calls: the name, and those finalizers."""
    meta = metadata(obj)
    generate = meta.get("generateName")
    if generate:
        report.invalids(at / "generateName", generate, name_rule(generate, True))
    name = meta.get("name")
    if not name:
        report.required(at / "name", "name or generateName is required")
    else:
        wrong = name_rule(name, False)
        if wrong:
            report.invalids(at / "name", name, wrong)
    if report.sound is not obj:
        _create(meta, report, at, namespaced=namespaced)
        report.sound = None if report.causes else obj
    if core and meta.get("finalizers"):
        core_finalizers(meta["finalizers"], at / "finalizers", report)


def _create(meta: Object, report: Report, at: Path, *, namespaced: bool) -> None:
    namespace = meta.get("namespace")
    if namespaced:
        if not namespace:
            report.required(at / "namespace")
        else:
            wrong = label(namespace)
            if wrong:
                report.invalids(at / "namespace", namespace, wrong)
    elif namespace:
        report.forbidden(at / "namespace", "not allowed on this type")
    if meta.get("clusterName"):
        report.invalids(at / "clusterName", meta["clusterName"], subdomain(meta["clusterName"]))
    managers = meta.get("managedFields")
    if managers:
        for entry in managers:
            field_manager(entry.get("manager") or "", at / "fieldManager", report)
    if (meta.get("generation") or 0) < 0:
        report.nonnegative(at / "generation", meta["generation"])
    _common(meta, at, report)
    finalizers = meta.get("finalizers")
    if finalizers:
        _finalizers(finalizers, at / "finalizers", report)
    if managers:
        managed_fields(managers, at / "managedFields", report)


def _common(meta: Object, at: Path, report: Report) -> None:
    if meta.get("labels"):
        labels(meta["labels"], at / "labels", report)
    if meta.get("annotations"):
        annotation_rules(meta["annotations"], at / "annotations", report)
    if meta.get("ownerReferences"):
        owner_references(meta["ownerReferences"], at / "ownerReferences", report)


def update(new: Object, current: Object, report: Report, *, at: Path = METADATA, core: bool = True) -> None:
    """Validate metadata of a change. Fields that the write sequence carries over (creation time, deletion time once
    set, resource version) are not compared."""
    meta, old = metadata(new), metadata(current)
    if report.sound_change is not new:
        _update(meta, old, report, at)
        report.sound_change = None if report.causes else new
    if core and meta.get("finalizers"):
        core_finalizers(meta["finalizers"], at / "finalizers", report)


def _update(meta: Object, old: Object, report: Report, at: Path) -> None:
    if old.get("deletionTimestamp"):
        have = frozenset(old.get("finalizers") or ())
        added = [f for f in meta.get("finalizers") or () if f not in have]
        if added:
            report.forbidden(
                at / "finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers "
                f"{show(sorted(added))}",
            )
    if (meta.get("generation") or 0) < (old.get("generation") or 0):
        report.invalid(at / "generation", meta.get("generation") or 0, "must not be decremented")
    managers = meta.get("managedFields")
    if managers:
        for entry in managers:
            field_manager(entry.get("manager") or "", at / "fieldManager", report)
    for name in ("name", "namespace"):
        report.immutable(at / name, meta.get(name) or "", old.get(name) or "")
    if meta.get("uid"):
        report.immutable(at / "uid", meta["uid"], old.get("uid") or "")
    if not old.get("deletionTimestamp") and meta.get("deletionTimestamp"):
        report.invalid(at / "deletionTimestamp", _instant(meta["deletionTimestamp"]), "field is immutable")
    grace, before = meta.get("deletionGracePeriodSeconds"), old.get("deletionGracePeriodSeconds")
    if grace is not None and grace != before:
        report.invalid(at / "deletionGracePeriodSeconds", grace, "field is immutable")
    report.immutable(at / "clusterName", meta.get("clusterName") or "", old.get("clusterName") or "")
    _common(meta, at, report)
    if managers:
        managed_fields(managers, at / "managedFields", report)


def _instant(text: str) -> GoText:
    """``2000-01-01T00:00:00Z`` as Go prints a time."""
    return dump("v1.Time", text, text.replace("T", " ").replace("Z", "") + " +0000 UTC")


#: Members of the metadata of templates that may be set.
_OF_TEMPLATES: Final = ("annotations", "labels")


def template(meta: Object, at: Path, report: Report, unset: str = "cannot be set") -> None:
    """Validate the metadata of a template of objects; `unset` is the error of members that it does not have."""
    annotation_rules(mapping(meta, "annotations"), at / "annotations", report)
    labels(meta.get("labels"), at / "labels", report)
    for member, value in meta.items():
        # A grace period of 0 is set too.
        if (value or member == "deletionGracePeriodSeconds") and member not in _OF_TEMPLATES:
            report.forbidden(at / ("uID" if member == "uid" else member), unset)


def annotation_rules(value: Object, at: Path, report: Report) -> None:
    size = 0
    for key, text in value.items():
        wrong = qualified_name(key.lower())
        if wrong:
            report.invalids(at, key, wrong)
        size += len(key) + len(text) if key.isascii() and text.isascii() else len(key.encode()) + len(text.encode())
    if size > ANNOTATIONS_LIMIT:
        report.too_long(at, ANNOTATIONS_LIMIT)


def owner_references(references: list[Object], at: Path, report: Report) -> None:
    first: Object | None = None
    text: GoText | None = None
    for reference in references:
        _owner_reference(reference, at, report)
        if reference.get("controller"):
            if first is not None:
                why = 'Only one reference can have Controller set to true. Found "true" in references for '
                names = [each.get("name", "") for each in (first, reference)]
                kinds = [each.get("kind", "") for each in (first, reference)]
                text = dump("[]v1.OwnerReference", references) if text is None else text
                report.invalid(
                    at,
                    text,
                    reworded(
                        f"{why}{names[0]} and {names[1]}",
                        ("1.35", f"{why}{kinds[0]}/{names[0]} and {kinds[1]}/{names[1]}"),
                    ),
                )
            else:
                first = reference


def _owner_reference(reference: Object, at: Path, report: Report) -> None:
    api_version = reference.get("apiVersion") or ""
    group, version = split_group_version(api_version)
    if not version or api_version.count("/") > 1:
        report.invalid(at / "apiVersion", api_version, "version must not be empty")
    for member in ("kind", "name", "uid"):
        if not reference.get(member):
            report.invalid(
                at / member,
                reference.get(member) or "",
                reworded(f"{member} must not be empty", ("1.35", "must not be empty")),
            )
    if (group, version, reference.get("kind")) == ("", "v1", "Event"):
        report.invalid(at, dump("v1.OwnerReference", reference), "/v1, Kind=Event is disallowed from being an owner")


def _finalizers(finalizers: list[str], at: Path, report: Report) -> None:
    for finalizer in finalizers:
        report.invalids(at, finalizer, qualified_name(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        report.invalid(at, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")


def core_finalizers(finalizers: list[str], at: Path, report: Report) -> None:
    """Validate a finalizer: without a domain it must be a standard one."""
    for i, finalizer in enumerate(finalizers):
        core_finalizer(finalizer, at[i], report)


def core_finalizer(finalizer: str, at: Path, report: Report) -> None:
    if "/" not in finalizer and finalizer not in map(report.dialect, STANDARD_FINALIZERS):
        report.invalid(at, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def field_manager(manager: str, at: Path, report: Report) -> None:
    """Validate the name of a field manager: short and printable."""
    if len(manager.encode()) > FIELD_MANAGER_LIMIT:
        report.too_long(at, FIELD_MANAGER_LIMIT)
    if manager.isprintable():
        return
    for i, char in enumerate(manager):
        if not char.isprintable():
            position = len(manager[:i].encode())
            report.invalid(at, manager, f"invalid character U+{ord(char):04X} (at position {position})")


def managed_fields(entries: list[Object], at: Path, report: Report) -> None:
    for i, entry in enumerate(entries):
        if entry.get("operation") not in ("Apply", "Update"):
            report.invalid(at[i] / "operation", entry.get("operation") or "", "must be `Apply` or `Update`")
        if entry.get("fieldsType") not in (None, "", "FieldsV1"):
            report.invalid(at[i] / "fieldsType", entry["fieldsType"], "must be `FieldsV1`")
        field_manager(entry.get("manager") or "", at[i] / "manager", report)
        if len((entry.get("subresource") or "").encode()) > 256:
            report.too_long(at[i] / "subresource", 256)
