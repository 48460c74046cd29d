"""Validation of limit ranges and resource quotas."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump, go_quantity, quantity
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.resources import (
    container_resource_name,
    is_standard_quota,
    overcommit_allowed,
    quantity_value,
    resource_name,
)
from orchd.kinds.objects.validate.names import qualified_name, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount

_LIMIT_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
CROSS_NAMESPACE: Final = "CrossNamespacePodAffinity"
_SCOPES: Final = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", CROSS_NAMESPACE)
_COMPUTE: Final = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"
#: What scopes may limit, if it is not `_COMPUTE`.
_COUNTED: Final = {"BestEffort": ("pods",), _ATTRIBUTES_CLASS: ("persistentvolumeclaims", "requests.storage")}
_PAIRS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


_PLAIN_SCOPES: Final = (
    "when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def create_range(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    seen: set[str] = set()
    for i, limit in enumerate(fields.spec(value).get("limits") or ()):
        at = (SPEC / "limits")[i]
        kind = limit.get("type") or ""
        wrong = qualified_name(kind)
        if wrong:
            report.invalids(at / "type", kind, wrong)
        elif "/" not in kind and kind not in _LIMIT_TYPES:
            report.invalid(at / "type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            report.duplicate(at / "type", kind)
        seen.add(kind)
        _limit(limit, kind, at, report)


def update_range(value: Object, old: Object, report: Report) -> None:
    create_range(value, report)


def _limit(limit: Object, kind: str, at: Path, report: Report) -> None:
    keys: dict[str, None] = {}
    for member in ("max", "min"):
        _names(limit, member, kind, keys, at, report)
    if kind == "Pod":
        for member in ("default", "defaultRequest"):
            if limit.get(member):
                report.forbidden(at / member, "may not be specified when `type` is 'Pod'")
    else:
        for member in ("default", "defaultRequest"):
            _names(limit, member, kind, keys, at, report)
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(m) or ()) for m in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        report.required(at / "limits", why)
    _names(limit, "maxLimitRequestRatio", kind, keys, at, report)
    for key in keys:
        _order(limit, key, kind, at, report)


def _names(limit: Object, member: str, kind: str, keys: dict[str, None], at: Path, report: Report) -> None:
    for key in limit.get(member) or ():
        if kind in ("Pod", "Container"):
            container_resource_name(key, (at / member)[key], report)
        else:
            resource_name(key, (at / member)[key], report)
        keys[key] = None


def _order(limit: Object, key: str, kind: str, at: Path, report: Report) -> None:
    def of(member: str) -> Any:
        return (limit.get(member) or {}).get(key)

    low, high, ratio = of("min"), of("max"), of("maxLimitRequestRatio")
    default, request = (None, None) if kind == "Pod" else (of("default"), of("defaultRequest"))
    for member, reported, less, more, why in (
        ("min", low, high, low, "min value {} is greater than max value {}"),
        ("defaultRequest", request, request, low, "min value {} is greater than default request value {}"),
        ("defaultRequest", request, high, request, "default request value {} is greater than max value {}"),
        (
            "defaultRequest",
            request,
            default,
            request,
            "default request value {} is greater than default limit value {}",
        ),
        ("default", low, default, low, "min value {} is greater than default value {}"),
        ("default", high, high, default, "default value {} is greater than max value {}"),
    ):
        if less is not None and more is not None and amount(more) > amount(less):
            report.invalid((at / member)[key], quantity(str(reported)), why.format(more, less))
    if ratio is not None:
        where, shown_ratio = (
            (at / "maxLimitRequestRatio")[key],
            dump("resource.Quantity", str(ratio), go_quantity(str(ratio), short=True)),
        )
        if amount(ratio) < 1:
            report.invalid(where, shown_ratio, f"ratio {ratio} is less than 1")
        if low is not None and high is not None and amount(low) and amount(ratio) > amount(high) / amount(low):
            greatest = float(amount(high) / amount(low))
            report.invalid(where, shown_ratio, f"ratio {ratio} is greater than max/min = {greatest:f}")
    if default is None or request is None or overcommit_allowed(key, report):
        return
    if amount(default) != amount(request):
        why = f"default value {default} must equal to defaultRequest value {request} in {key}"
        report.invalid((at / "defaultRequest")[key], quantity(str(request)), why)


def create_quota(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    _quota_spec(fields.spec(value), report)
    _amounts(fields.status(value), ("hard", "used"), STATUS, report)


def update_quota(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    spec = fields.spec(value)
    _quota_spec(spec, report)
    scopes = spec.get("scopes") or []
    if set(scopes) != set(fields.spec(old).get("scopes") or ()):
        report.invalid(SPEC / "scopes", dump("[]core.ResourceQuotaScope", scopes or None), "field is immutable")


def update_quota_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _amounts(fields.status(value), ("hard", "used"), STATUS, report)


def _amounts(value: Object, members: tuple[str, ...], at: Path, report: Report) -> None:
    for member in members:
        for name, number in (value.get(member) or {}).items():
            here = (at / member)[name]
            resource_name(name, here, report)
            if "/" not in name and not is_standard_quota(name):
                report.invalid(here, name, "must be a standard resource for quota")
            quantity_value(name, number, here, report)


def _quota_spec(spec: Object, report: Report) -> None:
    _amounts(spec, ("hard",), SPEC, report)
    hard, scopes = spec.get("hard") or {}, spec.get("scopes") or []
    rendered = dump("[]core.ResourceQuotaScope", scopes or None)
    at = SPEC / "scopes"
    for scope in scopes:
        if not _is_scope(scope, report):
            report.invalid(at, rendered, "unsupported scope")
        _applies(scope, hard, at, rendered, report)
    for pair in _PAIRS:
        if all(scope in scopes for scope in pair):
            report.invalid(at, rendered, "conflicting scopes")
    if spec.get("scopeSelector"):
        _scope_selector(spec["scopeSelector"], hard, rendered, report)


def _is_scope(scope: str, report: Report) -> bool:
    if scope == _ATTRIBUTES_CLASS:
        return report.settings.feature("VolumeAttributesClass")
    if scope == CROSS_NAMESPACE and not report.settings.feature("PodAffinityNamespaceSelector"):
        return False
    return scope in _SCOPES


def _applies(scope: str, hard: Object, at: Path, rendered: Any, report: Report) -> None:
    if scope not in _SCOPES and scope != _ATTRIBUTES_CLASS:
        return
    counted = _COUNTED.get(scope, _COMPUTE)
    for name in _listed(hard, report):
        if is_standard_quota(name) and name not in counted:
            report.invalid(at, rendered, "unsupported scope applied to resource")


def _as_given(names: Object, report: Report) -> list[str]:
    return list(names)


def _sorted(names: Object, report: Report) -> list[str]:
    return sorted(names)


_listed = by_release(_as_given, ("1.28", _sorted))


def _scope_selector(selector: Object, hard: Object, scopes: Any, report: Report) -> None:
    """Validate scopes; `scopes` is the text of the quota's scopes in messages."""
    at = SPEC / "scopeSelector" / "matchExpressions"
    rendered = dump("core.ScopeSelector", selector)
    used: set[str] = set()
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        values = requirement.get("values") or []
        if not _is_scope(scope, report):
            report.invalid(at / "scopeName", scope, "unsupported scope")
        _applies(scope, hard, at, rendered, report)
        if scope in _SCOPES and scope != "PriorityClass" and operator != "Exists":
            why: str = reworded(f"must be 'Exist' {_PLAIN_SCOPES}", ("1.35", f"must be 'Exists' {_PLAIN_SCOPES}"))
            report.invalid(at / "operator", operator, why)
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                report.required(at / "values", why)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                report.invalid(at / "values", values, why)
        else:
            report.invalid(at / "operator", operator, "not a valid selector operator")
        used.add(scope)
    for pair in _PAIRS:
        if used.issuperset(pair):
            report.invalid(at, scopes, "conflicting scopes")
