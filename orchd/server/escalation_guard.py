"""RBAC escalation check on role and binding writes."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.jsonvalues import Object
from orchd.server.authz.escalation import EscalationCheck
from orchd.server.registry.interfaces import Context, IAdmission, IReview
from orchd.server.registry.objectmeta import in_namespace

_ROLES = frozenset(("roles", "clusterroles"))
_BINDINGS = frozenset(("rolebindings", "clusterrolebindings"))


@implementer(IAdmission)
class EscalationGuard:
    """`admission`, whose mutating chain is followed by the escalation check on writes to the RBAC kinds of `group`."""

    def __init__(self, admission: IAdmission, check: EscalationCheck, group: str) -> None:
        self._admission = admission
        self._check = check
        self._group = group

    def review(self, context: Context, operation: str, old: Object | None, *, name: str = "") -> IReview:
        review: IReview = self._admission.review(context, operation, old, name=name)
        if context.resource.group != self._group or operation not in ("CREATE", "UPDATE"):
            return review
        guarded: IReview = _GuardedReview(review, self._check, context, old)
        return guarded


@implementer(IReview)
class _GuardedReview:
    """`review`, whose `mutate` raises ApiError 403 if the admitted role or binding grants more than the user holds."""

    def __init__(self, review: IReview, check: EscalationCheck, context: Context, old: Object | None) -> None:
        self._review = review
        self._check = check
        self._context = context
        self._old = old

    async def mutate(self, obj: Object | None) -> Object | None:
        admitted: Object | None = await self._review.mutate(obj)
        context, plural = self._context, self._context.resource.plural
        if admitted is not None and plural in _ROLES | _BINDINGS:
            # The object as sent may omit the namespace of the request.
            meant = in_namespace(context, admitted)
            check = self._check.role if plural in _ROLES else self._check.binding
            await check(context.user, plural, meant, self._old)
        return admitted

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        await self._review.validate(obj, old)
