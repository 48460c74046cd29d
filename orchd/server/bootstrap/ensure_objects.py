"""Creates missing bootstrap objects and restores their maintained fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.defer import Deferred, FirstError, gatherResults

from orchd.client.interfaces import IClient
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.bootstrap.objects import BootstrapObject

#: Attempts after a lost race: several servers may bootstrap at once.
_ATTEMPTS = 5


async def ensure(client: IClient, wanted: Iterable[BootstrapObject], *, now: str) -> None:
    """Ensure all of `wanted` concurrently (their writes share commits). `now` is the timestamp of conditions. Raises
    the first ApiError."""
    try:
        await gatherResults([Deferred.fromCoroutine(_one(client, each, now)) for each in wanted], consumeErrors=True)
    except FirstError as first:
        first.subFailure.raiseException()


async def _one(client: IClient, wanted: BootstrapObject, now: str) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            await _attempt(client, wanted, now)
            return
        except ApiError as error:
            # Another server was faster: 409, or 422 for an address that its object already has.
            if error.code not in (409, 422) or attempt == _ATTEMPTS - 1:
                raise


async def _attempt(client: IClient, wanted: BootstrapObject, now: str) -> None:
    ref, namespace, name = wanted.ref, wanted.namespace, wanted.name
    existing: Object | None
    try:
        existing = await client.get(ref, namespace, name)
    except ApiError as error:
        if error.code != 404:
            raise
        existing = None
    if existing is None:
        existing = await client.create(ref, namespace, wanted.object)
    elif _is_kept(wanted, existing):
        members = {m: wanted.object[m] for m in wanted.restored if not _within(wanted.object[m], existing.get(m))}
        if members:
            existing = await client.update(ref, namespace, name, {**existing, **members})
    if wanted.status is not None and not existing.get("status", {}).get("conditions"):
        conditions = [{**c, "lastTransitionTime": now} for c in wanted.status["conditions"]]
        await client.update(ref, namespace, name, {**existing, "status": {"conditions": conditions}}, subresource="status")


def _is_kept(wanted: BootstrapObject, existing: Object) -> bool:
    if not wanted.update_annotation:
        return True
    metadata = existing["metadata"]
    said = metadata.get("annotations", {}).get(wanted.update_annotation)
    return bool(metadata.get("generation") == 1) if said is None else bool(said == "true")


def _within(wanted: Any, found: Any) -> bool:
    """True if `found` contains every value of `wanted`. Defaults added by the server are ignored."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_within(v, found.get(k)) for k, v in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(_within(w, f) for w, f in zip(wanted, found, strict=True))
        )
    return bool(wanted == found)
