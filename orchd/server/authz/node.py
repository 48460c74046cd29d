"""The Node authorizer: kubelets may read what the pods bound to their node need, and write their own objects.

Relations are indexed on the informers of pods, persistent volumes and volume attachments, so a decision is a lookup.
The indexes are built on the first request of a kubelet, which waits for them. Other actions are decided by the rules of
the ``system:node`` role (specification, "Node authorization").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter

from zope.interface import implementer

from orchd.client.interfaces import IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.identity import User, node_name
from orchd.kinds.jsonvalues import Object
from orchd.kinds.references import get_path, pod_references
from orchd.server.authz.bootstrap_policy import policy_rule
from orchd.server.authz.bootstrap_roles import CLUSTER_ROLES
from orchd.server.authz.compiled_rules import CompiledRules
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

_INDEX = "node-authorizer"
#: Resources that a kubelet may read if related to its node.
_RELATED = frozenset(
    ("secrets", "configmaps", "persistentvolumeclaims", "persistentvolumes", "serviceaccounts", "volumeattachments")
)
_ALLOWED = Verdict(Decision.ALLOW)
_PASS = Verdict(Decision.NO_OPINION)
#: Persistent volume sources whose secrets the kubelet reads; each reference may have a namespace.
_PV_SECRETS = {
    "cephfs": ("secretRef",),
    "cinder": ("secretRef",),
    "flexVolume": ("secretRef",),
    "iscsi": ("secretRef",),
    "rbd": ("secretRef",),
    "scaleIO": ("secretRef",),
    "storageos": ("secretRef",),
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef"),
}


def _no(reason: str) -> Verdict:
    return Verdict(Decision.NO_OPINION, reason)


def _volume_secrets(volume: Object) -> Iterator[str]:
    """``namespace/name`` of the secrets for mounting a persistent volume."""
    spec = volume.get("spec") or {}
    home = get_path(spec, "claimRef", "namespace")
    if not home:
        return
    for source, keys in _PV_SECRETS.items():
        for key in keys:
            reference = get_path(spec, source, key)
            if reference and reference.get("name"):
                yield f"{reference.get('namespace') or home}/{reference['name']}"
    azure = spec.get("azureFile")
    if azure and azure.get("secretName"):
        yield f"{azure.get('secretNamespace') or home}/{azure['secretName']}"


@implementer(IAuthorizer)
class NodeAuthorizer:
    name = "Node"

    def __init__(self, dialect: Dialect, informers: IInformers) -> None:
        self._storage = dialect("storage.{abbr}.io")
        self._coordination = dialect("coordination.{abbr}.io")
        self._lease_namespace = dialect("{short}-node-lease")
        self._mirror = dialect("{long}.io/config.mirror")
        self._rules = CompiledRules(policy_rule(dialect, row) for row in CLUSTER_ROLES["system:node"])
        self._pods = informers.informer(ResourceRef("", "v1", "pods"))
        self._volumes = informers.informer(ResourceRef("", "v1", "persistentvolumes"))
        self._attachments = informers.informer(ResourceRef(self._storage, "v1", "volumeattachments"))
        self._actions = Distribution(
            "node_authorizer_graph_actions_duration_seconds",
            "Duration of updates of the node authorizer's graph in seconds, by operation.",
            exponential(0.0001, 2, 12),
            ("operation",),
        )
        #: Metrics.
        self.instruments = (self._actions,)
        self._pods.add_index(_INDEX, self._add_pod)
        self._volumes.add_index(_INDEX, self._add_volume)

    def _add_pod(self, pod: Object) -> Iterable[str]:
        began = perf_counter()
        edges = self._index_pod(pod)
        self._actions.observe(perf_counter() - began, "AddPod")
        return edges

    def _add_volume(self, volume: Object) -> Iterable[str]:
        began = perf_counter()
        secrets = list(_volume_secrets(volume))
        self._actions.observe(perf_counter() - began, "AddPV")
        return secrets

    def _index_pod(self, pod: Object) -> Iterable[str]:
        node = get_path(pod, "spec", "nodeName")
        if not node or self._mirror in (pod["metadata"].get("annotations") or {}):
            # A kubelet itself chooses the references of its mirror pods.
            return ()
        namespace = pod["metadata"].get("namespace", "")
        return {f"{node}|{kind}|{namespace}/{name}" for kind, name in pod_references(pod)}

    async def authorize(self, action: Action) -> Verdict:
        node = node_name(action.user)
        if node is None:
            return _PASS
        if not node:
            return _no(f'unknown node for user "{action.user.name}"')
        if not action.path:
            if action.resource in _RELATED:
                await self._pods.wait_indexed(_INDEX)
                await self._volumes.wait_indexed(_INDEX)
                await self._attachments.wait_synced()
            verdict = self._resource(node, action)
            if verdict is not None:
                return verdict
        return _ALLOWED if self._rules.allow(action) else _PASS

    def rules(self, user: User, namespace: str) -> Rules:
        """No rules: permissions of kubelets follow from relations; reported only to kubelets."""
        if node_name(user) is None:
            return Rules()
        return Rules(incomplete=True, error="node authorizer does not support user rule resolution")

    def _resource(self, node: str, action: Action) -> Verdict | None:
        """The verdict on a resource authorized by relation, None for any other."""
        if action.group == "":
            match action.resource:
                case "secrets" | "configmaps":
                    return self._read(node, action.resource[:-1], action)
                case "persistentvolumeclaims":
                    return self._claim(node, action)
                case "persistentvolumes":
                    return self._one(node, "volume", action)
                case "serviceaccounts":
                    return self._token(node, action)
        elif action.group == self._storage:
            if action.resource == "volumeattachments":
                return self._one(node, "attachment", action)
            if action.resource == "csinodes":
                return self._own_csinode(node, action)
        elif action.group == self._coordination and action.resource == "leases":
            return self._own_lease(node, action)
        return None

    def _claim(self, node: str, action: Action) -> Verdict:
        if action.subresource != "status":
            return self._one(node, "claim", action)
        if action.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._check_related(node, "claim", action)

    def _one(self, node: str, kind: str, action: Action) -> Verdict:
        if action.verb != "get":
            return _no("can only get individual resources of this type")
        if action.subresource:
            return _no("cannot get subresource")
        return self._check_related(node, kind, action)

    def _read(self, node: str, kind: str, action: Action) -> Verdict:
        if action.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if action.subresource:
            return _no("cannot read subresource")
        if not action.namespace:
            return _no("can only read namespaced object of this type")
        return self._check_related(node, kind, action)

    def _token(self, node: str, action: Action) -> Verdict:
        if action.verb != "create" or not action.name:
            return _no("can only create tokens for individual service accounts")
        if action.subresource != "token":
            return _no("can only create token subresource of service account")
        return self._check_related(node, "serviceaccount", action)

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

    def _check_related(self, node: str, kind: str, action: Action) -> Verdict:
        if not action.name:
            return _no("No Object name found")
        if self._has_relation(node, kind, action.namespace, action.name):
            return _ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _has_relation(self, node: str, kind: str, namespace: str, name: str) -> bool:
        if kind == "attachment":
            return bool(get_path(self._attachments.get("", name), "spec", "nodeName") == node)
        if kind == "volume":
            return self._mounts(node, self._volumes.get("", name))
        if self._used(node, kind, namespace, name):
            return True
        if kind != "secret":
            return False
        return any(self._mounts(node, v) for v in self._volumes.by_index(_INDEX, f"{namespace}/{name}"))

    def _used(self, node: str, kind: str, namespace: str, name: str) -> bool:
        return self._pods.holds(_INDEX, f"{node}|{kind}|{namespace}/{name}")

    def _mounts(self, node: str, volume: Object | None) -> bool:
        claim = get_path(volume, "spec", "claimRef")
        return bool(claim) and self._used(node, "claim", claim.get("namespace", ""), claim.get("name", ""))
