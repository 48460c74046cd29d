"""RBAC escalation check: writers of roles and bindings must hold the granted permissions, or ``escalate`` / ``bind``.

Called by the registry for the four RBAC kinds, after admission and before the object is stored (specification, "RBAC",
"Privilege escalation prevention").
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from orchd import errors
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import Rule, compact, uncovered
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.messages import describe_rule, quote_list
from orchd.server.authz.rbac import RoleBasedAuthorizer, role_key
from orchd.txkit.compute_thread import ComputeThread

#: Comparisons with rules whose cost is that of describing one.
_DESCRIBED: Final = 50

_EVERYTHING: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


def escalation_message(user: User, held: Iterable[Rule], granted: Iterable[Rule], problems: Iterable[str] = ()) -> str:
    """Why `user` with the rules `held` may not grant `granted`; "" when it is allowed."""
    missing = uncovered(held, granted)
    if not missing:
        return ""
    lines = sorted({describe_rule(rule) for rule in compact(missing)})
    text = (
        f"user {errors.quoted(user.name)} (groups={quote_list(user.groups)}) is attempting to grant RBAC permissions "
        "not currently held:\n" + "\n".join(lines)
    )
    listed = list(problems)
    return f"{text}; resolution errors: [{' '.join(listed)}]" if listed else text


def only_garbage_collection_fields(new: Object, old: Object) -> bool:
    """True if the change affects only owner references and finalizers."""

    def rest(obj: Object) -> Object:
        meta = fields.metadata(obj)
        skipped = ("ownerReferences", "finalizers", "managedFields", "selfLink")
        return {**obj, "metadata": {k: v for k, v in meta.items() if k not in skipped}}

    return rest(new) == rest(old)


class EscalationCheck:
    """The checks of one server. Both raise ApiError: 403 for an escalation, 404 for a binding to a missing role."""

    def __init__(
        self,
        dialect: Dialect,
        rbac: RoleBasedAuthorizer,
        authorize: Callable[[Action], Awaitable[Verdict]],
        *,
        names_bindings: bool = False,
        compute: ComputeThread | None = None,
    ) -> None:
        """`names_bindings`: the error for a missing role is that of a missing binding, as in newer releases. Many rules
        are compared with `compute`."""
        self._compute = compute or ComputeThread()
        self._names_bindings = names_bindings
        self._group = dialect("rbac.authorization.{abbr}.io")
        self._rbac = rbac
        self._authorize = authorize

    async def role(self, user: User, plural: str, obj: Object, old: Object | None = None) -> None:
        """Check a Role or ClusterRole (`plural` is ``roles`` or ``clusterroles``) about to be stored."""
        if MASTERS_GROUP in user.groups:
            return
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta.get("name", "")
        if await self._may(user, "escalate", plural, namespace, name):
            return
        if old is not None and only_garbage_collection_fields(obj, old):
            return
        await self._confirm(user, namespace, obj.get("rules") or (), plural, name)
        if plural == "clusterroles" and (obj.get("aggregationRule") or {}).get("clusterRoleSelectors"):
            held, _ = self._rbac.policy_rules(user, "")
            if uncovered(held, _EVERYTHING):
                why = "must have cluster-admin privileges to use the aggregationRule"
                raise errors.forbidden(self._group, plural, name, why)

    async def binding(self, user: User, plural: str, obj: Object, old: Object | None = None) -> None:
        """Check a RoleBinding or ClusterRoleBinding about to be stored."""
        if MASTERS_GROUP in user.groups:
            return
        if old is not None and only_garbage_collection_fields(obj, old):
            return
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        ref = role_key(obj.get("roleRef") or {}, namespace)
        roles = "roles" if ref.kind == "Role" else "clusterroles"
        if await self._may(user, "bind", roles, namespace, ref.name):
            return
        if ref.kind not in ("Role", "ClusterRole"):
            raise errors.ApiError(500, "", f"unsupported role reference kind: {errors.quoted(ref.kind)}")
        if not ref.name:
            raise errors.bad_request("Name parameter required.")
        rules = self._rbac.role_rules(ref)
        if rules is None:
            raise errors.not_found(self._group, plural if self._names_bindings else roles, ref.name)
        await self._confirm(user, namespace, rules, plural, meta.get("name", ""))

    async def _may(self, user: User, verb: str, plural: str, namespace: str, name: str) -> bool:
        action = Action(
            user=user, verb=verb, group=self._group, version="*", resource=plural, namespace=namespace, name=name
        )
        return (await self._authorize(action)).decision is Decision.ALLOW

    async def _confirm(self, user: User, namespace: str, rules: Iterable[Rule], plural: str, name: str) -> None:
        rules = list(rules)
        held, problems = self._rbac.policy_rules(user, namespace)
        size = len(rules) * (len(held) + _DESCRIBED)
        message = await self._compute(size, escalation_message, user, held, rules, problems)
        if message:
            raise errors.forbidden(self._group, plural, name, message)
