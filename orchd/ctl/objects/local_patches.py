"""``patch --local``: patches of objects in files, without a server."""

from __future__ import annotations

from typing import Any

import click
import yaml

from orchd.ctl.errors import CommandError
from orchd.dialect import DIALECTS
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.patch import json_patch, merge_patch, strategic
from orchd.kinds.release import NEWEST, SPECIFICATION


def patched(obj: Object, patch: Any, type_: str) -> Object:
    """An object after a patch of type json, merge or strategic. Raises CommandError; custom kinds have no strategic
    patch."""
    try:
        if type_ == "json":
            result: Object = json_patch.apply(obj, patch)
        elif type_ == "merge":
            result = merge_patch.merge(obj, patch)
        else:
            result = _strategic(obj, patch)
    except (ApiError, ValueError) as error:
        raise CommandError(
            f"the patch cannot be applied to {obj['kind']} {obj['metadata'].get('name', '')}: {error}"
        ) from None
    return result


def _strategic(obj: Object, patch: Object) -> Object:
    for dialect in DIALECTS.values():
        for release in (NEWEST, SPECIFICATION):
            catalog = builtin_catalog(dialect, release, enabled=lambda group, version, default: True)
            resource = catalog.kind(str(obj["apiVersion"]), str(obj["kind"]))
            if resource is not None:
                return strategic.apply(obj, patch, resource.type)
    raise CommandError(f"{obj['kind']} of {obj['apiVersion']} is no built-in kind: give --type=merge or --type=json")


override_type = click.option(
    "--override-type",
    type=click.Choice(["merge", "strategic", "json"]),
    default="merge",
    show_default=True,
    help="Kind of patch of --overrides.",
)


def overridden(obj: Object, text: str, type_: str) -> Object:
    """An object after a patch. Raises CommandError."""
    if not text:
        return obj
    try:
        patch = yaml.safe_load(text)
    except yaml.YAMLError:
        patch = None
    if not isinstance(patch, list if type_ == "json" else dict):
        what = "a list of operations" if type_ == "json" else "an object"
        raise CommandError(f"--overrides is neither JSON nor YAML of {what}: quote it as one argument")
    return patched(obj, patch, type_)
