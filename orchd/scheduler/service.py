"""The scheduler service: its parts, start and stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from twisted.internet.defer import TimeoutError
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.client.interfaces import IClient, IEventRecorder, IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds import gates
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.binding import Binder
from orchd.scheduler.cluster import Cluster
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.config.expansion import ExpandedProfile, expand_all
from orchd.scheduler.config.model import SchedulerConfiguration
from orchd.scheduler.event_handlers import NODES, EventHandlers, PodCallbacks, event_sources
from orchd.scheduler.extender_connection import check_extender
from orchd.scheduler.framework.cycle import Decider
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.framework.sampling import Sampling
from orchd.scheduler.handle import Handle
from orchd.scheduler.history import History
from orchd.scheduler.interfaces import IExtender, IPluginFactory
from orchd.scheduler.loop import ProfileLane, SchedulingLoop
from orchd.scheduler.metrics import SchedulerMetrics, evaluation_instruments, queue_instruments
from orchd.scheduler.plugins.registry import plugin_factories
from orchd.scheduler.pod_conditions import PODS, Reporter
from orchd.scheduler.pods import Pod, Templates
from orchd.scheduler.queue.nominator import Nominator
from orchd.scheduler.queue.queue import QUEUE_RULES, SchedulingQueue
from orchd.scheduler.values import ClusterEvent
from orchd.scheduler.waiting_pods import WaitingPods
from orchd.txkit.background import Background
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument
from orchd.txkit.timeouts import within

#: What the API server writes into pods that name no scheduler.
DEFAULT_NAME = "default-scheduler"


#: Seconds to wait for the first list of what plugins read.
_SYNC_TIMEOUT = 30.0


@implementer(IInformers)
class AskedInformers:
    """Records the informers that are requested."""

    def __init__(self, informers: IInformers) -> None:
        self._informers = informers
        self.informers: dict[ResourceRef, IInformer] = {}

    def informer(self, ref: ResourceRef) -> IInformer:
        informer = self.informers.get(ref)
        if informer is None:
            informer = self.informers[ref] = self._informers.informer(ref)
        return informer


def check_configuration(configuration: SchedulerConfiguration, release: Release) -> None:
    """Check the plugins and extenders of a configuration before a scheduler is created. Raises ConfigError."""
    expand_all(configuration, _implemented(plugin_factories(release)))
    for each in configuration.extenders:
        check_extender(each)


def _implemented(factories: Mapping[str, IPluginFactory]) -> dict[str, Collection[str]]:
    """The extension points of each plugin."""
    return {name: factory.points for name, factory in factories.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Collaborators of a scheduler. `recorder(name)` records Events of a profile; `clock` is monotonic, `wall` is epoch
    seconds. `release` is the emulated release, `features` are the feature gates that were given."""

    dialect: Dialect
    client: IClient
    informers: IInformers
    recorder: Callable[[str], IEventRecorder]
    clock: IReactorTime
    wall: Callable[[], float]
    random: Random
    compute: ComputeThread = field(default_factory=ComputeThread)
    release: Release = SPECIFICATION
    features: Mapping[str, bool] = field(default_factory=dict)


class Scheduler:
    """The scheduler service. The constructor requests the informers and adds listeners; pods are scheduled between
    `start` and `stop`. `extenders` builds the extenders for the snapshot. Raises ConfigError."""

    log = Logger()

    def __init__(
        self,
        environment: Environment,
        configuration: SchedulerConfiguration,
        *,
        extenders: Callable[[Snapshot], Sequence[IExtender]] = lambda snapshot: (),
        factories: Mapping[str, IPluginFactory] | None = None,
    ) -> None:
        self._asked = informers = AskedInformers(environment.informers)
        self._environment = environment
        dialect, clock = environment.dialect, environment.clock
        self._factories = plugin_factories(environment.release) if factories is None else factories
        self.configuration = configuration
        self.templates = Templates(gates.disabled(environment.features, environment.release), environment.release)
        self.snapshot = Snapshot(dialect)
        self.cluster = Cluster(self.snapshot, clock)
        self._extenders = extenders(self.snapshot)
        self.nominator = Nominator()
        self.metrics = SchedulerMetrics(clock, environment.release)
        self.history = History()
        self.waiting = WaitingPods(clock)
        self._background = Background()
        self.sampling = Sampling(configuration.percentage_of_nodes_to_score)
        self.lanes = {
            each.scheduler_name: self._lane(each) for each in expand_all(configuration, _implemented(self._factories))
        }
        self.queue = self._make_queue()
        self.instruments: tuple[Instrument, ...] = (
            *self.metrics.instruments,
            *queue_instruments(self.queue, self.sizes, lambda: len(self.event_handlers.gated), environment.release),
            *evaluation_instruments(
                self.metrics, lambda: {name: lane.profile for name, lane in self.lanes.items()}, environment.release
            ),
        )
        self.event_handlers = EventHandlers(
            informers,
            event_sources(dialect, environment.release),
            templates=self.templates,
            cluster=self.cluster,
            queue=self.queue,
            callbacks=PodCallbacks(
                owns=lambda pod: self._lane_of(pod) is not None,
                schedules=self._schedules,
                end_wait=self.waiting.reject,
                forget=self.history.drop,
            ),
        )
        self.event_handlers.follow(event for events in self._registered().values() for event in events)
        self._loop = SchedulingLoop(
            self.lanes,
            queue=self.queue,
            cluster=self.cluster,
            nominator=self.nominator,
            history=self.history,
            parallelism=configuration.parallelism,
        )

    def _lane_of(self, pod: Object) -> ProfileLane | None:
        return self.lanes.get(str(pod["spec"].get("schedulerName") or ""))

    def _schedules(self, pod: Object) -> bool:
        """True if a profile schedules the pod and none of its plugins keeps it out of the queue."""
        lane = self._lane_of(pod)
        return lane is not None and all(each.pre_enqueue(pod) is None for each in lane.profile.pre_enqueues)

    def _lane(self, expanded: ExpandedProfile) -> ProfileLane:
        environment = self._environment
        recorder = environment.recorder(expanded.scheduler_name)
        handle = Handle(
            dialect=environment.dialect,
            profile=expanded.scheduler_name,
            client=environment.client,
            informers=self._asked,
            snapshot=self.snapshot,
            recorder=recorder,
            clock=environment.clock,
            wall=environment.wall,
            random=environment.random,
            compute=environment.compute,
            release=environment.release,
            nominator=self.nominator,
            extenders=self._extenders,
            metrics=self.metrics,
            features=environment.features,
            find_waiting=self.waiting.get,
            activate_uids=lambda uids: self.queue.activate(uids),
        )
        profile = Profile(expanded, self._factories, handle)
        decider = Decider(
            profile,
            self.snapshot,
            self.nominator,
            extenders=self._extenders,
            sampling=self.sampling,
            random=environment.random,
        )
        handle.what_if = decider.what_if
        reporter = Reporter(environment.client, recorder, handle.informer(PODS), environment.wall)
        return ProfileLane(profile, decider, Binder(profile, self._extenders, self.waiting, reporter), reporter)

    def _registered(self) -> dict[str, Sequence[ClusterEvent]]:
        """Cluster events that may make pods schedulable, by the plugin that rejected them, over all profiles."""
        by_plugin: dict[str, list[ClusterEvent]] = {}
        for lane in self.lanes.values():
            for name, events in lane.profile.events().items():
                by_plugin.setdefault(name, []).extend(each for each in events if each not in by_plugin.get(name, ()))
        return {name: tuple(events) for name, events in by_plugin.items()}

    def _make_queue(self) -> SchedulingQueue:
        sort = next(iter(self.lanes.values())).profile.queue_sort
        return SchedulingQueue(
            self._environment.clock,
            key=sort.key,
            registered=self._registered(),
            backoff=(self.configuration.pod_initial_backoff_seconds, self.configuration.pod_max_backoff_seconds),
            rule=self._environment.release.choose(QUEUE_RULES),
            updated=self.nominator.update,
            removed=self._removed,
        )

    def _removed(self, pod: Pod) -> None:
        self.nominator.clear(pod)

    def sizes(self) -> dict[str, int]:
        """Cached objects by the reference's type names."""
        return {"assumed_pods": self.cluster.assumed, "nodes": self.snapshot.count, "pods": len(self.cluster)}

    @property
    def default_name(self) -> str:
        """The scheduler name of pods that are made without one."""
        return DEFAULT_NAME

    async def start(self) -> None:
        """Wait until the informers that plugins read are synced and every node and pod is cached, then start
        scheduling."""
        await self._wait_for_others()
        await self.event_handlers.nodes.wait_delivered()
        await self.event_handlers.pods.wait_delivered()
        self._background.add(self._loop.run(), "scheduling")

    async def _wait_for_others(self) -> None:
        """Wait a bounded time for other informers: a server may not serve every resource."""
        for ref, informer in self._asked.informers.items():
            if ref in (PODS, NODES):
                continue
            try:
                await within(start(informer.wait_delivered()), _SYNC_TIMEOUT, self._environment.clock)
            except TimeoutError:
                self.log.warn(
                    "{plural} not synced after {seconds:g} s: scheduling without them",
                    plural=ref.plural,
                    seconds=_SYNC_TIMEOUT,
                )

    async def stop(self) -> None:
        """Stop taking pods, then wait for bindings in flight."""
        self.event_handlers.stop()
        self.queue.close()
        await self._loop.stop()
        await self._background.stop()
        self.cluster.close()
