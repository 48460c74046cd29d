"""The scheduler of one server, from its settings: a client of its own pipeline. Imported only where it is on: it needs numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from socket import gethostname
from typing import Any

import orjson
from prometheus_client.core import Metric
from twisted.internet.interfaces import IReactorTime

from orchd import errors
from orchd.client.events import EventBroadcaster
from orchd.client.interfaces import IClient, IInformers
from orchd.config.settings import Settings
from orchd.kinds.identity import AUTHENTICATED_GROUP, User
from orchd.scheduler.config.decoding import default_configuration
from orchd.scheduler.config.loading import load
from orchd.scheduler.config.model import ConfigError, SchedulerConfiguration
from orchd.scheduler.explain import dry_run, explain
from orchd.scheduler.extenders import make_extenders
from orchd.scheduler.metrics import scheduler_metrics
from orchd.scheduler.service import Scheduler
from orchd.server.local import LocalClient
from orchd.server.pipeline.interfaces import IPipeline, Request, Response
from orchd.server.pipeline.representation import NO_STORE

#: Bytes of a pod that is posted for a dry run.
_BODY_LIMIT = 3 * 1024 * 1024


class SchedulerParts:
    """The scheduler and what it has besides: metrics and the explain endpoint."""

    def __init__(
        self,
        settings: Settings,
        *,
        pipeline: IPipeline,
        informers: IInformers,
        clock: IReactorTime,
        wall: Callable[[], float],
        random: Random,
        release: str,
    ) -> None:
        dialect = settings.dialect
        user = User(name=dialect("system:{short}-scheduler"), groups=(AUTHENTICATED_GROUP,))
        agent = dialect("{short}-scheduler/") + release
        client: IClient = LocalClient(pipeline, user, agent=agent, clock=clock.seconds)
        self._events = EventBroadcaster(client, wall, clock=clock, random=random, dialect=dialect, host=gethostname())
        chosen = configuration(settings)
        self.scheduler = Scheduler(
            client=client,
            informers=informers,
            recorder=self._events.series_recorder,
            clock=clock,
            wall=wall,
            random=random,
            dialect=dialect,
            configuration=chosen,
            extenders=lambda snapshot: make_extenders(
                chosen.extenders, reactor=clock, dialect=dialect, informers=informers, snapshot=snapshot
            ),
        )

    async def start(self) -> None:
        await self.scheduler.start()

    async def stop(self) -> None:
        await self.scheduler.stop()
        await self._events.stop()

    def metrics(self) -> Iterable[Metric]:
        """A source for /metrics."""
        return scheduler_metrics(self.scheduler.numbers, self.scheduler.queue, self.scheduler.sizes)()

    async def explain(self, request: Request) -> Response:
        """GET ?namespace=N&pod=P: why a pod is where it is. POST of a pod: where it would go."""
        if request.method == "POST":
            return _json(await dry_run(self.scheduler, await _posted_pod(request)))
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed()
        namespace, name = request.param("namespace"), request.param("pod")
        if not namespace or not name:
            raise errors.bad_request("namespace and pod are needed: ?namespace=N&pod=P")
        return _json(await explain(self.scheduler, namespace, name))


def configuration(settings: Settings) -> SchedulerConfiguration:
    """What --config says, or the defaults. Raises ConfigError."""
    path = settings.scheduler.config_file
    if not path:
        return default_configuration(settings.dialect)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"--config: {error}") from None
    try:
        return load(data, settings.dialect)
    except ConfigError as error:
        raise ConfigError(f"--config={path}: {error}") from None


async def _posted_pod(request: Request) -> dict[str, Any]:
    try:
        found = orjson.loads(await request.body.read(_BODY_LIMIT))
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("spec"), dict):
        raise errors.bad_request("the body is not a pod: it has no spec")
    metadata = found.get("metadata") if isinstance(found.get("metadata"), dict) else {}
    return {**found, "metadata": {"namespace": "default", "name": "", **(metadata or {})}}


def _json(value: Any) -> Response:
    return Response(content_type="application/json", headers=[NO_STORE], body=orjson.dumps(value))
