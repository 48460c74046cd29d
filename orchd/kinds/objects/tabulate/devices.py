"""Cells of device classes, claims, templates and slices."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.objects.tabulate.text import EMPTY, Cells, Json, Printing, age_of


def named(o: Json, x: Printing) -> Cells:
    """Name and age: classes and templates."""
    return [o["metadata"]["name"], age_of(o, x)]


def claim(o: Json, x: Printing) -> Cells:
    metadata, status = o["metadata"], fields.status(o)
    states = []
    if metadata.get("deletionTimestamp"):
        states.append("deleted")
    if status.get("allocation"):
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [metadata["name"], ",".join(states), age_of(o, x)]


def resource_slice(o: Json, x: Printing) -> Cells:
    spec = fields.spec(o)
    pool = (spec.get("pool") or EMPTY).get("name") or ""
    return [o["metadata"]["name"], spec.get("nodeName") or "", spec.get("driver") or "", pool, age_of(o, x)]
