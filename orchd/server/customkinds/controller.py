"""`DefinitionController`: reconciles definitions: names, conditions, instance deletion, APIServices.

Definitions are processed one at a time, so that conflicting names are accepted only once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.interfaces import IClient, ResourceRef
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.crd.conditions import FINALIZER, TERMINATING, with_condition
from orchd.kinds.crd.naming import decide_names, taken_by
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check.definitions.condition import with_structure
from orchd.kinds.times import timestamp
from orchd.server.customkinds.apiservices import ApiServices
from orchd.server.customkinds.definition import Definition
from orchd.server.customkinds.instances import Instances
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.retrying_worker import retrying_worker
from orchd.txkit.background import Background
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.log import Logger

#: Seconds before a failed definition is retried.
_PAUSE = 1.0
#: Seconds after which the condition reports remaining instances.
_LONG = 60.0
_UNCONFIRMED = "could not confirm zero CustomResources remaining: timed out waiting for the condition"


class DefinitionController:
    """Reconciles changed definitions. `wall` returns epoch seconds; large schemas are checked with `compute`."""

    _log = Logger()

    def __init__(
        self,
        kinds: DefinitionTracker,
        client: IClient,
        instances: Instances,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
        compute: ComputeThread | None = None,
    ) -> None:
        self._kinds = kinds
        self._client = client
        self._instances = instances
        self._clock = clock
        self._wall = wall
        self._compute = compute or ComputeThread()
        dialect = kinds.settings.dialect
        self._ref = ResourceRef(dialect("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
        self._finalizer = dialect(FINALIZER)
        self._services = ApiServices(client, dialect)
        self._work = retrying_worker("definition", self._look_at, clock)
        self._endings = Background()
        kinds.changed = self._work.add

    async def start(self) -> None:
        self._endings = Background()
        self._work.start()

    async def stop(self) -> None:
        await self._work.stop()
        await self._endings.stop()

    async def _look_at(self, name: str) -> None:
        # Names that this has accepted before.
        await self._kinds.settle()
        served = self._kinds.by_name.get(name)
        if served is not None:
            definition = await self._load(served)
            if not definition["metadata"].get("deletionTimestamp"):
                await self._name(served, definition)
            elif self._finalizer in (definition["metadata"].get("finalizers") or ()) and not served.finalizing:
                served.finalizing = True
                self._endings.add(self._finalize(served), f"end of {name}")
        await self._services.follow(self._kinds.served_versions())

    # -- names

    async def _name(self, served: Definition, definition: Object) -> None:
        others = [
            other.accepted
            for other in self._kinds.by_name.values()
            if other.group == served.group and other.name != served.name
        ]
        settings, now = self._kinds.settings, timestamp(self._wall())
        status = decide_names(definition, taken_by(others), settings.dialect, now=now, release=settings.release)
        find = partial(with_structure, definition, status, settings, now=now)
        status = await self._compute(served.size, find)
        if status != fields.status(definition):
            await self._write(definition, status)

    async def _write(self, definition: Object, status: Object, **metadata: Any) -> Object:
        changed = {**definition, "metadata": {**definition["metadata"], **metadata}, "status": status}
        return await self._client.update(self._ref, "", definition["metadata"]["name"], changed, subresource="status")

    # -- deletion

    async def _finalize(self, served: Definition) -> None:
        """Delete the instances of a definition, then remove its finalizer."""
        try:
            while self._is_there(served):
                try:
                    await self._attempt(served)
                    return
                except ApiError as error:
                    if error.code == 404:
                        return
                    if error.code != 409:
                        self._log.warn("failed to finalize {name}: {error}", name=served.name, error=error.message)
                await deferLater(self._clock, _PAUSE if served.kind is not None else 0)
        finally:
            # The next change of the definition restarts this.
            served.finalizing = False

    def _is_there(self, served: Definition) -> bool:
        """False once the definition is deleted, or replaced by another of the same name."""
        return self._kinds.by_name.get(served.name) is served

    async def _load(self, served: Definition) -> Object:
        """The whole definition; a large one is decoded aside."""
        definition: Object = await self._compute(served.size, served.load)
        return definition

    async def _attempt(self, served: Definition) -> None:
        definition = await self._load(served)
        kind = served.kind
        if self._kinds.overlaps(served):
            reason, text = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
        elif kind is None:
            reason, text = "NeverEstablished", "resource was never established"
        else:
            text = "CustomResource deletion is in progress"
            status = self._terminating(definition, "True", "InstanceDeletionInProgress", text)
            if status != definition["status"]:
                definition = await self._write(definition, status)
            logged = self._clock.seconds()
            while await self._instances.delete(kind):
                if self._clock.seconds() - logged >= _LONG:
                    logged = self._clock.seconds()
                    definition = await self._load(served)
                    status = self._terminating(definition, "True", "InstanceDeletionCheck", _UNCONFIRMED)
                    await self._write(definition, status)
                await deferLater(self._clock, _PAUSE)
                if not self._is_there(served):
                    # The finalizer was removed by a client. Instances created later belong to another definition.
                    return
            definition = await self._load(served)
            reason, text = "InstanceDeletionCompleted", "removed all instances"
        finalizers = [f for f in definition["metadata"].get("finalizers") or () if f != self._finalizer]
        status = self._terminating(definition, "False", reason, text)
        await self._write(definition, status, finalizers=finalizers)

    def _terminating(self, definition: Object, value: str, reason: str, text: str) -> Object:
        status = fields.status(definition)
        return with_condition(status, TERMINATING, value, reason, text, now=timestamp(self._wall()))
