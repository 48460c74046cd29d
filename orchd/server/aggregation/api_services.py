"""Aggregated APIServices: groups and versions served by other servers, and their locations."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from orchd.client.interfaces import IInformer
from orchd.kinds import fields
from orchd.kinds.catalog import version_priority
from orchd.kinds.conditions import is_true
from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.verbs.subresources.locations import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedService:
    """One APIService with a service. `authority` (PEM) verifies the server's certificate, b"" uses the system's CAs;
    `unchecked` skips verification."""

    name: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    authority: bytes
    unchecked: bool
    group_priority: int
    version_priority: int
    available: bool

    @property
    def host(self) -> str:
        """The name that the server's certificate must have."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def location(self) -> Location:
        """Where it is asked. The address is that of the service."""
        return Location("https", self.host, self.port)


def registered_of(obj: Object) -> AggregatedService | None:
    """None for a locally served APIService."""
    spec = fields.spec(obj)
    service = spec.get("service")
    if service is None:
        return None
    return AggregatedService(
        name=obj["metadata"]["name"],
        group=spec.get("group") or "",
        version=spec.get("version") or "",
        namespace=service["namespace"],
        service=service["name"],
        port=service.get("port", 443),
        authority=_pem(spec.get("caBundle") or ""),
        unchecked=bool(spec.get("insecureSkipTLSVerify")),
        group_priority=spec.get("groupPriorityMinimum", 0),
        version_priority=spec.get("versionPriority", 0),
        available=is_true(fields.status(obj), "Available"),
    )


def _pem(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except binascii.Error:
        # Validation rejects such bundles, but an older store may have one. It verifies no certificate.
        return b""


class AggregatedServices:
    """The aggregated APIServices by group and version; follows an informer of APIServices.

    `changed` is called with the object before and after each change, None where it does not exist."""

    def __init__(self, informer: IInformer, changed: Callable[[Object | None, Object | None], None]) -> None:
        self._changed = changed
        self._by_version: dict[tuple[str, str], AggregatedService] = {}
        self._groups: tuple[dict[str, Any], ...] | None = None
        informer.add_listener(self._follow)

    def __iter__(self) -> Iterator[AggregatedService]:
        return iter(self._by_version.values())

    def find(self, group: str, version: str) -> AggregatedService | None:
        return self._by_version.get((group, version))

    def groups(self) -> tuple[dict[str, Any], ...]:
        """The discovery documents of aggregated groups (kind APIGroup, without kind and apiVersion), in order. The same
        value while nothing changes."""
        if self._groups is None:
            by_group: dict[str, list[AggregatedService]] = {}
            for each in self._by_version.values():
                by_group.setdefault(each.group, []).append(each)
            ordered = sorted(by_group.items(), key=lambda item: (-max(r.group_priority for r in item[1]), item[0]))
            self._groups = tuple(_document(group, members) for group, members in ordered)
        return self._groups

    def _follow(self, kind: str, old: Object | None, new: Object | None) -> None:
        before = None if old is None else registered_of(old)
        after = None if new is None else registered_of(new)
        if before is not None:
            self._by_version.pop((before.group, before.version), None)
        if after is not None:
            self._by_version[after.group, after.version] = after
        if before != after:
            self._groups = None
        self._changed(old, new)


def _document(group: str, members: list[AggregatedService]) -> dict[str, Any]:
    members.sort(key=lambda r: (-r.version_priority, version_priority(r.version)))
    versions = [{"groupVersion": f"{group}/{r.version}", "version": r.version} for r in members]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}
