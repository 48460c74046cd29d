"""`Availability`: the condition of APIServices, from the services that they name and those services' endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchd.client.interfaces import IClient, IInformers, Object, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.objects.scalars import timestamp
from orchd.txkit.background import Background

#: Seconds before something that failed is tried again.
_PAUSE: Final = 1.0
_AVAILABLE: Final = "Available"
#: (status, reason, message)
Finding = tuple[str, str, str]


def finding(spec: Object, service: Object | None, endpoints: Object | None) -> Finding:
    """What can be said of an APIService with this spec. `service` is the one it names, `endpoints` that one's."""
    named = spec.get("service")
    if named is None:
        return "True", "Local", "Local APIServices are always available"
    name, namespace, port = named["name"], named["namespace"], named.get("port", 443)
    quoted = f'service/{name} in "{namespace}"'
    if service is None:
        return "False", "ServiceNotFound", f"{quoted} is not present"
    described = service.get("spec") or {}
    if described.get("type") == "ClusterIP":
        listening = next((p for p in described.get("ports") or () if p.get("port") == port), None)
        if listening is None:
            return "False", "ServicePortError", f"{quoted} is not listening on port {port}"
        if endpoints is None:
            return "False", "EndpointsNotFound", f"cannot find endpoints for {quoted}"
        port_name = listening.get("name") or ""
        if not _ready(endpoints, port_name):
            why = f'endpoints for {quoted} have no addresses with port name "{port_name}"'
            return "False", "MissingEndpoints", why
    where = f"https://{name}.{namespace}.svc:{port}/apis/{spec.get('group') or ''}/{spec.get('version') or ''}"
    why = f"failing or missing response from {where}: this server forwards no requests"
    return "False", "FailedDiscoveryCheck", why


def _ready(endpoints: Object, port_name: str) -> bool:
    return any(
        subset.get("addresses") and any((port.get("name") or "") == port_name for port in subset.get("ports") or ())
        for subset in endpoints.get("subsets") or ()
    )


def concluded(status: Object, found: Finding, *, now: str) -> Object:
    """`status` with the condition; the time of its last transition stays where only words change."""
    state, reason, message = found
    conditions: list[Object] = list(status.get("conditions") or ())
    index = next((i for i, c in enumerate(conditions) if c.get("type") == _AVAILABLE), len(conditions))
    before: Object = conditions[index] if index < len(conditions) else {}
    since = before.get("lastTransitionTime") if before.get("status") == state else None
    conditions[index:index + 1] = [{
        **before, "type": _AVAILABLE, "status": state, "lastTransitionTime": since or now, "reason": reason, "message": message,
    }]
    return {**status, "conditions": conditions}


class Availability:
    """Looks at APIServices as they, their services and those services' endpoints change, one at a time. `wall` gives
    seconds since the epoch."""

    _log = Logger()

    def __init__(
        self,
        dialect: Dialect,
        client: IClient,
        informers: IInformers,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._ref = ResourceRef(dialect("apiregistration.{abbr}.io"), "v1", "apiservices")
        self._client = client
        self._clock = clock
        self._wall = wall
        self._registered = informers.informer(self._ref)
        self._services = informers.informer(ResourceRef("", "v1", "services"))
        self._endpoints = informers.informer(ResourceRef("", "v1", "endpoints"))
        #: (group, version) that other servers should answer -> name of the APIService that says so.
        self._elsewhere: dict[tuple[str, str], str] = {}
        #: (namespace, name) of a service -> names of the APIServices behind which it is.
        self._behind: dict[tuple[str, str], set[str]] = {}
        self._queue: dict[str, None] = {}
        self._waiting: Deferred[None] | None = None
        self._background = Background()
        self._registered.add_listener(self._registered_changed)
        for informer in (self._services, self._endpoints):
            informer.add_listener(self._behind_changed)

    def elsewhere(self, group: str, version: str) -> bool:
        """Should another server answer for this group and version?"""
        return (group, version) in self._elsewhere

    async def start(self) -> None:
        self._background = Background()
        self._background.add(self._work(), "conditions of API services")

    async def stop(self) -> None:
        await self._background.stop()

    # -- news

    def _registered_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self._forget(old)
        if new is None:
            return
        name, spec = new["metadata"]["name"], new.get("spec") or {}
        service = spec.get("service")
        if service is not None:
            self._elsewhere[spec.get("group") or "", spec.get("version") or ""] = name
            self._behind.setdefault((service["namespace"], service["name"]), set()).add(name)
        self._look_soon(name)

    def _forget(self, old: Object) -> None:
        name, spec = old["metadata"]["name"], old.get("spec") or {}
        service = spec.get("service")
        if service is None:
            return
        self._elsewhere.pop((spec.get("group") or "", spec.get("version") or ""), None)
        key = service["namespace"], service["name"]
        names = self._behind.get(key, set())
        names.discard(name)
        if not names:
            self._behind.pop(key, None)

    def _behind_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        metadata = (new or old or {})["metadata"]
        for name in self._behind.get((metadata.get("namespace", ""), metadata["name"]), ()):
            self._look_soon(name)

    def _look_soon(self, name: str) -> None:
        self._queue[name] = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    # -- work

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._waiting = Deferred()
                await self._waiting
            name = next(iter(self._queue))
            del self._queue[name]
            try:
                await self._look_at(name)
            except CancelledError:
                raise
            except ApiError as error:
                if error.code == 404:
                    continue
                if error.code != 409:
                    self._log.warn("APIService {name}: {error}", name=name, error=error.message)
                self._background.add(self._again(name), f"retry of {name}")

    async def _again(self, name: str) -> None:
        await deferLater(self._clock, _PAUSE)
        self._look_soon(name)

    async def _look_at(self, name: str) -> None:
        registered = self._registered.get("", name)
        if registered is None:
            return
        spec, status = registered.get("spec") or {}, registered.get("status") or {}
        found = finding(spec, *self._of(spec.get("service")))
        wanted = concluded(status, found, now=timestamp(self._wall()))
        if wanted != status:
            changed: dict[str, Any] = {**registered, "status": wanted}
            await self._client.update(self._ref, "", name, changed, subresource="status")

    def _of(self, service: Object | None) -> tuple[Object | None, Object | None]:
        if service is None:
            return None, None
        key = service["namespace"], service["name"]
        return self._services.get(*key), self._endpoints.get(*key)
