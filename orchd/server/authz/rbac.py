"""RBAC authorizer: bindings indexed by subject, roles compiled once, both updated by informers.

The order is that of the specification's "RBAC": cluster role bindings, then role bindings of the request's namespace;
the first matching rule allows the action. A binding whose role is missing allows nothing and is named in the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import SERVICE_ACCOUNT_PREFIX, User
from orchd.server.authz.compiled_rules import CompiledRules
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, NonResourceRule, ResourceRule, Rules, Verdict
from orchd.server.authz.messages import join_errors

_PASS = Verdict(Decision.NO_OPINION)


@dataclass(frozen=True, slots=True)
class RoleKey:
    """A role referenced by a binding; `namespace` is "" for a ClusterRole."""

    kind: str
    namespace: str
    name: str


class Grant:
    """One subject of one binding, `binding` (namespace and name), and its role. `allowed` is the verdict when the role
    allows the action: it is made once, of the beginning of its reason, as most of thousands of subjects ask for
    nothing."""

    __slots__ = ("_allowed", "_reason", "_subject", "binding", "role")

    def __init__(self, binding: tuple[str, str], role: RoleKey, reason: str, subject: str) -> None:
        self.binding = binding
        self.role = role
        self._reason = reason
        self._subject = subject
        self._allowed: Verdict | None = None

    @property
    def allowed(self) -> Verdict:
        if self._allowed is None:
            self._allowed = Verdict(Decision.ALLOW, self._reason + self._subject)
        return self._allowed


#: Grants of one scope by subject: ``u:NAME`` for users and service accounts, ``g:NAME`` for groups. One for each
#: binding.
_BySubject = dict[str, list[Grant]]


def subject_keys(user: User) -> list[str]:
    """The index keys under which grants of `user` are found."""
    return ["u:" + user.name, *["g:" + g for g in user.groups]]


def role_key(role_ref: Object, namespace: str) -> RoleKey:
    """The role that a roleRef of a binding in `namespace` references."""
    kind = role_ref.get("kind", "")
    return RoleKey(kind, namespace if kind == "Role" else "", role_ref.get("name", ""))


class _Bindings:
    """The grants of all bindings of one kind, by namespace and subject."""

    def __init__(self, kind: str, informer: IInformer) -> None:
        self._kind = kind
        self.scopes: dict[str, _BySubject] = {}
        for obj in informer.list():
            self._enter(obj)
        informer.add_listener(self._changed)

    def _changed(self, type: str, old: Object | None, new: Object | None) -> None:
        if (
            old is not None
            and new is not None
            and all(old.get(name) == new.get(name) for name in ("subjects", "roleRef"))
        ):
            # There may be thousands of subjects.
            return
        if old is not None:
            self._forget(old)
        if new is not None:
            # Listeners may be called again for objects that the constructor has listed.
            self._forget(new)
            self._enter(new)

    def _subjects(self, obj: Object) -> Iterator[tuple[str, str]]:
        """(index key, description) of every subject."""
        namespace = obj["metadata"].get("namespace", "")
        for subject in obj.get("subjects") or ():
            kind, name = subject.get("kind"), subject.get("name", "")
            if kind == "User":
                yield "u:" + name, f'User "{name}"'
            elif kind == "Group":
                yield "g:" + name, f'Group "{name}"'
            elif kind == "ServiceAccount":
                home = subject.get("namespace") or namespace
                if home:
                    yield f"u:{SERVICE_ACCOUNT_PREFIX}{home}:{name}", f'ServiceAccount "{name}/{home}"'

    def _enter(self, obj: Object) -> None:
        meta, ref = obj["metadata"], obj.get("roleRef") or {}
        namespace, name = meta.get("namespace", ""), meta["name"]
        role = role_key(ref, namespace)
        scope = self.scopes.setdefault(namespace, {})
        binding, path = (namespace, name), f"{name}/{namespace}" if namespace else name
        reason = f'RBAC: allowed by {self._kind} "{path}" of {role.kind} "{role.name}" to '
        for key, subject in self._subjects(obj):
            grants = scope.setdefault(key, [])
            # A binding may name a subject repeatedly.
            if not grants or grants[-1].binding != binding:
                grants.append(Grant(binding, role, reason, subject))

    def _forget(self, obj: Object) -> None:
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        scope = self.scopes.get(namespace)
        if scope is None:
            return
        for key, _ in self._subjects(obj):
            kept = [g for g in scope.get(key, ()) if g.binding != (namespace, meta["name"])]
            if kept:
                scope[key] = kept
            else:
                scope.pop(key, None)
        if not scope:
            del self.scopes[namespace]


@implementer(IAuthorizer)
class RoleBasedAuthorizer:
    """Authorizes from the four RBAC kinds."""

    name = "RBAC"

    def __init__(self, dialect: Dialect, informers: IInformers) -> None:
        group = dialect("rbac.authorization.{abbr}.io")
        self._group = group

        def informer(plural: str) -> IInformer:
            return informers.informer(ResourceRef(group, "v1", plural))

        self._informers = {kind: informer(kind.lower() + "s") for kind in ("Role", "ClusterRole")}
        self._compiled: dict[RoleKey, CompiledRules] = {}
        for kind, source in self._informers.items():
            source.add_listener(self._dropper(kind))
        self._cluster = _Bindings("ClusterRoleBinding", informer("clusterrolebindings"))
        self._local = _Bindings("RoleBinding", informer("rolebindings"))

    def _dropper(self, kind: str) -> Any:
        def changed(type: str, old: Object | None, new: Object | None) -> None:
            obj = new if new is not None else old
            if obj is not None:
                meta = obj["metadata"]
                self._compiled.pop(RoleKey(kind, meta.get("namespace", ""), meta["name"]), None)

        return changed

    def _role(self, key: RoleKey) -> CompiledRules | None:
        role = self._compiled.get(key)
        if role is None:
            rules = self.role_rules(key)
            if rules is None:
                return None
            role = self._compiled[key] = CompiledRules(rules)
        return role

    def role_rules(self, key: RoleKey) -> Sequence[Object] | None:
        """The PolicyRules of a role, None when it does not exist."""
        informer = self._informers.get(key.kind)
        obj = informer.get(key.namespace, key.name) if informer is not None else None
        return None if obj is None else (obj.get("rules") or ())

    async def authorize(self, action: Action) -> Verdict:
        keys = subject_keys(action.user)
        missing: dict[str, None] = {}
        for scope in self._scopes(action.namespace):
            for key in keys:
                for grant in scope.get(key, ()):
                    role = self._compiled.get(grant.role) or self._role(grant.role)
                    if role is None:
                        missing[self._missing_role_text(grant.role)] = None
                    elif role.allow(action):
                        return grant.allowed
        if not missing:
            return _PASS
        return Verdict(Decision.NO_OPINION, "RBAC: " + join_errors(missing))

    def _scopes(self, namespace: str) -> list[_BySubject]:
        scopes = []
        cluster = self._cluster.scopes.get("")
        if cluster:
            scopes.append(cluster)
        local = self._local.scopes.get(namespace) if namespace else None
        if local:
            scopes.append(local)
        return scopes

    def _missing_role_text(self, role: RoleKey) -> str:
        return f'{role.kind.lower()}.{self._group} "{role.name}" not found'

    def policy_rules(self, user: User, namespace: str) -> tuple[list[Object], list[str]]:
        """Every PolicyRule of `user` in `namespace`, and a message for every missing role."""
        rules: list[Object] = []
        errors: dict[str, None] = {}
        for scope in self._scopes(namespace):
            for key in subject_keys(user):
                for grant in scope.get(key, ()):
                    held = self.role_rules(grant.role)
                    if held is None:
                        errors[self._missing_role_text(grant.role)] = None
                    else:
                        rules.extend(held)
        return rules, list(errors)

    def rules(self, user: User, namespace: str) -> Rules:
        held, errors = self.policy_rules(user, namespace)
        return Rules(
            resource=tuple(
                ResourceRule(
                    verbs=tuple(r["verbs"]),
                    api_groups=tuple(r.get("apiGroups") or ()),
                    resources=tuple(r["resources"]),
                    resource_names=tuple(r.get("resourceNames") or ()),
                )
                for r in held
                if r.get("resources")
            ),
            non_resource=tuple(
                NonResourceRule(verbs=tuple(r["verbs"]), paths=tuple(r["nonResourceURLs"]))
                for r in held
                if r.get("nonResourceURLs")
            ),
            incomplete=bool(errors),
            error=join_errors(errors),
        )
