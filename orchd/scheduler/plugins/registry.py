"""The built-in plugins as an ordered table, and the lookup of drop-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zope.interface import implementer

import orchd.plugins
from orchd.kinds.release import Release
from orchd.scheduler.config.model import ConfigError
from orchd.scheduler.interfaces import IHandle, IPluginFactory
from orchd.scheduler.plugins.defaultbinder import DefaultBinder
from orchd.scheduler.plugins.defaultpreemption import DefaultPreemption
from orchd.scheduler.plugins.dynamicresources import DynamicResources
from orchd.scheduler.plugins.imagelocality import ImageLocality
from orchd.scheduler.plugins.interpodaffinity import InterPodAffinity
from orchd.scheduler.plugins.nodeaffinity import NodeAffinity
from orchd.scheduler.plugins.nodename import NodeName
from orchd.scheduler.plugins.nodeports import NodePorts
from orchd.scheduler.plugins.noderesourcesbalancedallocation import NodeResourcesBalancedAllocation
from orchd.scheduler.plugins.noderesourcesfit import NodeResourcesFit
from orchd.scheduler.plugins.nodeunschedulable import NodeUnschedulable
from orchd.scheduler.plugins.nodevolumelimits import NodeVolumeLimits
from orchd.scheduler.plugins.podtopologyspread import PodTopologySpread
from orchd.scheduler.plugins.prioritysort import PrioritySort
from orchd.scheduler.plugins.schedulinggates import SchedulingGates
from orchd.scheduler.plugins.selectorspread import SelectorSpread
from orchd.scheduler.plugins.tainttoleration import TaintToleration
from orchd.scheduler.plugins.volumebinding import VolumeBinding
from orchd.scheduler.plugins.volumelimits import AZURE_DISK, CINDER, EBS, GCE_PD, Cloud, DiskLimits
from orchd.scheduler.plugins.volumerestrictions import VolumeRestrictions
from orchd.scheduler.plugins.volumezone import VolumeZone
from orchd.txkit import dropins


@implementer(IPluginFactory)
@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Factory of a built-in plugin. `later` are further extension points and the release that begins each."""

    name: str
    help: str
    points: tuple[str, ...]
    made_by: Callable[[IHandle, Any], Any]
    later: tuple[tuple[str, str], ...] = ()

    def make(self, handle: IHandle, args: Any) -> Any:
        return self.made_by(handle, args)

    def of(self, release: Release) -> BuiltIn:
        """The factory of a release."""
        more = tuple(point for point, since in self.later if release.includes(since))
        return replace(self, points=(*self.points, *more), later=())


def _disks(name: str, cloud: Cloud) -> BuiltIn:
    def make(handle: IHandle, args: Any) -> DiskLimits:
        return DiskLimits(handle, name, cloud)

    return BuiltIn(name, "Limits the disks of a cloud on a node.", ("filter",), make)


_SCORE_TOO = ("preScore", "score")

BUILT_IN: Sequence[BuiltIn] = (
    BuiltIn("SchedulingGates", "Holds pods until their gates are removed.", ("preEnqueue",), SchedulingGates),
    BuiltIn("PrioritySort", "Schedules pods of higher priority first.", ("queueSort",), PrioritySort),
    BuiltIn("NodeUnschedulable", "Keeps pods off cordoned nodes.", ("filter",), NodeUnschedulable),
    BuiltIn("NodeName", "Honours a node that a pod names.", ("filter",), NodeName),
    BuiltIn("TaintToleration", "Honours taints and tolerations.", ("filter", *_SCORE_TOO), TaintToleration),
    BuiltIn("NodeAffinity", "Honours node selectors and affinity.", ("preFilter", "filter", *_SCORE_TOO), NodeAffinity),
    BuiltIn("NodePorts", "Keeps pods apart that want the same host ports.", ("preFilter", "filter"), NodePorts),
    BuiltIn(
        "NodeResourcesFit",
        "Gives pods the resources that they request.",
        ("preFilter", "filter", "score"),
        NodeResourcesFit,
    ),
    BuiltIn(
        "VolumeRestrictions", "Keeps pods apart that cannot share a disk.", ("preFilter", "filter"), VolumeRestrictions
    ),
    _disks("EBSLimits", EBS),
    _disks("GCEPDLimits", GCE_PD),
    BuiltIn("NodeVolumeLimits", "Limits the volumes of a driver on a node.", ("filter",), NodeVolumeLimits),
    _disks("AzureDiskLimits", AZURE_DISK),
    _disks("CinderLimits", CINDER),
    BuiltIn(
        "VolumeBinding",
        "Finds and binds the volumes of a pod.",
        ("preFilter", "filter", "score", "reserve", "preBind"),
        VolumeBinding,
    ),
    # From 1.27 on, a pod with an invalid claim is refused before nodes are looked at.
    BuiltIn(
        "VolumeZone", "Keeps pods in the zones of their volumes.", ("filter",), VolumeZone, (("preFilter", "1.27"),)
    ),
    BuiltIn(
        "PodTopologySpread",
        "Spreads pods over topology domains.",
        ("preFilter", "filter", *_SCORE_TOO),
        PodTopologySpread,
    ),
    BuiltIn(
        "InterPodAffinity", "Places pods together or apart.", ("preFilter", "filter", *_SCORE_TOO), InterPodAffinity
    ),
    BuiltIn(
        "SelectorSpread", "Spreads the pods of services and sets over nodes and zones.", _SCORE_TOO, SelectorSpread
    ),
    BuiltIn(
        "DynamicResources",
        "Finds the devices that a pod claims.",
        ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
        DynamicResources,
    ),
    BuiltIn("DefaultPreemption", "Makes room for pods of higher priority.", ("postFilter",), DefaultPreemption),
    BuiltIn(
        "NodeResourcesBalancedAllocation",
        "Uses the resources of a node evenly.",
        ("score",),
        NodeResourcesBalancedAllocation,
    ),
    BuiltIn("ImageLocality", "Prefers nodes that have a pod's images.", ("score",), ImageLocality),
    BuiltIn("DefaultBinder", "Binds pods through the API.", ("bind",), DefaultBinder),
)


def plugin_factories(release: Release) -> Mapping[str, IPluginFactory]:
    """Factories of all plugins of a release by name. Raises ConfigError for a drop-in whose name is taken."""
    factories: dict[str, IPluginFactory] = {each.name: each.of(release) for each in BUILT_IN}
    for factory in dropins.drop_ins(IPluginFactory, orchd.plugins):
        if factory.name in factories:
            raise ConfigError(
                f'scheduler plugin "{factory.name}" of {type(factory).__module__} has a name that is taken'
            )
        factories[factory.name] = factory
    return factories
