"""Contracts of the scheduling framework: one interface per extension point, the columnar forms, factories and the
handle.

A plugin is one object per profile; it provides the interface of every extension point that it implements. The order of
the calls in one cycle: queue sort, pre-filter, filter, (post-filter when no node passed), pre-score, score, reserve,
permit; then, overlapping with the cycles of other pods, pre-bind, bind, post-bind.

Filters and scores have two forms. The plain form evaluates one node at a time: it is all that a drop-in needs,
preemption uses it for what-if runs, and property tests use it as the oracle. The columnar form (`IColumnFilter`,
`IColumnScore`) evaluates many nodes at once with numpy arrays; the framework prefers it and caches its results per pod
template, so that only changed rows are recomputed. Nodes are addressed by row number; `ISnapshot` maps rows to nodes.

Plugins must not modify pods, nodes, snapshot or status values, and must not block: extension points that may wait are
`async`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IReactorTime
from zope.interface import Attribute, Interface

from orchd.client.interfaces import IClient, IEventRecorder, IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import ClusterEvent, Columns, CycleState, Status
from orchd.txkit.compute_thread import ComputeThread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orchd.scheduler.columns.snapshot import Snapshot
    from orchd.scheduler.metrics import SchedulerMetrics

    #: Row numbers.
    Rows = NDArray[np.intp]
    #: One whole number per row.
    Numbers = NDArray[np.int64]
    #: One truth value per row.
    Mask = NDArray[np.bool_]


class IPlugin(Interface):
    """Attributes of every plugin."""

    name: str = Attribute("Name in the configuration.")
    events: Sequence[ClusterEvent] = Attribute(
        "Cluster events that may make a pod schedulable that this plugin rejected. ANY_EVENT if unknown."
    )


class IQueueSort(IPlugin):
    """Order of the active queue; the same for all profiles."""

    def key(pod: Pod, added: float) -> Any:
        """The sort key of a pod: the smallest is scheduled first. `added` is the time at which the pod last joined the
        queue."""


class IPreEnqueue(IPlugin):
    """A plugin that keeps pods out of the queue. It is asked again whenever such a pod changes."""

    def pre_enqueue(pod: Object) -> Status | None:
        """None if the pod, an object of the API, may enter the queue, otherwise why it may not."""


class IPreFilter(IPlugin):
    def pre_filter(state: CycleState, pod: Pod) -> Status | None:
        """Called once per cycle before all filters; may write to `state`. None continues; a status ends the cycle and
        applies to every node."""


class IPreFilterWork(Interface):
    """For pre-filter plugins whose work for the filter may take long."""

    async def work_for_filter(state: CycleState, pod: Pod) -> None:
        """Called after `pre_filter` of all plugins returned None; may take several turns of the reactor, and may write
        to `state`. Nodes may change meanwhile."""


class IPreFilterNodes(Interface):
    """For pre-filter plugins that know the only nodes on which a pod may run."""

    def only_nodes(pod: Pod) -> frozenset[str] | None:
        """Their names, of which some may not exist; None for all nodes. Called after `pre_filter` returned None."""


class IPreFilterExtensions(Interface):
    """For pre-filter plugins whose state depends on the pods of the nodes. Called on clones of the state in what-if
    runs, before the plain filter."""

    def prepare_plain(state: CycleState, pod: Pod) -> None:
        """Write to `state` what the plain filter needs of all nodes. Called before the first what-if run of a cycle, on
        the state that is then cloned."""

    def add_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Update `state` as if `other` also ran on `node`."""

    def remove_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Update `state` as if `other` did not run on `node`."""


class IFilter(IPlugin):
    """Plain form; sufficient for drop-ins."""

    def filter(state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """None if the pod may run on the node. `state` holds what the pre-filter wrote."""


class IRowFilter(Interface):
    """A filter for one pod (or all pods of one template) over rows.

    `local` is True if the result for a row depends only on the pod, the plugin's `epoch` and this row's columns in
    `columns`: the framework then caches results and recomputes changed rows only. Other filters are evaluated for all
    rows in every cycle.
    """

    local: bool = Attribute("See above.")
    columns: Columns = Attribute("Columns that a local result depends on.")

    def codes(rows: Rows | None) -> Numbers:
        """A code per row of `rows`, or of all rows of the snapshot if None, in that order: 0 passes, other codes are
        the plugin's own. Rows without a node may have any code."""

    def status(code: int) -> Status:
        """The status of a code other than 0."""


class ISingleRow(Interface):
    """Optional for local row filters and row scores: usually a single row has changed since the last cycle, for which
    plain numbers are cheaper than arrays of one element."""

    def at(row: int) -> int:
        """The value of `codes` or `scores` for this row."""


class IColumnFilter(IFilter):
    """Columnar form, in addition to the plain one: both return the same statuses."""

    shared: bool = Attribute(
        "True: `compile_filter` reads only pod.template, so its result serves every pod of the template "
        "while `epoch` is unchanged. False: it is called in every cycle."
    )
    epoch: int = Attribute("Increases when anything else changes that compiled filters depend on; otherwise constant.")

    def compile_filter(state: CycleState, pod: Pod) -> IRowFilter | None:
        """The filter for a pod, called after its pre-filter; None if every node passes, whatever pods run there. With
        `shared`, it must not read `state`."""


class IPostFilter(IPlugin):
    async def post_filter(state: CycleState, pod: Pod, refused: IRefusals) -> str | None:
        """Called when no node passed. Returns the name of the node to nominate for the pod, "" to clear an earlier
        nomination, None to leave it."""


class IRefusals(Interface):
    """Reasons for which nodes were rejected in the filter phase."""

    def resolvable() -> Sequence[int]:
        """Rows on which preemption may help, in visiting order."""

    def status(row: int) -> Status | None:
        """The status of the first filter that rejected the row."""

    everywhere: Status | None = Attribute(
        "The status of a pre-filter that rejected the pod for all nodes; None without."
    )

    def explain(reason: str, *, last: bool = False) -> None:
        """Say why nothing can be done about the refusals, for the message of releases that tell it. With `last` the
        post-filter plugins that follow are not asked."""


class IPreScore(IPlugin):
    def pre_score(state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        """Called once before plain scores, with the nodes that passed the filters."""


class IScore(IPlugin):
    """Plain form; sufficient for drop-ins."""

    def score(state: CycleState, pod: Pod, node: NodeView) -> int:
        """A score of any range. Raises ValueError to fail the cycle."""

    def normalize(state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        """The scores of all nodes that passed, normalised to 0..100."""


class IRowScore(Interface):
    """A score for one pod (or all pods of one template) over rows; `local` and `columns` as in IRowFilter."""

    local: bool = Attribute("See IRowFilter.")
    columns: Columns = Attribute("See IRowFilter.")

    def scores(rows: Rows | None) -> Numbers:
        """Raw scores. With `local`, `rows` as in IRowFilter.codes; otherwise the rows that passed the filters."""

    def normalize(raw: Numbers) -> Numbers | int:
        """Raw scores of the rows that passed, normalised to 0..100 in a new array, or one number for all."""


class IColumnScore(IScore):
    """Columnar form, in addition to the plain one: both return the same scores. `shared` and `epoch` as in
    IColumnFilter."""

    shared: bool = Attribute("See IColumnFilter.")
    epoch: int = Attribute("See IColumnFilter.")

    def compile_score(state: CycleState, pod: Pod) -> IRowScore | int:
        """The score for a pod, or one normalised number for every node."""


class IReserve(IPlugin):
    def reserve(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Called after a node was chosen and before the pod is bound, in plugin order. A status fails the cycle and
        calls `unreserve`."""

    def unreserve(state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo `reserve`: called in reverse order for every reserve plugin if a later step fails, including plugins
        whose `reserve` was not called. Idempotent; must not raise."""


class IPermit(IPlugin):
    def permit(state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        """None permits the binding; WAIT delays it until this plugin allows it (`IHandle.waiting(uid)`), at most for
        the returned seconds; any other status rejects the pod."""


class IPreBind(IPlugin):
    async def pre_bind(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Called before the binding. An exception fails the binding."""


class IPreBindWork(Interface):
    """For pre-bind plugins whose work for some pods takes long."""

    def works_long(state: CycleState, pod: Pod, node_name: str) -> bool:
        """Whether `pre_bind` is about to write or to wait, so that others are told the node of the pod beforehand."""


class IBind(IPlugin):
    async def bind(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind the pod. SKIP passes it to the next bind plugin."""


class IPostBind(IPlugin):
    def post_bind(state: CycleState, pod: Pod, node_name: str) -> None:
        """Called after a successful binding."""


class ISnapshot(Interface):
    """The nodes of the cluster and the pods on them (assumed ones included), as columns. Live: rows may change in any
    reactor turn."""

    size: int = Attribute("Length of every column; some rows may be empty.")
    count: int = Attribute("Number of nodes.")
    alive: Mask = Attribute("True for rows that hold a node.")

    def row_of(name: str) -> int:
        """The row of a node; -1 for an unknown node."""

    def name_of(row: int) -> str:
        """The name of the node in a row."""

    def rows() -> Rows:
        """Rows of all nodes, in visiting order (round-robin over zones)."""

    def node(row: int) -> NodeView:
        """The plain view of a row with the node's current pods. What-if runs modify copies of it."""

    def pods(row: int) -> Collection[Pod]:
        """The pods on a node."""

    def rows_with_volumes() -> Iterable[int]:
        """Rows with a pod whose template has volumes."""

    def label(key: str) -> NDArray[np.int32]:
        """For each row a number for the value of a label; -1 where the node lacks it."""

    def match_selector(terms: Sequence[Mapping[str, Any]]) -> Mask:
        """True for rows that match node selector terms (ORed, as in required node affinity; an empty list matches
        none). Cached while no node changes."""

    def changed(since: int, columns: Columns) -> Sequence[int] | None:
        """Rows in which any of `columns` changed after version `since`; None if the change log no longer reaches back
        to it."""

    version: int = Attribute("Increases with every change.")


class IHandle(Interface):
    """The collaborators of a plugin; one handle per profile."""

    dialect: Dialect = Attribute("Names of the API dialect.")
    profile: str = Attribute("The scheduler name of the profile.")
    client: IClient = Attribute("Writes as the scheduler's user.")
    informers: IInformers = Attribute(
        "Shared informers; those requested while plugins are created are synced before scheduling."
    )
    snapshot: Snapshot = Attribute("An ISnapshot; built-in plugins also use its other columns.")
    recorder: IEventRecorder = Attribute("Records Events as the profile's scheduler.")
    clock: IReactorTime = Attribute("Monotonic; for delays.")
    wall: Callable[[], float] = Attribute("Seconds since the epoch.")
    random: Random = Attribute("Source of randomness.")
    compute: ComputeThread = Attribute("Calls pure functions that take long in another thread.")
    nominator: INominator = Attribute("Pods nominated to nodes.")
    ignored_resources: Collection[str] = Attribute("Extended resources that an extender manages.")
    extenders: Sequence[IExtender] = Attribute("In the order of the configuration.")
    metrics: SchedulerMetrics = Attribute("Counters and histograms.")

    release: Release = Attribute("The emulated release.")

    def feature(name: str) -> bool:
        """True if a feature gate is on. Raises KeyError for an unknown one."""

    def informer(ref: ResourceRef) -> IInformer:
        """informers.informer(ref)."""

    def pod_object(pod: Pod) -> Object | None:
        """The API object of a pod from the informer; None after its deletion."""

    def waiting(uid: str) -> IWaitingPod | None:
        """A pod that waits in the permit phase; None if it does not wait."""

    def run_filters(state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """Run the plain form of all filters of the profile, with and without the pods nominated to the node;
        both must pass."""

    def add_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Add `other` to the copy of a node and call all pre-filter extensions."""

    def remove_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Remove `other` from the copy of a node and call all pre-filter extensions."""

    def prepare_plain(state: CycleState, pod: Pod) -> None:
        """Prepare a state for what-if runs with the calls above."""

    def activate(pods: Iterable[Pod]) -> None:
        """Move pending pods to the active queue now."""


class IWaitingPod(Interface):
    """A pod that waits in the permit phase."""

    def allow(plugin: str) -> None:
        """End the wait of one plugin; the pod is bound when no other plugin waits."""

    def reject(plugin: str, message: str) -> None:
        """Reject the pod; it returns to the queue."""


class INominator(Interface):
    """Pods nominated to nodes, by preemption in this process or by their status in the API."""

    def nodes() -> Collection[str]:
        """Names of nodes with nominated pods."""

    def nominated(node_name: str) -> Sequence[Pod]:
        """Pods nominated to a node."""

    def nominate(pod: Pod, node_name: str) -> None:
        """Nominate a pod to a node; replaces an earlier nomination."""

    def clear(pod: Pod) -> None:
        """Remove the pod's nomination."""


class IExtender(Interface):
    """An external service that takes part in filtering, scoring, preemption and binding."""

    name: str = Attribute("Its URL.")
    weight: int = Attribute("Factor of its scores.")
    ignorable: bool = Attribute("True if failures of its filter call are ignored.")
    filters: bool = Attribute("True if it has a filter verb.")
    prioritizes: bool = Attribute("True if it has a prioritize verb.")
    preempts: bool = Attribute("True if it has a preempt verb.")
    binds: bool = Attribute("True if it has a bind verb.")
    ignored_resources: Collection[str] = Attribute("Extended resources that NodeResourcesFit must not check.")

    def interested(pod: Pod) -> bool:
        """True if the extender manages all pods, or a resource that the pod requests."""

    async def filter(pod: Object, nodes: Sequence[str]) -> ExtenderVerdict:
        """Filter nodes. Raises ExtenderError."""

    async def prioritize(pod: Object, nodes: Sequence[str]) -> Mapping[str, int]:
        """Scores 0..10 by node, not weighted. Raises ExtenderError."""

    async def preempt(pod: Object, victims: Mapping[str, ExtenderVictims]) -> Mapping[str, ExtenderVictims]:
        """The remaining candidate nodes with their victims. Raises ExtenderError."""

    async def bind(pod: Pod, node_name: str) -> None:
        """Bind the pod. Raises ExtenderError."""


class ExtenderError(Exception):
    """A call to an extender failed, or the extender returned an error. The text is the reference's."""


class ExtenderVerdict:
    """Result of an extender's filter: the remaining `nodes` in order, `failed` and `unresolvable` nodes with their
    reasons."""

    __slots__ = ("failed", "nodes", "unresolvable")

    def __init__(self, nodes: Sequence[str], failed: Mapping[str, str], unresolvable: Mapping[str, str]) -> None:
        self.nodes = nodes
        self.failed = failed
        self.unresolvable = unresolvable


class ExtenderVictims:
    """Pods to be removed from a node, most important first, and the number of them that violate a disruption budget."""

    __slots__ = ("pods", "violations")

    def __init__(self, pods: Sequence[Pod], violations: int) -> None:
        self.pods = pods
        self.violations = violations


class IPluginFactory(Interface):
    """Creates plugins. Built-in factories are an ordered table (`plugins/registry.py`); drop-ins are found in
    `orchd.plugins` and also provide twisted.plugin.IPlugin."""

    name: str = Attribute("Name in the configuration.")
    help: str = Attribute("Purpose of the plugin, in one line.")
    points: Collection[str] = Attribute(
        'Extension points that its plugins implement, by their names in the configuration ("preFilter").'
    )

    def make(handle: IHandle, args: Any) -> Any:
        """The plugin for one profile. `args` is the plugin's section of pluginConfig: a frozen dataclass of
        orchd/scheduler/config/ for built-ins, the mapping as given (or an empty one) for drop-ins. Raises ValueError
        for invalid arguments; its text is the start-up error."""
