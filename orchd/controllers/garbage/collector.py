"""The garbage collector: deletes objects without existing owners, and processes foreground and orphan deletions.

The graph only determines which objects to examine. Before anything is deleted or changed, the current objects are read
from the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from twisted.internet.interfaces import IDelayedCall
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.controllers.batching import batch_seconds
from orchd.controllers.event_objects import WARNING
from orchd.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node, Owner, Work, owners_of
from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.loop import ControlLoop, RetryError
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.monitor import Monitor
from orchd.controllers.objects import MERGE
from orchd.controllers.write_errors import ignore_missing
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.fields import deleting, owners
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.metrics.instruments import Counter, Instrument

#: Seconds between checks for a changed catalog (one comparison), and after a change of a custom kind.
_CATALOG_PERIOD, _CATALOG_SOON = 1.0, 0.25
#: Number of cached absent owners, so that many dependents of one cost one request.
_ABSENT = 500

#: ("check", uid): examine the owners of an object. ("orphan", uid): remove the references to an owner from its
#: dependents.
Task = tuple[Literal["check", "orphan"], str]
Class = Literal["solid", "dangling", "waiting"]


def collectable(catalog: Catalog) -> dict[ResourceRef, Resource]:
    """Resources whose objects may own or be owned, each in the version its group prefers; events never."""
    chosen: dict[tuple[str, str], Resource] = {}
    ignored = ("", catalog.dialect("events.{abbr}.io"))
    for group in catalog.groups:
        for version in (group.preferred, *group.versions):
            for resource in catalog.in_version(group.name, version):
                if not {"delete", "list", "watch"} <= set(resource.verbs):
                    continue
                if resource.plural == "events" and resource.group in ignored:
                    continue
                chosen.setdefault((resource.group, resource.plural), resource)
    return {ResourceRef(r.group, r.version, r.plural): r for r in chosen.values()}


@implementer(IController)
class GarbageCollector:
    name: Final = "garbagecollector"
    account: Final = "generic-garbage-collector"

    def __init__(self, env: Environment) -> None:
        self.graph = Graph()
        self._env = env
        self._client = env.client(self.account)
        self._recorder = env.recorder("garbage-collector-controller")
        self._loop: ControlLoop[Task] = ControlLoop(
            self.name, env.clock, self._reconcile, workers=env.settings.concurrent_gc_syncs, refill=self._refill
        )
        self._background = Background()
        self._monitors: dict[ResourceRef, Monitor] = {}
        #: Failed lists and watches of resources whose monitors have been closed.
        self._past_failures = 0
        self._catalog: Catalog | None = None
        self._timer: IDelayedCall | None = None
        self._stopped = False
        self._absent: LruCache[str, bool] = LruCache(_ABSENT)
        self._definitions = env.informers.informer(
            ResourceRef(env.dialect("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
        )

    @property
    def counts(self) -> ControllerMetrics:
        return self._loop.counts

    # -- start and stop

    async def start(self) -> None:
        """Start listing all resources; reconciliation starts when all lists are complete."""
        self._definitions.add_listener(lambda event, old, new: self._schedule_catalog_check(_CATALOG_SOON))
        self._follow_catalog()
        self._background.add(self._begin(), "garbage collector, first list")

    async def _begin(self) -> None:
        for monitor in list(self._monitors.values()):
            await monitor.wait_synced()
        self._loop.start()

    async def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for monitor in self._monitors.values():
            monitor.close()
        await self._loop.stop()
        await self._background.stop()
        # It has a node for each object of the server, and what was made at the start of a process is never collected.
        self.graph = Graph()

    def _schedule_catalog_check(self, seconds: float) -> None:
        """Compare the catalog after a delay, unless that is due sooner."""
        if self._stopped:
            return
        if self._timer is not None:
            if self._timer.getTime() <= self._env.clock.seconds() + seconds:
                return
            self._timer.cancel()
        self._timer = self._env.clock.callLater(seconds, self._check_catalog)

    def _check_catalog(self) -> None:
        self._timer = None
        self._follow_catalog()

    def _follow_catalog(self) -> None:
        """Start and stop monitors, so that exactly the resources of the catalog are monitored."""
        catalog = self._env.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            refs = collectable(catalog)
            for ref in [r for r in self._monitors if r not in refs]:
                self._past_failures += self._monitors[ref].failed
                self._monitors.pop(ref).close()
                for node in self.graph.of_resource(ref):
                    self._remove(ref, node.uid)
            for ref in refs:
                if ref not in self._monitors:
                    self._monitor(ref)
        self._schedule_catalog_check(_CATALOG_PERIOD)

    @property
    def instruments(self) -> Sequence[Instrument]:
        """Metrics."""
        failed = Counter(
            "garbagecollector_controller_resources_sync_error_total", "Failed lists and watches of resources."
        )
        failed.add(by=self._past_failures + sum(monitor.failed for monitor in self._monitors.values()))
        return (failed,)

    def _monitor(self, ref: ResourceRef) -> None:
        env = self._env
        monitor = self._monitors[ref] = Monitor(
            env.reader, ref, env.clock, env.random, seen=self._observe, gone=self._remove, node_uids=self._known_uids
        )
        self._background.add(monitor.run(), f"garbage collector, {ref.plural}")
        self._background.add(self._check_expecting(monitor), f"garbage collector, dependents of {ref.plural}")

    async def _check_expecting(self, monitor: Monitor) -> None:
        """Queue dependents of unseen owners: the monitor's first list would have contained these."""
        await monitor.wait_synced()
        for uid in self.graph.expecting():
            self._loop.queue.add(("check", uid))

    # -- events

    def _known_uids(self, ref: ResourceRef) -> set[str]:
        return {node.uid for node in self.graph.of_resource(ref)}

    def _observe(self, ref: ResourceRef, obj: Object) -> None:
        self._queue(self.graph.seen(ref, obj))

    def _remove(self, ref: ResourceRef, uid: str) -> None:
        self._absent.put(uid, True)
        self._queue(self.graph.gone(uid))

    def _queue(self, work: Work) -> None:
        for uid in work.check:
            node = self.graph.nodes.get(uid)
            dependents = 0 if node is None or not node.waiting else len(node.dependents)
            # An owner that waits for many dependents checks all of them, so the checks are batched.
            self._loop.queue.add_after(("check", uid), batch_seconds(dependents))
        for uid in work.orphan:
            self._loop.queue.add(("orphan", uid))

    def _refill(self) -> None:
        for node in self.graph.nodes.values():
            if node.owners or node.waiting:
                self._loop.queue.add(("check", node.uid))
            if node.orphaning:
                self._loop.queue.add(("orphan", node.uid))

    # -- work

    async def _reconcile(self, task: Task) -> float | None:
        node = self.graph.nodes.get(task[1])
        if node is None:
            return None
        if task[0] == "orphan":
            await self._orphan(node)
        else:
            await self._check(node)
        return None

    async def _live(self, ref: ResourceRef, namespace: str, name: str, uid: str) -> Object | None:
        """The object's metadata; None if it was deleted or another object has its name."""
        try:
            obj: Object = await self._client.get(ref, namespace, name, metadata_only=True)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return obj if obj["metadata"].get("uid") == uid else None

    async def _check(self, node: Node) -> None:
        if node.deleting and not node.waiting:
            return
        if not node.waiting and all(self._present(node, owner) for owner in node.owners):
            return
        latest = await self._live(node.ref, node.namespace, node.name, node.uid)
        if latest is None:
            self._remove(node.ref, node.uid)
            return
        if node.waiting:
            await self._continue_foreground(node)
            return
        owners = owners_of(latest)
        if not owners:
            return
        classes: dict[str, Class] = {}
        for owner in owners:
            state = await self._classify(node, owner)
            if state is None:
                # An unresolvable reference neither keeps the object nor causes its deletion.
                return
            classes[owner.uid] = state
        if "solid" in classes.values():
            drop = {uid for uid, state in classes.items() if state != "solid"}
            if drop:
                await self._drop_owners(node.ref, latest, drop)
        elif "waiting" in classes.values() and node.dependents:
            if any(dependent.waiting for dependent in self.graph.dependents(node.uid)):
                # A cycle of foreground deletions would never end.
                await self._unblock(node.ref, latest)
            await self._delete(node, "Foreground")
        else:
            finalizers = latest["metadata"].get("finalizers") or ()
            policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
            await self._delete(node, policy)

    def _present(self, node: Node, owner: Owner) -> bool:
        """True if the owner exists under the name in the reference and is not being deleted."""
        above = self.graph.nodes.get(owner.uid)
        if above is None or above.waiting or above.name != owner.name:
            return False
        if above.namespace and above.namespace != node.namespace:
            return False
        resource = self._resource(owner)
        return resource is not None and (resource.group, resource.plural) == (above.ref.group, above.ref.plural)

    def _resource(self, owner: Owner) -> Resource | None:
        catalog = self._env.catalog()
        return catalog.kind(owner.api_version, owner.kind)

    async def _classify(self, node: Node, owner: Owner) -> Class | None:
        if self._present(node, owner):
            return "solid"
        if self._absent.get(owner.uid) and owner.uid not in self.graph.nodes:
            return "dangling"
        resource = self._resource(owner)
        if resource is None:
            raise RetryError(f"{owner.api_version} {owner.kind} is not served")
        if resource.namespaced and not node.namespace:
            self._record_wrong_namespace(node, owner)
            return None
        ref = ResourceRef(resource.group, resource.version, resource.plural)
        owner_object = await self._live(ref, node.namespace if resource.namespaced else "", owner.name, owner.uid)
        if owner_object is None:
            if owner.uid not in self.graph.nodes:
                self._absent.put(owner.uid, True)
            else:
                self._record_wrong_namespace(node, owner)
            return "dangling"
        if deleting(owner_object) and FOREGROUND in (owner_object["metadata"].get("finalizers") or ()):
            return "waiting"
        return "solid"

    def _record_wrong_namespace(self, node: Node, owner: Owner) -> None:
        """Record a warning Event if an object refers to an owner in another namespace."""
        above = self.graph.nodes.get(owner.uid)
        if above is not None and above.namespace in ("", node.namespace):
            return
        kind = self._env.catalog().resource(node.ref.group, node.ref.version, node.ref.plural)
        if kind is None:
            return
        metadata = {"namespace": node.namespace, "name": node.name, "uid": node.uid}
        named = f"[{owner.api_version}/{owner.kind}, namespace: {node.namespace}, name: {owner.name}, uid: {owner.uid}]"
        note = f'ownerRef {named} does not exist in namespace "{node.namespace}"'
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        self._recorder.event(obj, WARNING, "OwnerRefInvalidNamespace", note)

    async def _continue_foreground(self, node: Node) -> None:
        """Continue a foreground deletion: remove the finalizer if no dependent blocks it, else delete dependents."""
        blocking = self.graph.blocking(node.uid)
        if not blocking:
            await self._remove_finalizer(node, FOREGROUND)
            return
        for dependent in blocking:
            if not dependent.waiting:
                self._loop.queue.add(("check", dependent.uid))

    async def _orphan(self, node: Node) -> None:
        for dependent in self.graph.dependents(node.uid):
            latest = await self._live(dependent.ref, dependent.namespace, dependent.name, dependent.uid)
            if latest is not None:
                await self._drop_owners(dependent.ref, latest, {node.uid})
        await self._remove_finalizer(node, ORPHAN)

    # -- writes

    async def _delete(self, node: Node, policy: str) -> None:
        options = {"preconditions": {"uid": node.uid}, "propagationPolicy": policy}
        try:
            await self._client.delete(node.ref, node.namespace, node.name, options=options, need_response=False)
        except ApiError as error:
            if error.code != 404:
                raise
            self._remove(node.ref, node.uid)

    async def _drop_owners(self, ref: ResourceRef, latest: Object, uids: set[str]) -> None:
        kept = [r for r in owners(latest) if r.get("uid") not in uids]
        await self._patch(ref, latest, {"ownerReferences": kept or None})

    async def _unblock(self, ref: ResourceRef, latest: Object) -> None:
        free = [{**r, "blockOwnerDeletion": False} for r in owners(latest)]
        await self._patch(ref, latest, {"ownerReferences": free})

    async def _remove_finalizer(self, node: Node, finalizer: str) -> None:
        latest = await self._live(node.ref, node.namespace, node.name, node.uid)
        if latest is None:
            return
        finalizers = latest["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            kept = [f for f in finalizers if f != finalizer]
            await self._patch(node.ref, latest, {"finalizers": kept or None})

    async def _patch(self, ref: ResourceRef, latest: Object, metadata: dict[str, Any]) -> None:
        """Patch metadata of the version that was read; a conflict queues the task again."""
        latest_metadata = latest["metadata"]
        guarded = {
            "metadata": {
                "resourceVersion": latest_metadata["resourceVersion"],
                "uid": latest_metadata["uid"],
                **metadata,
            }
        }
        with ignore_missing():
            await self._client.patch(
                ref,
                latest_metadata.get("namespace", ""),
                latest_metadata["name"],
                guarded,
                content_type=MERGE,
                need_response=False,
            )
