"""Validation of claims of devices, of their classes, and of the slices that list devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ipaddress import ip_interface
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.expressions.devices import MAX_COST, compile_device_selector
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import GoText, quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.conditions import conditions
from orchd.kinds.objects.validate.core.field_rules import csi_driver_name, is_label, is_subdomain
from orchd.kinds.objects.validate.core.placement import node_selector
from orchd.kinds.objects.validate.expressions import report_error
from orchd.kinds.objects.validate.names import label, subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report

_MAX_REQUESTS: Final = 32
_MAX_CHOICES: Final = 8
_MAX_CONSUMERS: Final = 256
_MAX_DEVICES: Final = 128
_MAX_PROPERTIES: Final = 32
_MAX_EXPRESSION: Final = 10 * 1024
_MAX_PARAMETERS: Final = 10 * 1024
_MAX_CONDITIONS: Final = 8
_MAX_INTERFACE: Final = 256
_MAX_HARDWARE: Final = 128
_MAX_ADDRESSES: Final = 16
_MAX_VALUE: Final = 64
_MAX_POOL: Final = 253
_MAX_IDENTIFIER: Final = 32
#: A domain, a slash and an identifier.
_MAX_PROPERTY: Final = 63 + 1 + _MAX_IDENTIFIER
_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_IDENTIFIER_RE: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*").fullmatch
_IDENTIFIER: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_PART: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION_RE: Final = re.compile(
    rf"(0|[1-9]\d*)(\.(0|[1-9]\d*)){{2}}(-{_PART}(\.{_PART})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
).fullmatch
_PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")

#: The names of requests, with those of the choices of each.
_Requests = dict[str, frozenset[str]]


def create_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    spec = fields.spec(value)
    _selectors(spec.get("selectors"), SPEC / "selectors", report)
    _each(spec.get("config"), _MAX_REQUESTS, _configuration, SPEC / "config", report)


def update_class(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    create_class(value, report)


def create_claim(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    _claim(fields.spec(value), SPEC, report)


def update_claim(value: Object, old: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    meta.update(value, old, report)
    if fields.spec(value) != fields.spec(old):
        report.invalid(SPEC, dump("resource.ResourceClaimSpec", fields.spec(value)), "field is immutable")


def create_template(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    spec = fields.spec(value)
    meta.template(fields.metadata(spec), SPEC / "metadata", report)
    _claim(fields.spec(spec), SPEC / "spec", report)


def update_template(value: Object, old: Object, report: Report) -> None:
    create_template(value, report)
    meta.update(value, old, report)
    if fields.spec(value) != fields.spec(old):
        report.invalid(SPEC, dump("resource.ResourceClaimTemplateSpec", fields.spec(value)), "field is immutable")


def _each(
    listed: Sequence[Any] | None,
    limit: int,
    rule: Callable[[Any, Path, Report], None],
    at: Path,
    report: Report,
    *,
    key: Callable[[Any], str] | None = None,
) -> None:
    """Validate a list: its length, then its items, and that their keys differ."""
    items = listed or ()
    if len(items) > limit:
        report.too_many(at, len(items), limit)
        return
    for i, item in enumerate(items):
        rule(item, at[i], report)
    if key is None:
        return
    keys: set[str] = set()
    for i, item in enumerate(items):
        each = key(item)
        if each in keys:
            report.duplicate(at[i], each)
        keys.add(each)


def _name(value: Object) -> str:
    return value.get("name") or ""


def _uid(value: Object) -> str:
    return value.get("uid") or ""


def _claim(spec: Object, at: Path, report: Report) -> None:
    devices, at = spec.get("devices") or {}, at / "devices"
    requests = devices.get("requests") or []
    _each(requests, _MAX_REQUESTS, _request, at / "requests", report, key=_name)
    request_names = _names(devices)

    def constraint(value: Object, here: Path, report: Report) -> None:
        _references(value.get("requests") or (), request_names, here / "requests", report)
        if value.get("matchAttribute") is None:
            report.required(here / "matchAttribute")
        else:
            _attribute_reference(value["matchAttribute"], here / "matchAttribute", report)

    def configuration(value: Object, here: Path, report: Report) -> None:
        _references(value.get("requests") or (), request_names, here / "requests", report)
        _configuration(value, here, report)

    _each(devices.get("constraints"), _MAX_REQUESTS, constraint, at / "constraints", report)
    _each(devices.get("config"), _MAX_REQUESTS, configuration, at / "config", report)


def _names(devices: Object) -> _Requests:
    return {
        request.get("name") or "": frozenset(each.get("name") or "" for each in request.get("firstAvailable") or ())
        for request in devices.get("requests") or ()
    }


def _references(listed: Sequence[str], requests: _Requests, at: Path, report: Report) -> None:
    def reference(name: str, here: Path, report: Report) -> None:
        _reference(name, requests, here, report)

    _each(listed, _MAX_REQUESTS, reference, at, report, key=str)


def _reference(name: str, requests: _Requests, at: Path, report: Report) -> None:
    parts = name.split("/")
    if len(parts) <= 2:
        for part in parts:
            report.invalids(at, part, label(part))
    if len(parts) > 2 or parts[0] not in requests or (len(parts) == 2 and parts[1] not in requests[parts[0]]):
        report.invalid(at, name, _REQUEST)


def _request(request: Object, at: Path, report: Report) -> None:
    is_label(request.get("name") or "", at / "name", report)
    exactly, choices = request.get("exactly"), request.get("firstAvailable")
    words = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is not None and choices:
        report.invalid(at, None, f"{words}, but multiple fields are set")
    elif choices:
        _each(choices, _MAX_CHOICES, _choice, at / "firstAvailable", report, key=_name)
    elif exactly is not None:
        _exact_request(exactly, at / "exactly", report)
    else:
        report.required(at, words)


def _choice(choice: Object, at: Path, report: Report) -> None:
    is_label(choice.get("name") or "", at / "name", report)
    _exact_request(choice, at, report)


def _exact_request(value: Object, at: Path, report: Report) -> None:
    name, mode, count = value.get("deviceClassName") or "", value.get("allocationMode") or "", value.get("count") or 0
    if not name:
        report.required(at / "deviceClassName")
    else:
        is_subdomain(name, at / "deviceClassName", report)
    _selectors(value.get("selectors"), at / "selectors", report)
    if mode == "All":
        if count:
            report.invalid(at / "count", count, "must not be specified when allocationMode is 'All'")
    elif mode != "ExactCount":
        report.unsupported(at / "allocationMode", mode, ("All", "ExactCount"))
    elif count <= 0:
        report.invalid(at / "count", count, "must be greater than zero")


def _selectors(listed: list[Object] | None, at: Path, report: Report) -> None:
    def selector(value: Object, here: Path, report: Report) -> None:
        if value.get("cel") is None:
            report.required(here / "cel")
            return
        text, at = value["cel"].get("expression") or "", here / "cel" / "expression"
        if len(text.encode()) > _MAX_EXPRESSION:
            report.too_long(at, _MAX_EXPRESSION)
        else:
            compiled = compile_device_selector(text, report.dialect)
            report_error(compiled, text, at, report)
            if compiled.highest_cost > MAX_COST:
                report.forbidden(at, "too complex, exceeds cost limit")

    _each(listed, _MAX_REQUESTS, selector, at, report)


def _configuration(value: Object, at: Path, report: Report) -> None:
    opaque, at = value.get("opaque"), at / "opaque"
    if opaque is None:
        report.required(at)
        return
    csi_driver_name(opaque.get("driver") or "", at / "driver", report)
    parameters = opaque.get("parameters")
    if parameters is None:
        report.required(at / "parameters")
    else:
        _object(parameters, at / "parameters", report)


def _object(value: Any, at: Path, report: Report) -> None:
    """An object of the driver's own, of limited size."""
    if not isinstance(value, dict):
        report.invalid(at, "<value omitted>", "must be a valid JSON object")
    elif len(dump("runtime.RawExtension", value).as_json.encode()) > _MAX_PARAMETERS:
        report.too_long(at, _MAX_PARAMETERS)


def update_claim_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    status, before = fields.status(value), fields.status(old)
    allocation, at = status.get("allocation"), STATUS / "reservedFor"
    consumers = status.get("reservedFor") or []
    _each(consumers, _MAX_CONSUMERS, _consumer, at, report, key=_uid)
    _statuses(status.get("devices") or [], allocation or {}, report)
    if consumers and allocation is None:
        report.forbidden(at, "may not be specified when `allocated` is not set")
    elif fields.metadata(value).get("deletionTimestamp") and any(
        each not in (before.get("reservedFor") or ()) for each in consumers
    ):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        report.forbidden(at, why)
    if allocation is None:
        return
    if before.get("allocation") is None:
        _allocation(allocation, _names(fields.spec(value).get("devices") or {}), STATUS / "allocation", report)
    elif allocation != before["allocation"]:
        rendered = dump("resource.AllocationResult", allocation)
        report.invalid(STATUS / "allocation", rendered, "field is immutable")


def _identity(value: Object) -> tuple[str, ...]:
    """The device that a result or a status is about."""
    return tuple(value.get(member) or "" for member in ("driver", "pool", "device", "shareID"))


def _statuses(listed: list[Object], allocation: Object, report: Report) -> None:
    """Validate what drivers report about allocated devices."""
    at, allocated = (
        STATUS / "devices",
        {_identity(each) for each in (allocation.get("devices") or {}).get("results") or ()},
    )
    seen: set[tuple[str, ...]] = set()
    for i, value in enumerate(listed):
        _status(value, allocated, at[i], report)
        identity = _identity(value)
        if identity in seen:
            report.duplicate(at[i], _dump(identity))
        seen.add(identity)


def _dump(identity: tuple[str, ...]) -> GoText:
    members = dict(zip(("Driver", "Pool", "Device", "ShareID"), identity, strict=True))
    return dump("structured.SharedDeviceID", members)


def _status(value: Object, allocated: set[tuple[str, ...]], at: Path, report: Report) -> None:
    csi_driver_name(value.get("driver") or "", at / "driver", report)
    _pool_name(value.get("pool") or "", at / "pool", report)
    is_label(value.get("device") or "", at / "device", report)
    if _identity(value) not in allocated:
        report.invalid(at, _dump(_identity(value)), "must be an allocated device in the claim")
    reported = value.get("conditions") or []
    if len(reported) > _MAX_CONDITIONS:
        report.too_many(at / "conditions", len(reported), _MAX_CONDITIONS)
    conditions(reported, at / "conditions", report)
    data = value.get("data")
    if data is not None:
        _object(data, at / "data", report)
    network = value.get("networkData") or {}
    for member, limit in (("interfaceName", _MAX_INTERFACE), ("hardwareAddress", _MAX_HARDWARE)):
        if len((network.get(member) or "").encode()) > limit:
            report.too_long(at / "networkData" / member, limit)
    addresses = network.get("ips") or []
    _each(addresses, _MAX_ADDRESSES, _interface_address, at / "networkData" / "ips", report, key=str)


def _interface_address(text: str, at: Path, report: Report) -> None:
    """An address with the length of its network, in canonical form."""
    try:
        parsed = ip_interface(text) if "/" in text else None
    except ValueError:
        parsed = None
    if parsed is None:
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        report.invalid(at, text, why)
    elif str(parsed) != text:
        report.invalid(at, text, f"must be in canonical form ({quote(str(parsed))})")


def _consumer(value: Object, at: Path, report: Report) -> None:
    for member in ("resource", "name", "uid"):
        if not value.get(member):
            report.required(at / member)


def _allocation(allocation: Object, requests: _Requests, at: Path, report: Report) -> None:
    def result(value: Object, here: Path, report: Report) -> None:
        _reference(value.get("request") or "", requests, here / "request", report)
        csi_driver_name(value.get("driver") or "", here / "driver", report)
        _pool_name(value.get("pool") or "", here / "pool", report)
        is_label(value.get("device") or "", here / "device", report)

    def configuration(value: Object, here: Path, report: Report) -> None:
        source = value.get("source") or ""
        if not source:
            report.required(here / "source")
        elif source not in ("FromClaim", "FromClass"):
            report.unsupported(here / "source", source, ("FromClaim", "FromClass"))
        _references(value.get("requests") or (), requests, here / "requests", report)
        _configuration(value, here, report)

    devices = allocation.get("devices") or {}
    _each(devices.get("results"), _MAX_REQUESTS, result, at / "devices" / "results", report)
    _each(devices.get("config"), 2 * _MAX_REQUESTS, configuration, at / "devices" / "config", report)
    if allocation.get("nodeSelector") is not None:
        node_selector(allocation["nodeSelector"], at / "nodeSelector", report)


def create_slice(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _slice(fields.spec(value), None, report)


def update_slice(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _slice(fields.spec(value), fields.spec(old), report)


def _slice(spec: Object, before: Object | None, report: Report) -> None:
    csi_driver_name(spec.get("driver") or "", SPEC / "driver", report)
    pool, at = spec.get("pool") or {}, SPEC / "pool"
    _pool_name(pool.get("name") or "", at / "name", report)
    if (pool.get("resourceSliceCount") or 0) <= 0:
        report.invalid(at / "resourceSliceCount", pool.get("resourceSliceCount") or 0, "must be greater than zero")
    if (pool.get("generation") or 0) < 0:
        report.invalid(at / "generation", pool["generation"], "must be greater than or equal to zero")
    if before is not None:
        report.immutable(at / "name", pool.get("name"), (before.get("pool") or {}).get("name"))
        report.immutable(SPEC / "driver", spec.get("driver"), before.get("driver"))
        report.immutable(SPEC / "nodeName", spec.get("nodeName"), before.get("nodeName"))
    _places(spec, report)
    devices = spec.get("devices") or []
    _each(devices, _MAX_DEVICES, _device, SPEC / "devices", report, key=_name)


def _places(spec: Object, report: Report) -> None:
    """Validate where the devices of a slice are: exactly one of several fields tells."""
    members = [f"`{member}`" for member in _PLACES if spec.get(member)]
    if spec.get("nodeName"):
        report.invalids(SPEC / "nodeName", spec["nodeName"], subdomain(spec["nodeName"]))
    selector = spec.get("nodeSelector")
    if selector is not None:
        node_selector(selector, SPEC / "nodeSelector", report)
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            rendered = dump("[]core.NodeSelectorTerm", terms)
            at = SPEC / "nodeSelector" / "nodeSelectorTerms"
            report.invalid(at, rendered, "must have exactly one node selector term")
    for member, unset in (("nodeName", "a non-empty string"), ("allNodes", "true"), ("perDeviceNodeSelection", "true")):
        if spec.get(member) in ("", False):
            report.invalid(SPEC / member, spec[member], f"must be either unset or set to {unset}")
    words = f"exactly one of {', '.join(f'`{member}`' for member in _PLACES)} is required"
    if not members:
        report.required(SPEC, words)
    elif len(members) > 1:
        report.invalid(SPEC, f"{{{', '.join(members)}}}", f"{words}, but multiple fields are set")


def _pool_name(name: str, at: Path, report: Report) -> None:
    if not name:
        report.required(at)
        return
    if len(name.encode()) > _MAX_POOL:
        report.too_long(at, _MAX_POOL)
    for part in name.split("/"):
        is_subdomain(part, at, report)


def _device(device: Object, at: Path, report: Report) -> None:
    is_label(device.get("name") or "", at / "name", report)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    count = len(attributes) + len(capacity)
    if count > _MAX_PROPERTIES:
        why = f"the total number of attributes and capacities must not exceed {_MAX_PROPERTIES}"
        report.invalid(at, count, why)
    for name, value in attributes.items():
        here = (at / "attributes")[_shortened(name)]
        _property_name(name, here, report)
        _attribute(value, here, report)
    for name in capacity:
        _property_name(name, (at / "capacity")[_shortened(name)], report)


def _shortened(name: str) -> str:
    """The name of an attribute in paths: the middle of one that is longer than any valid one is left out."""
    if len(name.encode()) <= _MAX_PROPERTY:
        return name
    kept = _MAX_PROPERTY - len("...")
    return f"{name[: (kept + 1) // 2]}...{name[len(name) - kept // 2 :]}"


def _property_name(name: str, at: Path, report: Report) -> None:
    """A C identifier, or one after a domain. The reference does not examine names with more than one slash."""
    *domains, identifier = name.split("/")
    if len(domains) > 1:
        return
    for domain in domains:
        if domain:
            csi_driver_name(domain, at, report)
        else:
            report.invalid(at, "", "the domain must not be empty")
    if domains and not identifier:
        report.invalid(at, "", "the name must not be empty")
        return
    if len(identifier.encode()) > _MAX_IDENTIFIER:
        report.too_long(at, _MAX_IDENTIFIER)
    if not _IDENTIFIER_RE(identifier):
        report.invalid(at, identifier, _IDENTIFIER)


def _attribute_reference(name: str, at: Path, report: Report) -> None:
    _property_name(name, at, report)
    if "/" not in name:
        report.invalid(at, name, "a fully qualified name must be a domain and a name separated by a slash")


def _attribute(value: Object, at: Path, report: Report) -> None:
    text, version = value.get("string"), value.get("version")
    if text is not None and len(text.encode()) > _MAX_VALUE:
        report.too_long(at / "string", _MAX_VALUE)
    if version is not None:
        if not _VERSION_RE(version):
            report.invalid(at / "version", version, "must be a string compatible with semver.org spec 2.0.0")
        if len(version.encode()) > _MAX_VALUE:
            report.too_long(at / "version", _MAX_VALUE)
    count = sum(value.get(member) is not None for member in ("int", "bool", "string", "version"))
    if count != 1:
        rendered = dump("resource.DeviceAttribute", value) if count else ""
        report.invalid(at, rendered, "exactly one value must be specified")
