"""Metadata fields that only the server sets, on create and update."""

from __future__ import annotations

from random import Random
from typing import Any

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.naming import random_suffix, random_uuid
from orchd.kinds.times import timestamp
from orchd.server.registry.interfaces import Context
from orchd.server.registry.operations import OTHER_NAMESPACE

#: Longest prefix of a generated name: names may be DNS labels of 63 characters, five of them random.
_PREFIX = 58


class Naming:
    """Makes uids and generated names; randomness is an argument."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def uid(self) -> str:
        return random_uuid(self._random)

    def generate(self, prefix: str) -> str:
        """`prefix` (cut to 58 characters) followed by five random characters."""
        return prefix[:_PREFIX] + random_suffix(self._random)


#: Metadata of new objects that clients cannot set.
_OF_THE_SERVER = frozenset(("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))


def for_create(context: Context, obj: Object, naming: Naming, *, unnamed: bool = False) -> Object:
    """Metadata of a new object: sets uid, creationTimestamp and the generated name, removes deletion fields. With
    `unnamed`, an object with neither a name nor a generateName is named by a UUID."""
    metadata = dict(fields.metadata(obj))
    for gone in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "clusterName"):
        metadata.pop(gone, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = naming.generate(metadata["generateName"])
    elif unnamed and not metadata.get("name"):
        metadata["name"] = naming.uid()
    metadata["uid"] = naming.uid()
    metadata["creationTimestamp"] = timestamp(context.now)
    return {**obj, "metadata": metadata}


def _check_namespace(context: Context, metadata: dict[str, Any]) -> None:
    if not context.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace", context.namespace) not in (context.namespace, ""):
        raise errors.bad_request(OTHER_NAMESPACE)
    metadata["namespace"] = context.namespace


def in_namespace(context: Context, obj: Object) -> Object:
    """`obj` with the namespace of the request. Raises ApiError 400 when it names another."""
    metadata = dict(fields.metadata(obj))
    _check_namespace(context, metadata)
    return {**obj, "metadata": metadata}


def as_sent(context: Context, obj: Object) -> Object:
    """`obj` as it was sent: admission sees it so, which may lack the namespace."""
    return obj


def without_system(context: Context, obj: Object) -> Object:
    """A new object with the namespace of the request, and without the metadata that the server sets, which has no
    owner. Raises ApiError 400 when it names another namespace."""
    placed = in_namespace(context, obj)
    kept = {name: value for name, value in placed["metadata"].items() if name not in _OF_THE_SERVER}
    return {**placed, "metadata": kept}


def for_update(context: Context, obj: Object, old: Object) -> Object:
    """Metadata of a changed object: server-managed fields are carried over from `old`."""
    metadata = dict(fields.metadata(obj))
    before = old["metadata"]
    _check_namespace(context, metadata)
    for gone in ("clusterName", "selfLink"):
        metadata.pop(gone, None)
    metadata["creationTimestamp"] = before.get("creationTimestamp")
    if not metadata.get("uid"):
        metadata["uid"] = before.get("uid")
    carried = ["generation"]
    if before.get("deletionTimestamp"):
        carried.append("deletionTimestamp")
        if metadata.get("deletionGracePeriodSeconds") is None:
            carried.append("deletionGracePeriodSeconds")
    for key in carried:
        if before.get(key) is None:
            metadata.pop(key, None)
        else:
            metadata[key] = before[key]
    # Without a stored uid keep the client's: validation rejects it.
    return {**obj, "metadata": metadata}
