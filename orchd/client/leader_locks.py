"""The five kinds of leader locks: a Lease, an annotation of an Endpoints or ConfigMap object, or an annotation and a
Lease.

Pairs are for migrating from one kind of lock to another: both must be held by the same candidate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from zope.interface import Attribute, Interface, implementer

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

#: Values of --leader-elect-resource-lock.
LOCKS: Final = ("leases", "endpoints", "configmaps", "endpointsleases", "configmapsleases")
_ANNOTATION = "control-plane.alpha.{long}.io/leader"
#: Holder of a pair whose two locks have different holders.
_UNKNOWN = "leaderelection.{abbr}.io/unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderRecord:
    """The leader. Times are RFC 3339 and informative: decisions use clocks. `duration` is in seconds."""

    holder: str = ""
    duration: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


class ILeaderLock(Interface):
    """One lock. `update` requires an earlier `get` or `create`, and uses the resourceVersion of the last read or write
    as precondition."""

    name: str = Attribute("The name of its objects.")

    async def get() -> tuple[LeaderRecord, object]:
        """The record, and a value that differs after every write. Raises ApiError, 404 if the lock does not exist."""

    async def create(record: LeaderRecord) -> None:
        """Create the lock. Raises ApiError."""

    async def update(record: LeaderRecord) -> None:
        """Replace the record. Raises ApiError, 409 if the lock was written since it was read."""

    def objects() -> Iterable[Object]:
        """The objects that events of this lock are about."""


def make_lock(kind: str, client: IClient, dialect: Dialect, *, namespace: str, name: str) -> ILeaderLock:
    """The lock of one of the kinds in `LOCKS`."""

    def lease() -> ILeaderLock:
        lock: ILeaderLock = LeaseLock(client, dialect, namespace, name)
        return lock

    def annotated(plural: str) -> ILeaderLock:
        lock: ILeaderLock = AnnotationLock(client, dialect, plural, namespace, name)
        return lock

    if kind == "leases":
        return lease()
    if kind in ("endpoints", "configmaps"):
        return annotated(kind)
    if kind in ("endpointsleases", "configmapsleases"):
        both: ILeaderLock = PairLock(annotated(kind.removesuffix("leases")), lease(), dialect)
        return both
    raise ValueError(f"unknown lock {kind!r}: one of {', '.join(LOCKS)}")


class _ObjectLock:
    """A record stored in one object."""

    _ref: ResourceRef
    _kind: str

    def __init__(self, client: IClient, namespace: str, name: str) -> None:
        self._client = client
        self.namespace, self.name = namespace, name
        self._object: Object | None = None

    def objects(self) -> Iterable[Object]:
        obj = self._object or {"metadata": {"namespace": self.namespace, "name": self.name}}
        return [{"apiVersion": self._api_version, "kind": self._kind, "metadata": obj["metadata"]}]

    @property
    def _api_version(self) -> str:
        return f"{self._ref.group}/{self._ref.version}" if self._ref.group else self._ref.version

    async def _read(self) -> Object:
        obj: Object = await self._client.get(self._ref, self.namespace, self.name)
        self._object = obj
        return obj

    async def create(self, record: LeaderRecord) -> None:
        fresh = {
            "apiVersion": self._api_version,
            "kind": self._kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
        }
        self._object = await self._client.create(self._ref, self.namespace, self._write(fresh, record))

    async def update(self, record: LeaderRecord) -> None:
        if self._object is None:
            raise ApiError(404, "NotFound", f"{self._kind} {self.namespace}/{self.name} has not been read")
        obj = self._write(self._object, record)
        self._object = await self._client.update(self._ref, self.namespace, self.name, obj)

    def _write(self, obj: Object, record: LeaderRecord) -> Object:
        """The object with a record."""
        raise NotImplementedError


@implementer(ILeaderLock)
class LeaseLock(_ObjectLock):
    """The spec of a Lease."""

    _kind = "Lease"

    def __init__(self, client: IClient, dialect: Dialect, namespace: str, name: str) -> None:
        super().__init__(client, namespace, name)
        self._ref = ResourceRef(dialect("coordination.{abbr}.io"), "v1", "leases")

    async def get(self) -> tuple[LeaderRecord, object]:
        spec = fields.spec(await self._read())
        record = LeaderRecord(
            holder=str(spec.get("holderIdentity") or ""),
            duration=int(spec.get("leaseDurationSeconds") or 0),
            acquired=str(spec.get("acquireTime") or ""),
            renewed=str(spec.get("renewTime") or ""),
            transitions=int(spec.get("leaseTransitions") or 0),
        )
        return record, record

    def _write(self, obj: Object, record: LeaderRecord) -> Object:
        spec = {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": record.duration,
            "acquireTime": _with_fraction(record.acquired),
            "renewTime": _with_fraction(record.renewed),
            "leaseTransitions": record.transitions,
        }
        return {**obj, "spec": spec}


@implementer(ILeaderLock)
class AnnotationLock(_ObjectLock):
    """An annotation of an Endpoints or ConfigMap object, whose other contents are preserved."""

    def __init__(self, client: IClient, dialect: Dialect, plural: str, namespace: str, name: str) -> None:
        super().__init__(client, namespace, name)
        self._ref = ResourceRef("", "v1", plural)
        self._kind = {"endpoints": "Endpoints", "configmaps": "ConfigMap"}[plural]
        self._key = dialect(_ANNOTATION)

    async def get(self) -> tuple[LeaderRecord, object]:
        annotations = fields.annotations_of(await self._read())
        text = annotations.get(self._key)
        if text is None:
            return LeaderRecord(), ""
        try:
            members = json.loads(text)
            record = LeaderRecord(**{field: type_(members.get(name) or type_()) for name, field, type_ in _members()})
        except (ValueError, AttributeError, TypeError) as error:
            raise ApiError(
                500, "InternalError", f"annotation {self._key} of {self._kind} {self.name}: {error}"
            ) from None
        return record, text

    def _write(self, obj: Object, record: LeaderRecord) -> Object:
        text = json.dumps(
            {
                "holderIdentity": record.holder,
                "leaseDurationSeconds": record.duration,
                "acquireTime": _without_fraction(record.acquired),
                "renewTime": _without_fraction(record.renewed),
                "leaderTransitions": record.transitions,
            },
            separators=(",", ":"),
        )
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), self._key: text}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}


def _members() -> Iterable[tuple[str, str, type[Any]]]:
    """(member of the annotation, field of the record, type)."""
    return (
        ("holderIdentity", "holder", str),
        ("leaseDurationSeconds", "duration", int),
        ("acquireTime", "acquired", str),
        ("renewTime", "renewed", str),
        ("leaderTransitions", "transitions", int),
    )


@implementer(ILeaderLock)
class PairLock:
    """Two locks as one. Candidates that use only the first lock are respected; a missing second lock is created."""

    def __init__(self, first: ILeaderLock, second: ILeaderLock, dialect: Dialect) -> None:
        self.name = first.name
        self._first, self._second = first, second
        self._unknown = dialect(_UNKNOWN)

    async def get(self) -> tuple[LeaderRecord, object]:
        record, raw = await self._first.get()
        try:
            other, other_raw = await self._second.get()
        except ApiError as error:
            if error.code != 404:
                raise
            # Held by a candidate that uses only the first lock, or created only in part by this process.
            return record, raw
        if record.holder != other.holder:
            record = replace(record, holder=self._unknown)
        return record, (raw, other_raw)

    async def create(self, record: LeaderRecord) -> None:
        try:
            await self._first.create(record)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        await self._second.create(record)

    async def update(self, record: LeaderRecord) -> None:
        await self._first.update(record)
        try:
            await self._second.get()
        except ApiError as error:
            if error.code != 404:
                raise
            await self._second.create(record)
        else:
            await self._second.update(record)

    def objects(self) -> Iterable[Object]:
        return [*self._first.objects(), *self._second.objects()]


def _with_fraction(stamp: str) -> str | None:
    """A time with microseconds, as leases have it."""
    if not stamp:
        return None
    return stamp if "." in stamp else stamp.replace("Z", ".000000Z")


def _without_fraction(stamp: str) -> str | None:
    """A time in whole seconds, as the annotation has it."""
    if not stamp:
        return None
    whole, dot, _ = stamp.partition(".")
    return f"{whole}Z" if dot else stamp
