"""`FaultStage`: a stage that fails or delays requests of clients as a test requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog
from orchd.server.pipeline.interfaces import ISink, IStream, Next, Request, RequestInfo, Response
from orchd.server.pipeline.verbs.watch.stream import WatchStream
from orchd.testing.cluster.recording import is_internal

#: Which members of RequestInfo a fault may be limited to.
MATCHED = ("verb", "group", "resource", "subresource", "namespace", "name")
#: The verbs of requests for resources, and of other paths.
VERBS = frozenset((
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"),
    *("post", "put", "head", "options"),
))  # fmt: skip

_BY_CODE: Mapping[int, Callable[[RequestInfo, str], ApiError]] = {
    400: lambda info, text: errors.bad_request(text),
    401: lambda info, text: errors.unauthorized(),
    403: lambda info, text: errors.forbidden(info.group, info.resource, info.name, text),
    404: lambda info, text: errors.not_found(info.group, info.resource, info.name),
    409: lambda info, text: errors.conflict(info.group, info.resource, info.name, text),
    410: lambda info, text: errors.expired(text),
    429: lambda info, text: errors.too_many_requests(text),
    500: lambda info, text: errors.internal(text),
    503: lambda info, text: errors.unavailable(text),
    504: lambda info, text: errors.timeout(text),
}


@dataclass(slots=True, kw_only=True)
class Fault:
    """What happens to the next `times` requests that match. `match` has members of `MATCHED`, each with the value that
    is asked for. `code` 0 lets the request through after `delay` seconds."""

    match: Mapping[str, str]
    times: int
    code: int = 0
    message: str = ""
    delay: float = 0.0

    def applies(self, info: RequestInfo) -> bool:
        return self.times > 0 and all(getattr(info, name) == value for name, value in self.match.items())


def check_resource(catalog: Catalog, name: str) -> None:
    """Raise ValueError if `name` is not a resource, but the kind, singular or short name of one: it would match no
    request. A name that is not known may be that of a custom resource that is yet to come."""
    if not name or any(each.plural == name for each in (*catalog.resources, *catalog.later)):
        return
    for each in catalog.resources:
        if name.lower() in (each.kind.lower(), each.singular, *each.short_names, each.plural):
            raise ValueError(f"a fault for {name!r} would never happen: the resource is {each.plural!r}")


class FaultStage:
    """Requests of the server's own parts are never touched. Delays are on `clock`."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self.faults: list[Fault] = []
        #: Watches and reads from below this revision are refused with 410.
        self.oldest_revision = 0
        self._watches: WeakSet[WatchStream] = WeakSet()

    def watches(self) -> list[WatchStream]:
        """Watches of clients that may still run; those of the server's own parts are not among them."""
        return list(self._watches)

    def add(self, fault: Fault) -> None:
        """Raises ValueError for one that cannot be."""
        unknown = sorted(set(fault.match) - set(MATCHED))
        if unknown:
            raise ValueError(f"a fault cannot be limited by {', '.join(unknown)}: one of {', '.join(MATCHED)}")
        for name, value in fault.match.items():
            if not isinstance(value, str):
                raise ValueError(f"a fault cannot be limited to {name} {value!r}: not a string")
        verb, resource = fault.match.get("verb"), fault.match.get("resource", "")
        if verb is not None and verb not in VERBS:
            raise ValueError(
                f"no request has the verb {verb!r}, so the fault would never happen: one of {', '.join(sorted(VERBS))}"
            )
        if "/" in resource:
            first, _, second = resource.partition("/")
            raise ValueError(f"a fault for {resource!r} is limited by resource={first!r}, subresource={second!r}")
        for number in (fault.times, fault.code):
            if isinstance(number, bool) or not isinstance(number, int):
                raise ValueError(f"a fault needs whole numbers as times and code, not {number!r}")
        if fault.times < 1 or fault.delay < 0 or (fault.code and not 400 <= fault.code <= 599):
            raise ValueError("a fault needs times >= 1, seconds >= 0 and a code from 400 to 599")
        self.faults.append(fault)

    def clear(self) -> None:
        """Remove all pending faults."""
        self.faults.clear()

    async def __call__(self, request: Request, then: Next) -> Response:
        info = request.info
        if info is None or is_internal(request):
            return await then(request)
        for fault in self._take(info):
            if fault.delay:
                await deferLater(self._clock, fault.delay)
            if fault.code:
                raise _error(fault, info)
        too_old = self._too_old(request, info)
        if too_old is not None and info.verb == "list":
            raise too_old
        response = await then(request)
        if isinstance(response.stream, WatchStream):
            self._watches.add(response.stream)
            if too_old is not None:
                response.stream = _FailedWatch(response.stream, too_old)
        return response

    def _take(self, info: RequestInfo) -> list[Fault]:
        """The faults of one request, each counted: every delay, and the first failure."""
        taken: list[Fault] = []
        for fault in self.faults:
            if fault.applies(info) and not (fault.code and any(other.code for other in taken)):
                fault.times -= 1
                taken.append(fault)
        self.faults = [fault for fault in self.faults if fault.times > 0]
        return sorted(taken, key=lambda fault: fault.code)

    def _too_old(self, request: Request, info: RequestInfo) -> ApiError | None:
        """The error of a request for a version that is forgotten."""
        text = request.param("resourceVersion")
        if not self.oldest_revision or info.verb not in ("watch", "list") or not text.isdecimal():
            return None
        exact = info.verb == "watch" or request.param("resourceVersionMatch") == "Exact"
        if exact and 0 < int(text) < self.oldest_revision:
            return errors.expired(f"too old resource version: {text} ({self.oldest_revision})")
        return None


@implementer(IStream)
class _FailedWatch:
    """A watch whose response has status 200 and a single event, the error."""

    def __init__(self, watch: WatchStream, error: ApiError) -> None:
        self._watch, self._error = watch, error

    def start(self, sink: ISink) -> None:
        self._watch.start_with_error(sink, self._error)

    def stop(self) -> None:
        self._watch.stop()


def _error(fault: Fault, info: RequestInfo) -> ApiError:
    text = fault.message or "injected by the test"
    make: Any = _BY_CODE.get(fault.code)
    error = ApiError(fault.code, "", text) if make is None else make(info, text)
    return error
