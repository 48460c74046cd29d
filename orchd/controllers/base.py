"""Base class of controllers: shared informers, one control loop, a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from twisted.internet.interfaces import IDelayedCall
from zope.interface import implementer

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.controllers.event_objects import with_type
from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.loop import ControlLoop
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.write_errors import ignore_missing, ignore_missing_or_changed
from orchd.errors import ApiError
from orchd.kinds.fields import status
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background
from orchd.txkit.metrics.instruments import Instrument
from orchd.txkit.work_queue import WorkQueue

#: Namespace ("" for cluster-scoped objects) and name.
Key = tuple[str, str]
#: Called with the event name, the old and the new object.
Listener = Callable[[str, "Object | None", "Object | None"], None]


@implementer(IController)
class Controller:
    """A controller with one queue of keys. Override `reconcile`; call `follow` in `__init__` for every resource that it
    reads.

    `account` names the service account as which it writes, "" for the controller manager's own user; `component` is the
    source of its Events, "" for its name with "-controller"; `subject` is the apiVersion and kind of the objects that
    its Events are about.
    """

    name: ClassVar[str]
    account: ClassVar[str]
    component: ClassVar[str] = ""
    subject: ClassVar[tuple[str, str]] = ("", "")
    #: Metrics in addition to those of the queue.
    instruments: Sequence[Instrument] = ()

    def __init__(self, env: Environment, *, workers: int = 5) -> None:
        self.env = env
        self.dialect = env.dialect
        self.client = env.client(self.account)
        self.recorder = env.recorder(self.component or f"{self.name}-controller")
        self.loop: ControlLoop[Key] = ControlLoop(
            self.name, env.clock, self.reconcile, workers=workers, refill=self._refill
        )
        self._followed: list[tuple[IInformer, Listener | None]] = []
        self._complete: list[IInformer] = []
        self._beginning = Background()
        self._primary: IInformer | None = None
        self._resync: IDelayedCall | None = None

    @property
    def counts(self) -> ControllerMetrics:
        return self.loop.counts

    @property
    def queue(self) -> WorkQueue[Key]:
        return self.loop.queue

    def follow(
        self, ref: ResourceRef, listener: Listener | None = None, *, primary: bool = False, complete: bool = False
    ) -> IInformer:
        """The informer of `ref`; `start` waits until it is synced. Objects of the `primary` resource are the keys of
        the queue. With `complete`, reconciling begins only when the listener has been told of every object."""
        informer: IInformer = self.env.informers.informer(ref)
        if primary:
            self._primary = informer
            listener = listener or self.enqueue
        if complete:
            self._complete.append(informer)
        self._followed.append((informer, listener))
        return informer

    def enqueue(self, event: str, old: Object | None, new: Object | None) -> None:
        """Listener that queues every changed object of the primary kind."""
        obj = new or old
        if obj is not None:
            self.queue.add(key_of(obj))

    def _refill(self) -> None:
        if self._primary is not None:
            for obj in self._primary.list():
                self.queue.add(key_of(obj))

    async def listen(self) -> None:
        """Wait until all followed informers are synced, then add the listeners."""
        for informer, _ in self._followed:
            await informer.wait_synced()
        for informer, listener in self._followed:
            if listener is not None:
                informer.add_listener(listener)

    async def start(self) -> None:
        await self.listen()
        if self._complete:
            self._beginning.add(self._begin(), f"controller {self.name}, first delivery of objects")
        else:
            await self._begin()

    async def _begin(self) -> None:
        for informer in self._complete:
            await informer.wait_delivered()
        self.loop.start()
        self.schedule_resync()

    async def stop(self) -> None:
        await self._beginning.stop()
        if self._resync is not None:
            self._resync.cancel()
            self._resync = None
        await self.loop.stop()

    def schedule_resync(self) -> None:
        """Queue all objects of the primary kind again and again, each time after one to two resync periods at
        random."""
        period = self.env.settings.min_resync_period
        if self._primary is not None and period > 0:
            self._resync = self.env.clock.callLater(period * (1 + self.env.random.random()), self._resync_all)

    def _resync_all(self) -> None:
        self._resync = None
        self._refill()
        self.schedule_resync()

    async def reconcile(self, key: Key) -> float | None:
        """See `loop.Reconcile`."""
        raise NotImplementedError

    def record(self, obj: Object, type_: str, reason: str, note: str) -> None:
        """Record an Event about an object of the kind `subject`."""
        self.recorder.event(with_type(obj, *self.subject), type_, reason, note)

    # -- reading and writing

    async def live(self, ref: ResourceRef, namespace: str, name: str) -> Object | None:
        """The current object, read from the server instead of the informer; None if it does not exist."""
        try:
            obj: Object = await self.client.get(ref, namespace, name)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return obj

    async def write_status(self, ref: ResourceRef, obj: Object, fresh: Object) -> None:
        """Replace the status of an object, if it changed. Does nothing if the object no longer exists."""
        if fresh == status(obj):
            return
        changed = {**obj, "status": fresh}
        with ignore_missing():
            await self.client.update(ref, *key_of(obj), changed, subresource="status", need_response=False)

    async def remove(
        self,
        ref: ResourceRef,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: str = "",
        grace: int | None = None,
    ) -> None:
        """Delete an object. Does nothing if it no longer exists or, with `uid`, if another object has its name."""
        options: dict[str, Any] = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if propagation:
            options["propagationPolicy"] = propagation
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        with ignore_missing_or_changed() if uid else ignore_missing():
            await self.client.delete(ref, namespace, name, options=options, need_response=False)
