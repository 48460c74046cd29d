"""Validation of plugin arguments, with the reference's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchd.kinds.gotext.values import GoText
from orchd.kinds.objects.validate.core.placement import node_selector_term
from orchd.kinds.objects.validate.names import qualified_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.scheduler.config.model import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
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
    ShapePoint,
    VolumeBindingArgs,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_MOST_SCORE: Final = 10


def check_arguments(args: Arguments, at: Path, report: Report) -> None:
    match args:
        case DefaultPreemptionArgs():
            _preemption(args, at, report)
        case InterPodAffinityArgs():
            _within(at / "hardPodAffinityWeight", args.hard_pod_affinity_weight, 100, report)
        case NodeAffinityArgs():
            _added_affinity(args.added_affinity or {}, at / "addedAffinity", report)
        case NodeResourcesBalancedAllocationArgs():
            _balanced(args.resources, at / "resources", report)
        case NodeResourcesFitArgs():
            _fit(args, at, report)
        case PodTopologySpreadArgs():
            _spread(args, at, report)
        case VolumeBindingArgs():
            _volumes(args, at, report)


def _within(at: Path, value: int, most: int, report: Report) -> None:
    if not 0 <= value <= most:
        report.invalid(at, value, f"not in valid range [0, {most}]")


def _preemption(args: DefaultPreemptionArgs, at: Path, report: Report) -> None:
    percentage, absolute = at / "minCandidateNodesPercentage", at / "minCandidateNodesAbsolute"
    _within(percentage, args.min_candidate_nodes_percentage, 100, report)
    if args.min_candidate_nodes_absolute < 0:
        report.invalid(absolute, args.min_candidate_nodes_absolute, "not in valid range [0, inf)")
    if args.min_candidate_nodes_percentage == 0 == args.min_candidate_nodes_absolute:
        report.invalid(percentage, 0, "cannot be zero at the same time as minCandidateNodesAbsolute")
        report.invalid(absolute, 0, "cannot be zero at the same time as minCandidateNodesPercentage")


def _added_affinity(affinity: Json, at: Path, report: Report) -> None:
    required = affinity.get(_REQUIRED)
    if required is not None:
        for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
            node_selector_term(term, (at / _REQUIRED / "nodeSelectorTerms")[index], report)
    for index, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        here = (at / _PREFERRED)[index]
        node_selector_term(preferred.get("preference") or {}, here, report)


def _balanced(resources: Sequence[ResourceSpec], at: Path, report: Report) -> None:
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        if resource.name in seen:
            report.duplicate(at[index] / "name", resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            report.invalid(at[index] / "weight", resource.weight, "must be 1")


def _fit(args: NodeResourcesFitArgs, at: Path, report: Report) -> None:
    for index, name in enumerate(args.ignored_resources):
        report.invalids((at / "ignoredResources")[index], name, qualified_name(name))
    for index, group in enumerate(args.ignored_resource_groups):
        here = (at / "ignoredResourceGroups")[index]
        if "/" in group:
            report.invalid(here, group, "resource group name can't contain '/'")
        report.invalids(here, group, qualified_name(group))
    strategy, here = args.scoring_strategy, at / "scoringStrategy"
    if strategy.type not in _STRATEGIES:
        report.unsupported(here / "type", strategy.type, _STRATEGIES)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            why = f"resource weight of {resource.name} not in valid range (0, 100]"
            report.invalid((here / "resources")[index] / "weight", resource.weight, why)
    ratio = here / "requestedToCapacityRatio"
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        _shape(strategy.shape or (), ratio / "shape", report)


def _shape(points: Sequence[ShapePoint], at: Path, report: Report) -> None:
    if not points:
        report.required(at, "at least one point must be specified")
        return
    for index in range(1, len(points)):
        if points[index - 1].utilization >= points[index].utilization:
            why = "values must be sorted in increasing order"
            report.invalid(at[index] / "utilization", points[index].utilization, why)
            break
    for index, point in enumerate(points):
        _within(at[index] / "utilization", point.utilization, 100, report)
        _within(at[index] / "score", point.score, _MOST_SCORE, report)


def _spread(args: PodTopologySpreadArgs, at: Path, report: Report) -> None:
    kind = args.defaulting_type
    if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        report.unsupported(at / "defaultingType", kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    elif kind == SYSTEM_DEFAULTING and args.default_constraints:
        report.invalid(at / "defaultingType", kind, "when .defaultConstraints are not empty")
    for index, constraint in enumerate(args.default_constraints):
        _constraint(args.default_constraints[:index], constraint, (at / "defaultConstraints")[index], report)


def _constraint(before: Sequence[Json], constraint: Json, at: Path, report: Report) -> None:
    skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
    action: Any = constraint.get("whenUnsatisfiable") or ""
    if skew <= 0:
        report.invalid(at / "maxSkew", skew, "not in valid range (0, inf)")
    if key:
        report.invalids(at / "topologyKey", key, qualified_name(key))
    else:
        report.required(at / "topologyKey", "can not be empty")
    if not action:
        report.required(at / "whenUnsatisfiable", "can not be empty")
    elif action not in _ACTIONS:
        report.unsupported(at / "whenUnsatisfiable", action, _ACTIONS)
    if constraint.get("labelSelector") is not None:
        report.forbidden(at / "labelSelector", "constraint must not define a selector, as they deduced for each pod")
    for other in before:
        if other.get("topologyKey") == constraint.get("topologyKey") and other.get("whenUnsatisfiable") == action:
            report.duplicate(at, f"{{{key}, {action}}}")
            break


def _volumes(args: VolumeBindingArgs, at: Path, report: Report) -> None:
    if args.bind_timeout_seconds < 0:
        why = "invalid BindTimeoutSeconds, should not be a negative value"
        report.invalid(at / "bindTimeoutSeconds", args.bind_timeout_seconds, why)
    if report.settings.feature("VolumeCapacityPriority"):
        _shape(args.shape, at / "shape", report)
    elif args.shape:
        why = "unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority"
        name = "config.UtilizationShapePoint"
        points = (f"{name}{{Utilization:{each.utilization}, Score:{each.score}}}" for each in args.shape)
        report.invalid(at / "shape", GoText(f"[]{name}{{{', '.join(points)}}}"), why)
