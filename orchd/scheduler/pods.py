"""The scheduler's records of pods: a small record each, and one template shared by all pods with equal scheduling
fields.

A template holds everything of a pod that decides where it may run. Pods of one controller usually share it, so what was
parsed, compiled and computed for one serves the others. Templates that no pod uses any more are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import orjson

from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.label_index import LabelIndex, Place
from orchd.kinds.objects.node_selectors import NodeTerms
from orchd.kinds.objects.placement import Tolerations
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.times import seconds_of
from orchd.scheduler.pod_amounts import AMOUNTS, AmountRule
from orchd.scheduler.resources import STORAGE, amount

#: Port, protocol and IP of a host port; the IP is 0.0.0.0 for all.
HostPort = tuple[str, str, int]


class AffinityTerm(NamedTuple):
    """A pod (anti-)affinity term, with its defaults applied. `weight` is 0 for required terms."""

    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None
    selector: LabelSelector
    topology_key: str
    weight: int = 0

    def matches(self, template: PodTemplate, namespace_labels: Mapping[str, str]) -> bool:
        """True if the term selects pods of `template`; `namespace_labels` are those of their namespace."""
        if template.namespace not in self.namespaces and (
            self.namespace_selector is None or not self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(template.labels)


#: Number of terms that are compared one by one.
_FEW: Final = 16


class AffinityTerms(tuple[AffinityTerm, ...]):
    """Terms of one sort. Thousands are found by a label that their selectors need."""

    _index: LabelIndex[AffinityTerm] | None = None

    def __hash__(self) -> int:
        # Thousands of terms would take some milliseconds.
        return hash((len(self), self[:1], self[-1:]))

    def near(self, template: PodTemplate) -> Iterable[AffinityTerm]:
        """The terms that may match a template, in any order."""
        if len(self) <= _FEW:
            return self
        if self._index is None:
            self._index = LabelIndex()
            for term in self:
                self._index.add(_needed_label(term.selector), term)
        return self._index.near(template.labels)


def _needed_label(selector: LabelSelector) -> Place:
    """A label that pods need to be selected."""
    for pair in selector.exact.items():
        return pair
    return next(iter(selector.choices), ""), None


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint. `hard` is DoNotSchedule. With fewer domains than `min_domains` the least populated
    one counts as empty. Nodes count only if they match the pod's node affinity (`honors_affinity`), and if it tolerates
    their taints (`honors_taints`)."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    @classmethod
    def from_object(cls, constraint: Mapping[str, Any], labels: Mapping[str, str]) -> SpreadConstraint:
        """The constraint of a pod with these labels. Raises KeyError for a missing field."""
        selector, keys = constraint.get("labelSelector"), constraint.get("matchLabelKeys") or ()
        same = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
        if same and selector is not None:
            selector = {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *same]}
        return cls(
            constraint["topologyKey"],
            int(constraint["maxSkew"]),
            constraint["whenUnsatisfiable"] == "DoNotSchedule",
            LabelSelector.from_object(selector),
            min_domains=int(constraint.get("minDomains") or 1),
            honors_affinity=constraint.get("nodeAffinityPolicy") != "Ignore",
            honors_taints=constraint.get("nodeTaintsPolicy") == "Honor",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRule:
    """How the containers of a pod are read: the `amounts` that they request, whose images count (`image_lists`), and
    whose host ports are taken (`port_lists`); lists are those of a template's facts."""

    amounts: AmountRule
    image_lists: tuple[str, ...] = ("containers",)
    port_lists: tuple[str, ...] = ("containers",)


#: Images of init containers count, and sidecars have ports, by the release that begins it.
_IMAGE_LISTS: Final = (("", ("containers",)), ("1.29", ("inits", "containers")))
_PORT_LISTS: Final = (("", ("containers",)), ("1.28", ("containers", "sidecars")))


def container_rule(release: Release) -> ContainerRule:
    """The rule of a release."""
    return ContainerRule(
        amounts=release.choose(AMOUNTS),
        image_lists=release.choose(_IMAGE_LISTS),
        port_lists=release.choose(_PORT_LISTS),
    )


class PodTemplate:
    """The parsed part of a pod that scheduling depends on. Shared, immutable, compared by identity."""

    __slots__ = (
        "__weakref__", "affinity", "anti_affinity", "balanced", "claims", "container_images", "has_affinity", "images",
        "labels", "namespace", "node_affinity", "node_selector", "nonzero", "owner", "ports", "preemption_policy",
        "preferred_affinity", "preferred_anti_affinity", "preferred_nodes", "priority", "requests", "resource_names",
        "scheduler_name", "scored", "scored_nonzero", "signature", "spread", "tolerations", "volumes",
    )  # fmt: skip

    def __init__(self, facts: Mapping[str, Any], signature: bytes, rule: ContainerRule) -> None:
        self.signature = signature
        self.namespace: str = facts["namespace"]
        self.labels: Mapping[str, str] = facts["labels"]
        self.scheduler_name: str = facts["scheduler"]
        self.priority: int = facts["priority"]
        self.preemption_policy: str = facts["preemption"]
        #: (kind, name, apiVersion) of the controlling owner, or None.
        self.owner: tuple[str, str, str] | None = facts["owner"] and tuple(facts["owner"])
        self.tolerations = Tolerations(facts["tolerations"])
        #: Volumes that name storage (claims, ephemeral, disks), as in the API.
        self.volumes: tuple[Mapping[str, Any], ...] = tuple(facts["volumes"])
        #: spec.resourceClaims.
        self.claims: tuple[Mapping[str, Any], ...] = tuple(facts["claims"])
        self.node_selector: Mapping[str, str] = facts["nodeSelector"]
        affinity = facts["affinity"]
        nodes = affinity.get("nodeAffinity") or {}
        required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution")
        #: Terms of required node affinity (ORed), None without any.
        self.node_affinity = None if required is None else NodeTerms(required.get("nodeSelectorTerms") or ())
        #: (weight, term) of preferred node affinity.
        self.preferred_nodes = tuple(
            (int(each["weight"]), each.get("preference") or {})
            for each in nodes.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        )
        self._read_pod_affinity(affinity)
        self.spread = tuple(SpreadConstraint.from_object(each, self.labels) for each in facts["spread"])
        self._read_containers(facts, rule)

    def _read_pod_affinity(self, affinity: Mapping[str, Any]) -> None:
        here = frozenset((self.namespace,))
        own, against = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
        self.affinity = _terms(here, own.get("requiredDuringSchedulingIgnoredDuringExecution"))
        self.anti_affinity = _terms(here, against.get("requiredDuringSchedulingIgnoredDuringExecution"))
        self.preferred_affinity = _weighted(here, own.get("preferredDuringSchedulingIgnoredDuringExecution"))
        self.preferred_anti_affinity = _weighted(here, against.get("preferredDuringSchedulingIgnoredDuringExecution"))
        self.has_affinity = bool(
            self.affinity or self.anti_affinity or self.preferred_affinity or self.preferred_anti_affinity
        )

    def _read_containers(self, facts: Mapping[str, Any], rule: ContainerRule) -> None:
        containers, inits = facts["containers"], facts["inits"]
        pod_amounts = rule.amounts(facts)
        #: See PodAmounts.
        self.requests = pod_amounts.requests
        self.nonzero = pod_amounts.nonzero
        self.scored = pod_amounts.scored
        self.scored_nonzero = pod_amounts.scored_nonzero
        self.balanced = pod_amounts.balanced
        #: Every resource that a container names in requests or limits (extenders manage some).
        self.resource_names = frozenset(
            name for each in (*containers, *inits) for name in (*each["requests"], *each["limits"])
        )
        lists = {"containers": containers, "inits": inits, "sidecars": [each for each in inits if each["sidecar"]]}
        self.container_images: tuple[str, ...] = tuple(
            each["image"] for which in rule.image_lists for each in lists[which]
        )
        self.ports: tuple[HostPort, ...] = tuple(
            sorted(
                {
                    (ip, protocol, port)
                    for which in rule.port_lists
                    for each in lists[which]
                    for ip, protocol, port in each["ports"]
                }
            )
        )


def _term(here: frozenset[str], term: Mapping[str, Any], weight: int) -> AffinityTerm:
    """A term of a pod; `here` is its namespace."""
    names, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    # With neither, the term means the pod's own namespace.
    return AffinityTerm(
        frozenset(names) if names or selector is not None else here,
        None if selector is None else LabelSelector.from_object(selector),
        LabelSelector.from_object(term.get("labelSelector")),
        term.get("topologyKey", ""),
        weight,
    )


def _terms(here: frozenset[str], terms: Iterable[Mapping[str, Any]] | None) -> AffinityTerms:
    return AffinityTerms(_term(here, each, 0) for each in terms or ())


def _weighted(here: frozenset[str], terms: Iterable[Mapping[str, Any]] | None) -> AffinityTerms:
    return AffinityTerms(_term(here, each.get("podAffinityTerm") or {}, int(each["weight"])) for each in terms or ())


class Pod:
    """One pod. Replaced when the pod changes; `node_name` is the node to which it is assigned or assumed to be."""

    __slots__ = (
        "created", "deleting", "name", "namespace", "node_name", "nominated", "started", "template", "uid", "version",
    )  # fmt: skip

    def __init__(self, obj: Object, template: PodTemplate) -> None:
        metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
        self.template = template
        self.namespace = template.namespace
        self.name: str = metadata["name"]
        self.uid: str = metadata.get("uid", "")
        self.version: str = metadata.get("resourceVersion", "")
        #: metadata.deletionTimestamp is set.
        self.deleting = bool(metadata.get("deletionTimestamp"))
        self.created = seconds_of(metadata.get("creationTimestamp"))
        #: status.startTime in seconds since the epoch, None before it is known.
        self.started = seconds_of(status.get("startTime"))
        self.nominated: str = status.get("nominatedNodeName") or ""
        self.node_name: str = spec.get("nodeName") or ""

    def on(self, node_name: str) -> Pod:
        """A copy of the record that is assigned to a node."""
        pod = Pod.__new__(Pod)
        for name in _CARRIED:
            setattr(pod, name, getattr(self, name))
        pod.node_name = node_name
        return pod

    @property
    def priority(self) -> int:
        return self.template.priority

    @property
    def labels(self) -> Mapping[str, str]:
        return self.template.labels

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    def __repr__(self) -> str:
        return f"<Pod {self.key}>"


_CARRIED = tuple(name for name in Pod.__slots__ if name != "node_name")


class Templates:
    """Creates records of pods; pods with equal scheduling fields share one template. `ignored` are the feature gates
    that are off: templates have no trace of their fields. Containers are read by the rule of the `release`."""

    def __init__(self, ignored: frozenset[str] = frozenset(), release: Release = SPECIFICATION) -> None:
        self._ignored = ignored & _GATES
        self._rule = container_rule(release)
        self._by_facts: WeakValueDictionary[bytes, PodTemplate] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._by_facts)

    def pod(self, obj: Object) -> Pod:
        """The record of a pod as the API returns it."""
        facts = template_facts(obj)
        if self._ignored:
            facts = _without(facts, self._ignored)
        signature = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
        template = self._by_facts.get(signature)
        if template is None:
            template = self._by_facts[signature] = PodTemplate(facts, signature, self._rule)
        return Pod(obj, template)


#: The feature gates on which templates depend.
_GATES = frozenset((
    "LocalStorageCapacityIsolation", "PodAffinityNamespaceSelector", "PodLevelResources", "PodOverhead",
))  # fmt: skip


def _without(facts: dict[str, Any], ignored: frozenset[str]) -> dict[str, Any]:
    """Facts without what is behind feature gates that are off."""
    facts = dict(facts)
    if "PodOverhead" in ignored:
        facts["overhead"] = {}
    if "PodLevelResources" in ignored:
        facts["resources"] = {}
    if "LocalStorageCapacityIsolation" in ignored:
        for listed in ("containers", "inits"):
            facts[listed] = [
                {**each, "requests": {name: value for name, value in each["requests"].items() if name != STORAGE}}
                for each in facts[listed]
            ]
    if "PodAffinityNamespaceSelector" in ignored and facts["affinity"]:
        facts["affinity"] = _without_member(facts["affinity"], "namespaceSelector")
    return facts


def _without_member(value: Any, name: str) -> Any:
    """A tree without the members of this name."""
    if isinstance(value, list):
        return [_without_member(each, name) for each in value]
    if isinstance(value, Mapping):
        return {key: _without_member(each, name) for key, each in value.items() if key != name}
    return value


#: Volume sources that restrict the nodes of a pod.
_STORAGE = (
    "persistentVolumeClaim", "ephemeral", "awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "rbd", "iscsi",
    "cinder", "csi",
)  # fmt: skip


def template_facts(obj: Object) -> dict[str, Any]:
    """The part of a pod that scheduling depends on, as JSON data."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    resized = _resized(obj.get("status") or {}, spec)
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    return {
        "namespace": metadata.get("namespace", ""),
        "labels": metadata.get("labels") or {},
        "owner": owner and [owner.get("kind", ""), owner.get("name", ""), owner.get("apiVersion", "")],
        "scheduler": spec.get("schedulerName") or "",
        "priority": spec.get("priority") or 0,
        "preemption": spec.get("preemptionPolicy") or "",
        "tolerations": spec.get("tolerations") or (),
        "nodeSelector": spec.get("nodeSelector") or {},
        "affinity": spec.get("affinity") or {},
        "spread": spec.get("topologySpreadConstraints") or (),
        "overhead": spec.get("overhead") or {},
        "claims": spec.get("resourceClaims") or (),
        "resources": (spec.get("resources") or {}).get("requests") or {},
        "containers": [_container(each, resized) for each in spec.get("containers") or ()],
        "inits": [_container(each, resized) for each in spec.get("initContainers") or ()],
        "volumes": [each for each in spec.get("volumes") or () if any(source in each for source in _STORAGE)],
    }


def _resized(status: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """The requests that a node has granted to containers, besides those of the spec, by container. A resize that cannot
    succeed does not count, so that these replace those of the spec: then the spec is not among them."""
    granted = {
        each["name"]: ((each["resources"].get("requests") or {}), each.get("allocatedResources") or {})
        for listed in ("containerStatuses", "initContainerStatuses")
        for each in status.get(listed) or ()
        if each.get("resources")
    }
    if not granted:
        return {}
    pending = find_condition(status, "PodResizePending") or {}
    lists = () if pending.get("reason") == "Infeasible" else ("containers", "initContainers")
    asked = {
        each["name"]: (each.get("resources") or {}).get("requests") or {}
        for listed in lists
        for each in spec.get(listed) or ()
    }
    return {name: (*amounts, asked[name]) if name in asked else amounts for name, amounts in granted.items()}


def _largest(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The largest quantity by resource."""
    largest: dict[str, Any] = {}
    for part in parts:
        for name, quantity in part.items():
            if name not in largest or amount(name, quantity) > amount(name, largest[name]):
                largest[name] = quantity
    return largest


def _container(container: Mapping[str, Any], resized: Mapping[str, tuple[Mapping[str, Any], ...]]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    granted = resized.get(container.get("name", "")) if resized else None
    return {
        "image": container.get("image") or "",
        "sidecar": container.get("restartPolicy") == "Always",
        "requests": (resources.get("requests") or {}) if granted is None else _largest(granted),
        "limits": resources.get("limits") or {},
        "ports": [
            (each.get("hostIP") or "0.0.0.0", each.get("protocol") or "TCP", each["hostPort"])
            for each in container.get("ports") or ()
            if each.get("hostPort")
        ],
    }
