"""User and group ids: rules MustRunAs, MayRunAs, MustRunAsNonRoot, RunAsAny."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchd.server.admission.plugins.podsecuritypolicies.findings import (
    invalid,
    invalid_text,
    listing,
    required,
    spans,
    within,
)

Options = dict[str, Any]
_WITH_RANGES = ("MustRunAs", "MayRunAs")


def check_user_rule(options: Options) -> None:
    """Raises ValueError for an invalid rule."""
    rule = options.get("rule")
    if rule not in ("MustRunAs", "MustRunAsNonRoot", "RunAsAny"):
        raise ValueError(f"Unrecognized RunAsUser strategy type {rule}")
    if rule == "MustRunAs" and not options.get("ranges"):
        raise ValueError("MustRunAs requires at least one range")


def check_group_rule(options: Options, name: str) -> None:
    """Raises ValueError for an invalid rule; `name` is that of the strategy."""
    rule = options.get("rule")
    if rule not in (*_WITH_RANGES, "RunAsAny"):
        raise ValueError(f"Unrecognized {name} strategy type {rule}")
    if rule in _WITH_RANGES and not options.get("ranges"):
        raise ValueError(f"ranges must be supplied for {rule}")


def default_id(options: Options) -> int | None:
    """The default id: the minimum of the first range, if the rule requires an id."""
    return (options["ranges"][0].get("min") or 0) if options.get("rule") == "MustRunAs" else None


def user_findings(options: Options, path: str, non_root: bool | None, user: int | None) -> list[str]:
    rule = options.get("rule")
    if rule == "MustRunAs":
        if user is None:
            return [required(f"{path}.runAsUser")]
        if not within(user, options["ranges"]):
            return [invalid(f"{path}.runAsUser", user, f"must be in the ranges: {spans(options['ranges'])}")]
    elif rule == "MustRunAsNonRoot":
        if non_root is None and user is None:
            return [required(f"{path}.runAsNonRoot", "must be true")]
        if non_root is False:
            return [invalid(f"{path}.runAsNonRoot", False, "must be true")]
        if user == 0:
            return [invalid(f"{path}.runAsUser", 0, "running with the root UID is forbidden")]
    return []


def group_findings(options: Options, path: str, groups: Sequence[int]) -> list[str]:
    if options.get("rule") == "RunAsAny":
        return []
    value, ranges = listing("[]int64", [str(g) for g in groups]), options["ranges"]
    if not groups and options["rule"] == "MustRunAs":
        return [invalid_text(path, value, "unable to validate empty groups against required ranges")]
    return [
        invalid_text(path, value, f"group {group} must be in the ranges: {spans(ranges)}")
        for group in groups
        if not within(group, ranges)
    ]
