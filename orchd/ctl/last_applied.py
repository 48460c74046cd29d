"""The annotation in which client-side apply keeps the object that was applied last."""

from __future__ import annotations

import json

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


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
