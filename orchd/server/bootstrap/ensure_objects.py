"""Creates missing bootstrap objects and restores their maintained fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, FirstError, gatherResults

from orchd.client.interfaces import IClient, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.bootstrap.objects import BootstrapObject

#: Attempts after a lost race: several servers may bootstrap at once.
_ATTEMPTS = 5
#: Objects of one resource from which on they are listed. Few are asked for one by one: there may be thousands of
#: others.
_WORTH_A_LIST = 8


async def ensure(client: IClient, objects: Iterable[BootstrapObject], *, now: str) -> None:
    """Ensure all of `wanted` concurrently (their writes share commits). `now` is the timestamp of conditions. Raises
    the first ApiError."""
    objects = tuple(objects)
    present = await _list_existing(client, objects)
    try:
        await gatherResults(
            [Deferred.fromCoroutine(_one(client, each, present, now)) for each in objects], consumeErrors=True
        )
    except FirstError as first:
        first.subFailure.raiseException()


#: A resource, a namespace ("" for none) and a name.
_Key = tuple[ResourceRef, str, str]


def _key(obj: BootstrapObject) -> _Key:
    return obj.ref, obj.namespace, obj.name


async def _list_existing(client: IClient, objects: Iterable[BootstrapObject]) -> dict[_Key, Object | None]:
    """Those of `wanted` of whose resource many are wanted, as they are now (None if they do not exist): a list costs
    less than a request for each."""
    by_ref: defaultdict[ResourceRef, set[_Key]] = defaultdict(set)
    for each in objects:
        by_ref[each.ref].add(_key(each))
    existing: dict[_Key, Object | None] = {}
    for ref, keys in by_ref.items():
        if len(keys) < _WORTH_A_LIST:
            continue
        existing.update(dict.fromkeys(keys))
        for item in (await client.list(ref)).get("items") or ():
            metadata = item["metadata"]
            key = ref, metadata.get("namespace", ""), metadata["name"]
            if key in keys:
                existing[key] = item
    return existing


async def _one(client: IClient, obj: BootstrapObject, present: Mapping[_Key, Object | None], now: str) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            if attempt > 0 or _key(obj) not in present:
                existing = await _current(client, obj)
            else:
                existing = present[_key(obj)]
            await _attempt(client, obj, existing, now)
            return
        except ApiError as error:
            # Another server was faster: 409, or 422 for an address that its object already has.
            if error.code not in (409, 422) or attempt == _ATTEMPTS - 1:
                raise


async def _current(client: IClient, obj: BootstrapObject) -> Object | None:
    try:
        return await client.get(obj.ref, obj.namespace, obj.name)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


async def _attempt(client: IClient, obj: BootstrapObject, existing: Object | None, now: str) -> None:
    ref, namespace, name = obj.ref, obj.namespace, obj.name
    if existing is None:
        existing = await client.create(ref, namespace, obj.object)
    elif _is_kept(obj, existing):
        members = {m: obj.object[m] for m in obj.restored if not _within(obj.object[m], existing.get(m))}
        if members:
            existing = await client.update(ref, namespace, name, {**existing, **members})
    if obj.status is not None and not existing.get("status", {}).get("conditions"):
        conditions = [{**c, "lastTransitionTime": now} for c in obj.status["conditions"]]
        await client.update(
            ref, namespace, name, {**existing, "status": {"conditions": conditions}}, subresource="status"
        )


def _is_kept(obj: BootstrapObject, existing: Object) -> bool:
    if not obj.update_annotation:
        return True
    metadata = existing["metadata"]
    value = metadata.get("annotations", {}).get(obj.update_annotation)
    return bool(metadata.get("generation") == 1) if value is None else bool(value == "true")


def _within(expected: Any, actual: Any) -> bool:
    """True if `found` contains every value of `wanted`. Defaults added by the server are ignored."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(_within(v, actual.get(k)) for k, v in expected.items())
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(_within(w, f) for w, f in zip(expected, actual, strict=True))
        )
    return bool(expected == actual)
