"""Plugin arguments: defaults, decoding from JSON and encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from orchd.kinds import gates
from orchd.scheduler.config.model import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    SYSTEM_DEFAULTING,
    Arguments,
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    Json,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    ShapePoint,
    UntypedArgs,
    VolumeBindingArgs,
)

#: Prefers the volumes that a claim fills most.
_FULLEST: Final = (ShapePoint(0, 0), ShapePoint(100, 10))
_DEFAULT_RESOURCES: Final = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def read(plugin: str, features: Mapping[str, bool], arguments: Json) -> Arguments:
    """The arguments of a configurable plugin, with defaults; `given` is in the shape of their type. `features` are the
    feature gates that were given."""
    return _READERS[plugin](arguments, features)


def default(plugin: str, features: Mapping[str, bool]) -> Arguments | None:
    """The default arguments of a plugin; None if it takes none."""
    return read(plugin, features, {}) if plugin in _READERS else None


def write(args: Arguments) -> dict[str, Any]:
    """Arguments as JSON, without apiVersion and kind. Empty members are omitted, as in the reference."""
    match args:
        case DefaultPreemptionArgs():
            return {
                "minCandidateNodesPercentage": args.min_candidate_nodes_percentage,
                "minCandidateNodesAbsolute": args.min_candidate_nodes_absolute,
            }
        case InterPodAffinityArgs():
            return {"hardPodAffinityWeight": args.hard_pod_affinity_weight}
        case NodeAffinityArgs():
            return {} if args.added_affinity is None else {"addedAffinity": args.added_affinity}
        case NodeResourcesBalancedAllocationArgs():
            return _without_empty({"resources": _write_resources(args.resources)})
        case NodeResourcesFitArgs():
            return _write_fit(args)
        case PodTopologySpreadArgs():
            return _without_empty(
                {"defaultConstraints": list(args.default_constraints), "defaultingType": args.defaulting_type}
            )
        case VolumeBindingArgs():
            return {
                "bindTimeoutSeconds": args.bind_timeout_seconds,
                **_without_empty({"shape": _write_shape(args.shape)}),
            }
        case UntypedArgs():
            return dict(args.data or {})


def _without_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _write_fit(args: NodeResourcesFitArgs) -> dict[str, Any]:
    strategy = args.scoring_strategy
    scoring = _without_empty({"type": strategy.type, "resources": _write_resources(strategy.resources)})
    if strategy.shape is not None:
        scoring["requestedToCapacityRatio"] = _without_empty({"shape": _write_shape(strategy.shape)})
    lists = {
        "ignoredResources": list(args.ignored_resources),
        "ignoredResourceGroups": list(args.ignored_resource_groups),
    }
    return {**_without_empty(lists), "scoringStrategy": scoring}


def _write_resources(resources: Iterable[ResourceSpec]) -> list[dict[str, Any]]:
    return [{"name": each.name, "weight": each.weight} for each in resources]


def _write_shape(points: Iterable[ShapePoint]) -> list[dict[str, int]]:
    return [{"utilization": each.utilization, "score": each.score} for each in points]


def _preemption(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    return DefaultPreemptionArgs(
        min_candidate_nodes_percentage=arguments.get("minCandidateNodesPercentage", 10),
        min_candidate_nodes_absolute=arguments.get("minCandidateNodesAbsolute", 100),
    )


def _pod_affinity(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    return InterPodAffinityArgs(hard_pod_affinity_weight=arguments.get("hardPodAffinityWeight", 1))


def _node_affinity(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    return NodeAffinityArgs(added_affinity=arguments.get("addedAffinity"))


def _balanced(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    return NodeResourcesBalancedAllocationArgs(resources=_resources(arguments.get("resources")))


def _fit(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    strategy = arguments.get("scoringStrategy")
    if strategy is None:
        strategy = {"type": LEAST_ALLOCATED}
    ratio = strategy.get("requestedToCapacityRatio")
    return NodeResourcesFitArgs(
        ignored_resources=tuple(arguments.get("ignoredResources") or ()),
        ignored_resource_groups=tuple(arguments.get("ignoredResourceGroups") or ()),
        scoring_strategy=ScoringStrategy(
            type=strategy.get("type", ""),
            resources=_resources(strategy.get("resources")),
            shape=None if ratio is None else _shape(ratio.get("shape")),
        ),
    )


def _spread(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    return PodTopologySpreadArgs(
        default_constraints=tuple(arguments.get("defaultConstraints") or ()),
        defaulting_type=arguments.get("defaultingType")
        or (SYSTEM_DEFAULTING if gates.enabled(features, "DefaultPodTopologySpread") else LIST_DEFAULTING),
    )


def _volumes(arguments: Json, features: Mapping[str, bool]) -> Arguments:
    shape = _shape(arguments.get("shape"))
    if not shape and gates.enabled(features, "VolumeCapacityPriority"):
        shape = _FULLEST
    return VolumeBindingArgs(bind_timeout_seconds=arguments.get("bindTimeoutSeconds", 600), shape=shape)


def _resources(entries: Iterable[Json] | None) -> tuple[ResourceSpec, ...]:
    """Apply the default weight 1 for 0."""
    return tuple(ResourceSpec(each["name"], each.get("weight") or 1) for each in entries or ()) or _DEFAULT_RESOURCES


def _shape(entries: Iterable[Json] | None) -> tuple[ShapePoint, ...]:
    return tuple(ShapePoint(each["utilization"], each["score"]) for each in entries or ())


_READERS: Final[dict[str, Callable[[Json, Mapping[str, bool]], Arguments]]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
