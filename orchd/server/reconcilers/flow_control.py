"""Applies FlowSchema and PriorityLevelConfiguration objects to priority and fairness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall

from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.release import Release
from orchd.kinds.times import timestamp
from orchd.server.bootstrap import ensure_objects, flowcontrol, objects
from orchd.server.pipeline.fairness.schemas import Schema, schema_of
from orchd.server.pipeline.fairness.stage import Fairness
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds between checks of the mandatory objects, which may have been deleted.
_UPKEEP = 60.0
#: Maximum condition writes per flow schema and minute: another server may disagree about the condition.
_WRITES_A_MINUTE = 5
_MANAGER = "api-priority-and-fairness-config-consumer-v1"
#: Media type of patches of conditions, and whether they are forced, by release.
_PATCHES: Final = (
    ("", ("application/strategic-merge-patch+json", False)),
    ("1.26", ("application/apply-patch+yaml", True)),
)


def mandatory(dialect: Dialect, release: Release) -> tuple[list[Object], list[Object]]:
    """The flow schemas and priority levels that every server needs to classify requests."""
    configuration = [each.object for each in objects.flow_control(dialect, release, ("exempt", "catch-all"))]
    schemas = [each for each in configuration if each["kind"] == "FlowSchema"]
    return schemas, [each for each in configuration if each not in schemas]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A flow schema with uid and generation of its object, and the conditions of that."""

    schema: Schema
    version: tuple[str | None, int | None]
    conditions: Sequence[ObjectView]


class FlowControlReconciler:
    """Configures `fairness` from changed objects, has it adjust its limits, maintains the Dangling condition of flow
    schemas, and restores the built-in objects."""

    _log = Logger()

    def __init__(
        self,
        dialect: Dialect,
        release: Release,
        fairness: Fairness,
        client: IClient,
        informers: IInformers,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        group = dialect("flowcontrol.apiserver.{abbr}.io")
        self._dialect = dialect
        self._release = release
        self.fairness = fairness
        self._client = client
        self._clock = clock
        self._wall = wall
        self._ref = ResourceRef(group, flowcontrol.flow_control_version(release), "flowschemas")
        self._levels = informers.informer(ResourceRef(group, self._ref.version, "prioritylevelconfigurations"))
        self._soon: IDelayedCall | None = None
        self._writes: dict[str, deque[float]] = {}
        self._writing = False
        self._again = False
        self._background = Background()
        self._upkeep = LoopingCall(self._ensure_soon)
        self._upkeep.clock = clock
        self._adjustment = LoopingCall(fairness.adjust)
        self._adjustment.clock = clock
        self._started = False
        #: Flow schemas by name, each compiled when it changes.
        self._compiled: dict[str, _Compiled] = {}
        informers.informer(self._ref).add_listener(self._schema_changed)
        self._levels.add_listener(self._changed)

    async def start(self) -> None:
        """Apply the existing objects, then follow changes. Call after informers have synced and the bootstrap is
        done."""
        self._started = True
        self._take()
        self._upkeep.start(_UPKEEP, now=False)
        self._adjustment.start(self.fairness.period, now=False)

    async def stop(self) -> None:
        self._started = False
        for loop in (self._upkeep, self._adjustment):
            if loop.running:
                loop.stop()
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        await self._background.stop()

    def _ensure_soon(self) -> None:
        self._background.add(self._ensure(), "upkeep of flow control")

    async def _ensure(self) -> None:
        try:
            configuration = objects.flow_control(self._dialect, self._release)
            await ensure_objects.ensure(self._client, configuration, now=timestamp(self._wall()))
        except ApiError as error:
            self._log.warn("failed to reconcile flow control objects: {error}", error=error.message)
        # Retries conditions that were not written.
        self._take()

    def _schema_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        if new is not None:
            metadata = new["metadata"]
            version, before = (metadata.get("uid"), metadata.get("generation")), self._compiled.get(metadata["name"])
            if before is not None and before.version == version:
                # There may be thousands of rules.
                schema = before.schema
            else:
                schema = schema_of(new)
            self._compiled[metadata["name"]] = _Compiled(schema, version, fields.conditions(new))
        elif old is not None:
            self._compiled.pop(old["metadata"]["name"], None)
        self._changed(kind, old, new)

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        """Batch the changes of one reactor turn; apply them in the next."""
        if self._started and self._soon is None:
            self._soon = self._clock.callLater(0, self._take)

    def _take(self) -> None:
        self._soon = None
        schemas = list(self._compiled.values())
        dangling = frozenset(self.fairness.configure((each.schema for each in schemas), self._levels.list()))
        self._writes = {name: times for name, times in self._writes.items() if name in self._compiled}
        if self._writing:
            self._again = True
            return
        self._writing = True
        self._background.add(self._write(schemas, dangling), "conditions of flow schemas")

    async def _write(self, schemas: Iterable[_Compiled], dangling: frozenset[str]) -> None:
        try:
            for schema in schemas:
                await self._write_one(schema, schema.schema.name in dangling)
        finally:
            self._writing = False
        if self._again and self._started:
            self._again = False
            self._take()

    async def _write_one(self, schema: _Compiled, dangling: bool) -> None:
        condition = _condition(schema.schema.level, dangling)
        name = schema.schema.name
        for each in schema.conditions:
            if each.get("type") == "Dangling" and all(each.get(k) == v for k, v in condition.items()):
                return
        if not self._may_write(name):
            return
        patch: dict[str, Any] = {
            "apiVersion": f"{self._ref.group}/{self._ref.version}",
            "kind": "FlowSchema",
            "metadata": {"name": name},
            "status": {"conditions": [{**condition, "lastTransitionTime": timestamp(self._wall())}]},
        }
        form, force = self._release.choose(_PATCHES)
        try:
            await self._client.patch(
                self._ref,
                "",
                name,
                patch,
                content_type=form,
                subresource="status",
                field_manager=_MANAGER,
                force=force,
                need_response=False,
            )
        except ApiError as error:
            # Deleted meanwhile, or a server failure: the next change or check retries.
            if error.code != 404:
                self._log.warn(
                    "failed to write the condition of flow schema {name}: {error}", name=name, error=error.message
                )

    def _may_write(self, name: str) -> bool:
        now = self._clock.seconds()
        writes = self._writes.setdefault(name, deque(maxlen=_WRITES_A_MINUTE))
        if len(writes) == _WRITES_A_MINUTE and now - writes[0] < 60:
            return False
        writes.append(now)
        return True


def _condition(level: str, dangling: bool) -> dict[str, str]:
    why = "but there is no such object" if dangling else "and it exists"
    return {
        "type": "Dangling",
        "status": "True" if dangling else "False",
        "reason": "NotFound" if dangling else "Found",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" {why}',
    }
