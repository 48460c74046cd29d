"""Contracts of the scheduling framework: one interface per extension point, the columnar forms, factories and the handle.

A plugin is one object per profile; it provides the interface of every extension point that it takes part in. The order in
which one cycle calls them: queue sort, pre-filter, filter, (post-filter when no node passed), pre-score, score, reserve,
permit; then, overlapping with the cycles of other pods, pre-bind, bind, post-bind.

There are two forms of filters and scores. The plain form looks at one node at a time: drop-ins need no more, what-if runs of
preemption use it, and it is the oracle of property tests. The columnar form (`IColumnFilter`, `IColumnScore`) answers for
many nodes at once with numpy arrays; the framework prefers it and keeps its results per template of pods, so that only rows
that changed are computed again. Node rows are numbers; `ISnapshot` says which node a row is.

Pods, nodes, snapshot and status values must not be changed by plugins. Nothing here may block: what waits is `async`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IReactorTime
from zope.interface import Attribute, Interface

from orchd.client.interfaces import IClient, IEventRecorder, IInformer, IInformers, Object, ResourceRef
from orchd.dialect import Dialect
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import ClusterEvent, Columns, CycleState, Status

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
    """What every plugin has."""

    name: str = Attribute("As in the configuration.")
    events: Sequence[ClusterEvent] = Attribute(
        "News that may help a pod that this plugin refused. ANY_EVENT when the plugin cannot say."
    )


class IQueueSort(IPlugin):
    """Order of the active queue. All profiles have the same one."""

    def key(pod: Pod, added: float) -> Any:
        """A value that sorts pods: the least is scheduled first. `added` is the wall time at which the pod joined the
        queue (again)."""


class IPreFilter(IPlugin):
    def pre_filter(state: CycleState, pod: Pod) -> Status | None:
        """Called once per cycle before any filter; may note things in `state`. A status ends the cycle and is given to
        every node; None goes on."""


class IPreFilterExtensions(Interface):
    """For pre-filter plugins whose notes depend on which pods are on the nodes. Called on clones of the state in what-if
    runs, before the plain filter is asked."""

    def prepare_plain(state: CycleState, pod: Pod) -> None:
        """Note what the plain filter needs of all nodes. Called before the first what-if run of a cycle, on the state
        that is then cloned."""

    def add_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """`other` is assumed to run on `node` as well."""

    def remove_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """`other` is assumed not to run on `node`."""


class IFilter(IPlugin):
    """Plain form. A drop-in provides this alone."""

    def filter(state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """None when the pod may run on the node. What the pre-filter noted is in `state`."""


class IRowFilter(Interface):
    """A filter for one pod (or all pods of one template) over rows.

    `local` says that the result for a row depends on nothing but the pod, the plugin's `epoch` and this row's columns in
    `columns`: the framework then keeps results and asks again for changed rows only. What is not local is asked about all
    rows in every cycle.
    """

    local: bool = Attribute("See above.")
    columns: Columns = Attribute("What a local result depends on.")

    def codes(rows: Rows | None) -> Numbers:
        """A code per row, of `rows` or (None) of all rows of the snapshot, in that order: 0 passes, anything else is the
        plugin's own number for why not. Rows without a node may have any code."""

    def status(code: int) -> Status:
        """What a code other than 0 stands for, for a node."""


class ISingleRow(Interface):
    """Optional for local row filters and row scores: usually a single row has changed since the last cycle, for which plain
    numbers are cheaper than arrays of one element."""

    def at(row: int) -> int:
        """What `codes` or `scores` gives for this row."""


class IColumnFilter(IFilter):
    """Columnar form, beside the plain one: both give the same statuses."""

    shared: bool = Attribute(
        "True: `compile_filter` looks at nothing but pod.template, so its result serves every pod of the template while"
        " `epoch` stays the same. False: it is called in every cycle."
    )
    epoch: int = Attribute("Rises whenever something else that compiled filters rest on has changed; else constant.")

    def compile_filter(state: CycleState, pod: Pod) -> IRowFilter | None:
        """The filter for a pod, after its pre-filter; None when every node passes, whatever pods are on it. With `shared`, `state` is not to be
        looked at."""


class IPostFilter(IPlugin):
    async def post_filter(state: CycleState, pod: Pod, refused: IRefusals) -> str | None:
        """Called when no node passed. The name of the node that is nominated for the pod, "" when an earlier nomination
        is to be cleared, None when nothing is to change."""


class IRefusals(Interface):
    """Why nodes were refused in the filter phase."""

    def resolvable() -> Sequence[int]:
        """Rows that preemption may help, in visiting order."""

    def status(row: int) -> Status | None:
        """The status of the first filter that refused the row."""


class IPreScore(IPlugin):
    def pre_score(state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        """Called once before scores, with the nodes that passed. For plain scores."""


class IScore(IPlugin):
    """Plain form. A drop-in provides this alone."""

    def score(state: CycleState, pod: Pod, node: NodeView) -> int:
        """A score of any range. ValueError fails the cycle."""

    def normalize(state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        """The scores of all nodes that passed, brought to 0..100."""


class IRowScore(Interface):
    """A score for one pod (or all pods of one template) over rows; `local` and `columns` as in IRowFilter."""

    local: bool = Attribute("See IRowFilter.")
    columns: Columns = Attribute("See IRowFilter.")

    def scores(rows: Rows | None) -> Numbers:
        """Raw scores. With `local`, `rows` as in IRowFilter.codes; otherwise the rows that passed the filters."""

    def normalize(raw: Numbers) -> Numbers | int:
        """Raw scores of the rows that passed, brought to 0..100 in a new array; one number when all have the same."""


class IColumnScore(IScore):
    """Columnar form, beside the plain one: both give the same scores. `shared` and `epoch` as in IColumnFilter."""

    shared: bool = Attribute("See IColumnFilter.")
    epoch: int = Attribute("See IColumnFilter.")

    def compile_score(state: CycleState, pod: Pod) -> IRowScore | int:
        """The score for a pod; a number when every node gets it (normalised)."""


class IReserve(IPlugin):
    def reserve(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Called when a node was chosen, before the pod is bound, in plugin order. A status undoes and fails the cycle."""

    def unreserve(state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo `reserve`: called in reverse order for every reserve plugin when anything fails later, also for those
        whose `reserve` was not reached. Idempotent; must not raise."""


class IPermit(IPlugin):
    def permit(state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, float]:
        """None lets the pod go on; a status WAIT holds it until `IHandle.waiting(uid)` is allowed by this plugin, at most
        the seconds that come second; anything else rejects it."""


class IPreBind(IPlugin):
    async def pre_bind(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Called before the binding. What it raises fails the binding as an error."""


class IBind(IPlugin):
    async def bind(state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind the pod; a status SKIP leaves it to the next bind plugin."""


class IPostBind(IPlugin):
    def post_bind(state: CycleState, pod: Pod, node_name: str) -> None:
        """Called after a binding that succeeded."""


class ISnapshot(Interface):
    """The nodes of the cluster and the pods on them (assumed ones included), as columns. Live: it always shows the present,
    so a row may change whenever the reactor runs."""

    size: int = Attribute("Rows in every column, some of which may be empty.")
    count: int = Attribute("Nodes.")
    alive: Mask = Attribute("Which rows are nodes.")

    def row_of(name: str) -> int:
        """The row of a node; -1 for an unknown node."""

    def name_of(row: int) -> str:
        """The name of the node in a row."""

    def rows() -> Rows:
        """Rows of all nodes, in visiting order (round-robin over zones)."""

    def node(row: int) -> NodeView:
        """The plain view of a row, with the pods that are on the node now. What-if runs change copies of it."""

    def pods(row: int) -> Collection[Pod]:
        """The pods on a node."""

    def rows_with_volumes() -> Iterable[int]:
        """Rows with a pod whose template has volumes."""

    def label(key: str) -> NDArray[np.int32]:
        """For each row a number for the value of a label; -1 where the node lacks it. See `label_value`."""

    def label_value(key: str, number: int) -> str:
        """The value behind a number of `label`."""

    def match_selector(terms: Sequence[Mapping[str, Any]]) -> Mask:
        """Which rows match node selector terms (ORed, as in required node affinity; an empty list matches none). Kept
        while no node changes."""

    def changed(since: int, columns: Columns) -> Sequence[int] | None:
        """Rows in which any of `columns` changed after `version` was `since`; None when too much changed to say."""

    version: int = Attribute("Rises with every change.")


class IHandle(Interface):
    """What a plugin is given: the world outside it. One per profile."""

    dialect: Dialect = Attribute("Spelling of names.")
    profile: str = Attribute("The scheduler name of the profile.")
    client: IClient = Attribute("Writes as the scheduler's user.")
    informers: IInformers = Attribute("Shared informers: what is asked for while plugins are made is synced at start.")
    snapshot: Snapshot = Attribute("Nodes and pods: an ISnapshot; built-in plugins use its further columns.")
    recorder: IEventRecorder = Attribute("Records Events as the profile's scheduler.")
    clock: IReactorTime = Attribute("Monotonic; for delays.")
    wall: Callable[[], float] = Attribute("Seconds since the epoch.")
    random: Random = Attribute("Injected randomness.")
    nominator: INominator = Attribute("Pods nominated to nodes.")
    ignored_resources: Collection[str] = Attribute("Extended resources that an extender takes charge of.")
    extenders: Sequence[IExtender] = Attribute("In the order of the configuration.")
    metrics: SchedulerMetrics = Attribute("Counts for metrics.")

    def informer(ref: ResourceRef) -> IInformer:
        """informers.informer(ref)."""

    def pod_object(pod: Pod) -> Object | None:
        """The API object of a pod as the informer has it; None when it is gone."""

    def waiting(uid: str) -> IWaitingPod | None:
        """A pod that a permit plugin holds."""

    def run_filters(state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """Run the plain form of all filters of the profile, and count pods nominated to the node (filters must pass with
        and without them)."""

    def add_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Put `other` onto the copy of a node and tell all pre-filter extensions."""

    def remove_pod(state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        """Take `other` off the copy of a node and tell all pre-filter extensions."""

    def prepare_plain(state: CycleState, pod: Pod) -> None:
        """Prepare a state for what-if runs with the calls above."""

    def activate(pods: Iterable[Pod]) -> None:
        """Move pending pods to the active queue now."""


class IWaitingPod(Interface):
    """A pod held in the permit phase."""

    def allow(plugin: str) -> None:
        """The plugin no longer holds it; it goes on when no other does."""

    def reject(plugin: str, message: str) -> None:
        """The pod is not to be bound now."""


class INominator(Interface):
    """Pods that wait for room on a node that preemption made, or that the API says are nominated."""

    def nodes() -> Collection[str]:
        """Nodes that any pod is nominated to."""

    def nominated(node_name: str) -> Sequence[Pod]:
        """Pods nominated to a node."""

    def nominate(pod: Pod, node_name: str) -> None:
        """Note a nomination; it replaces an earlier one of the pod."""

    def clear(pod: Pod) -> None:
        """Forget the pod's nomination."""


class IExtender(Interface):
    """A service outside that takes part in filtering, scoring, preemption and binding."""

    name: str = Attribute("Its URL.")
    weight: int = Attribute("Factor of its scores.")
    ignorable: bool = Attribute("Its failures are ignored when it filters.")
    filters: bool = Attribute("Has it a filter verb?")
    prioritizes: bool = Attribute("Has it a prioritize verb?")
    preempts: bool = Attribute("Has it a preempt verb?")
    binds: bool = Attribute("Has it a bind verb?")
    ignored_resources: Collection[str] = Attribute("Extended resources that NodeResourcesFit must not check.")

    def interested(pod: Pod) -> bool:
        """True if the extender manages all pods, or a resource that the pod requests."""

    async def filter(pod: Object, nodes: Sequence[str]) -> ExtenderVerdict:
        """Ask about nodes. Raises ExtenderError."""

    async def prioritize(pod: Object, nodes: Sequence[str]) -> Mapping[str, int]:
        """Scores 0..10 by node, not weighted. Raises ExtenderError."""

    async def preempt(pod: Object, victims: Mapping[str, ExtenderVictims]) -> Mapping[str, ExtenderVictims]:
        """Which of the candidate nodes remain, with which victims. Raises ExtenderError."""

    async def bind(pod: Pod, node_name: str) -> None:
        """Bind the pod. Raises ExtenderError."""


class ExtenderError(Exception):
    """An extender could not be asked, or answered that it failed. The text is the reference's."""


class ExtenderVerdict:
    """What an extender's filter answered: `nodes` that remain (in the given order), `failed` and `unresolvable` nodes with
    their reasons."""

    __slots__ = ("failed", "nodes", "unresolvable")

    def __init__(self, nodes: Sequence[str], failed: Mapping[str, str], unresolvable: Mapping[str, str]) -> None:
        self.nodes = nodes
        self.failed = failed
        self.unresolvable = unresolvable


class ExtenderVictims:
    """Pods that would be removed from a node, the most important first, and how many of them violate a budget."""

    __slots__ = ("pods", "violations")

    def __init__(self, pods: Sequence[Pod], violations: int) -> None:
        self.pods = pods
        self.violations = violations


class IPluginFactory(Interface):
    """Makes a plugin. The built-in ones are an ordered table (`plugins/table.py`); a drop-in is found by
    `getPlugins(IPluginFactory, orchd.plugins)` and provides twisted.plugin.IPlugin too."""

    name: str = Attribute("Name in the configuration.")
    help: str = Attribute("What the plugin is for, in one line.")
    points: Collection[str] = Attribute(
        'Extension points that its plugins take part in, as the configuration calls them ("preFilter").'
    )

    def make(handle: IHandle, args: Any) -> Any:
        """The plugin for one profile. `args` is the frozen value of the plugin's section of pluginConfig: a dataclass of
        orchd/scheduler/config/ for built-ins, the mapping as given (empty without one) for drop-ins. ValueError for
        arguments that are wrong ends the start with its text."""
