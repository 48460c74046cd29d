"""Default plugins of the configuration versions, and the merge of a profile's plugins with them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchd.kinds import gates
from orchd.scheduler.config.model import Json, Plugin, PluginSet
from orchd.scheduler.config.types import MULTI_POINT, VERSION_POINTS

ALL: Final = "*"

#: version -> extension point -> plugins in their order, each with its weight after a colon where it has one.
_DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "v1beta2": {
        "queueSort": "PrioritySort",
        "preFilter": (
            "NodeResourcesFit NodePorts VolumeRestrictions PodTopologySpread InterPodAffinity VolumeBinding "
            "NodeAffinity"
        ),
        "filter": (
            "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
            "VolumeRestrictions EBSLimits"
            " GCEPDLimits NodeVolumeLimits AzureDiskLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity"
        ),
        "postFilter": "DefaultPreemption",
        "preScore": "InterPodAffinity PodTopologySpread TaintToleration NodeAffinity",
        "score": (
            "NodeResourcesBalancedAllocation:1 ImageLocality:1 InterPodAffinity:1 NodeResourcesFit:1 NodeAffinity:1"
            " PodTopologySpread:2 TaintToleration:1"
        ),
        "reserve": "VolumeBinding",
        "preBind": "VolumeBinding",
        "bind": "DefaultBinder",
    },
    "v1beta3": {
        MULTI_POINT: (
            "PrioritySort NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:2 NodePorts NodeResourcesFit:1"
            " VolumeRestrictions EBSLimits GCEPDLimits NodeVolumeLimits AzureDiskLimits VolumeBinding VolumeZone"
            " PodTopologySpread:2 InterPodAffinity:2 DefaultPreemption NodeResourcesBalancedAllocation:1 "
            "ImageLocality:1 DefaultBinder"
        )
    },
    "v1": {
        MULTI_POINT: (
            "SchedulingGates PrioritySort NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:2 NodePorts"
            " NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread:2"
            " InterPodAffinity:2 DynamicResources:2 DefaultPreemption NodeResourcesBalancedAllocation:1 "
            "ImageLocality:1 DefaultBinder"
        )
    },
}


#: version -> feature gate -> the value that adds default plugins, and these by extension point.
_GATED: Final[dict[str, dict[str, tuple[bool, dict[str, str]]]]] = {
    "v1beta2": {
        "VolumeCapacityPriority": (True, {"score": "VolumeBinding:1"}),
        "DefaultPodTopologySpread": (False, {"preScore": "SelectorSpread", "score": "SelectorSpread:1"}),
    },
    "v1beta3": {"DefaultPodTopologySpread": (False, {MULTI_POINT: "SelectorSpread:1"})},
    "v1": {},
}


def defaults(version: str, features: Mapping[str, bool] = MappingProxyType({})) -> dict[str, PluginSet]:
    """The default plugins of a profile."""
    by_point = {point: _DEFAULTS[version].get(point, "") for point in (*VERSION_POINTS[version], MULTI_POINT)}
    for gate, (value, more) in _GATED[version].items():
        if gates.enabled(features, gate) == value:
            by_point.update((point, f"{by_point[point]} {plugins}") for point, plugins in more.items())
    return {point: PluginSet(_plugins(plugins)) for point, plugins in by_point.items()}


def merged(
    version: str, plugin_sets: Json | None, features: Mapping[str, bool] = MappingProxyType({})
) -> dict[str, PluginSet]:
    """The default plugins merged with a profile's `plugins`."""
    sets = defaults(version, features)
    if plugin_sets is None:
        return sets
    return {point: merge(of_default, _read(plugin_sets.get(point) or {})) for point, of_default in sets.items()}


def merge(base: PluginSet, custom: PluginSet) -> PluginSet:
    """Disabled defaults are removed, defaults that are enabled again keep their place with the new weight, others
    follow. The disabled names are kept, so that multiPoint does not add them at this point."""
    disabled = {*custom.disabled, *base.disabled}
    # The last of several of one name replaces the default; duplicates are kept and rejected by validation.
    again = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replacing: set[int] = set()
    enabled: list[Plugin] = []
    if ALL not in disabled:
        for plugin in base.enabled:
            if plugin.name in disabled:
                continue
            index = again.get(plugin.name)
            if index is not None:
                replacing.add(index)
                plugin = custom.enabled[index]
            enabled.append(plugin)
    enabled += [plugin for index, plugin in enumerate(custom.enabled) if index not in replacing]
    return PluginSet(tuple(enabled), (*custom.disabled, *base.disabled))


def names(sets: Mapping[str, PluginSet]) -> list[str]:
    """Names of all plugins enabled at any point, sorted."""
    return sorted({plugin.name for each in sets.values() for plugin in each.enabled})


def _read(plugin_set: Json) -> PluginSet:
    return PluginSet(
        tuple(Plugin(each["name"], each.get("weight", 0)) for each in plugin_set.get("enabled") or ()),
        tuple(each["name"] for each in plugin_set.get("disabled") or ()),
    )


def _plugins(listed: str) -> tuple[Plugin, ...]:
    parts = (word.partition(":") for word in listed.split())
    return tuple(Plugin(name, int(weight or 0)) for name, _, weight in parts)
