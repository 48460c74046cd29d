"""Informer event handlers: keep the cluster columns and the queue current, and move the pods that an event may help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.fields import labels, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.scheduler.cluster import Cluster
from orchd.scheduler.devices.state import GROUP, RESOURCES, VERSION
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.plugins.storage import CAPACITIES
from orchd.scheduler.pods import AffinityTerm, Pod, PodTemplate, Templates
from orchd.scheduler.queue.queue import SchedulingQueue
from orchd.scheduler.retries import POD_DELETED, RETRY_RULES, RetryRule, node_changes
from orchd.scheduler.values import Action, ClusterEvent

_Listener = Callable[[str, Object | None, Object | None], None]

PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")
_ENDED = ("Succeeded", "Failed")

#: Plural -> (resource, word of the reference in event labels): watched if a plugin registers for it.
_OTHERS = {
    "persistentvolumes": (ResourceRef("", "v1", "persistentvolumes"), "Pv"),
    "persistentvolumeclaims": (ResourceRef("", "v1", "persistentvolumeclaims"), "Pvc"),
    "services": (ResourceRef("", "v1", "services"), "Service"),
    "storageclasses": (ResourceRef("storage.{abbr}.io", "v1", "storageclasses"), "StorageClass"),
    "csinodes": (ResourceRef("storage.{abbr}.io", "v1", "csinodes"), "CSINode"),
    "csidrivers": (ResourceRef("storage.{abbr}.io", "v1", "csidrivers"), "CSIDriver"),
}
#: The first release that has devices.
_DEVICES_SINCE = "1.34"
_WORDS = {"ADDED": (Action.ADD, "Add"), "MODIFIED": (Action.UPDATE, "Update"), "DELETED": (Action.DELETE, "Delete")}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSources:
    """`others` are the resources besides pods and nodes that plugins may register for, and their words in event labels,
    by plural."""

    others: Mapping[str, tuple[ResourceRef, str]]
    rule: RetryRule


def event_sources(dialect: Dialect, release: Release) -> EventSources:
    """The event sources of a release."""
    devices = {each: (ResourceRef(GROUP, VERSION, each), word) for each, word in RESOURCES.items()}
    later = devices if release.includes(_DEVICES_SINCE) else {}
    resources = {**_OTHERS, **later, "csistoragecapacities": (release.choose(CAPACITIES), "CSIStorageCapacity")}
    others = {plural: (replace(ref, group=dialect(ref.group)), word) for plural, (ref, word) in resources.items()}
    return EventSources(others=others, rule=release.choose(RETRY_RULES))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCallbacks:
    """`owns` returns True for pods of a profile, `schedules` for those that its plugins let into the queue. Of a pod
    with a UID, `end_wait` ends the wait in the permit phase when it is removed, and returns True if it was waiting;
    `forget` is called when it is deleted."""

    owns: Callable[[Object], bool]
    schedules: Callable[[Object], bool]
    end_wait: Callable[[str], bool]
    forget: Callable[[str], None]


class EventHandlers:
    """Registers its listeners in `follow`."""

    def __init__(
        self,
        informers: IInformers,
        sources: EventSources,
        *,
        templates: Templates,
        cluster: Cluster,
        queue: SchedulingQueue,
        callbacks: PodCallbacks,
    ) -> None:
        self._informers = informers
        self._templates = templates
        self._cluster = cluster
        self._queue = queue
        self._owns = callbacks.owns
        self._schedules = callbacks.schedules
        self._others = sources.others
        self._rule = sources.rule
        self._end_wait = callbacks.end_wait
        self._forget = callbacks.forget
        #: Namespace and name of pods with claims that plugins keep out of the queue, by uid.
        self._held: dict[str, tuple[str, str]] = {}
        #: UIDs of pods that plugins keep out of the queue.
        self.gated: set[str] = set()
        self.pods = informers.informer(PODS)
        self.nodes = informers.informer(NODES)
        self._followed: list[tuple[IInformer, _Listener]] = []

    def follow(self, events: Iterable[ClusterEvent]) -> None:
        """Add listeners for nodes, pods, and the resources that plugins registered for."""
        self._listen(self.nodes, self._on_node)
        self._listen(self.pods, self._on_pod)
        by_plural: dict[str, Action] = {}
        for event in events:
            for plural in self._others if event.resource == "*" else (event.resource,):
                if plural in self._others:
                    by_plural[plural] = by_plural.get(plural, Action(0)) | event.action
        for plural, actions in by_plural.items():
            ref, word = self._others[plural]
            self._listen(self._informers.informer(ref), self._listener_for(plural, word, actions))

    def _listen(self, informer: IInformer, listener: _Listener) -> None:
        self._followed.append((informer, listener))
        informer.add_listener(listener)

    def stop(self) -> None:
        """Remove the listeners."""
        while self._followed:
            informer, listener = self._followed.pop()
            informer.remove_listener(listener)

    def _listener_for(self, plural: str, word: str, actions: Action) -> _Listener:
        def listener(kind: str, old: Object | None, new: Object | None) -> None:
            action, suffix = _WORDS[kind]
            if not action & actions:
                return
            at_once = (new or {}).get("volumeBindingMode") != "WaitForFirstConsumer"
            if plural == "storageclasses" and action is Action.ADD and at_once:
                # Classes with immediate binding make no pending pod schedulable.
                return
            self._queue.move(ClusterEvent(plural, action, word + suffix))
            if plural in RESOURCES:
                self._reconsider()

        return listener

    def _reconsider(self) -> None:
        """Queue the pods whose claims were missing and are there now."""
        for uid, key in list(self._held.items()):
            obj = self.pods.get(*key)
            if obj is None or obj["metadata"]["uid"] != uid:
                del self._held[uid]
            elif self._schedules(obj):
                self._on_pod("MODIFIED", obj, obj)

    # -- nodes

    def _on_node(self, kind: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self._cluster.remove_node(old["metadata"]["name"])
            return
        facts = NodeFacts(new)
        row = self._cluster.snapshot.row_of(facts.name)
        before = None if row < 0 else self._cluster.snapshot.nodes[row]
        self._cluster.put_node(facts)
        changes = node_changes(before, facts)
        if changes:
            view = self._cluster.snapshot.node(self._cluster.snapshot.row_of(facts.name))
            self._rule.after_node(self._queue, changes, view)

    # -- pods

    def _on_pod(self, kind: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            assert old is not None
            self._delete_pod(old["metadata"]["uid"])
            return
        uid = new["metadata"]["uid"]
        if old is not None and old["metadata"]["uid"] != uid:
            # Deleted and created again between two events.
            self._delete_pod(old["metadata"]["uid"])
            old = None
        if status(new).get("phase") in _ENDED:
            self._remove_pod(uid)
            return
        pod = self._templates.pod(new)
        self._held.pop(uid, None)
        self.gated.discard(uid)
        if pod.node_name:
            self._on_assigned_pod(pod)
        elif self._schedules(new):
            self._on_pending_pod(pod, old, new)
        else:
            self._queue.remove(uid)
            if self._owns(new):
                self.gated.add(uid)
            if pod.template.claims:
                self._held[uid] = (pod.namespace, pod.name)

    def _on_assigned_pod(self, pod: Pod) -> None:
        self._queue.remove(pod.uid)
        cached = self._cluster.pod(pod.uid)
        fresh = cached is None or self._cluster.is_assumed(pod.uid)
        self._cluster.put_pod(pod)
        self._rule.after_pod(self._queue, self._selects, None if fresh else cached, pod)

    def _selects(self, term: AffinityTerm, template: PodTemplate) -> bool:
        return term.matches(template, self._namespace_labels(template.namespace))

    def _namespace_labels(self, namespace: str) -> Any:
        namespace_ = self._informers.informer(ResourceRef("", "v1", "namespaces")).get("", namespace)
        return {} if namespace_ is None else labels(namespace_)

    def _on_pending_pod(self, pod: Pod, old: Object | None, new: Object) -> None:
        if self._cluster.is_assumed(pod.uid):
            return
        queued = self._queue.get(pod.uid)
        if queued is None:
            self._queue.add(pod)
        else:
            changed = old is None or (is_changed(old, new) and self._rule.after_own(self._queue, queued, pod))
            self._queue.update(queued.pod, pod, changed=changed)

    def _delete_pod(self, uid: str) -> None:
        self._remove_pod(uid)
        self._forget(uid)

    def _remove_pod(self, uid: str) -> None:
        self._held.pop(uid, None)
        self.gated.discard(uid)
        queued = self._queue.get(uid)
        if queued is not None:
            self._queue.remove(uid)
        if self._end_wait(uid):
            self._queue.move(POD_DELETED)
        if self._cluster.remove_pod(uid) is not None:
            self._queue.move(POD_DELETED)


#: Metadata fields that do not affect scheduling.
_BOOKKEEPING = ("resourceVersion", "generation", "managedFields", "finalizers")


def is_changed(old: Object, new: Object) -> bool:
    """True if a pending pod changed apart from its status and bookkeeping metadata."""
    if old.get("spec") != new.get("spec"):
        return True
    before, after = old["metadata"], new["metadata"]
    names: Collection[str] = before.keys() | after.keys()
    return any(before.get(name) != after.get(name) for name in names if name not in _BOOKKEEPING)
