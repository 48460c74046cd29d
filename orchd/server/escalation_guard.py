"""RBAC escalation check on role and binding writes."""

from __future__ import annotations

from orchd.server.authz.escalation import EscalationCheck
from orchd.server.registry.interfaces import Admit, Context, Object
from orchd.server.registry.objectmeta import in_namespace

_ROLES = frozenset(("roles", "clusterroles"))
_BINDINGS = frozenset(("rolebindings", "clusterrolebindings"))


def with_escalation_check(mutate: Admit, check: EscalationCheck | None, group: str) -> Admit:
    """`mutate`, followed by the escalation check of writes to the RBAC kinds of `group`."""
    if check is None:
        return mutate

    async def admit(context: Context, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        admitted = await mutate(context, operation, obj, old)
        resource = context.resource
        if resource.group == group and admitted is not None and operation in ("CREATE", "UPDATE"):
            # The object as sent may omit the namespace of the request.
            meant = in_namespace(context, admitted)
            if resource.plural in _ROLES:
                await check.role(context.user, resource.plural, meant, old)
            elif resource.plural in _BINDINGS:
                await check.binding(context.user, resource.plural, meant, old)
        return admitted

    return admit
