"""Permission check on admission policies and bindings: a user whose policy reads parameters must be allowed to read
them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, split_group_version
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, Verdict

#: Everything: what must be readable where it is not known which resource parameters are of.
_ANY = ("*", "*", "*")


class ParameterCheck:
    """The checks of one server. `policy` returns a policy by name, None if it does not exist."""

    def __init__(
        self,
        authorize: Callable[[Action], Awaitable[Verdict]],
        catalog: Callable[[], Catalog],
        policy: Callable[[str], Object | None],
    ) -> None:
        self._authorize = authorize
        self._catalog = catalog
        self._policy = policy

    async def policy(self, user: User, obj: Object, old: Object | None) -> Cause | None:
        """Why `user` may not write a policy with this paramKind; None if the user may."""
        kind = fields.spec(obj).get("paramKind")
        if kind is None or MASTERS_GROUP in user.groups or (old and fields.spec(old).get("paramKind") == kind):
            return None
        (group, version, plural), _ = self._resource(kind)
        action = Action(user=user, verb="get", group=group, version=version, resource=plural, namespace="*", name="*")
        why = await self._refusal(
            action,
            f'user {_spell(user)} must have "get" permission on all objects of the referenced paramKind '
            f"(kind={kind.get('kind') or ''}, apiVersion={kind.get('apiVersion') or ''})",
        )
        return Cause("FieldValueForbidden", f"Forbidden: {why}", "spec.paramKind") if why else None

    async def binding(self, user: User, obj: Object, old: Object | None) -> Cause | None:
        """Why `user` may not write a binding with this paramRef; None if the user may."""
        spec = fields.spec(obj)
        reference = spec.get("paramRef")
        if reference is None or MASTERS_GROUP in user.groups or (old and _same_parameters(spec, fields.spec(old))):
            return None
        name = spec.get("policyName") or ""
        verb = "get" if reference.get("name") else "list"
        (group, version, plural), unknown = self._parameters(name)
        action = Action(
            user=user,
            verb=verb,
            group=group,
            version=version,
            resource=plural,
            namespace=reference.get("namespace") or "",
            name=reference.get("name") or "",
        )
        may_not = f'user {_spell(user)} does not have "{verb}" permission'
        denied = f"{may_not} on the object referenced by paramRef"
        if unknown:
            denied = (
                f"{unknown} to determine minimum required permissions and {may_not} for all groups, versions "
                "and resources"
            )
        why = await self._refusal(action, denied)
        return Cause("FieldValueForbidden", f"Forbidden: {why}", "spec.paramRef") if why else None

    async def _refusal(self, action: Action, denied: str) -> str:
        verdict = await self._authorize(action)
        if verdict.decision is Decision.ALLOW:
            return ""
        return f"failed to authorize request: {verdict.error}" if verdict.error else denied

    def _parameters(self, name: str) -> tuple[tuple[str, str, str], str]:
        """Group, version and resource of the parameters of a policy, and why they are not known exactly."""
        policy = self._policy(name)
        if policy is None:
            return _ANY, f"unable to get policy {name}"
        kind = fields.spec(policy).get("paramKind")
        return (_ANY, "") if kind is None else self._resource(kind)

    def _resource(self, kind: ObjectView) -> tuple[tuple[str, str, str], str]:
        api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
        group, version = split_group_version(api_version)
        resource = self._catalog().kind(api_version, name)
        if resource is None:
            return (
                group,
                version,
                "*",
            ), f"unable to resolve paramKind &ParamKind{{APIVersion:{api_version},Kind:{name},}}"
        return (group, version, resource.plural), ""


def _same_parameters(spec: ObjectView, old: ObjectView) -> bool:
    names = ("paramRef", "policyName")
    return all(spec.get(name) == old.get(name) for name in names)


def _spell(user: User) -> str:
    """A user as the reference spells one."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
