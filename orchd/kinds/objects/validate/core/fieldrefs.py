"""Validation of references from a pod to its own fields and resources (the downward API)."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.validate.core.field_rules import is_qualified
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount

#: Fields that a file of a volume may refer to.
DOWNWARD_FIELDS: Final = tuple(
    "metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid".split()
)
#: Fields that an environment variable may refer to.
_ENV_FIELDS: Final = tuple(
    "metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName status.hostIP status.podIP "
    "status.podIPs".split()
)
_KNOWN_FIELDS: Final = frozenset(
    (
        *DOWNWARD_FIELDS,
        *_ENV_FIELDS,
        "status.hostIPs",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
        "spec.host",
    )
)
HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_RESOURCES: Final = tuple(
    "limits.cpu limits.ephemeral-storage limits.memory requests.cpu requests.ephemeral-storage requests.memory".split()
)
_BYTES: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def object_field(reference: Object, allowed: tuple[str, ...], at: Path, report: Report) -> None:
    version, path = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        report.required(at / "apiVersion")
        return
    if not path:
        report.required(at / "fieldPath")
        return
    base, subscript = _split_subscript(path)
    if version != "v1":
        _unconverted(f"unsupported pod version: {version}", path, at, report)
    elif subscript is not None:
        if base == "metadata.annotations":
            is_qualified(subscript.lower(), at, report)
        elif base == "metadata.labels":
            is_qualified(subscript, at, report)
        else:
            _unconverted(f"field label does not support subscript: {path}", path, at, report)
    elif path not in _KNOWN_FIELDS:
        _unconverted(f"field label not supported: {path}", path, at, report)
    else:
        field = "spec.nodeName" if path == "spec.host" else path
        if field not in allowed:
            report.unsupported(at / "fieldPath", field, allowed)


def _variable_once(reference: Object, at: Path, report: Report) -> None:
    if reference.get("apiVersion") == "v1" and reference.get("fieldPath") == "status.hostIPs":
        _unconverted("field label not supported: status.hostIPs", "status.hostIPs", at, report)
    else:
        object_field(reference, _ENV_FIELDS, at, report)


def _variable_now(reference: Object, at: Path, report: Report) -> None:
    object_field(reference, tuple(sorted((*_ENV_FIELDS, "status.hostIPs"))), at, report)


#: Validates the field that an environment variable refers to.
variable_field = by_release(_variable_once, ("1.28", _variable_now))


def _unconverted(why: str, path: str, at: Path, report: Report) -> None:
    report.invalid(at / "fieldPath", path, f"error converting fieldPath: {why}")


def _split_subscript(path: str) -> tuple[str, str | None]:
    """Split ``metadata.labels['a']`` into field and key; the key is None without a subscript."""
    if path.endswith("']"):
        base, opening, subscript = path[:-2].partition("['")
        if opening and base:
            return base, subscript
    return path, None


def resource_field(reference: Object, at: Path, report: Report, *, volume: bool) -> None:
    """Validate a resource reference. In a file it must name the container."""
    resource = reference.get("resource") or ""
    if volume and not reference.get("containerName"):
        report.required(at / "containerName")
    elif not resource:
        report.required(at / "resource")
    elif resource not in _RESOURCES and not (
        resource.startswith(HUGE_PAGES) and report.settings.feature("DownwardAPIHugePages")
    ):
        report.unsupported(at / "resource", resource, _RESOURCES)
    divisor = str(reference.get("divisor") or "0")
    if amount(divisor):
        _divisor(resource, divisor, at, report)


def _divisor(resource: str, divisor: str, at: Path, report: Report) -> None:
    kind = resource.partition(".")[2]
    if kind == "cpu":
        named, words = "cpu", "1m and 1"
    else:
        words = ", ".join(_BYTES)
        named = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(kind, "")
        if kind.startswith("hugepages-"):
            named = "hugepages"
    if named and divisor not in (("1m", "1") if kind == "cpu" else _BYTES):
        report.invalid(
            at / "divisor", resource, f"only divisor's values {words} are supported with the {named} resource"
        )
