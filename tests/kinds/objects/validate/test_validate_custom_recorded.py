"""Validation of custom objects against their definition's schema, compared with recorded responses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource
from orchd.kinds.crd.resources import VersionEntry
from orchd.kinds.ir import Type
from orchd.kinds.objects.schema_check.definitions.defaults import pruned
from orchd.kinds.objects.schema_check.definitions.extension_keywords import extension_keywords
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch

SETTINGS = ObjectSettings(dialect=ORCH)
FLOOR = 36


def _resource(definition: dict[str, Any], version: str) -> Resource:
    spec = definition["spec"]
    entry = next(v for v in spec["versions"] if v["name"] == version)
    return Resource(
        group=spec["group"],
        version=version,
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        type=Type("struct"),
        namespaced=True,
        custom=True,
        key=f"{spec['group']}/{spec['names']['plural']}",
        definition=VersionEntry(entry, lambda: definition),
    )


def _without_nulls(value: Any, schema: dict[str, Any]) -> Any:
    """Nulls are dropped before validation unless the schema allows them."""
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    return {
        k: _without_nulls(v, properties.get(k) or {})
        for k, v in value.items()
        if v is not None or (properties.get(k) or {}).get("nullable")
    }


def test_recorded_causes_of_custom_objects(reference: Callable[[str], Any]) -> None:
    """Every recorded creation of the fixture's kind has the recorded causes and messages."""
    facts = reference("validation")
    definition = facts["fixtures"]["crd ws.wx.com"]
    counter: Counter[bool] = Counter()
    wrong = []
    for case in facts["cases"]:
        request, response = case["req"], case["ans"]
        match = re.match(r"/apis/wx\.com/(v\d)/namespaces/facts/ws(\?.*)?$", request["p"])
        if not case["id"].startswith("CustomResource/") or request["m"] != "POST" or match is None:
            continue
        if response["code"] not in (201, 422) or not isinstance(request.get("body"), dict):
            continue
        resource = _resource(definition, match[1])
        schema = (resource.definition or {})["schema"]["openAPIV3Schema"]
        body = dict(request["body"])
        metadata = {"namespace": "facts", **body.pop("metadata", {})}
        head = {k: body.pop(k) for k in ("apiVersion", "kind") if k in body}
        body.pop("status", None)  # Dropped on creation because status is a subresource.
        obj = {**head, "metadata": metadata, **_without_nulls(pruned(body, schema, extension_keywords(ORCH)), schema)}
        causes = dispatch.validate_create(obj, resource, SETTINGS)
        details = response.get("details") or {}
        text = ""
        if causes:
            text = errors.invalid(
                details.get("group", ""), details.get("kind", ""), details.get("name", ""), causes
            ).message
        same = text == (response.get("message") or "") and Counter((c.reason, c.field) for c in causes) == Counter(
            map(tuple, response.get("causes", ()))
        )
        counter[same] += 1
        if not same:
            wrong.append(
                f"{case['id']}\n     got {text}\n  wanted {response.get('message')}\n {response.get('causes')}"
            )
    assert counter[True] >= FLOOR, "\n".join(wrong)
    assert not wrong, "\n".join(wrong)
