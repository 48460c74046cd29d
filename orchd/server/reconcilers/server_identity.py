"""The identity of each server of a cluster, behind the feature gate APIServerIdentity: a lease that it renews, and with
StorageVersionAPI the versions in which it stores each resource.

Every server also removes what servers that are gone have left: expired leases, and their entries in storage versions.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.naming import random_uuid
from orchd.kinds.times import microtime, seconds_of, timestamp
from orchd.txkit.log import Logger
from orchd.txkit.periodic import Periodic

_log = Logger()
_LEASES: Final = "coordination.{abbr}.io"
_VERSIONS: Final = "internal.apiserver.{abbr}.io"
#: Attempts of a write that another server may overtake.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`name` of a server and its lease, and the holder of the lease. `mark` is the label of the leases of all servers,
    `labels` are further ones."""

    name: str
    holder: str
    mark: tuple[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)


def random_identity(dialect: Dialect, random: Random, host: str) -> Identity:
    """A new identity at each start."""
    component = dialect("{short}-apiserver")
    name = f"{component}-{random_uuid(random)}"
    return Identity(name=name, holder=name, mark=(dialect("{abbr}.io/component"), component))


def host_identity(dialect: Dialect, random: Random, host: str) -> Identity:
    """The identity of a host, which a server has again when it restarts."""
    component = dialect("{short}-apiserver")
    hashed = b"".join(struct.pack(">H", len(text)) + text for text in (host.encode(), component.encode()))
    short = base64.b32encode(hashlib.sha256(hashed).digest()[:16]).decode().rstrip("=").lower()
    name = f"apiserver-{short}"
    return Identity(
        name=name,
        holder=f"{name}_{random_uuid(random)}",
        mark=(dialect("apiserver.{long}.io/identity"), component),
        labels={dialect("{long}.io/hostname"): host},
    )


#: How a server is named, by release.
IDENTITIES: Final[tuple[tuple[str, Callable[[Dialect, Random, str], Identity]], ...]] = (
    ("", random_identity),
    ("1.26", host_identity),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """The durations are seconds. `records_versions`: storage versions are recorded, too."""

    identity: Identity
    duration: int
    interval: int
    records_versions: bool


class ServerIdentity:
    """Keeps the lease of one server. `catalog` returns the served resources."""

    def __init__(
        self,
        settings: IdentitySettings,
        client: IClient,
        dialect: Dialect,
        catalog: Callable[[], Catalog],
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._client = client
        self._dialect = dialect
        self._catalog = catalog
        self._clock = clock
        self._wall = wall
        self._leases = ResourceRef(dialect(_LEASES), "v1", "leases")
        self._versions = ResourceRef(dialect(_VERSIONS), "v1alpha1", "storageversions")
        self._recorded = not settings.records_versions
        self._cleaned = clock.seconds()
        self._loop = Periodic(
            "maintain the identity of this server", self._reconcile_once, settings.interval, clock, (ApiError,)
        )

    async def start(self) -> None:
        self._loop.start(now=True)

    async def stop(self) -> None:
        """The lease stays until it expires: a server that restarts has another one."""
        self._loop.stop()

    async def _reconcile_once(self) -> None:
        await self._renew()
        if not self._recorded:
            await self._record_versions()
            self._recorded = True
        if self._clock.seconds() - self._cleaned >= self._settings.duration:
            self._cleaned = self._clock.seconds()
            await self._clean()

    async def _renew(self) -> None:
        own, namespace = self._settings.identity, self._dialect.system_namespace
        name = own.name
        current = await self._get(self._leases, namespace, name)
        now = microtime(self._wall())
        spec = {"holderIdentity": own.holder, "leaseDurationSeconds": self._settings.duration, "renewTime": now}
        if current is None:
            labels = {own.mark[0]: own.mark[1], **own.labels}
            lease = {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}
            await self._client.create(self._leases, namespace, lease)
        else:
            await self._client.update(self._leases, namespace, name, fields.with_spec(current, **spec))

    async def _get(self, ref: ResourceRef, namespace: str, name: str) -> Object | None:
        try:
            obj: Object = await self._client.get(ref, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return obj

    # -- versions

    def _are_served(self) -> bool:
        return self._catalog().resource(self._versions.group, self._versions.version, self._versions.plural) is not None

    async def _record_versions(self) -> None:
        if not self._are_served():
            _log.warn(
                "storage versions are not recorded: {group}/{version} is not served; --runtime-config enables it",
                group=self._versions.group, version=self._versions.version,
            )  # fmt: skip
            return
        for name, entry in storage_versions(self._catalog(), self._settings.identity.name):
            await self._change_versions(name, partial(with_entry, entry=entry))

    async def _change_versions(self, name: str, change: Callable[[list[Object]], list[Object]]) -> None:
        """Change the entries of a StorageVersion, which is created if it is missing. Raises ApiError."""
        for attempt in range(_ATTEMPTS):
            versions = await self._get(self._versions, "", name)
            if versions is None:
                new = {"metadata": {"name": name}, "spec": {}}
                versions = await self._client.create(self._versions, "", new)
            status = fields.status(versions)
            entries = change(list(status.get("storageVersions") or ()))
            fresh = versions_status(entries, status, timestamp(self._wall()))
            if fresh == status:
                return
            try:
                await self._client.update(self._versions, "", name, {**versions, "status": fresh}, subresource="status")
                return
            except ApiError as error:
                # Another server has just written its own entry.
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise

    # -- servers that are gone

    async def _clean(self) -> None:
        """Remove expired leases of servers, and the entries of servers without a lease."""
        namespace, (label, value) = self._dialect.system_namespace, self._settings.identity.mark
        alive = set()
        for lease in (await self._client.list(self._leases, namespace))["items"]:
            if fields.labels(lease).get(label) != value:
                continue
            if self._is_expired(lease):
                options = {"preconditions": {"uid": lease["metadata"]["uid"]}}
                await self._client.delete(self._leases, namespace, lease["metadata"]["name"], options=options)
            else:
                alive.add(lease["metadata"]["name"])
        if not self._settings.records_versions or not self._are_served():
            return
        for each in (await self._client.list(self._versions, ""))["items"]:
            entries = fields.status(each).get("storageVersions") or ()
            if any(entry.get("apiServerID") not in alive for entry in entries):
                await self._forget_servers(each, alive)

    async def _forget_servers(self, lease: Object, alive: set[str]) -> None:
        """Remove the entries of other servers than these from a StorageVersion, or itself if nothing remains."""
        name = lease["metadata"]["name"]
        if any(entry.get("apiServerID") in alive for entry in lease["status"]["storageVersions"]):
            await self._change_versions(
                name, lambda entries: [each for each in entries if each.get("apiServerID") in alive]
            )
        else:
            options = {"preconditions": {"resourceVersion": lease["metadata"]["resourceVersion"]}}
            await self._client.delete(self._versions, "", name, options=options)

    def _is_expired(self, lease: Object) -> bool:
        spec = fields.spec(lease)
        renewed = spec.get("renewTime")
        if renewed is None or spec.get("leaseDurationSeconds") is None:
            return True
        return (seconds_of(renewed) or 0.0) + int(spec["leaseDurationSeconds"]) < self._wall()


def storage_versions(catalog: Catalog, server: str) -> Iterable[tuple[str, Object]]:
    """Names of the StorageVersions of all built-in resources, sorted, each with the entry of a server."""
    decodable: dict[str, list[str]] = {}
    stored: dict[str, tuple[str, str]] = {}
    for resource in catalog.resources:
        if resource.storage_version and not resource.custom:
            decodable.setdefault(resource.key, []).append(resource.api_version)
            own = f"{resource.group or 'core'}.{resource.plural}", resource.storage_version
            # Resources of several groups may share one storage.
            stored[resource.key] = min(stored.get(resource.key, own), own)
    for key, (name, version) in sorted(stored.items(), key=lambda item: item[1]):
        versions = [version, *(each for each in decodable[key] if each != version)]
        entry = {"apiServerID": server, "encodingVersion": version, "decodableVersions": versions}
        # Dropped by releases without this field.
        yield name, {**entry, "servedVersions": versions}


def with_entry(entries: list[Object], entry: Object) -> list[Object]:
    """Entries with that of one server replaced or added."""
    if any(each.get("apiServerID") == entry["apiServerID"] for each in entries):
        return [entry if each.get("apiServerID") == entry["apiServerID"] else each for each in entries]
    return [*entries, entry]


def versions_status(entries: list[Object], before: Object, now: str) -> Object:
    """The status of a StorageVersion: its entries, the version that all of them encode, and a condition that says
    whether there is one."""
    encoded = {entry["encodingVersion"] for entry in entries}
    common = next(iter(encoded)) if len(encoded) == 1 else ""
    value = "Set" if common else "Unset"
    condition = {
        "type": "AllEncodingVersionsEqual",
        "status": "True" if common else "False",
        "reason": f"CommonEncodingVersion{value}",
        "message": f"Common encoding version {value.lower()}",
    }
    old: Object = next((each for each in before.get("conditions") or () if each.get("type") == condition["type"]), {})
    same = old.get("status") == condition["status"]
    conditions = [{**condition, "lastTransitionTime": old["lastTransitionTime"] if same else now}]
    status: dict[str, Any] = {"storageVersions": entries} if entries else {}
    if common:
        status["commonEncodingVersion"] = common
    return {**status, "conditions": conditions}
