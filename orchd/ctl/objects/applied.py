"""Server-side apply of an object, and the configuration that was last applied to one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from orchd.ctl.cluster.api import APPLY, Api
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object, without_managed_fields

#: Attempts to apply an object that others change meanwhile.
_ATTEMPTS: Final = 5


def uid_of(obj: Object | None) -> str:
    return str(obj["metadata"].get("uid", "")) if obj else ""


async def send_apply(api: Api, target: Target, obj: Object, query: Mapping[str, str], before: Object | None) -> Object:
    """Apply an object, which was read as `before` (None if it was not there). Fields that this manager owns by other
    commands (set, scale, edit) are taken over; those of other managers are a conflict, unless the query says force."""

    async def send(applied: Object, asked: Mapping[str, str]) -> Object:
        return await api.patch(
            target.resource,
            target.name,
            without_managed_fields(applied),
            namespace=target.namespace,
            content_type=APPLY,
            query=asked,
        )

    for attempt in range(_ATTEMPTS):
        try:
            return await send(obj, query)
        except ApiError as error:
            if not _is_own_conflict(error, api.manager) or attempt == _ATTEMPTS - 1:
                raise
        if before is not None:
            # With the version, so that the second request cannot take over a field that conflicts since the first.
            version = obj["metadata"].get("resourceVersion") or before["metadata"]["resourceVersion"]
            try:
                return await send(
                    {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}, {**query, "force": "true"}
                )
            except ApiError as error:
                if error.reason != "Conflict" or obj["metadata"].get("resourceVersion"):
                    raise
        before = await current_object(api, target)
    raise AssertionError("the last attempt returns or raises")


def _is_own_conflict(error: ApiError, manager: str) -> bool:
    """True if every conflict is with fields that the manager itself owns by other commands."""
    causes, start = (error.details or {}).get("causes") or (), f'conflict with "{manager}"'
    return error.reason == "Conflict" and bool(causes) and all(
        each.get("reason") == "FieldManagerConflict" and str(each.get("message", "")).startswith(start) for each in causes
    )  # fmt: skip


async def current_object(api: Api, target: Target) -> Object | None:
    try:
        return await api.get(target.resource, target.name, target.namespace)
    except ApiError as error:
        if error.code == 404:
            return None
        raise


#: Metadata that every write changes.
_VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


def comparable_lines(obj: Object | None, managed: bool = False) -> list[str]:
    if obj is None:
        return []
    hidden = _VOLATILE[1:] if managed else _VOLATILE
    metadata = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return output.yaml_text({**obj, "metadata": metadata}).splitlines()


def annotation(dialect: Dialect) -> str:
    return dialect("{short}ctl.{long}.io/last-applied-configuration")


def as_annotation(obj: Object, dialect: Dialect) -> str:
    """The value of the annotation for an object: its JSON text without the annotation itself."""
    metadata = obj["metadata"]
    notes = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != annotation(dialect)}
    bare = {**obj, "metadata": {**metadata, "annotations": notes}}
    return json.dumps(bare, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


def with_last_applied(obj: Object, dialect: Dialect) -> Object:
    """The object with its own text in the annotation."""
    metadata = obj["metadata"]
    notes = {**(metadata.get("annotations") or {}), annotation(dialect): as_annotation(obj, dialect)}
    return {**obj, "metadata": {**metadata, "annotations": notes}}


def last_applied(obj: Object, manager: str, dialect: Dialect) -> Object | None:
    """The configuration that `manager` last applied to an object, None without one. Raises CommandError for an
    annotation that is not JSON."""
    metadata = obj["metadata"]
    entries = [each for each in metadata.get("managedFields") or () if each.get("operation") == "Apply"]
    own = [each for each in entries if each.get("manager") == manager and not each.get("subresource")]
    if own:
        part = owned_part(obj, own[0].get("fieldsV1") or {})
        names = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
        inner = {**names, **(part.get("metadata") or {})}
        return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **part, "metadata": inner}
    text = (metadata.get("annotations") or {}).get(annotation(dialect))
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CommandError(
            f"the annotation {annotation(dialect)} of {metadata['name']} is not an object in JSON: apply the "
            "object again"
        )
    return value


def owned_part(value: Any, fields: Object) -> Any:
    """The part of a value that a field set (fieldsV1 of managedFields) selects."""
    names = [key for key in fields if key != "."]
    if not names:
        return value if "." not in fields or not isinstance(value, dict | list) else type(value)()
    if isinstance(value, dict):
        return {
            key[2:]: owned_part(value[key[2:]], fields[key])
            for key in names
            if key.startswith("f:") and key[2:] in value
        }
    if isinstance(value, list):
        return [owned_part(item, fields[key]) for key in names for item in _members(value, key)]
    return value


def _members(value: list[Any], key: str) -> list[Any]:
    """The list members that one path element of a field set selects."""
    kind, _, text = key.partition(":")
    if kind == "i":
        return value[int(text) :][:1] if text.isdecimal() else []
    member_key = json.loads(text)
    if kind == "v":
        return [item for item in value if item == member_key][:1]
    # A key field that the object omits has its default, which is unknown here: the first such member is taken.
    matching = (
        item
        for item in value
        if isinstance(item, dict) and all(item.get(name, member_key[name]) == member_key[name] for name in member_key)
    )
    return list(matching)[:1]
