"""Access to the servers behind APIServices, for what is read from them again and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IInformer
from orchd.server.aggregation.api_services import AggregatedService, AggregatedServices


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A complete response of another server."""

    code: int
    content_type: str
    tag: str
    body: bytes


class Download(Protocol):
    """Requests `path` of a server with GET; `tag` is the Etag of the response that is already known, "" for none.
    Raises an exception when the server cannot be reached or does not respond in time, or when its response is too
    large."""

    def __call__(self, server: AggregatedService, path: str, *, accept: str, tag: str) -> Awaitable[Downloaded]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignServers:
    """`informer` is that of APIServices; `registry` is its first listener, so that later ones find the registry up to
    date. `in_thread` runs a function in a thread, for large documents."""

    registry: AggregatedServices
    informer: IInformer
    download: Download
    clock: IReactorTime
    in_thread: Callable[..., Awaitable[Any]]
