"""Revision history of templates, as ControllerRevision objects."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson

from orchd.client.interfaces import IClient
from orchd.controllers.naming import template_hash
from orchd.controllers.objects import REVISIONS
from orchd.controllers.write_errors import ignore_missing
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import annotations_of, labels, mapping, name, namespace, owner_reference, spec, status, uid
from orchd.kinds.jsonvalues import Object


def data_of(parent: Object) -> dict[str, Any]:
    """The data of a revision: a patch that restores the template. Members are in alphabetical order at every depth, as
    other programs compare revisions as bytes with what they encode."""
    data = {"spec": {"template": {**spec(parent)["template"], "$patch": "replace"}}}
    ordered: dict[str, Any] = orjson.loads(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
    return ordered


def template_of(revision: Object) -> dict[str, Any]:
    """The pod template of a revision."""
    template = mapping(spec(mapping(revision, "data")), "template")
    return {k: v for k, v in template.items() if k != "$patch"}


def _number(revision: Object) -> int:
    return int(revision.get("revision") or 0)


async def newest(
    client: IClient, parent: Object, api_version: str, kind: str, existing: list[Object], hash_label: str
) -> tuple[Object, int]:
    """The revision of the set's template, created or renumbered if necessary, and the set's collision count."""
    data = data_of(parent)
    ordered = sorted(existing, key=lambda r: (_number(r), name(r)))
    following = (_number(ordered[-1]) if ordered else 0) + 1
    collisions = int(status(parent).get("collisionCount") or 0)
    equal = [r for r in ordered if r.get("data") == data]
    if equal:
        if equal[-1] is ordered[-1]:
            return equal[-1], collisions
        renumbered = {**equal[-1], "revision": following}
        return await client.update(REVISIONS, namespace(parent), name(equal[-1]), renumbered), collisions
    notes: Object = {"annotations": dict(annotations_of(parent))} if annotations_of(parent) else {}
    tags = labels(spec(parent)["template"])
    while True:
        hashed = template_hash(data, collisions)
        fresh = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{name(parent)}-{hashed}",
                "namespace": namespace(parent),
                "labels": {**tags, hash_label: hashed},
                **notes,
                "ownerReferences": [owner_reference(parent, api_version, kind)],
            },
            "data": data,
            "revision": following,
        }
        try:
            return await client.create(REVISIONS, namespace(parent), fresh), collisions
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        taken = await client.get(REVISIONS, namespace(parent), name(fresh))
        if taken.get("data") == data and any(r.get("uid") == uid(parent) for r in fields.owners(taken)):
            return taken, collisions
        collisions += 1


async def truncate(client: IClient, parent: Object, existing: list[Object], live: Collection[str]) -> None:
    """Delete the oldest revisions that nothing uses (by name), beyond the set's history limit."""
    limit = int(spec(parent).get("revisionHistoryLimit", 10))
    unused = sorted((r for r in existing if name(r) not in live), key=lambda r: (_number(r), name(r)))
    for revision in unused[: max(0, len(unused) - limit)]:
        with ignore_missing():
            await client.delete(REVISIONS, namespace(parent), name(revision))
