"""`ForeignDiscovery`: the discovery documents of servers behind APIServices, fetched again each minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from orchd.dialect import STOCK_DISCOVERY_GROUP
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.openapi.aggregated import CURRENT, KIND, STALE, ForeignVersion, from_resource_list
from orchd.server.aggregation.api_services import AggregatedService, registered_of
from orchd.server.aggregation.foreign_servers import ForeignServers
from orchd.server.aggregation.polling import Key, PolledServer, ServerPolls, server_key
from orchd.txkit.log import Logger

#: Maximum number of concurrent fetches.
_AT_ONCE = 4

_ACCEPT: Final = f"application/json;g={STOCK_DISCOVERY_GROUP};v=v2;as={KIND}"

GroupVersion = tuple[str, str]


class DiscoveryError(Exception):
    """A response that is not a discovery document; the text is the reason."""


@dataclass(slots=True)
class _Server(PolledServer):
    """One server. `resources` are the encoded resources by group version; `stale` is set after a failure, `tag` is that
    of its aggregated document."""

    resources: dict[GroupVersion, bytes] = field(default_factory=dict)
    tag: str = ""
    stale: bool = True


class ForeignDiscovery:
    """Fetches from each server when its APIServices change, and every minute. A version whose server cannot be reached
    is listed as stale, with the resources of the last successful fetch."""

    _log = Logger()

    def __init__(self, servers: ForeignServers) -> None:
        self._registry = servers.registry
        self._download = servers.download
        self._in_thread = servers.in_thread
        self._polls = ServerPolls(
            self._poll, _Server, servers.clock, at_once=_AT_ONCE, name="discovery of other servers"
        )
        self._versions: tuple[ForeignVersion, ...] | None = None
        servers.informer.add_listener(self._changed)

    def versions(self) -> tuple[ForeignVersion, ...]:
        """The group versions of other servers; the same value while nothing changes."""
        if self._versions is None:
            self._versions = tuple(self._describe_versions())
        return self._versions

    def _describe_versions(self) -> Iterator[ForeignVersion]:
        for each in self._registry:
            server = self._polls.get(server_key(each)) or _Server()
            resources = server.resources.get((each.group, each.version), b"")
            yield ForeignVersion(
                group=each.group, version=each.version, group_priority=each.group_priority,
                version_priority=each.version_priority, resources=resources,
                freshness=STALE if server.stale else CURRENT,
            )  # fmt: skip

    async def start(self) -> None:
        await self._polls.start()

    async def stop(self) -> None:
        await self._polls.stop()

    # -- events

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        before = None if old is None else registered_of(old)
        after = None if new is None else registered_of(new)
        if before == after:
            return
        self._versions = None
        if after is not None:
            self._polls.add(server_key(after))
            self._polls.request(server_key(after))
        if before is not None and not any(server_key(each) == server_key(before) for each in self._registry):
            self._polls.forget(server_key(before))

    # -- fetching

    async def _poll(self, key: Key, polled: _Server) -> None:
        members = [each for each in self._registry if server_key(each) == key]
        before = polled.stale, polled.resources
        available = next((each for each in members if each.available), None)
        if available is None:
            polled.stale, polled.failures = True, polled.failures + 1
        else:
            try:
                await self._fetch(available, members, polled)
            except (DiscoveryError, OSError) as error:
                self._failed(key, polled, str(error))
            else:
                polled.stale, polled.failures = False, 0
        if before != (polled.stale, polled.resources):
            self._versions = None

    def _failed(self, key: Key, polled: _Server, why: str) -> None:
        if not polled.failures:
            self._log.warn("discovery of service {namespace}/{name}: {why}", namespace=key[0], name=key[1], why=why)
        polled.stale, polled.failures = True, polled.failures + 1

    async def _fetch(self, server: AggregatedService, members: list[AggregatedService], polled: _Server) -> None:
        reply = await self._download(server, "/apis", accept=_ACCEPT, tag=polled.tag)
        if reply.code == 304 and polled.tag:
            return
        if reply.code == 503:
            raise DiscoveryError(f"GET /apis got the response code {reply.code}")
        if reply.code == 200 and f"as={KIND}" in reply.content_type.replace(" ", ""):
            versions = frozenset((each.group, each.version) for each in members)
            polled.resources, polled.tag = await self._in_thread(_from_aggregated, reply.body, versions), reply.tag
            return
        documents: dict[GroupVersion, bytes] = {}
        for each in members:
            path = f"/apis/{each.group}/{each.version}"
            listed = await self._download(each, path, accept="application/json", tag="")
            if listed.code != 200:
                raise DiscoveryError(f"GET {path} got the response code {listed.code}")
            documents[each.group, each.version] = await self._in_thread(_from_list, listed.body)
        polled.resources, polled.tag = documents, ""


def _parse(data: bytes) -> Mapping[str, Any]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise DiscoveryError(f"malformed discovery document: {error}") from error
    if not isinstance(value, dict):
        raise DiscoveryError("malformed discovery document: not an object")
    return value


def _from_aggregated(data: bytes, versions: frozenset[GroupVersion]) -> dict[GroupVersion, bytes]:
    """The encoded resources of the `wanted` group versions in an APIGroupDiscoveryList. Raises DiscoveryError."""
    out = {}
    try:
        for group in _parse(data).get("items") or ():
            name = fields.metadata(group).get("name", "")
            for version in group.get("versions") or ():
                if (name, version["version"]) in versions:
                    resources = [_resource(each) for each in version.get("resources") or ()]
                    out[name, version["version"]] = _join(resources)
    except (KeyError, TypeError, AttributeError) as error:
        raise DiscoveryError(f"malformed discovery document: {error!r}") from error
    return out


def _from_list(data: bytes) -> bytes:
    """The encoded resources of an APIResourceList. Raises DiscoveryError."""
    try:
        return _join([_resource(each) for each in from_resource_list(_parse(data).get("resources") or ())])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DiscoveryError(f"malformed discovery document: {error!r}") from error


def _join(resources: list[Object]) -> bytes:
    return b",".join([orjson.dumps(each) for each in resources])


def _resource(each: Mapping[str, Any]) -> Object:
    """The known members of an APIResourceDiscovery, so that what another server adds or mistypes does not reach
    clients. Raises KeyError and TypeError."""
    out: Object = {
        "resource": _text(each["resource"]),
        "responseKind": _kind(each.get("responseKind")),
        "scope": _text(each["scope"]),
        "singularResource": _text(each.get("singularResource", "")),
        "verbs": _texts(each.get("verbs")),
    }
    for member in ("shortNames", "categories"):
        if each.get(member):
            out[member] = _texts(each[member])
    if each.get("subresources"):
        out["subresources"] = [
            {
                "subresource": _text(sub["subresource"]),
                "responseKind": _kind(sub.get("responseKind")),
                "verbs": _texts(sub.get("verbs")),
            }
            for sub in each["subresources"]
        ]
    return out


def _kind(value: Any) -> Object:
    value = value or {}
    return {member: _text(value.get(member, "")) for member in ("group", "version", "kind")}


def _texts(value: Any) -> list[str]:
    return [_text(each) for each in value or ()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value
