"""Permission checks around admission: RBAC escalation by roles and bindings, and parameters of admission policies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from zope.interface import implementer

from orchd import errors
from orchd.errors import Cause
from orchd.kinds.jsonvalues import Object
from orchd.server.authz.escalation import EscalationCheck
from orchd.server.authz.parameters import ParameterCheck
from orchd.server.registry.interfaces import Context, IAdmission, IReview
from orchd.server.registry.objectmeta import in_namespace

#: Checks a new object against the old one, None for a creation. Raises ApiError.
Check = Callable[[Context, Object, Object | None], Awaitable[None]]
#: By group and plural.
Checks = Mapping[tuple[str, str], Check]


def escalation_checks(check: EscalationCheck, group: str) -> Checks:
    """Refuse roles and bindings that grant more than the user holds, with 403. `group` is that of RBAC."""

    async def role(context: Context, obj: Object, old: Object | None) -> None:
        # The object as sent may omit the namespace of the request.
        await check.role(context.user, context.resource.plural, in_namespace(context, obj), old)

    async def binding(context: Context, obj: Object, old: Object | None) -> None:
        await check.binding(context.user, context.resource.plural, in_namespace(context, obj), old)

    rows = {"roles": role, "clusterroles": role, "rolebindings": binding, "clusterrolebindings": binding}
    return {(group, plural): row for plural, row in rows.items()}


def parameter_checks(check: ParameterCheck, group: str) -> Checks:
    """Refuse policies and bindings whose parameters the user may not read, with 422. `group` is that of policies."""

    def refuse(context: Context, obj: Object, cause: Cause | None) -> None:
        if cause is not None:
            raise errors.invalid(group, context.resource.kind, obj["metadata"].get("name", ""), (cause,))

    async def policy(context: Context, obj: Object, old: Object | None) -> None:
        refuse(context, obj, await check.policy(context.user, obj, old))

    async def binding(context: Context, obj: Object, old: Object | None) -> None:
        refuse(context, obj, await check.binding(context.user, obj, old))

    return {(group, "validatingadmissionpolicies"): policy, (group, "validatingadmissionpolicybindings"): binding}


@implementer(IAdmission)
class GuardedAdmission:
    """`admission` with checks of created and updated objects: `mutated` after the mutating chain, and `validated`
    before the validating chain."""

    def __init__(self, admission: IAdmission, *, mutated: Checks, validated: Checks) -> None:
        self._admission = admission
        self._mutated = mutated
        self._validated = validated

    def review(self, context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        review: IReview = self._admission.review(context, operation, old, name=name)
        row = context.resource.group, context.resource.plural
        if row not in self._mutated and row not in self._validated:
            return review
        if operation not in ("CREATE", "UPDATE") or context.subresource:
            return review
        guarded: IReview = _GuardedReview(review, context, old, self._mutated.get(row), self._validated.get(row))
        return guarded


@implementer(IReview)
class _GuardedReview:
    def __init__(
        self, review: IReview, context: Context, old: Object | None, mutated: Check | None, validated: Check | None
    ) -> None:
        self._review = review
        self._context = context
        self._old = old
        self._mutated = mutated
        self._validated = validated

    async def mutate(self, obj: Object | None) -> Object | None:
        admitted: Object | None = await self._review.mutate(obj)
        if admitted is not None and self._mutated is not None:
            await self._mutated(self._context, admitted, self._old)
        return admitted

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        if obj is not None and self._validated is not None:
            await self._validated(self._context, obj, self._old)
        await self._review.validate(obj, old)
