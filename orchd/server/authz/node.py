"""The Node authorizer: kubelets may read what the pods bound to their node need, and write their own objects.

A decision depends on relations of objects to nodes (`orchd.server.authz.node_relations`), which are indexed on the
first request of a kubelet; it waits for them. Actions on resources without a rule here are decided by the rules of the
``system:node`` role (specification, "Node authorization").
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Final

from zope.interface import implementer

from orchd.client.interfaces import IInformers
from orchd.dialect import Dialect
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User, node_name
from orchd.server.authz.bootstrap_policy import cluster_role_rules
from orchd.server.authz.compiled_rules import CompiledRules
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict
from orchd.server.authz.node_relations import NodeRelations

#: The verdict on an action of the node with this name.
_Rule = Callable[[str, Action], Verdict]

_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION)
#: The gate with which kubelets may read service accounts, for the credential providers of images.
_ACCOUNTS_GATE: Final = "{Short}letServiceAccountTokenForCredentialProviders"
#: Resources whose rules ask for no relation.
_UNRELATED: Final = frozenset(("nodes", "leases", "csinodes"))
_BY_NODE: Final = "spec.nodeName"
#: Writes that are allowed here, of which admission checks the objects.
_CHECKED_WRITES: Final = {
    "nodes": {"": ("create", "update", "patch"), "status": ("update", "patch")},
    "pods": {"": ("create", "delete"), "status": ("update", "patch"), "eviction": ("create",)},
}


def _no(reason: str) -> Verdict:
    return Verdict(Decision.NO_OPINION, reason)


@implementer(IAuthorizer)
class NodeAuthorizer:
    """`disabled` are the feature gates that are off."""

    name = "Node"

    def __init__(
        self, dialect: Dialect, informers: IInformers, release: Release = SPECIFICATION, disabled: Container[str] = ()
    ) -> None:
        self._lease_namespace = dialect("{short}-node-lease")
        self._reads_accounts = _ACCOUNTS_GATE not in disabled
        self._role = CompiledRules(cluster_role_rules(dialect, "system:node", release))
        self._relations = NodeRelations(dialect, informers, release)
        self.instruments = self._relations.instruments
        #: Rules by group and resource.
        self._rules = {
            (dialect(group), resource): rule for since, group, resource, rule in self._rows() if release.includes(since)
        }

    def _rows(self) -> Iterable[tuple[str, str, str, _Rule]]:
        """Release that begins a rule, group, resource and the rule, which replaces one of an earlier release."""
        storage = "storage.{abbr}.io"
        yield "", "", "secrets", self._reading("secret")
        yield "", "", "configmaps", self._reading("configmap")
        yield "", "", "persistentvolumeclaims", self._claim
        yield "", "", "persistentvolumes", self._getting("volume")
        yield "", "", "serviceaccounts", self._token
        yield "", storage, "volumeattachments", self._getting("attachment")
        yield "", storage, "csinodes", self._own_csinode
        yield "", "coordination.{abbr}.io", "leases", self._own_lease
        yield "1.32", "", "nodes", self._own_node
        yield "1.32", "", "pods", self._pod
        yield "1.34", "", "serviceaccounts", self._account
        yield "1.34", "resource.{abbr}.io", "resourceclaims", self._getting("resourceclaim")
        yield "1.34", "resource.{abbr}.io", "resourceslices", self._slice

    async def authorize(self, action: Action) -> Verdict:
        node = node_name(action.user)
        if node is None:
            return _PASS
        if not node:
            return _no(f'unknown node for user "{action.user.name}"')
        rule = None if action.path else self._rules.get((action.group, action.resource))
        if rule is not None:
            if action.resource not in _UNRELATED:
                await self._relations.wait()
            return rule(node, action)
        return _ALLOWED if self._role.allow(action) else _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        """No rules: permissions of kubelets follow from relations; reported only to kubelets."""
        if node_name(user) is None:
            return Rules()
        return Rules(incomplete=True, error="node authorizer does not support user rule resolution")

    # --- rules

    def _getting(self, kind: str) -> _Rule:
        """Objects of `kind` that have to do with the node can be read one by one."""

        def rule(node: str, action: Action) -> Verdict:
            if action.verb != "get":
                return _no("can only get individual resources of this type")
            if action.subresource:
                return _no("cannot get subresource")
            return self._related(node, kind, action)

        return rule

    def _reading(self, kind: str) -> _Rule:
        """Objects of `kind` that have to do with the node can be read, listed and watched by name."""

        def rule(node: str, action: Action) -> Verdict:
            if action.verb not in ("get", "list", "watch"):
                return _no("can only read resources of this type")
            if action.subresource:
                return _no("cannot read subresource")
            if not action.namespace:
                return _no("can only read namespaced object of this type")
            return self._related(node, kind, action)

        return rule

    def _claim(self, node: str, action: Action) -> Verdict:
        if action.subresource != "status":
            return self._getting("claim")(node, action)
        if action.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, "claim", action)

    def _token(self, node: str, action: Action) -> Verdict:
        if action.verb != "create" or not action.name:
            return _no("can only create tokens for individual service accounts")
        if action.subresource != "token":
            return _no("can only create token subresource of service account")
        return self._related(node, "serviceaccount", action)

    def _account(self, node: str, action: Action) -> Verdict:
        if action.verb == "get" and not action.subresource:
            if not self._reads_accounts:
                return _no("not allowed to get service accounts")
            return self._reading("serviceaccount")(node, action)
        if action.verb == "create" and action.name and action.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._token(node, action)

    def _own_lease(self, node: str, action: Action) -> Verdict:
        if action.verb not in ("get", "create", "update", "patch", "delete"):
            return _no("can only get, create, update, patch, or delete a node lease")
        if action.namespace != self._lease_namespace:
            return _no(f'can only access leases in the "{self._lease_namespace}" system namespace')
        # The name in a create is in the body, which admission checks.
        if action.verb != "create" and action.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return _ALLOWED

    def _own_csinode(self, node: str, action: Action) -> Verdict:
        if action.verb not in ("get", "create", "update", "patch", "delete"):
            return _no("can only get, create, update, patch, or delete a CSINode")
        if action.subresource:
            return _no("cannot authorize CSINode subresources")
        if action.verb != "create" and action.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return _ALLOWED

    def _own_node(self, node: str, action: Action) -> Verdict:
        if action.verb in ("get", "list", "watch") and not action.subresource:
            # By the name, not by a relation: a kubelet looks for its node before it creates it.
            if action.name == node:
                return _ALLOWED
            if not action.name:
                return _no(f"node '{node}' cannot read all nodes, only its own Node object")
            return _no(f"node '{node}' cannot read '{action.name}', only its own Node object")
        return _checked_write(action)

    def _pod(self, node: str, action: Action) -> Verdict:
        if action.subresource or action.verb not in ("get", "list", "watch"):
            return _checked_write(action)
        if action.verb != "get":
            if _selects_own(node, action):
                return _ALLOWED
            if not action.name:
                return _no("can only list/watch pods with spec.nodeName field selector")
        return self._related(node, "pod", action)

    def _slice(self, node: str, action: Action) -> Verdict:
        if action.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        match action.verb:
            case "create":
                # The node in a create is in the body, which admission checks.
                return _ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._related(node, "slice", action)
            case "watch" | "list" | "deletecollection":
                if _selects_own(node, action):
                    return _ALLOWED
                return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        return _no(
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection"
        )

    def _related(self, node: str, kind: str, action: Action) -> Verdict:
        if not action.name:
            return _no("No Object name found")
        if self._relations.exists(node, kind, action.namespace, action.name):
            return _ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")


def _selects_own(node: str, action: Action) -> bool:
    """True if an action is restricted to the objects of the node."""
    return action.selectors is not None and action.selectors.requires(_BY_NODE, node)


def _checked_write(action: Action) -> Verdict:
    return _ALLOWED if action.verb in _CHECKED_WRITES[action.resource].get(action.subresource, ()) else _PASS
