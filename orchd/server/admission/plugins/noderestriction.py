"""NodeRestriction: limits kubelets to their own objects and pods, and protects labels that affect scheduling.

Checks request bodies, which the Node authorizer cannot see: names on create, labels, taints, owner references.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from cryptography.x509.oid import NameOID
from zope.interface import implementer

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import annotations_of, labels, metadata, spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.references import api_reference, pod_references
from orchd.kinds.users import node_name
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE, IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.plugins.certificates import subject_values
from orchd.server.admission.plugins.tokenaudiences import TokenAudiences

PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")
#: Labels of the product's domains that a kubelet may set on its own node.
_OWN_LABELS = (
    "{long}.io/hostname",
    "topology.{long}.io/zone",
    "topology.{long}.io/region",
    "failure-domain.beta.{long}.io/zone",
    "failure-domain.beta.{long}.io/region",
    "node.{long}.io/instance-type",
    "beta.{long}.io/instance-type",
    "beta.{long}.io/os",
    "beta.{long}.io/arch",
    "{long}.io/os",
    "{long}.io/arch",
)
#: A check of a write by the node with this name.
_Rule = Callable[[Review, str], Awaitable[None]]
#: The gate that lets nodes request certificates of other nodes.
_OTHER_NODES_GATE: Final = "AllowInsecure{Short}letCertificateSigningRequests"
_AUDIENCES_GATE: Final = "ServiceAccountNodeAudienceRestriction"
_OWN_DOMAINS = ("{short}let.{long}.io", "node.{long}.io")


def _in_domain(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith("." + parent)


@implementer(IMutatingPlugin)
class NodeRestriction(Plugin):
    name = "NodeRestriction"
    help = "Restricts nodes to their own Node object, lease and pods."
    operations = (CREATE, UPDATE, DELETE)
    resources = (
        "pods",
        "pods/status",
        "pods/eviction",
        "pods/binding",
        "pods/ephemeralcontainers",
        "pods/resize",
        "nodes",
        "nodes/status",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
        "serviceaccounts/token",
        "leases.coordination.{abbr}.io",
        "csinodes.storage.{abbr}.io",
        "resourceslices.resource.{abbr}.io",
        "certificatesigningrequests.certificates.{abbr}.io",
    )
    informers = (("", "v1", "pods"),)

    def setup(self) -> None:
        self._mirror = self.dialect("{long}.io/config.mirror")
        self._own_labels = frozenset(self.dialect(label) for label in _OWN_LABELS)
        self._own_domains = tuple(self.dialect(d) for d in _OWN_DOMAINS)
        self._product = tuple(self.dialect(d) for d in ("{long}.io", "{abbr}.io"))
        self._restricted = self.dialect("node-restriction.{long}.io")
        self._lease_namespace = self.dialect("{short}-node-lease")
        settings = self.context.settings
        includes = settings.release.includes
        self._rules = {plural: rule for since, plural, rule in self._rows() if includes(since)}
        self._pod_reference = settings.release.choose((("", _kind_of_reference), ("1.33", api_reference)))
        self._fixed_status = tuple(row for since, *row in _FIXED_STATUS if includes(since))
        self._owners_fixed = includes("1.34")
        self._checks_requests = _OTHER_NODES_GATE in settings.disabled
        self._node_signers = tuple(self.dialect(signer) for signer in _NODE_SIGNERS)
        self._claim_status = _CLAIM_STATUS if _RESIZE_GATE in settings.disabled else _CLAIM_STATUS | _CLAIM_RESIZE
        self._claim_capacity = settings.release.choose((("", "capacity"), ("1.26", "quantity")))
        self._audiences = None
        if includes("1.33") and _AUDIENCES_GATE not in settings.disabled:
            self._audiences = TokenAudiences(self._live, self.context.authorize, self.dialect)

    def _rows(self) -> Iterable[tuple[str, str, _Rule]]:
        """Release that begins a rule, resource and the rule."""
        yield "", "pods", self._pods
        yield "", "nodes", self._node
        yield "", "persistentvolumeclaims", self._claim
        yield "", "serviceaccounts", self._token
        yield "", "leases", self._lease
        yield "", "csinodes", _csinode
        yield "1.31", "certificatesigningrequests", self._request
        yield "1.34", "resourceslices", _slice

    async def admit(self, review: Review) -> None:
        node = node_name(review.user)
        if node is None:
            return
        if not node:
            raise refuse(review, f'could not determine node from user "{review.user.name}"')
        rule = self._rules.get(review.resource.plural)
        if rule is not None:
            await rule(review, node)

    # --- pods

    async def _pods(self, review: Review, node: str) -> None:
        itself = "pods with spec.nodeName set to itself"
        match (review.subresource, review.operation):
            case ("", operation) if operation == CREATE:
                await self._create_pod(review, node)
            case ("", operation) if operation == DELETE:
                await self._bound_here(review, node, f'node "{node}" can only delete {itself}')
            case ("", operation):
                raise refuse(
                    review, f'unexpected operation "{operation}", node "{node}" can only create and delete mirror pods'
                )
            case ("status", operation) if operation == UPDATE:
                if spec(review.old_object).get("nodeName") != node:
                    raise refuse(review, f'node "{node}" can only update pod status for {itself}')
                if labels(review.object) != labels(review.old_object):
                    raise refuse(review, f'node "{node}" cannot update labels through pod status')
                new, old = fields.status(review.object), fields.status(review.old_object)
                for name, what in self._fixed_status:
                    if (new.get(name) or None) != (old.get(name) or None):
                        raise refuse(review, f'node "{node}" cannot update {what}')
            case ("eviction", operation) if operation == CREATE:
                await self._bound_here(review, node, f"node {node} can only evict {itself}")
            case ("status", operation):
                raise refuse(review, f'unexpected operation "{operation}"')
            case ("eviction", operation):
                raise refuse(review, f"unexpected operation {operation}")
            case (other, _):
                raise refuse(
                    review, f"unexpected pod subresource \"{other}\", only 'status' and 'eviction' are allowed"
                )

    async def _bound_here(self, review: Review, node: str, why: str) -> None:
        name = review.name or str(metadata(review.object).get("name", ""))
        pod = await self._pod(review.namespace, name)
        if spec(pod).get("nodeName") != node:
            raise refuse(review, why)

    async def _pod(self, namespace: str, name: str) -> Object:
        """Read a pod. Raises ApiError 404."""
        pod: Object = self.informer("pods").get(namespace, name) or await self._live(PODS, "pod", namespace, name)
        return pod

    async def _live(self, ref: ResourceRef, singular: str, namespace: str, name: str) -> Object:
        """Read an object. Raises ApiError 404 worded like the reference's listers, which name kinds in the singular."""
        try:
            obj: Object = await self.context.api.client.get(ref, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            raise errors.not_found("", singular, name) from error
        return obj

    async def _create_pod(self, review: Review, node: str) -> None:
        pod = review.object or {}
        if self._mirror not in annotations_of(pod):
            raise refuse(
                review, f'pod does not have "{self._mirror}" annotation, node "{node}" can only create mirror pods'
            )
        if spec(pod).get("nodeName") != node:
            raise refuse(review, f'node "{node}" can only create pods with spec.nodeName set to itself')
        await self._check_owner(review, node, fields.owners(pod))
        try:
            words = self._pod_reference(pod)
        except ValueError as error:
            raise refuse(review, f"error checking mirror pod for API references: {error}") from error
        if words:
            raise refuse(review, f'node "{node}" can not create pods that reference {words}')

    async def _check_owner(self, review: Review, node: str, owners: list[dict[str, Any]]) -> None:
        may = f'node "{node}" can only create pods with'
        if len(owners) > 1:
            raise refuse(review, f"{may} a single owner reference set to itself")
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise refuse(review, f"{may} an owner reference set to itself")
        if not owner.get("controller"):
            raise refuse(review, f"{may} a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            raise refuse(review, f'node "{node}" must not set blockOwnerDeletion on an owner reference')
        live = await self._live(NODES, "node", "", node)
        uid = metadata(live).get("uid", "")
        if owner.get("uid", "") != uid:
            raise refuse(review, f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")

    # --- nodes

    async def _node(self, review: Review, node: str) -> None:
        new, old = review.object or {}, review.old_object or {}
        if review.name != node:
            raise refuse(review, f'node "{node}" is not allowed to modify node "{review.name}"')
        if review.operation == CREATE:
            if spec(new).get("configSource") is not None:
                raise refuse(review, f'node "{node}" is not allowed to create pods with a non-nil configSource')
            wrong = self._forbidden_labels(labels(new), {})
            if wrong:
                raise refuse(review, f'node "{node}" is not allowed to set the following labels: {wrong}')
        if review.operation != UPDATE:
            return
        source = spec(new).get("configSource")
        if source is not None and source != spec(old).get("configSource"):
            raise refuse(review, f'node "{node}" is not allowed to update configSource to a new non-nil configSource')
        if (spec(new).get("taints") or []) != (spec(old).get("taints") or []):
            raise refuse(review, f'node "{node}" is not allowed to modify taints')
        if self._owners_fixed and fields.owners(new) != fields.owners(old):
            raise refuse(review, f'node "{node}" is not allowed to modify ownerReferences')
        wrong = self._forbidden_labels(labels(new), labels(old))
        if wrong:
            raise refuse(review, f"is not allowed to modify labels: {wrong}")

    def _forbidden_labels(self, new: Mapping[str, str], old: Mapping[str, str]) -> str:
        """Changed labels that a kubelet may not set, comma-separated."""
        changed = sorted(k for k in new.keys() | old.keys() if new.get(k) != old.get(k))
        return ", ".join(k for k in changed if not self._may_label(k))

    def _may_label(self, label: str) -> bool:
        domain, slash, _ = label.partition("/")
        if not slash:
            return True
        if _in_domain(domain, self._restricted):
            return False
        if not any(_in_domain(domain, p) for p in self._product):
            return True
        return label in self._own_labels or any(_in_domain(domain, d) for d in self._own_domains)

    # --- other resources

    async def _token(self, review: Review, node: str) -> None:
        if review.operation != CREATE:
            return
        ref = spec(review.object).get("boundObjectRef") or {}
        if ref.get("apiVersion") != "v1" or ref.get("kind") != "Pod" or not ref.get("name"):
            raise refuse(review, "node requested token not bound to a pod")
        if not ref.get("uid"):
            raise refuse(review, "node requested token with a pod binding without a uid")
        try:
            pod = await self._pod(review.namespace, ref["name"])
        except ApiError as error:
            if error.code == 404:
                raise
            raise refuse(review, error.message) from error
        if metadata(pod).get("uid") != ref["uid"]:
            raise refuse(
                review,
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated",
            )
        if spec(pod).get("nodeName") != node:
            raise refuse(review, "node requested token bound to a pod scheduled on a different node")
        if self._audiences is not None and (why := await self._audiences.refusal(review, pod)):
            raise refuse(review, why)

    async def _lease(self, review: Review, node: str) -> None:
        if review.namespace != self._lease_namespace:
            raise refuse(review, f'can only access leases in the "{self._lease_namespace}" system namespace')
        _own_name(review, node, "node lease")

    async def _claim(self, review: Review, node: str) -> None:
        if review.subresource != "status":
            raise refuse(review, "may only update PVC status")
        if review.operation != UPDATE:
            raise refuse(review, f'unexpected operation "{review.operation}"')

        def rest(obj: Object | None) -> Any:
            held = dict(metadata(obj))
            for name in ("managedFields", "resourceVersion"):
                held.pop(name, None)
            status = {k: v for k, v in fields.status(obj).items() if k not in self._claim_status}
            return held, spec(obj), status

        new, old = rest(review.object), rest(review.old_object)
        if new != old:
            changed = [name for name, a, b in zip(("metadata", "spec", "status"), new, old, strict=True) if a != b]
            raise refuse(
                review,
                f'node "{node}" is not allowed to update fields other than status.{self._claim_capacity} and '
                f"status.conditions: {', '.join(changed)}",
            )

    async def _request(self, review: Review, node: str) -> None:
        """A node requests certificates of nodes only for itself."""
        body = spec(review.object)
        if review.operation != CREATE or not self._checks_requests or body.get("signerName") not in self._node_signers:
            return
        if subject_values(review, NameOID.COMMON_NAME)[-1:] != [f"system:node:{node}"]:
            raise refuse(review, f"can only create a node CSR with CN=system:node:{node}")


#: Fields of the status of claims that a node may set, and those that it may set besides while the gate is on.
_CLAIM_STATUS: Final = frozenset(("capacity", "conditions"))
_CLAIM_RESIZE: Final = frozenset(("allocatedResources", "allocatedResourceStatuses", "resizeStatus"))
_RESIZE_GATE: Final = "RecoverVolumeExpansionFailure"
#: Release that begins to protect a field of the status of pods, the field and its name in errors.
_FIXED_STATUS: Final = (
    ("1.34", "resourceClaimStatuses", "resource claim statues"),
    ("1.34", "extendedResourceClaimStatus", "extended resource claim status"),
)
_NODE_SIGNERS: Final = ("{long}.io/{short}let-serving", "{long}.io/{short}-apiserver-client-{short}let")
_KINDS: Final = (
    ("serviceaccount", "a service account"),
    ("secret", "secrets"),
    ("configmap", "configmaps"),
    ("claim", "persistentvolumeclaims"),
)


def _kind_of_reference(pod: Object) -> str:
    """The kind of object that a pod refers to, "" for none."""
    kinds = {kind for kind, _ in pod_references(pod)}
    return next((words for kind, words in _KINDS if kind in kinds), "")


async def _csinode(review: Review, node: str) -> None:
    _own_name(review, node, "CSINode")


async def _slice(review: Review, node: str) -> None:
    if review.operation == UPDATE:
        return
    obj = review.object if review.operation == CREATE else review.old_object
    if spec(obj).get("nodeName") != node:
        verb = review.operation.lower()
        raise refuse(review, f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _own_name(review: Review, node: str, what: str) -> None:
    name = metadata(review.object).get("name", "") if review.operation == CREATE else review.name
    if name != node:
        raise refuse(review, f"can only access {what} with the same name as the requesting node")
