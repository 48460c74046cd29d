"""A profile: its plugins made, sorted by extension point, with weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zope.interface.verify import verifyObject

from orchd.scheduler import interfaces
from orchd.scheduler.config.expansion import ExpandedProfile
from orchd.scheduler.config.model import ConfigError, UntypedArgs
from orchd.scheduler.interfaces import IHandle, IPluginFactory
from orchd.scheduler.values import ANY_EVENT, ClusterEvent

#: Extension point in the configuration -> its contract.
CONTRACTS = {
    "queueSort": interfaces.IQueueSort,
    "preFilter": interfaces.IPreFilter,
    "preEnqueue": interfaces.IPreEnqueue,
    "filter": interfaces.IFilter,
    "postFilter": interfaces.IPostFilter,
    "preScore": interfaces.IPreScore,
    "score": interfaces.IScore,
    "reserve": interfaces.IReserve,
    "permit": interfaces.IPermit,
    "preBind": interfaces.IPreBind,
    "bind": interfaces.IBind,
    "postBind": interfaces.IPostBind,
}


class Profile:
    """Plugins by extension point, in running order."""

    def __init__(self, expanded: ExpandedProfile, factories: Mapping[str, IPluginFactory], handle: IHandle) -> None:
        self.name = expanded.scheduler_name
        self.handle = handle
        self.plugins = {name: self._make(name, expanded, factories) for name in self._order(expanded)}
        points = {point: [self._at(point, name) for name in names] for point, names in expanded.points.items()}
        self.queue_sort: Any = points["queueSort"][0]
        self.pre_enqueues: Sequence[Any] = points.get("preEnqueue", ())
        self.pre_filters: Sequence[Any] = points["preFilter"]
        self.filters: Sequence[Any] = points["filter"]
        self.post_filters: Sequence[Any] = points["postFilter"]
        self.pre_scores: Sequence[Any] = points["preScore"]
        self.scores: Sequence[Any] = points["score"]
        self.reserves: Sequence[Any] = points["reserve"]
        self.permits: Sequence[Any] = points["permit"]
        self.pre_binds: Sequence[Any] = points["preBind"]
        self.binds: Sequence[Any] = points["bind"]
        self.post_binds: Sequence[Any] = points["postBind"]
        self.weights = [expanded.weights[plugin.name] for plugin in self.scores]
        #: Pre-filters whose notes depend on the pods of nodes.
        self.extensions = [each for each in self.pre_filters if interfaces.IPreFilterExtensions.providedBy(each)]
        #: Pre-filters that may know the only nodes of a pod.
        self.choosing: Sequence[Any] = [
            each for each in self.pre_filters if interfaces.IPreFilterNodes.providedBy(each)
        ]
        #: Pre-filters that work for the filter.
        self.working: Sequence[Any] = [each for each in self.pre_filters if interfaces.IPreFilterWork.providedBy(each)]
        #: Pre-bind plugins that may work long.
        self.slow_pre_binds: Sequence[Any] = [
            each for each in self.pre_binds if interfaces.IPreBindWork.providedBy(each)
        ]
        self.columnar_filters = [
            (n, each) for n, each in enumerate(self.filters) if interfaces.IColumnFilter.providedBy(each)
        ]
        self.plain_filters = [each for each in self.filters if not interfaces.IColumnFilter.providedBy(each)]
        self.columnar_scores = [
            (n, each) for n, each in enumerate(self.scores) if interfaces.IColumnScore.providedBy(each)
        ]

    @staticmethod
    def _order(expanded: ExpandedProfile) -> Iterable[str]:
        """Every plugin once, in the order of the points."""
        return dict.fromkeys(name for names in expanded.points.values() for name in names)

    def _make(self, name: str, expanded: ExpandedProfile, factories: Mapping[str, IPluginFactory]) -> Any:
        args: Any = expanded.arguments.get(name)
        if isinstance(args, UntypedArgs) or args is None:
            args = {} if args is None or args.data is None else args.data
        try:
            plugin = factories[name].make(self.handle, args)
        except ValueError as error:
            raise ConfigError(f'initializing plugin "{name}": {error}') from None
        if getattr(plugin, "name", None) != name:
            raise ConfigError(f'initializing plugin "{name}": its factory made one that is named otherwise')
        if not all(isinstance(each, ClusterEvent) for each in getattr(plugin, "events", ANY_EVENT)):
            raise ConfigError(
                f'initializing plugin "{name}": events must be a sequence of ClusterEvent, such as ANY_EVENT'
            )
        return plugin

    def _at(self, point: str, name: str) -> Any:
        plugin = self.plugins[name]
        contract: Any = CONTRACTS[point]
        if not contract.providedBy(plugin):
            raise ConfigError(
                f'plugin "{name}" does not provide {contract.getName()}, although it takes part in {point}'
            )
        verifyObject(contract, plugin)
        return plugin

    def events(self) -> dict[str, Sequence[ClusterEvent]]:
        """The events that retry pods which a plugin rejected, by plugin."""
        return {name: getattr(plugin, "events", ANY_EVENT) for name, plugin in self.plugins.items()}
