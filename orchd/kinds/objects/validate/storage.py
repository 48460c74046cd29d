"""Validation of storage classes, volume attachments, CSI drivers, CSI nodes and capacities."""

from __future__ import annotations

from collections import Counter
from typing import Final

from orchd.errors import MAX_CAUSES
from orchd.kinds import fields
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import GoValue, dump, nil_pointer
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, until
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import persistentvolumes
from orchd.kinds.objects.validate.core.field_rules import (
    MAX_INT32,
    csi_driver_name,
    is_qualified,
    is_subdomain,
    token_seconds,
)
from orchd.kinds.objects.validate.names import between, qualified_name, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector
from orchd.kinds.quantities import amount

_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_MAX_NODE_ID: Final = 256
_MAX_ERROR: Final = 1024
_MAX_ATTACHED: Final = 256 * 1024
_MAX_PARAMETERS: Final = 512
_MAX_PARAMETERS_BYTES: Final = 256 * 1024


def create_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    provisioner = value.get("provisioner") or ""
    if not provisioner:
        report.required(root("provisioner"))
    else:
        lowered = provisioner.lower()
        report.invalids(root("provisioner"), lowered, qualified_name(lowered))
    _parameters(value.get("parameters") or {}, report)
    policy = value.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        report.unsupported(root("reclaimPolicy"), policy, ("Delete", "Retain"))
    mode = value.get("volumeBindingMode")
    if mode is None:
        report.required(root("volumeBindingMode"))
    elif mode not in _BINDING:
        report.unsupported(root("volumeBindingMode"), mode, _BINDING)
    _topologies(value.get("allowedTopologies") or [], report)


def _topologies(terms: list[Object], report: Report) -> None:
    # The reference begins with an empty map per term, and reports each of those before that are equal to a term.
    numbers: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter({frozenset(): len(terms)})
    for i, term in enumerate(terms):
        at = root("allowedTopologies")[i] / "matchLabelExpressions"
        chosen: dict[str, frozenset[str]] = {}
        for j, expression in enumerate(term.get("matchLabelExpressions") or ()):
            values, key = expression.get("values") or [], expression.get("key") or ""
            if not values:
                report.required(at[j] / "values")
            for k in sorted(repeats(values)):
                report.duplicate((at[j] / "values")[k], values[k])
            is_qualified(key, at[j] / "key", report)
            if key in chosen:
                report.duplicate(at[j] / "key", key)
            chosen[key] = frozenset(values)
        topology = frozenset(chosen.items())
        for _ in range(min(numbers[topology], MAX_CAUSES - len(report.causes))):
            report.duplicate(at, "")
        numbers[topology] += 1


def _parameters(parameters: Object, report: Report) -> None:
    if len(parameters) > _MAX_PARAMETERS:
        report.too_long(root("parameters"), _MAX_PARAMETERS)
        return
    for key in parameters:
        if not key:
            report.invalid(root("parameters"), key, "field can not be empty.")
    if sum(len(k.encode()) + len(v.encode()) for k, v in parameters.items()) > _MAX_PARAMETERS_BYTES:
        report.too_long(root("parameters"), _MAX_PARAMETERS_BYTES)


def update_class(value: Object, old: Object, report: Report) -> None:
    create_class(value, report)
    meta.update(value, old, report)
    for member in ("parameters", "provisioner", "reclaimPolicy"):
        if not differences.same(value.get(member), old.get(member)):
            report.forbidden(root(member), f"updates to {member} are forbidden.")
    report.immutable(root("volumeBindingMode"), value.get("volumeBindingMode"), old.get("volumeBindingMode"))


def create_attachment(value: Object, report: Report) -> None:
    _attachment(value, report)
    spec = fields.spec(value)
    csi_driver_name(spec.get("attacher") or "", SPEC / "attacher", report)
    name = (spec.get("source") or {}).get("persistentVolumeName")
    if name is not None:
        is_subdomain(name, SPEC / "source" / "persistentVolumeName", report)


def _attachment(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    spec, status = fields.spec(value), fields.status(value)
    if not spec.get("attacher"):
        report.required(SPEC / "attacher")
    source = spec.get("source") or {}
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    words = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        migrated = report.settings.feature("CSIMigration")
        report.required(
            SPEC / "source",
            words if migrated else "must specify persistentVolumeName when CSIMigration feature is disabled",
        )
    elif inline is not None and name is not None:
        report.forbidden(SPEC / "source", words)
    elif name is not None:
        if not name:
            report.required(SPEC / "source" / "persistentVolumeName", "must specify non empty persistentVolumeName")
    else:
        persistentvolumes.spec(inline or {}, SPEC / "source" / "inlineVolumeSpec", report, inline=True)
    is_subdomain(spec.get("nodeName") or "", SPEC / "nodeName", report)
    for member in ("attachError", "detachError"):
        code = (status.get(member) or {}).get("errorCode")
        if code is not None:
            report.invalids(STATUS / member / "errorCode", code, between(code, 0, MAX_INT32))
    attached = status.get("attachmentMetadata") or {}
    if sum(len(k.encode()) + len(v.encode()) for k, v in attached.items()) > _MAX_ATTACHED:
        report.too_long(STATUS / "attachmentMetadata", _MAX_ATTACHED)
    for member in ("attachError", "detachError"):
        if len(((status.get(member) or {}).get("message") or "").encode()) > _MAX_ERROR:
            # The message has the limit of another member, as in the reference.
            report.too_long(STATUS / member / "message", _MAX_ATTACHED)


_attachment_again = until("1.24", _attachment)


def update_attachment(value: Object, old: Object, report: Report) -> None:
    _attachment(value, report)
    _attachment_again(value, report)
    if not differences.equal(value.get("spec"), old.get("spec")):
        report.invalid(SPEC, dump("storage.VolumeAttachmentSpec", value.get("spec")), "field is immutable")


def create_driver(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _driver(fields.spec(value), report)


def _driver(spec: Object, report: Report) -> None:
    for member, reported in (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ):
        if spec.get(member) is None and (member != "storageCapacity" or report.settings.feature("CSIStorageCapacity")):
            report.required(SPEC / reported)
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in ("File", "None", "ReadWriteOnceWithFSType"):
        report.unsupported(SPEC / "fsGroupPolicy", policy, ("File", "None", "ReadWriteOnceWithFSType"))
    _token_requests(spec, report)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        why = "must be greater than or equal to 10 seconds"
        report.invalid(SPEC / "nodeAllocatableUpdatePeriodSeconds", period, why)
    if spec.get("serviceAccountTokenInSecrets") is not None and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        report.invalid(SPEC / "serviceAccountTokenInSecrets", spec["serviceAccountTokenInSecrets"], why)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            report.unsupported(SPEC / "volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))


def _token_requests(spec: Object, report: Report) -> None:
    audiences: set[str] = set()
    for i, request in enumerate(spec.get("tokenRequests") or ()):
        at, audience = (SPEC / "tokenRequests")[i], request.get("audience") or ""
        if audience in audiences:
            report.duplicate(at / "audience", audience)
            continue
        audiences.add(audience)
        if request.get("expirationSeconds") is not None:
            token_seconds(request["expirationSeconds"], at / "expirationSeconds", report)


def update_driver_now(value: Object, old: Object, report: Report) -> None:
    """Validate a change: how volumes are attached and which pods they are for is immutable."""
    create_driver(value, report)
    meta.update(value, old, report)
    spec, before = fields.spec(value), fields.spec(old)
    report.immutable(SPEC / "attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    modes = spec.get("volumeLifecycleModes")
    if (modes or []) != (before.get("volumeLifecycleModes") or []):
        report.invalid(SPEC / "volumeLifecycleModes", modes, "field is immutable")


def update_driver_once(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    spec, before = fields.spec(value), fields.spec(old)
    _driver(spec, report)
    for member, reported in (
        ("attachRequired", "attachedRequired"),
        ("fsGroupPolicy", "fsGroupPolicy"),
        ("podInfoOnMount", "podInfoOnMount"),
    ):
        report.immutable(SPEC / reported, spec.get(member), before.get(member))
    modes = spec.get("volumeLifecycleModes")
    if (modes or []) != (before.get("volumeLifecycleModes") or []):
        shown_modes = dump("[]storage.VolumeLifecycleMode", modes)
        report.invalid(SPEC / "volumeLifecycleModes", shown_modes, "field is immutable")
    _token_requests(spec, report)


update_driver = by_release(update_driver_once, ("1.33", update_driver_now))


def create_csi_node(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    names: set[str] = set()
    for i, driver in enumerate(fields.spec(value).get("drivers") or ()):
        _csi_node_driver(driver, names, (SPEC / "drivers")[i], report)


def _csi_node_driver(driver: Object, names: set[str], at: Path, report: Report) -> None:
    name, node = driver.get("name") or "", driver.get("nodeID") or ""
    csi_driver_name(name, at / "name", report)
    if not node:
        report.required(at / "nodeID")
    if len(node) > _MAX_NODE_ID:
        report.invalid(at / "nodeID", node, f"must be {_MAX_NODE_ID} characters or less")
    count = (driver.get("allocatable") or {}).get("count")
    if count is not None and count < 0:
        report.nonnegative(at / "allocatable" / "count", count)
    if name in names:
        report.duplicate(at / "name", name)
    names.add(name)
    keys: set[str] = set()
    for key in driver.get("topologyKeys") or ():
        if not key:
            report.required(at)
        if key in keys:
            report.duplicate(at, key)
        keys.add(key)
        report.invalids(at, key, qualified_name(key))


def update_csi_node(value: Object, old: Object, report: Report) -> None:
    # Reported twice, as by the reference.
    create_csi_node(value, report)
    create_csi_node(value, report)
    before = {d.get("name"): d for d in fields.spec(old).get("drivers") or ()}
    for driver in fields.spec(value).get("drivers") or ():
        was = before.get(driver.get("name"))
        if was is not None and not differences.same(_fixed(driver, report), _fixed(was, report)):
            _driver_changed(dump("storage.CSINodeDriver", driver), report)


def create_capacity(value: Object, report: Report) -> None:
    _capacity(value, report)
    _capacity_again(value, report)


def _capacity(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    label_selector(value.get("nodeTopology"), root("nodeTopology"), report)
    is_subdomain(value.get("storageClassName") or "", root("storageClassName"), report)
    # maximumVolumeSize may be any quantity.
    number = value.get("capacity")
    if number is not None and amount(number) < 0:
        report.invalid(root("capacity"), str(number), "must be greater than or equal to 0")


_capacity_again = until("1.25", _capacity)


def update_capacity(value: Object, old: Object, report: Report) -> None:
    _capacity(value, report)
    meta.update(value, old, report)
    topology = value.get("nodeTopology")
    # An empty selector, which selects all nodes, is not the same as none.
    if not differences.equal(topology, old.get("nodeTopology")):
        rendered = nil_pointer() if topology is None else dump("v1.LabelSelector", topology)
        report.invalid(root("nodeTopology"), rendered, "field is immutable")
    report.immutable(root("storageClassName"), value.get("storageClassName"), old.get("storageClassName"))


def _under_its_type(driver: GoValue, report: Report) -> None:
    report.invalid(root("CSINodeDriver"), driver, "field is immutable")


def _under_its_path(driver: GoValue, report: Report) -> None:
    report.invalid(SPEC / "drivers", driver, "field is immutable")


_driver_changed = by_release(_under_its_type, ("1.34", _under_its_path))


def _whole_driver(driver: Object, report: Report) -> Object:
    return driver


def _without_allocatable(driver: Object, report: Report) -> Object:
    return {name: value for name, value in driver.items() if name != "allocatable"}


#: What cannot change of the driver of a node.
_fixed = by_release(_whole_driver, ("1.34", _without_allocatable))


def create_attributes_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    driver, parameters = value.get("driverName") or "", value.get("parameters") or {}
    if not driver:
        report.required(root("driverName"))
    else:
        lowered = driver.lower()
        report.invalids(root("driverName"), lowered, qualified_name(lowered))
    _parameters(parameters, report)
    if not parameters:
        report.required(root("parameters"), "must contain at least one key/value pair")


def update_attributes_class(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    if value.get("driverName") != old.get("driverName"):
        report.forbidden(root("driverName"), "updates to driverName are forbidden.")
    if (value.get("parameters") or {}) != (old.get("parameters") or {}):
        report.forbidden(root("parameters"), "updates to parameters are forbidden.")
    create_attributes_class(value, report)
