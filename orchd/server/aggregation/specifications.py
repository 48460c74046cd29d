"""`ForeignSpecifications`: the OpenAPI v2 documents of servers behind APIServices, fetched again each minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from orchd.kinds.jsonvalues import Object
from orchd.kinds.openapi import v2_protobuf
from orchd.kinds.openapi.v2_merge import ForeignSpecification, SpecificationError, part_of
from orchd.server.aggregation.api_services import AggregatedService, registered_of
from orchd.server.aggregation.discovery import DiscoveryError, GroupVersion
from orchd.server.aggregation.foreign_servers import ForeignServers
from orchd.server.aggregation.polling import Key, PolledServer, ServerPolls, server_key
from orchd.txkit.log import Logger

_PATH: Final = "/openapi/v2"
#: Maximum number of concurrent fetches: documents may have megabytes.
_AT_ONCE = 1


@dataclass(slots=True)
class _Server(PolledServer):
    """One server. `specifications` is the content of its document by group version, `tag` that document's Etag."""

    specifications: dict[GroupVersion, ForeignSpecification] = field(default_factory=dict)
    tag: str = ""


class ForeignSpecifications:
    """Asks each server when its APIServices change and every minute. The document of a server that cannot be asked, or
    whose document is malformed, stays the one that was known last."""

    _log = Logger()

    def __init__(self, servers: ForeignServers) -> None:
        self._registry = servers.registry
        self._download = servers.download
        self._in_thread = servers.in_thread
        self._polls = ServerPolls(
            self._poll, _Server, servers.clock, at_once=_AT_ONCE, name="OpenAPI documents of other servers"
        )
        self._all: tuple[ForeignSpecification, ...] | None = None
        #: Called after each change of `all`.
        self.changed: Callable[[], object] = lambda: None
        servers.informer.add_listener(self._service_changed)

    def all(self) -> tuple[ForeignSpecification, ...]:
        """The documents by the priority of their APIServices; the same value while nothing changes."""
        if self._all is None:
            ordered = sorted(
                self._registry,
                key=lambda each: (-each.group_priority, each.group, -each.version_priority, each.version),
            )
            servers = [(each, self._polls.get(server_key(each))) for each in ordered]
            self._all = tuple(
                server.specifications[each.group, each.version]
                for each, server in servers
                if server is not None and (each.group, each.version) in server.specifications
            )
        return self._all

    async def start(self) -> None:
        await self._polls.start()

    async def stop(self) -> None:
        await self._polls.stop()

    def _service_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        before = None if old is None else registered_of(old)
        after = None if new is None else registered_of(new)
        if before == after:
            return
        if after is not None:
            # Another part of the same document may be needed now.
            self._polls.add(server_key(after)).tag = ""
            self._polls.request(server_key(after))
        if before is not None and not any(server_key(each) == server_key(before) for each in self._registry):
            self._polls.forget(server_key(before))
        self._update()

    def _update(self) -> None:
        self._all = None
        self.changed()

    async def _poll(self, key: Key, polled: _Server) -> None:
        members = [each for each in self._registry if server_key(each) == key]
        available = next((each for each in members if each.available), None)
        if available is None:
            polled.failures += 1
            return
        before = polled.specifications
        try:
            await self._fetch(available, members, polled)
        except (DiscoveryError, SpecificationError, OSError) as error:
            if not polled.failures:
                self._log.warn(
                    "OpenAPI document of service {namespace}/{name}: {why}",
                    namespace=key[0],
                    name=key[1],
                    why=str(error),
                )
            polled.failures += 1
        else:
            polled.failures = 0
            if polled.specifications != before:
                self._update()

    async def _fetch(self, server: AggregatedService, members: list[AggregatedService], polled: _Server) -> None:
        reply = await self._download(server, _PATH, accept="application/json", tag=polled.tag)
        if reply.code == 304 and polled.tag:
            return
        if reply.code == 404:
            polled.specifications, polled.tag = {}, ""
            return
        if reply.code != 200:
            raise DiscoveryError(f"GET {_PATH} got the response code {reply.code}")
        versions = tuple((each.group, each.version) for each in members)
        polled.specifications, polled.tag = await self._in_thread(_parts, reply.body, versions), reply.tag


def _parts(data: bytes, versions: tuple[GroupVersion, ...]) -> dict[GroupVersion, ForeignSpecification]:
    """The parts of a document by group version. Raises SpecificationError, also for one that could not be served."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise SpecificationError(f"malformed OpenAPI document: {error}") from error
    parts = {(group, version): part_of(document, group, version) for group, version in versions}
    entries = v2_protobuf.MapEntries()
    try:
        for each in parts.values():
            for path, item in each.paths.items():
                orjson.dumps(item)
                entries.path(path, item)
            for name, schema in each.definitions.items():
                orjson.dumps(schema)
                entries.definition(name, schema)
    except Exception as error:  # each malformed member fails in its own way in the encoder
        raise SpecificationError(f"malformed OpenAPI document: {error!r}") from error
    return parts
