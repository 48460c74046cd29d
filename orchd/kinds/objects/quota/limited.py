"""Resources whose consumption needs a quota that covers it (ResourceQuotaConfiguration, ``limitedResources``). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage
from orchd.kinds.objects.quota.scopes import Scope, matching_scopes, scope_of, scopes_of

#: An item of ``limitedResources``.
LimitedResource = Mapping[str, Any]


def uncovered_names(
    limited: Sequence[LimitedResource], resource: Resource, usage: Usage, covered: Collection[str]
) -> list[str]:
    """The limited names that an object with `usage` consumes and that are not `covered` by a quota, sorted."""
    parts = [
        part
        for each in limited
        if (each.get("apiGroup", ""), each["resource"]) == (resource.group, resource.plural)
        for part in each.get("matchContains") or ()
    ]
    return sorted(
        name
        for name, value in usage.items()
        if value.nano > 0 and name not in covered and any(part in name for part in parts)
    )


def uncovered_scopes(
    limited: Sequence[LimitedResource], resource: Resource, obj: Object, quotas: Sequence[Object]
) -> list[Scope]:
    """The limited scopes that match an object and that no quota of `quotas` covers. Items of `limited` for other
    resources apply too."""
    asked = [scope_of(each) for item in limited for each in item.get("matchScopes") or ()]
    scopes = matching_scopes(resource, obj, asked)
    if not scopes:
        return []
    covered = {scope.name for quota in quotas for scope in matching_scopes(resource, obj, scopes_of(quota))}
    return [scope for scope in scopes if scope.name not in covered]
