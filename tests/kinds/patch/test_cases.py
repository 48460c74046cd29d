"""Recorded rejections of patches and applies, replayed on live objects from each case's preparation."""

from __future__ import annotations

import json
import re
from typing import Any

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext.values import plain
from orchd.kinds.patch import decode_result, json_patch, merge_patch, strategic
from orchd.kinds.patch.apply import on_apply
from orchd.kinds.patch.fieldset import of_paths
from orchd.kinds.patch.ownership import OwnershipTarget, on_write
from orchd.kinds.patch.patch_errors import unusable_result

#: Rejections by other parts: media types, options, names, authorization, validation, decoding of YAML and patched JSON.
_ELSEWHERE = re.compile(
    r"unsupported|yaml|missing-object|^apply/(no-fieldManager|name-|ns-|rv-|uid-|force-|dryrun-|invalid-|list-map-key-missing)"
    r"|^patch/(merge-(name|ns|uid|rv|kind|apiVersion|type|invalid)|json-(bad-type|too-many)|strategic-pod-(change|retainkeys))"
    r"|^apply/(empty-body|kind-mismatch|managedFields-present)"
)


def _attempt(case: dict[str, Any], live: Any, target: OwnershipTarget) -> None:
    """Apply the patch of a case as the server does, as far as patches decide."""
    request = case["req"]
    body, kind = request.get("body"), request["ct"]
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    if "apply" in kind:
        manager = re.search(r"fieldManager=([^&]*)", request["p"])
        on_apply(target, live, body, manager=manager.group(1) if manager else "", now=1.0)
    elif "strategic" in kind:
        result = strategic.apply(live, raw, target.type)
        try:
            decode_result.restore(result, target.type)
        except decode_result.RestoreError as error:
            raise unusable_result(plain(strategic.parse(raw)), str(error)) from None
    elif "json-patch" in kind:
        json_patch.apply(live, raw)
    else:
        merge_patch.apply(live, raw)


def test_patch_cases_answer_as_recorded(reference: Any) -> None:
    """Every case has the recorded code and message, or is accepted like the recorded one."""
    catalog = builtin_catalog(ORCH)
    kinds = {"configmaps": "ConfigMap", "pods": "Pod"}
    checked = 0
    for case in reference("validation")["cases"]:
        request = case["req"]
        if not re.match(r"(patch|apply)/", case["id"]) or _ELSEWHERE.search(case["id"]):
            continue
        kind = kinds[request["p"].split("/")[5]]
        target = OwnershipTarget(
            dialect=ORCH,
            type=catalog.type(f"core/v1.{kind}"),
            kind=kind,
            api_version="v1",
            reset=of_paths(("f:status",)),
        )
        live: Any = None
        for step in case.get("setup", ()):
            manager = re.search(r"fieldManager=([^&]*)", step["p"])
            who = manager.group(1) if manager else "facts"
            if "apply" in step.get("ct", ""):
                live = on_apply(target, live, step["body"], manager=who, now=1.0)
            else:
                sent = step["body"]
                live = {
                    **sent,
                    "metadata": {
                        **sent["metadata"],
                        "uid": "u",
                        "managedFields": on_write(target, live, sent, manager=who, now=1.0),
                    },
                }
        expected = case["ans"]
        try:
            _attempt(case, live, target)
        except ApiError as error:
            assert (error.code, error.message) == (expected["code"], expected["message"]), case["id"]
            causes = sorted((c["reason"], c["field"]) for c in (error.details or {}).get("causes", ()))
            assert causes == sorted((c[0], c[1]) for c in expected.get("causes", ())), case["id"]
        else:
            assert expected["code"] < 300, case["id"]
        checked += 1
    assert checked > 25
