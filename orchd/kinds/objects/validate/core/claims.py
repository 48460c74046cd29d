"""Validation of persistent volume claims."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.values import GoText
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded, since, until
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import is_label, is_subdomain, require_text
from orchd.kinds.objects.validate.core.resources import is_native
from orchd.kinds.objects.validate.names import qualified_name, subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector
from orchd.kinds.quantities import amount

MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
VOLUME_MODES: Final = ("Block", "Filesystem")
_IMMUTABLE: Final = reworded(
    "spec is immutable after creation except resources.requests for bound claims",
    (
        "1.31",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    ),
)
#: Values of status.resizeStatus, in the order of messages.
_RESIZE: Final = (
    "",
    "ControllerExpansionFailed",
    "ControllerExpansionInProgress",
    "NodeExpansionFailed",
    "NodeExpansionInProgress",
    "NodeExpansionPending",
)
#: Values of status.allocatedResourceStatuses.
_RESIZES: Final = tuple(
    "ControllerResizeInProgress ControllerResizeInfeasible NodeResizeInProgress NodeResizeInfeasible "
    "NodeResizePending".split()
)
_SOURCES: Final = ("dataSource", "dataSourceRef")
CLASS_ANNOTATION: Final = "volume.beta.{long}.io/storage-class"


def create(claim: Object, report: Report, old: Object | None = None) -> None:
    meta.create(claim, report, namespaced=True, name_rule=subdomain_name)
    before: Object = fields.spec(old or {})
    referenced = any((before.get(member) or {}).get("apiGroup") is not None for member in _SOURCES)
    spec(fields.spec(claim), SPEC, report, any_group=referenced)


def access_modes(modes: list[str], at: Path, report: Report) -> None:
    modes_of_release = (*MODES, "ReadWriteOncePod") if report.settings.feature("ReadWriteOncePod") else MODES
    for mode in modes:
        if mode not in modes_of_release:
            report.unsupported(at, mode, modes_of_release)
    # The reference rejects the combination even if the mode is unknown.
    if "ReadWriteOncePod" in modes and any(mode in MODES for mode in modes):
        report.forbidden(at, "may not use ReadWriteOncePod with other access modes")


def spec(value: Object, at: Path, report: Report, *, any_group: bool = False) -> None:
    """Validate a specification. `any_group`: groups of data sources are not checked, because the stored claim has
    one."""
    modes = value.get("accessModes") or []
    if not modes:
        report.required(at / "accessModes", "at least 1 access mode is required")
    label_selector(value.get("selector"), at / "selector", report)
    access_modes(modes, at / "accessModes", report)
    storage = fields.mapping(value, "resources", "requests").get("storage")
    if storage is None:
        report.required((at / "resources")["storage"])
    elif amount(storage) <= 0:
        report.invalid((at / "resources")["storage"], str(storage), "must be greater than zero")
    if value.get("storageClassName"):
        is_subdomain(value["storageClassName"], at / "storageClassName", report)
    mode = value.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        report.unsupported(at / "volumeMode", mode, VOLUME_MODES)
    for member in _SOURCES:
        if value.get(member) is not None:
            _data_source(value[member], at / member, report, any_group)
    source, reference = value.get("dataSource"), value.get("dataSourceRef")
    if source is not None and reference is not None:
        if reference.get("namespace"):
            _sources_differ(at, "may not be specified when dataSourceRef.namespace is specified", report)
        elif not differences.equal({**source, "namespace": None}, {**reference, "namespace": None}):
            _sources_differ(at, "must match dataSourceRef", report)
    if value.get("volumeAttributesClassName"):
        is_subdomain(value["volumeAttributesClassName"], at / "volumeAttributesClassName", report)


def _data_source(source: Object, at: Path, report: Report, any_group: bool) -> None:
    require_text(source, "name", at, report)
    kind = require_text(source, "kind", at, report)
    if not source.get("apiGroup"):
        if kind != "PersistentVolumeClaim":
            words = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            report.invalid(at, kind, reworded("", ("1.24", words)))
    elif not any_group:
        _source_group(source["apiGroup"], at / "apiGroup", report)
    if source.get("namespace"):
        is_label(source["namespace"], at / "namespace", report)


def _differ_at_member(at: Path, why: str, report: Report) -> None:
    report.invalid(at, str(at / "dataSource"), why)


def _differ(at: Path, why: str, report: Report) -> None:
    # The value is a path, which has no members that are printed.
    report.invalid(at, {}, why)


_sources_differ = by_release(_differ_at_member, ("1.34", _differ))
_source_group = since("1.31", is_subdomain)


#: The reference once validated twice, and reported the errors of a claim twice.
_as_new = until("1.27", create)


def update(claim: Object, old: Object, report: Report) -> None:
    """Validate a change: the size of a bound claim may grow, and the volume name may be set once."""
    create(claim, report, old)
    meta.update(claim, old, report)
    _as_new(claim, report)
    new, before = dict(fields.spec(claim)), dict(fields.spec(old))
    if not before.get("volumeName"):
        before["volumeName"] = new.get("volumeName")
    annotation = report.dialect(CLASS_ANNOTATION)
    was = fields.annotations_of(old).get(annotation)
    now = fields.annotations_of(claim).get(annotation)
    if (
        was is not None
        and now in (None, was)
        and before.get("storageClassName") is None
        and new.get("storageClassName") == was
    ):
        new.pop("storageClassName")
    elif (was or "") != (now or ""):
        report.invalid(METADATA / "annotations" / annotation, now or "", "field is immutable")
    _class_later(new, before, was, report)
    size, before_size = _size(new), _size(before)
    grows = report.settings.feature("ExpandPersistentVolumes")
    if grows and fields.status(claim).get("phase") == "Bound" and (new.get("resources") or {}).get("requests"):
        requests = {**new["resources"]["requests"], "storage": before_size}
        new["resources"] = {**new["resources"], "requests": requests}
    _attributes_class(new, before, claim, old, report)
    if not differences.equal(new, before):
        words = _IMMUTABLE.in_release(report.settings.release) if grows else "field is immutable after creation"
        report.forbidden(SPEC, f"{words}\n{report.difference('core.PersistentVolumeClaimSpec', before, new)}")
    if grows and amount(size) < amount(before_size):
        at = SPEC / "resources" / "requests" / "storage"
        capacity = (fields.status(old).get("capacity") or {}).get("storage") or "0"
        if not report.settings.feature("RecoverVolumeExpansionFailure"):
            report.forbidden(at, "field can not be less than previous value")
        elif amount(size) <= amount(capacity):
            report.forbidden(at, "field can not be less than status.capacity")
    report.immutable(root("volumeMode"), new.get("volumeMode"), before.get("volumeMode"))


def _class_set_later(new: Object, before: Object, annotated: str | None, report: Report) -> None:
    """A claim without a class may get one, the one that its annotation had if there is one. Removes it from `new`."""
    name = new.get("storageClassName")
    if name is not None and before.get("storageClassName") is None and annotated in (None, name):
        del new["storageClassName"]


_class_later = since("1.35", _class_set_later)


def _size(spec: Object) -> Any:
    return fields.mapping(spec, "resources", "requests").get("storage") or "0"


def update_status(claim: Object, old: Object, report: Report) -> None:
    meta.update(claim, old, report)
    status = fields.status(claim)
    if not fields.spec(claim).get("accessModes"):
        report.required(root("Spec") / "accessModes")
    for name, quantity in (status.get("capacity") or {}).items():
        basic_resource(quantity, (STATUS / "capacity")[name], report)
    if report.settings.feature("RecoverVolumeExpansionFailure"):
        _expansion_status(status, report)


def _expansion_status(status: Object, report: Report) -> None:
    state = status.get("resizeStatus")
    if state is not None and state not in _RESIZE:
        report.unsupported(STATUS / "resizeStatus", state, _RESIZE)
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        at = STATUS / "allocatedResourceStatuses"
        _allocated_name(name, at, report)
        if state not in _RESIZES:
            report.unsupported(at, name, _RESIZES)
    for name, quantity in (status.get("allocatedResources") or {}).items():
        at = STATUS / "allocatedResources"
        if _allocated_name(name, at, report):
            basic_resource(quantity, at[name], report)


def _storage_alone(name: str, at: Path, report: Report) -> bool:
    if name != "storage":
        report.unsupported(at, GoText(name), ("storage",))
    return name == "storage"


def _storage_or_extended(name: str, at: Path, report: Report) -> bool:
    wrong = qualified_name(name)
    if wrong:
        report.invalids(at, name, wrong)
    elif is_native(name, report) and name != "storage":
        report.unsupported(at, name, ("storage",))
    else:
        return True
    return False


_allocated_name = by_release(_storage_alone, ("1.28", _storage_or_extended))


def basic_resource(quantity: Any, at: Path, report: Report) -> None:
    number = amount(quantity)
    if number < 0:
        # The number rounded away from zero, not the text.
        report.invalid(at, int(number // 1), "must be a valid resource quantity")


def _attributes_class_set(new: Object, before: Object, claim: Object, old: Object, report: Report) -> None:
    """Claims have no class of volume attributes."""


def _attributes_class_changed(new: Object, before: Object, claim: Object, old: Object, report: Report) -> None:
    """Validate a change of the class, which a bound claim may have. Gives `new` the former one."""
    member = "volumeAttributesClassName"
    name, was = new.get(member), before.get(member)
    if name == was or fields.status(claim).get("phase") != "Bound":
        return
    if fields.status(old).get("currentVolumeAttributesClassName") is not None and not name:
        what = "nil" if name is None else "empty string"
        why = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        report.forbidden(SPEC / member, why)
    if was is None:
        new.pop(member, None)
    else:
        new[member] = was


_attributes_class = by_release(_attributes_class_set, ("1.31", _attributes_class_changed))
