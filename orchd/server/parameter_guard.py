"""Permission check on writes of admission policies and bindings that name parameters."""

from __future__ import annotations

from typing import Final

from zope.interface import implementer

from orchd import errors
from orchd.kinds.jsonvalues import Object
from orchd.server.authz.parameters import ParameterCheck
from orchd.server.registry.interfaces import Context, IAdmission, IReview

_POLICIES: Final = "validatingadmissionpolicies"
_BINDINGS: Final = "validatingadmissionpolicybindings"


@implementer(IAdmission)
class ParameterGuard:
    """`admission`, whose validating chain follows the check on writes of policies and bindings of `group`."""

    def __init__(self, admission: IAdmission, check: ParameterCheck, group: str) -> None:
        self._admission = admission
        self._check = check
        self._group = group

    def review(self, context: Context, operation: str, old: Object | None, *, name: str = "") -> IReview:
        review: IReview = self._admission.review(context, operation, old, name=name)
        resource = context.resource
        if resource.group != self._group or resource.plural not in (_POLICIES, _BINDINGS):
            return review
        if operation not in ("CREATE", "UPDATE") or context.subresource:
            return review
        guarded: IReview = _GuardedReview(review, self._check, context, old)
        return guarded


@implementer(IReview)
class _GuardedReview:
    """`review`, whose `validate` raises ApiError 422 if the user may not read the parameters."""

    def __init__(self, review: IReview, check: ParameterCheck, context: Context, old: Object | None) -> None:
        self._review = review
        self._check = check
        self._context = context
        self._old = old

    async def mutate(self, obj: Object | None) -> Object | None:
        admitted: Object | None = await self._review.mutate(obj)
        return admitted

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        if obj is not None:
            resource = self._context.resource
            check = self._check.policy if resource.plural == _POLICIES else self._check.binding
            cause = await check(self._context.user, obj, self._old)
            if cause is not None:
                raise errors.invalid(resource.group, resource.kind, obj["metadata"].get("name", ""), (cause,))
        await self._review.validate(obj, old)
