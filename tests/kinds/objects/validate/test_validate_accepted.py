"""Validation accepts what the reference accepted, and does not fail on nearly empty objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from tests.kinds.objects.validate import validate_prepared as prepared

SETTINGS = ObjectSettings(dialect=ORCH, allow_privileged=True)


def test_stored_objects_are_valid(reference: Callable[[str], Any]) -> None:
    """Every stored object is valid as a new and as an unchanged one."""
    catalog = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
    wrong = []
    count = 0
    for fact in reference("defaults")["objects"]:
        text = json.dumps(fact["stored"]).replace('"<csr>"', json.dumps(prepared.signing_request()))
        for placeholder, value in (
            ("<time>", "2021-01-01T00:00:00Z"),
            ("<uid>", prepared.UID),
            ("<allocated>", "10.0.0.7"),
            ("<rand>", "x7x7x"),
        ):
            text = text.replace(placeholder, value)
        stored = json.loads(text)
        if not isinstance(stored, dict):
            continue
        resource = catalog.kind(stored.get("apiVersion", ""), stored.get("kind", ""))
        if resource is None or not resource.stored:
            continue
        obj = prepared.create(shape.canonical(stored, resource.type), resource, "facts", SETTINGS)
        causes = dispatch.validate_create(obj, resource, SETTINGS)
        causes += dispatch.validate_update(obj, obj, resource, SETTINGS)
        count += 1
        if causes:
            wrong.append((fact["id"], causes[:3]))
    assert count > 50
    assert not wrong, "\n".join(map(str, wrong))


def test_validation_accepts_empty_objects() -> None:
    """Validation does not raise for objects without any member, defaulted or not."""
    catalog = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
    for resource in catalog.resources:
        for obj in (shape.canonical({}, resource.type), {}):
            full = default.apply(obj, resource, SETTINGS) if obj else obj
            causes = dispatch.validate_create(full, resource, SETTINGS)
            assert all(cause.field for cause in causes), resource.kind
            dispatch.validate_update(full, full, resource, SETTINGS)
            for sub in resource.subresources:
                dispatch.validate_update(full, full, resource, SETTINGS, subresource=sub)
            dispatch.warnings(full, resource, SETTINGS)
