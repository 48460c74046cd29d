"""Recorded responses of the reference to patches and applies: objects and owners."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.gotext.values import plain
from orchd.kinds.objects import shape
from orchd.kinds.patch import decode_result, json_patch, managed, merge_patch, scale, strategic
from orchd.kinds.patch.apply import on_apply
from orchd.kinds.patch.fieldset import of_paths, union
from orchd.kinds.patch.ownership import OwnershipTarget, on_write
from orchd.kinds.patch.patch_errors import unusable_result
from orchd.kinds.times import timestamp

_STATUS = of_paths(("f:status",))
_SPEC = of_paths(("f:spec",))
_BOOKKEEPING = ("resourceVersion", "generation", "managedFields")


def _missing(golden: Any, got: Any, path: str = "") -> list[str]:
    """Paths at which `got` has something that `golden` does not. Golden objects have defaults in addition."""
    if isinstance(golden, dict) and isinstance(got, dict):
        out = []
        for key, value in got.items():
            if key in _BOOKKEEPING or (not path and key == "status"):
                continue
            if key in golden:
                out += _missing(golden[key], value, f"{path}.{key}")
            elif value not in ({}, [], None, "", 0):
                out.append(f"{path}.{key} should be gone")
        return out
    if isinstance(golden, list) and isinstance(got, list):
        if len(golden) != len(got):
            return [f"{path} has {len(got)} items instead of {len(golden)}"]
        return [
            text for i, (a, b) in enumerate(zip(golden, got, strict=True)) for text in _missing(a, b, f"{path}[{i}]")
        ]
    # Defaults replace zeros.
    return [] if golden == got or got == 0 else [f"{path} is {got!r} instead of {golden!r}"]


#: Rejections by other parts: validation, names, decoding of the patched JSON.
_ELSEWHERE = re.compile(r'(Service|Deployment\.apps) "|the name of the object|.*Invalid value: "\{')


@pytest.mark.parametrize("name", ["json-patch-arrays", "merge-patch-deployment", "strategic-pod"])
def test_recorded_patches(name: str, exchange: Any, type_of: Any) -> None:
    """Every recorded patch gives the recorded object or error."""
    live: Any = None
    checked = 0
    for request, response in exchange(f"patch/{name}"):
        body = response["body"]
        if live is not None and request["method"] == "PATCH":
            type_ = type_of(live["apiVersion"], live["kind"])
            raw = request["rawBody"].encode() if "rawBody" in request else json.dumps(request["body"]).encode()
            try:
                if "json-patch" in request["contentType"]:
                    result = json_patch.apply(live, raw)
                elif "strategic" in request["contentType"]:
                    try:
                        result = decode_result.restore(strategic.apply(live, raw, type_), type_)
                    except decode_result.RestoreError as error:
                        raise unusable_result(plain(strategic.parse(raw)), str(error)) from None
                else:
                    result = merge_patch.apply(live, raw)
            except ApiError as error:
                assert error.status() == body, response["id"]
            else:
                if response["status"] == 200:
                    assert _missing(body, shape.canonical(result, type_)) == [], response["id"]
                else:
                    assert _ELSEWHERE.match(body["message"]), (response["id"], body["message"])
            checked += 1
        if response["status"] == 200 and isinstance(body, dict):
            live = body
    assert checked > 5


def _entries(obj: dict[str, Any] | None, *, times: bool = True) -> list[Any]:
    """managedFields in comparable form, without times."""
    out = []
    for entry in (obj or {}).get("metadata", {}).get("managedFields") or ():
        out.append({k: v for k, v in entry.items() if k != "time"} | ({"timed": "time" in entry} if times else {}))
    return sorted(out, key=lambda entry: json.dumps(entry, sort_keys=True))


@pytest.mark.parametrize("name", ["configmap-lifecycle", "crd-list-types", "defaulted-fields", "subresources"])
def test_recorded_applies(name: str, exchange: Any, type_of: Any, foo: Any) -> None:
    """Every recorded apply gives the recorded object and owners, or the recorded conflict or error; updates in between
    give the recorded owners."""
    stored: dict[str, Any] = {}
    checked = 0
    for request, response in exchange(f"apply/{name}"):
        body, path = response["body"], response["path"].partition("?")[0]
        if not isinstance(body, dict) or response["id"] == "crd" or request["method"] == "POST":
            continue
        subresource = path.rsplit("/", 1)[-1] if path.endswith(("/status", "/scale")) else ""
        key = path.removesuffix("/" + subresource) if subresource else path
        live = stored.get(key)
        if request["method"] == "PATCH" and subresource != "scale" and not (live is None and subresource):
            manager = re.search(r"fieldManager=([^&]*)", response["path"])
            assert manager is not None
            sent = json.loads(json.dumps(request["body"]).replace("{uniq}", path.split("/")[2].partition(".")[0]))
            api_version = live["apiVersion"] if live else sent["apiVersion"]
            kind = live["kind"] if live else sent["kind"]
            target = OwnershipTarget(
                dialect=KUBERNETES,
                type=type_of(api_version, kind) or foo,
                kind=kind,
                api_version=api_version,
                subresource=subresource,
                reset=union(_SPEC, of_paths(("f:metadata", "f:deletionTimestamp"))) if subresource else _STATUS,
            )
            if "apply" in request.get("contentType", ""):
                _check_apply(target, live, sent, manager.group(1), "force=true" in response["path"], response)
            else:
                entries = on_write(target, live, _without_entries(body), manager=manager.group(1), now=2e9)
                assert _entries({"metadata": {"managedFields": entries}}) == _entries(body), response["id"]
            checked += 1
        if response["status"] in (200, 201) and body["kind"] != "Scale":
            stored[key] = body
    assert checked > 3


def _check_apply(target: OwnershipTarget, live: Any, sent: Any, manager: str, force: bool, response: Any) -> None:
    body = response["body"]
    try:
        result = on_apply(target, live, sent, manager=manager, force=force, now=2e9)
    except ApiError as error:
        assert error.status() == body, response["id"]
        return
    if response["status"] >= 300:
        assert body["message"].startswith("Deployment.apps"), response["id"]
        return
    assert _entries(result) == _entries(body), response["id"]
    # The kind's strategy drops the configuration of a disabled affinity.
    assert [t for t in _missing(body, result) if "sessionAffinityConfig" not in t] == [], response["id"]
    if live is not None and live["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"]:
        assert result is live, response["id"]


def _without_entries(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


def test_recorded_scale_writes(exchange: Any, catalog: Any) -> None:
    """Writing the Scale transfers ownership of the parent's replicas as recorded, applies and conflicts included."""
    replicas = {"apps/v1": ("f:spec", "f:replicas")}
    target = OwnershipTarget(
        dialect=KUBERNETES,
        type=catalog.type("autoscaling/v1.Scale"),
        kind="Scale",
        api_version="autoscaling/v1",
        subresource="scale",
        reset=_STATUS,
    )
    answers = {response["id"]: (request, response) for request, response in exchange("apply/subresources")}
    before = answers["status-update"][1]["body"]["metadata"]["managedFields"]
    first = answers["get-after-scale"][1]["body"]["metadata"]["managedFields"]
    last = answers["final"][1]["body"]["metadata"]["managedFields"]

    def scaled(entries: Any, count: int) -> dict[str, Any]:
        metadata = {"name": "d", "uid": "u", "managedFields": scale.to_scale(entries, replicas)}
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": count}}

    written = on_write(target, scaled(before, 2), _without_entries(scaled(before, 4)), manager="hpa", now=2e9)
    after = scale.to_parent(before, written, replicas, "apps/v1")
    assert _entries({"metadata": {"managedFields": after}}) == _entries({"metadata": {"managedFields": first}})

    applied = on_apply(target, scaled(first, 4), answers["scale-apply"][0]["body"], manager="m9", force=True, now=2e9)
    after = scale.to_parent(first, applied["metadata"]["managedFields"], replicas, "apps/v1")
    assert after == last
    with pytest.raises(ApiError) as caught:
        on_apply(target, scaled(after, 6), answers["scale-apply-conflict"][0]["body"], manager="m10", now=2e9)
    assert caught.value.status() == answers["scale-apply-conflict"][1]["body"]


#: Fields that the server sets after managed fields are determined: they have no owner.
_UNOWNED = re.compile(r"Service|Pod|Namespace|CertificateSigningRequest|PersistentVolume|PersistentVolumeClaim")


def test_recorded_owners_of_writes(recordings: Any, type_of: Any) -> None:
    """Creates and updates of all recorded kinds give the recorded owners, with equal spelling and order of the sets."""
    checked = 0
    for name, answers in recordings():
        known: dict[str, Any] = {}
        for response in answers:
            body = response.get("body")
            if not isinstance(body, dict) or "uid" not in (body.get("metadata") or {}):
                continue
            uid, live = body["metadata"]["uid"], known.get(body["metadata"]["uid"])
            type_ = type_of(body["apiVersion"], body["kind"])
            created = response["method"] == "POST" and response["status"] == 201 and "given" not in name
            updated = response["method"] in ("PUT", "PATCH") and live is not None
            before, after = _entries(live, times=False), _entries(body, times=False)
            news = [e for e in after if e not in before]
            plain_write = type_ is not None and len(news) == 1 and news[0]["operation"] == "Update"
            if plain_write and (updated or (created and not _UNOWNED.fullmatch(body["kind"]))):
                subresource = news[0].get("subresource", "")
                if not _differs_from_request(name, response["id"]):
                    target = OwnershipTarget(
                        dialect=KUBERNETES,
                        type=type_,
                        kind=body["kind"],
                        api_version=body["apiVersion"],
                        subresource=subresource,
                        reset={} if subresource else _STATUS,
                    )
                    got = on_write(target, live, _without_entries(body), manager=news[0]["manager"], now=2e9)
                    again = {"metadata": {"managedFields": got}}
                    assert _entries(again, times=False) == after, (name, response["id"])
                    checked += 1
            known[uid] = body
    # The scenarios that the repository has give 34; all recordings several hundred.
    assert checked > 30


def _differs_from_request(name: str, step: str) -> bool:
    """Recorded objects that differ from the client's: values were dropped before the store, or a watch saw other
    changes."""
    return (name, step) in {
        ("malformed-bodies", "j.time-offset"),
        ("rbac-role-validation", "odd-name"),
        ("rbac-role-validation", "aggregation"),
        ("rbac-role-validation", "role-with-aggregation"),
        ("rbac-role-validation", "namespaced-clusterrole"),
        ("protobuf-kinds", "deployment"),
        ("kind-service-nodeport", "merge"),
        ("events", "v1-update-immutable"),
        ("watch-selector-moves", "running"),
    }


def test_managed_fields_sent_on_create(type_of: Any, exchange: Any) -> None:
    """Valid managedFields in a create request are kept, invalid ones are ignored."""
    for request, response in exchange("rest-crud/metadata-given-on-create"):
        if response["id"].startswith("managedfields"):
            target = OwnershipTarget(
                dialect=KUBERNETES, type=type_of("v1", "ConfigMap"), kind="ConfigMap", api_version="v1", reset=_STATUS
            )
            got = on_write(target, None, request["body"], manager="exchange", now=2e9)
            assert got == response["body"]["metadata"].get("managedFields", []), response["id"]


def test_manager_times_are_utc_seconds() -> None:
    """Times are UTC with seconds."""
    assert timestamp(1763690875.9) == "2025-11-21T02:07:55Z"
    assert managed.show(("x", "Update", "v1", "status")) == '"x" with subresource "status" using v1'
