"""Validation of scheduler configurations: every invalid field is reported with the reference's message."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.scheduler.config.model import ConfigError
from orchd.scheduler.config.validation import validate
from tests.scheduler.config.config_support import document, read


def validation_errors(version: str = "v1beta3", features: Any = None, **members: Any) -> str:
    """The validation errors of a configuration; "" if there are none."""
    try:
        validate(read(document(version, **members)), KUBERNETES, features or {})
    except ConfigError as error:
        return str(error)
    return ""


def args(plugin: str, **given: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": given}]}]}


def extender(**members: Any) -> dict[str, Any]:
    return {"urlPrefix": "http://x", **members}


ARGS = "profiles[0].pluginConfig[0].args"
STRATEGY = f"{ARGS}.scoringStrategy"

NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "defaults": ({}, ""),
    "burst": ({"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
    "lease": (
        {"leaderElection": {"leaseDuration": "-1s"}},
        "[leaderElection.leaseDuration: Invalid value: v1.Duration{Duration:-1000000000}: must be greater than zero,"
        " leaderElection.leaseDuration: Invalid value: v1.Duration{Duration:10000000000}: LeaseDuration must be greater than"
        " RenewDeadline]",
    ),
    "lease without election": ({"leaderElection": {"leaderElect": False, "leaseDuration": "-1s"}}, ""),
    "lock": (
        {"leaderElection": {"resourceLock": "files"}},
        'leaderElection.resourceLock: Unsupported value: "files": supported values: "endpoints", "configmaps", "leases",'
        ' "endpointsleases", "configmapsleases"',
    ),
    "parallelism": ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
    "percentage": (
        {"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ),
    "back-off": (
        {"podInitialBackoffSeconds": 0, "podMaxBackoffSeconds": -1},
        "[podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, podMaxBackoffSeconds: Invalid value: -1: must be"
        " greater than or equal to PodInitialBackoffSeconds]",
    ),
    "names": (
        {"profiles": [{"schedulerName": "a"}, {}, {"schedulerName": "a"}]},
        "[profiles[1].schedulerName: Required value, profiles[2].schedulerName: Duplicate value: profiles[0].schedulerName]",
    ),
    "queue sort": (
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "X"}]}}}]},
        'profiles[1].plugins.queueSort: Invalid value: config.PluginSet{Enabled:[]config.Plugin{config.Plugin{Name:"X",'
        " Weight:0}}, Disabled:[]config.Plugin(nil)}: has to match for all profiles",
    ),
    "two queue sorts": (
        {"profiles": [{"plugins": {"queueSort": {"enabled": [{"name": "X"}, {"name": "Y"}]}}}]},
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
    ),
    "repeated plugin configuration": (
        {"profiles": [{"pluginConfig": [{"name": "X"}, {"name": "X"}]}]}, 'profiles[0].pluginConfig[1]: Duplicate value: "X"',
    ),
    "weight": (
        {"extenders": [extender(prioritizeVerb="p")]},
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
    ),
    "binders": (
        {"extenders": [extender(bindVerb="b"), extender(bindVerb="b")]},
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ),
    "managed resources": (
        {"extenders": [extender(managedResources=[{"name": "a/b"}, {"name": "cpu"}]), extender(managedResources=[{"name": "a/b"}])]},
        '[extenders[0].managedResources[1].name: Invalid value: "cpu": is an invalid extended resource name,'
        ' extenders[1].managedResources[0].name: Invalid value: "a/b": duplicate extender managed resource name]',
    ),
    "preemption": (
        args("DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0),
        f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute,"
        f" {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage]",
    ),
    "preemption range": (
        args("DefaultPreemption", minCandidateNodesPercentage=101, minCandidateNodesAbsolute=-1),
        f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100],"
        f" {ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]",
    ),
    "hard weight": (
        args("InterPodAffinity", hardPodAffinityWeight=101),
        f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
    ),
    "balanced": (
        args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}, {"name": "cpu"}]),
        f'[{ARGS}.resources[0].weight: Invalid value: 2: must be 1, {ARGS}.resources[1].name: Duplicate value: "cpu"]',
    ),
    "ignored groups": (
        args("NodeResourcesFit", ignoredResourceGroups=["a/b"]),
        f'{ARGS}.ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can\'t contain \'/\'',
    ),
    "strategy": (
        args("NodeResourcesFit", scoringStrategy={"type": "X", "resources": [{"name": "cpu", "weight": 101}]}),
        f'[{STRATEGY}.type: Unsupported value: "X": supported values: "LeastAllocated", "MostAllocated",'
        f' "RequestedToCapacityRatio", {STRATEGY}.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid'
        " range (0, 100]]",
    ),
    "shape needed": (
        args("NodeResourcesFit", scoringStrategy={"type": "RequestedToCapacityRatio"}),
        f"{STRATEGY}.requestedToCapacityRatio.shape: Required value: at least one point must be specified",
    ),
    "shape": (
        args(
            "NodeResourcesFit",
            scoringStrategy={
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 101, "score": 0}, {"utilization": 5, "score": 11}]},
            },
        ),
        f"[{STRATEGY}.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must be sorted in increasing order,"
        f" {STRATEGY}.requestedToCapacityRatio.shape[0].utilization: Invalid value: 101: not in valid range [0, 100],"
        f" {STRATEGY}.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not in valid range [0, 10]]",
    ),
    "defaulting": (
        args("PodTopologySpread", defaultConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]),
        f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
    ),
    "constraints": (
        args(
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[
                {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X"},
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}},
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
            ],
        ),
        f"[{ARGS}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf),"
        f" {ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty,"
        f' {ARGS}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule",'
        f' "ScheduleAnyway", {ARGS}.defaultConstraints[1].labelSelector: Forbidden: constraint must not define a selector, as'
        f' they deduced for each pod, {ARGS}.defaultConstraints[2]: Duplicate value: "{{a, DoNotSchedule}}"]',
    ),
    "bind timeout": (
        args("VolumeBinding", bindTimeoutSeconds=-1),
        f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
    ),
    "shape of volumes": (
        args("VolumeBinding", shape=[{"utilization": 0, "score": 1}]),
        f"{ARGS}.shape: Invalid value: []config.UtilizationShapePoint{{config.UtilizationShapePoint{{Utilization:0, Score:1}}}}:"
        " unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority",
    ),
    "smallest values": (
        {
            "clientConnection": {"burst": 0}, "parallelism": 1, "percentageOfNodesToScore": 0,
            "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1,
            "leaderElection": {"leaseDuration": "1ns", "renewDeadline": "1ns", "retryPeriod": "1ns"},
            "extenders": [extender(prioritizeVerb="p", weight=1), extender(bindVerb="b")],
        },
        "",
    ),
    "zero durations": (
        {"leaderElection": {"renewDeadline": "0s", "retryPeriod": "-1s"}},
        "leaderElection.retryPeriod: Invalid value: v1.Duration{Duration:-1000000000}: must be greater than zero",
    ),
    "largest percentage": ({"percentageOfNodesToScore": 100}, ""),
    "negative percentage": (
        {"percentageOfNodesToScore": -1},
        "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ),
    "least preemption": (args("DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=1), ""),
    "most preemption": (args("DefaultPreemption", minCandidateNodesPercentage=100, minCandidateNodesAbsolute=0), ""),
    "least hard weight": (args("InterPodAffinity", hardPodAffinityWeight=0), ""),
    "most hard weight": (args("InterPodAffinity", hardPodAffinityWeight=100), ""),
    "weights": (
        args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 100}, {"name": "memory", "weight": 1}]}),
        "",
    ),
    "ignored names": (
        args("NodeResourcesFit", ignoredResources=["a", "b c"], ignoredResourceGroups=["d", "e f"]),
        f'[{ARGS}.ignoredResources[1]: Invalid value: "b c": {NAME}, {ARGS}.ignoredResourceGroups[1]: Invalid value: "e f": {NAME}]',
    ),
    "points out of order": (
        args(
            "NodeResourcesFit",
            scoringStrategy={
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": n, "score": 10} for n in (0, 100, 100, 50)]},
            },
        ),
        f"{STRATEGY}.requestedToCapacityRatio.shape[2].utilization: Invalid value: 100: values must be sorted in increasing order",
    ),
    "unknown defaulting": (
        args("PodTopologySpread", defaultingType="X"),
        f'{ARGS}.defaultingType: Unsupported value: "X": supported values: "System", "List"',
    ),
    "names in constraints": (
        args(
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[
                {"maxSkew": 1, "topologyKey": "a b", "whenUnsatisfiable": "ScheduleAnyway"},
                {"maxSkew": 1, "topologyKey": "a"},
                *[{"maxSkew": 1, "topologyKey": "c", "whenUnsatisfiable": "ScheduleAnyway"}] * 3,
                {"maxSkew": 1, "topologyKey": "c", "whenUnsatisfiable": "DoNotSchedule"},
            ],
        ),
        f'[{ARGS}.defaultConstraints[0].topologyKey: Invalid value: "a b": {NAME},'
        f" {ARGS}.defaultConstraints[1].whenUnsatisfiable: Required value: can not be empty,"
        f' {ARGS}.defaultConstraints[3]: Duplicate value: "{{c, ScheduleAnyway}}",'
        f' {ARGS}.defaultConstraints[4]: Duplicate value: "{{c, ScheduleAnyway}}"]',
    ),
    "no bind timeout": (args("VolumeBinding", bindTimeoutSeconds=0), ""),
    "shape of volumes behind its gate": (
        {**args("VolumeBinding", shape=[{"utilization": 101, "score": 1}]), "features": {"VolumeCapacityPriority": True}},
        f"{ARGS}.shape[0].utilization: Invalid value: 101: not in valid range [0, 100]",
    ),
    "preferred affinity": (
        args(
            "NodeAffinity",
            addedAffinity={
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
                ],
            },
        ),
        f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchExpressions[0].values:"
        " Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
    "queue sort arguments": (
        {
            "profiles": [
                {
                    "schedulerName": name,
                    "plugins": {"queueSort": {"enabled": [{"name": "X"}]}},
                    "pluginConfig": [{"name": "X", "args": {"x": number}}, {"name": "Y", "args": {"x": name}}],
                }
                for name, number in (("a", 1), ("b", 2), ("c", 1))
            ]
        },
        'profiles[1].pluginConfig.args: Invalid value: "X": has to match for all profiles',
    ),
    "extender names": (
        {"extenders": [extender(prioritizeVerb="p", weight=-1, managedResources=[{"name": "a b"}])]},
        "[extenders[0].weight: Invalid value: -1: must have a positive weight applied to it,"
        f' extenders[0].managedResources[0].name: Invalid value: "a b": {NAME}]',
    ),
    "added affinity": (
        args(
            "NodeAffinity",
            addedAffinity={
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}],
                },
            },
        ),
        f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values:"
        " Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_invalid_fields_are_named(case: str) -> None:
    """An invalid configuration is rejected with the field and the reason; valid ones pass."""
    members, expected = CASES[case]
    assert validation_errors(**members) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("", ""),
        (":0", ""),
        ("127.0.0.1", ""),
        (
            "0.0.0.0:10251",
            'healthzBindAddress: Invalid value: "0.0.0.0:10251": must be empty or with an explicit 0 port',
        ),
        ("0.0.0.0:x", 'healthzBindAddress: Invalid value: "0.0.0.0:x": strconv.Atoi: parsing "x": invalid syntax'),
        ("here", 'healthzBindAddress: Invalid value: "here": address here: missing port in address'),
        (
            "here:0",
            'healthzBindAddress: Invalid value: "here:0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
    ],
)
def test_v1beta2_addresses_must_not_name_a_port(address: str, expected: str) -> None:
    """An address in v1beta2 must not have a port, since nothing is served without TLS."""
    assert validation_errors("v1beta2", healthzBindAddress=address) == expected
    of_metrics = expected.replace("healthzBindAddress", "metricsBindAddress")
    assert validation_errors("v1beta2", metricsBindAddress=address) == of_metrics
