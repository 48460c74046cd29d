"""Validation of resource names and amounts of containers, quotas, limits and nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.kinds.gotext.structs import quantity as go_quantity
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.names import qualified_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount, is_integer

COUNTED: Final = frozenset(
    "pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims "
    "services.nodeports services.loadbalancers".split()
)
_CONTAINER: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_POD: Final = frozenset(("cpu", "memory"))
QUOTA: Final = frozenset(
    (
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        *COUNTED,
    )
)
_STANDARD: Final = QUOTA | {"storage"}
_NEGATIVE: Final = "must be greater than or equal to 0"


def is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def is_standard_quota(name: str) -> bool:
    return name in QUOTA or name.startswith(("hugepages-", "requests.hugepages-"))


def is_standard_container(name: str) -> bool:
    return name in _CONTAINER or name.startswith("hugepages-")


def is_native(name: str, report: Report) -> bool:
    """True for native resources: unqualified, or qualified with the product's domain."""
    return "/" not in name or report.dialect("{long}.io/") in name


def is_extended(name: str, report: Report) -> bool:
    """True for extended resources: qualified with another domain, and short enough for a quota."""
    if is_native(name, report) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def is_counted(name: str, report: Report) -> bool:
    """True for resources whose amounts must be integers."""
    return name in COUNTED or is_extended(name, report)


def overcommit_allowed(name: str, report: Report) -> bool:
    return is_native(name, report) and not name.startswith("hugepages-")


def resource_name(name: str, at: Path, report: Report) -> None:
    wrong = qualified_name(name)
    if wrong:
        report.invalids(at, name, wrong)
    elif "/" not in name and not is_standard(name):
        report.invalid(at, name, "must be a standard resource type or fully qualified")


def container_resource_name(name: str, at: Path, report: Report) -> None:
    resource_name(name, at, report)
    if "/" not in name:
        if not is_standard_container(name):
            report.invalid(at, name, "must be a standard resource for containers")
    elif not is_native(name, report) and not is_extended(name, report):
        report.invalid(at, name, "doesn't follow extended resource name standard")


def quantity_value(name: str, value: Any, at: Path, report: Report) -> None:
    """Validate an amount: not negative, and an integer where objects are counted."""
    number = amount(value)
    if number < 0:
        report.invalid(at, str(value), _NEGATIVE)
    if not is_integer(value) and is_counted(name, report):
        report.invalid(at, go_quantity(str(value)), "must be an integer")


def pod_resource_name(name: str, at: Path, report: Report) -> None:
    """Resources of a pod as a whole: processor time, memory and huge pages."""
    before = len(report.causes)
    resource_name(name, at, report)
    if len(report.causes) == before and name not in ("cpu", "memory") and not name.startswith("hugepages-"):
        report.unsupported(at, name, ("cpu", "hugepages-", "memory"))


def requirements(value: Object, at: Path, report: Report) -> None:
    """Validate limits and requests of a container."""
    _requirements(value, at, report, _CONTAINER, container_resource_name)


def pod_requirements(value: Object, at: Path, report: Report) -> None:
    """Validate limits and requests of a pod."""
    _requirements(value, at, report, _POD, pod_resource_name)


def _requirements(
    value: Object, at: Path, report: Report, plain: frozenset[str], name_rule: Callable[[str, Path, Report], None]
) -> None:
    """`plain` are names that need no validation."""
    limits: Object = value.get("limits") or {}
    requests: Object = value.get("requests") or {}
    if not limits and not requests:
        return
    huge = False
    for name, quantity in limits.items():
        if name in plain and amount(quantity) >= 0:
            continue
        here = (at / "limits")[name]
        name_rule(name, here, report)
        quantity_value(name, quantity, here, report)
        huge = _huge_pages(name, quantity, here, report) or huge
    for name, quantity in requests.items():
        if name not in plain or amount(quantity) < 0:
            here = (at / "requests")[name]
            name_rule(name, here, report)
            quantity_value(name, quantity, here, report)
        _within_limit(name, quantity, limits.get(name), at, report)
        if name.startswith("hugepages-"):
            huge = _huge_pages(name, quantity, (at / "requests")[name], report)
    if huge and not any(name in ("cpu", "memory") for name in (*limits, *requests)):
        report.forbidden(at, "HugePages require cpu or memory")


def _within_limit(name: str, quantity: Any, limit: Any, at: Path, report: Report) -> None:
    if limit is None:
        if not overcommit_allowed(name, report):
            report.required(at / "limits", "Limit must be set for non overcommitable resources")
        return
    if quantity == limit:
        return
    if amount(quantity) != amount(limit) and not overcommit_allowed(name, report):
        report.invalid(at / "requests", str(quantity), _limited(f"must be equal to {name} limit", limit))
    elif amount(quantity) > amount(limit):
        report.invalid(at / "requests", str(quantity), _limited(f"must be less than or equal to {name} limit", limit))


def _limited(why: str, limit: Any) -> str:
    return reworded(why, ("1.35", f"{why} of {limit}"))


def _huge_pages(name: str, quantity: Any, at: Path, report: Report) -> bool:
    if not name.startswith("hugepages-"):
        return False
    size, number = amount(name.removeprefix("hugepages-")), amount(quantity)
    if size <= 0 or (number / size).denominator != 1:
        report.invalid(at, str(quantity), f"{quantity} is not positive integer multiple of {name}")
    return True
