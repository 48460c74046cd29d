"""Configurations of admission webhooks of v1beta1."""

from __future__ import annotations

from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object

#: Defaults that v1 does not have, or has otherwise.
_DEFAULTS: Final = {
    "failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "Unknown", "timeoutSeconds": 30,
    "admissionReviewVersions": ["v1beta1"],
}  # fmt: skip


def configuration(obj: Object, dialect: Dialect) -> Object:
    """Each webhook says what was the default."""
    webhooks = []
    for each in obj.get("webhooks") or ():
        present = {key: value for key, value in each.items() if value is not None and value != []}
        webhooks.append({**each, **{key: value for key, value in _DEFAULTS.items() if key not in present}})
    return {**obj, "webhooks": webhooks} if webhooks else obj
