"""Keeps priority and fairness in step with the FlowSchema and PriorityLevelConfiguration objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from orchd.client.interfaces import IClient, IInformers, Object, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.objects.scalars import timestamp
from orchd.server.bootstrap import ensure_objects, objects
from orchd.server.pipeline.fairness.stage import Fairness
from orchd.txkit.background import Background

#: Seconds between looks at the objects that must be there: somebody may have deleted them.
_UPKEEP = 60.0
#: How often the condition of one flow schema is written in a minute, at most: another server may see it otherwise.
_WRITES_A_MINUTE = 5
_MANAGER = "api-priority-and-fairness-config-consumer-v1"


def mandatory(dialect: Dialect) -> tuple[list[Object], list[Object]]:
    """The flow schemas and the priority levels without which no request could be classified."""
    found = [each.object for each in objects.flow_control(dialect)]
    found = [each for each in found if each["metadata"]["name"] in ("exempt", "catch-all")]
    schemas = [each for each in found if each["kind"] == "FlowSchema"]
    return schemas, [each for each in found if each not in schemas]


class FlowControlReconciler:
    """Hands the objects to `fairness` when they change, writes the Dangling condition of flow schemas, and puts back
    those of the objects that a fresh cluster has."""

    _log = Logger()

    def __init__(
        self,
        dialect: Dialect,
        fairness: Fairness,
        client: IClient,
        informers: IInformers,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        group = dialect("flowcontrol.apiserver.{abbr}.io")
        self._dialect = dialect
        self.fairness = fairness
        self._client = client
        self._clock = clock
        self._wall = wall
        self._ref = ResourceRef(group, "v1beta2", "flowschemas")
        self._schemas = informers.informer(self._ref)
        self._levels = informers.informer(ResourceRef(group, "v1beta2", "prioritylevelconfigurations"))
        self._soon: IDelayedCall | None = None
        self._writes: dict[str, deque[float]] = {}
        self._writing = False
        self._again = False
        self._background = Background()
        self._upkeep = LoopingCall(self._ensure_soon)
        self._upkeep.clock = clock
        self._started = False
        for informer in (self._schemas, self._levels):
            informer.add_listener(self._changed)

    async def start(self) -> None:
        """Take the objects that are there, and keep looking. Informers have listed and objects have been made."""
        self._started = True
        self._take()
        self._upkeep.start(_UPKEEP, now=False)

    async def stop(self) -> None:
        self._started = False
        if self._upkeep.running:
            self._upkeep.stop()
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        await self._background.stop()

    def _ensure_soon(self) -> None:
        self._background.add(self._ensure(), "upkeep of flow control")

    async def _ensure(self) -> None:
        try:
            await ensure_objects.ensure(self._client, objects.flow_control(self._dialect), now=timestamp(self._wall()))
        except ApiError as error:
            self._log.warn("flow control objects are not as they should be: {error}", error=error.message)
        # Conditions that could not be written, or not yet.
        self._take()

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        """Many may change in one turn: they are taken together, in the next."""
        if self._started and self._soon is None:
            self._soon = self._clock.callLater(0, self._take)

    def _take(self) -> None:
        self._soon = None
        schemas = list(self._schemas.list())
        dangling = frozenset(self.fairness.configure(schemas, self._levels.list()))
        names = {schema["metadata"]["name"] for schema in schemas}
        self._writes = {name: times for name, times in self._writes.items() if name in names}
        if self._writing:
            self._again = True
            return
        self._writing = True
        self._background.add(self._write(schemas, dangling), "conditions of flow schemas")

    async def _write(self, schemas: Iterable[Object], dangling: frozenset[str]) -> None:
        try:
            for schema in schemas:
                await self._write_one(schema, schema["metadata"]["name"] in dangling)
        finally:
            self._writing = False
        if self._again and self._started:
            self._again = False
            self._take()

    async def _write_one(self, schema: Object, dangling: bool) -> None:
        condition = _condition(schema, dangling)
        name = schema["metadata"]["name"]
        for each in (schema.get("status") or {}).get("conditions") or ():
            if each.get("type") == "Dangling" and all(each.get(k) == v for k, v in condition.items()):
                return
        if not self._may_write(name):
            return
        patch: dict[str, Any] = {
            "status": {"conditions": [{**condition, "lastTransitionTime": timestamp(self._wall())}]}
        }
        try:
            await self._client.patch(
                self._ref, "", name, patch,
                content_type="application/strategic-merge-patch+json", subresource="status", field_manager=_MANAGER,
            )  # fmt: skip
        except ApiError as error:
            # Gone meanwhile, or the server is in trouble; the next change or look comes back to it.
            if error.code != 404:
                self._log.warn("condition of flow schema {name}: {error}", name=name, error=error.message)

    def _may_write(self, name: str) -> bool:
        now = self._clock.seconds()
        writes = self._writes.setdefault(name, deque(maxlen=_WRITES_A_MINUTE))
        if len(writes) == _WRITES_A_MINUTE and now - writes[0] < 60:
            return False
        writes.append(now)
        return True


def _condition(schema: Object, dangling: bool) -> dict[str, str]:
    level = schema["spec"]["priorityLevelConfiguration"]["name"]
    found = "but there is no such object" if dangling else "and it exists"
    return {
        "type": "Dangling",
        "status": "True" if dangling else "False",
        "reason": "NotFound" if dangling else "Found",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" {found}',
    }
