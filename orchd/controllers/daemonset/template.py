"""Pods of daemon sets: their tolerations, labels, and intended node. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.fields import annotations_of, labels, spec
from orchd.kinds.jsonvalues import Object

HASH_LABEL: Final = "controller-revision-hash"
GENERATION_LABEL: Final = "pod-template-generation"
_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
#: Conditions of a node, as taint keys below "node.{long}.io/", that daemons tolerate, with the effect.
_TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_OF_HOST_NETWORK: Final = ("network-unavailable", "NoSchedule")


def generation(parent: Object) -> str | None:
    """The template generation in the set's annotation."""
    text = annotations_of(parent).get(_GENERATION_ANNOTATION, "")
    return text if text.lstrip("-").isdigit() else None


def is_updated(parent: Object, pod: Object, revision: str) -> bool:
    """True if the pod was made from the set's current template, whose revision has the hash `revision`."""
    generation_ = generation(parent)
    if generation_ is not None and labels(pod).get(GENERATION_LABEL) == generation_:
        return True
    return bool(revision) and labels(pod).get(HASH_LABEL) == revision


def add_default_tolerations(dialect: Dialect, pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod spec with the tolerations that every daemon has."""
    tolerations = [dict(each) for each in pod_spec.get("tolerations") or ()]
    places: dict[tuple[str, ...], int] = {}
    for place, each in enumerate(tolerations):
        places.setdefault(tuple(each.get(name) or "" for name in ("key", "operator", "effect", "value")), place)
    conditions = (*_TOLERATED, _OF_HOST_NETWORK) if pod_spec.get("hostNetwork") else _TOLERATED
    for condition, effect in conditions:
        fresh = {"key": dialect("node.{long}.io/") + condition, "operator": "Exists", "effect": effect}
        same = places.get((fresh["key"], "Exists", effect, ""))
        if same is None:
            tolerations.append(fresh)
        else:
            tolerations[same] = fresh
    return {**pod_spec, "tolerations": tolerations}


def pod_template(dialect: Dialect, parent: Object, revision: str) -> dict[str, Any]:
    """The template of new pods, without their node."""
    template = spec(parent)["template"]
    metadata = fields.metadata(template)
    tags = dict(metadata.get("labels") or {})
    generation_ = generation(parent)
    if generation_ is not None:
        tags[GENERATION_LABEL] = generation_
    if revision:
        tags[HASH_LABEL] = revision
    pod_spec = add_default_tolerations(dialect, spec(template))
    return {**template, "metadata": {**metadata, "labels": tags}, "spec": pod_spec}


def on_node(template: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The pod template for one node, with a node affinity that allows only that node."""
    match = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    within = template["spec"]
    affinity = within.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    chosen = {**required, "nodeSelectorTerms": [{"matchFields": match}]}
    of_nodes = {**of_nodes, "requiredDuringSchedulingIgnoredDuringExecution": chosen}
    return {**template, "spec": {**within, "affinity": {**affinity, "nodeAffinity": of_nodes}}}


def target_node(pod: Object) -> str:
    """The assigned or intended node of a pod; "" for none."""
    if spec(pod).get("nodeName"):
        return str(spec(pod)["nodeName"])
    of_nodes = fields.mapping(spec(pod), "affinity", "nodeAffinity")
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            values = list(field.get("values") or ())
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and len(values) == 1:
                return str(values[0])
    return ""
