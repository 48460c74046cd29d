"""Field ownership after writes and applies."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.ir import Type
from orchd.kinds.objects.shape import canonical
from orchd.kinds.patch import managed, merge_patch, scale, typed
from orchd.kinds.patch.apply import on_apply
from orchd.kinds.patch.conflicts import raise_conflicts
from orchd.kinds.patch.fieldset import of_paths
from orchd.kinds.patch.ownership import OwnershipTarget, after_admission, keep_times, on_write
from orchd.kinds.release import NEWEST, SPECIFICATION
from tests.kinds.patch.conftest import struct

_TEXT = Type("string")
_ITEM = struct(name=_TEXT, v=_TEXT, w=_TEXT)
_META = struct(
    name=_TEXT, namespace=_TEXT, uid=_TEXT, labels=Type("map", element=_TEXT), annotations=Type("map", element=_TEXT),
    managedFields=Type("list", element=Type("any")),
)  # fmt: skip


def _kind(**spec: Type) -> Type:
    members = {"a": _TEXT, "b": _TEXT, "c": _TEXT, **spec}
    members.setdefault("map", Type("map", element=_TEXT))
    members.setdefault("items", Type("list", element=_ITEM, list_type="map", list_keys=("name",)))
    members.setdefault("set", Type("list", element=_TEXT, list_type="set"))
    return struct(apiVersion=_TEXT, kind=_TEXT, metadata=_META, spec=struct(**members), status=struct(**members))


KIND = _kind()
TARGET = OwnershipTarget(dialect=KUBERNETES, type=KIND, kind="Thing", api_version="x/v1", reset=of_paths(("f:status",)))


def _thing(spec: Any = None, version: str = "x/v1", **metadata: Any) -> dict[str, Any]:
    out = {"apiVersion": version, "kind": "Thing", "metadata": {"name": "t", **metadata}}
    if spec is not None:
        out["spec"] = spec
    return out


def _write(live: Any, new: Any, manager: str, now: float = 10.0, target: OwnershipTarget = TARGET) -> dict[str, Any]:
    """Store `new` as a server does."""
    entries = on_write(target, live, new, manager=manager, now=now)
    metadata = {k: v for k, v in new["metadata"].items() if k != "managedFields"}
    return {**new, "metadata": {**metadata, "uid": "u", **({"managedFields": entries} if entries else {})}}


def _apply(live: Any, spec: Any, manager: str, now: float = 10.0, **more: Any) -> dict[str, Any]:
    return on_apply(more.pop("target", TARGET), live, _thing(spec), manager=manager, now=now, **more)


def _owned_fields(obj: Any) -> dict[str, Any]:
    """Manager -> the fields below spec that it owns."""
    entries = obj["metadata"].get("managedFields") or []
    return {f"{e['manager']}/{e['operation']}": e["fieldsV1"].get("f:spec", e["fieldsV1"]) for e in entries}


def test_writers_own_the_fields_they_set() -> None:
    """The creator owns the fields that it set; a changed field belongs to the manager that changed it; a removed field
    has no owner."""
    one = _write(None, _thing({"a": "1", "b": "1", "items": [{"name": "x"}]}), "m1")
    assert _owned_fields(one) == {
        "m1/Update": {
            ".": {}, "f:a": {}, "f:b": {}, "f:items": {".": {}, 'k:{"name":"x"}': {".": {}, "f:name": {}}},
        }
    }  # fmt: skip
    two = _write(one, merge_patch.merge(one, {"spec": {"a": "2", "items": None}}), "m2", 20.0)
    assert _owned_fields(two) == {"m1/Update": {".": {}, "f:b": {}}, "m2/Update": {"f:a": {}}}
    assert [e["time"] for e in two["metadata"]["managedFields"]] == ["1970-01-01T00:00:10Z", "1970-01-01T00:00:20Z"]


def test_update_that_changes_nothing() -> None:
    """Owners and their times are unchanged, and are the same list object."""
    one = _write(None, _thing({"a": "1"}), "m1")
    assert on_write(TARGET, one, one, manager="m2", now=99.0) is one["metadata"]["managedFields"]
    fresh = copy.deepcopy(one)
    del fresh["metadata"]["managedFields"]
    assert on_write(TARGET, one, fresh, manager="m2", now=99.0) is one["metadata"]["managedFields"]


def test_main_endpoint_does_not_own_status() -> None:
    """Fields that an endpoint resets are not owned through it, and those of other endpoints are unchanged."""
    one = _write(None, {**_thing({"a": "1"}), "status": {"a": "1"}}, "m1")
    assert one["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}
    status = OwnershipTarget(
        dialect=KUBERNETES,
        type=KIND,
        kind="Thing",
        api_version="x/v1",
        subresource="status",
        reset=of_paths(("f:spec",)),
    )
    two = _write(one, {**one, "status": {"a": "2"}, "spec": {"a": "ignored"}}, "ctl", target=status)
    entry = two["metadata"]["managedFields"][0]
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:a": {}}})
    assert _owned_fields(two)["m1/Update"] == {".": {}, "f:a": {}}


@pytest.mark.parametrize("reset", [[], [{}]])
def test_empty_managed_fields_reset_ownership(reset: Any) -> None:
    """An empty list or entry removes all managers until the next apply."""
    one = _write(None, _thing({"a": "1"}), "m1")
    two = _write(one, _thing({"a": "2"}, managedFields=reset), "m2")
    assert "managedFields" not in two["metadata"]
    assert on_write(TARGET, two, _thing({"a": "3"}), manager="m3", now=1.0) == []
    three = _apply(two, {"b": "1"}, "m4")
    assert _owned_fields(three) == {"m4/Apply": {"f:b": {}}, "before-first-apply/Update": {".": {}, "f:a": {}}}
    with pytest.raises(ApiError, match=r'conflict with "before-first-apply" using x/v1: .spec.a'):
        _apply(two, {"a": "9"}, "m4")


def test_managed_fields_sent_by_clients() -> None:
    """Valid entries replace the stored ones, invalid ones are ignored; subresources ignore all."""
    one = _write(None, _thing({"a": "1"}), "m1")
    entry = {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "x/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:a": {}}},
    }
    assert _owned_fields(_write(one, {**one, "metadata": {**one["metadata"], "managedFields": [entry]}}, "m1")) == {
        "me/Update": {"f:a": {}}
    }
    changes: list[dict[str, Any]] = [
        {"operation": "No"},
        {"apiVersion": ""},
        {"fieldsType": "V9"},
        {"fieldsV1": {"x": {}}},
    ]
    for change in changes:
        sent = {**one, "metadata": {**one["metadata"], "managedFields": [{**entry, **change}]}}
        assert _owned_fields(_write(one, sent, "m1")) == {"m1/Update": {".": {}, "f:a": {}}}
    status = OwnershipTarget(dialect=KUBERNETES, type=KIND, kind="Thing", api_version="x/v1", subresource="status")
    sent = {**one, "metadata": {**one["metadata"], "managedFields": []}}
    assert on_write(status, one, sent, manager="m", now=1.0) is one["metadata"]["managedFields"]


def test_old_updaters_share_an_entry() -> None:
    """Beyond ten updaters the oldest of a version share an entry; appliers are not counted."""
    obj = _apply(None, {"c": "1"}, "applier")
    obj["metadata"]["uid"] = "u"
    for i in range(14):
        obj = _write(obj, merge_patch.merge(obj, {"spec": {"map": {f"k{i:02}": "x"}}}), f"m{i:02}", 100.0 + i)
    entries = obj["metadata"]["managedFields"]
    assert [e["manager"] for e in entries] == ["applier", managed.ANCIENT, *(f"m{i:02}" for i in range(5, 14))]
    assert set(entries[1]["fieldsV1"]["f:spec"]["f:map"]) == {".", *(f"f:k{i:02}" for i in range(5))}
    assert entries[1]["time"] == "1970-01-01T00:01:44Z"


def test_old_updaters_of_each_version_share_an_entry() -> None:
    """The oldest updaters beyond ten share the entry of their version, whose time is that of the youngest of them."""

    def owner(number: int, version: str) -> managed.Owner:
        key = managed.identity(f"m{number:02}", managed.UPDATE, version, "")
        return managed.Owner(identity=key, version=version, fields={f"f:{number}": {}}, time=f"t{number:02}")

    versions = ["v1", "v2", "v1", "v2", "v1"] + ["v2"] * 8
    owners = {each.identity: each for each in (owner(number, version) for number, version in enumerate(versions))}
    ten = dict(list(owners.items())[3:])
    assert managed.merge_oldest_updaters(ten) is ten
    merged = managed.merge_oldest_updaters(owners)
    assert len(merged) == managed.MAX_UPDATERS
    shared = {each.version: (each.time, each.fields) for key, each in merged.items() if key[0] == managed.ANCIENT}
    assert shared == {"v1": ("t04", {"f:0": {}, "f:2": {}, "f:4": {}}), "v2": ("t03", {"f:1": {}, "f:3": {}})}
    assert [key[0] for key in merged if key[0] != managed.ANCIENT] == [f"m{number:02}" for number in range(5, 13)]


def test_apply_gives_up_fields() -> None:
    """A field that an applier omits is removed unless another manager owns it; unowned fields inside are preserved."""
    one = _apply(None, {"a": "1", "map": {"x": "1", "y": "1"}, "items": [{"name": "i", "v": "1"}]}, "m1")
    one = _apply(one, {"a": "1"}, "m2")
    filled = copy.deepcopy(one)
    filled["spec"]["items"][0]["w"] = "default"
    two = _apply(filled, {"map": {"x": "1"}, "items": [{"name": "i"}]}, "m1")
    assert two["spec"] == {"a": "1", "map": {"x": "1"}, "items": [{"name": "i", "w": "default"}]}
    assert _owned_fields(two)["m2/Apply"] == {"f:a": {}}
    three = _apply(two, None, "m1")
    assert three["spec"] == {"a": "1"}
    assert list(_owned_fields(three)) == ["m2/Apply"]


def test_apply_conflicts_name_each_field() -> None:
    """Changing fields of other managers is rejected with a sorted cause for each; equal values are shared; force takes
    ownership."""
    one = _apply(_apply(None, {"a": "1", "b": "1"}, "m2"), {"b": "1", "c": "1"}, "m1")
    with pytest.raises(ApiError) as caught:
        _apply(one, {"a": "x", "b": "x"}, "m3")
    status = caught.value.status()
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert status["message"] == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .spec.b\nconflicts with "m2":\n- .spec.a\n- .spec.b'
    )
    assert status["details"]["causes"][0] == {
        "reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".spec.b",
    }  # fmt: skip
    taken = _apply(one, {"a": "x", "b": "x"}, "m3", force=True)
    assert _owned_fields(taken) == {"m1/Apply": {"f:c": {}}, "m3/Apply": {"f:a": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("paths", "reported"),
    [
        (["a.b.c.d"], ["a.b.c.d"]),
        (["a.b.c", "a.b.d"], ["a.b.c", "a.b.d"]),
        (["a.b.c.d", "a.b.c.e"], ["a.b.c.e", "a.b.c.e"]),
        (["a.b.c.d", "a.b.c.e.f"], ["a.b.c.e", "a.b.c.e.f"]),
        (["a.b.c.d.e", "a.b.c.d.f"], ["a.b.c.d.e", "a.b.c.d.f"]),
        (["a.b.c.d.e.f", "a.b.c.d.e.g", "a.b.c.d.h"], ["a.b.c.d.h", "a.b.c.d.e.g", "a.b.c.d.e.g"]),
    ],
)
def test_conflicting_siblings_are_reported_as_by_the_reference(paths: list[str], reported: list[str]) -> None:
    """A field of the fourth and of the sixth to eighth level is reported by the name of the last of its siblings in
    conflict, or above one in conflict; release 1.35 names it itself."""
    fields = of_paths(*([f"f:{name}" for name in path.split(".")] for path in paths))
    with pytest.raises(ApiError) as caught:
        raise_conflicts({("m", "Apply", "", ""): fields}, SPECIFICATION)
    assert [cause["field"] for cause in caught.value.status()["details"]["causes"]] == ["." + path for path in reported]
    with pytest.raises(ApiError) as caught:
        raise_conflicts({("m", "Apply", "", ""): fields}, NEWEST)
    assert {cause["field"] for cause in caught.value.status()["details"]["causes"]} == {"." + path for path in paths}


def test_apply_time_is_that_of_the_last_change() -> None:
    """The time of an entry is that of its last change; an apply without a change returns the same object."""
    one = _apply(None, {"a": "1"}, "m1", 10.0)
    assert _apply(one, {"a": "1"}, "m1", 20.0) is one
    assert _apply(one, {"a": "2"}, "m1", 20.0)["metadata"]["managedFields"][0]["time"] == "1970-01-01T00:00:20Z"
    two = _apply(one, {"a": "1"}, "m2", 30.0)
    assert [e["time"] for e in two["metadata"]["managedFields"]] == ["1970-01-01T00:00:10Z", "1970-01-01T00:00:30Z"]


def test_entry_times_alone_are_no_change() -> None:
    """An object that differs from the stored one only in entry times counts as unchanged."""
    one = _apply(None, {"a": "1"}, "m1", 10.0)
    later = copy.deepcopy(one)
    later["metadata"]["managedFields"][0]["time"] = "2000-01-01T00:00:00Z"
    assert keep_times(later, one) is one
    changed = {**later, "spec": {"a": "2"}}
    assert keep_times(changed, one) is changed
    nobody = {**one, "metadata": {**one["metadata"], "managedFields": [
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", **manager} for manager in ({}, {"manager": "m"})
    ]}}  # fmt: skip
    assert keep_times({**nobody, "spec": {"a": "3"}}, copy.deepcopy(nobody)) != nobody


def test_admission_may_change_managed_fields() -> None:
    """Admission may change entries that stay valid; invalid entries are replaced by the previous ones."""
    one = _apply(None, {"a": "1"}, "m1")
    assert after_admission(one, one) is one
    assert "managedFields" not in after_admission({**one, "metadata": {"name": "t"}}, one)["metadata"]
    for broken in ("x", [{"operation": "No"}], [{**one["metadata"]["managedFields"][0], "fieldsV1": [1]}]):
        changed = {**one, "metadata": {**one["metadata"], "managedFields": broken}}
        assert after_admission(changed, one) == one
    other = {**one["metadata"]["managedFields"][0], "fieldsV1": {"f:z": {}, "f:a": {".": {}}}}
    changed = {**one, "metadata": {**one["metadata"], "managedFields": [other]}}
    kept = after_admission(changed, one)["metadata"]["managedFields"][0]["fieldsV1"]
    assert json.dumps(kept) == '{"f:a": {}, "f:z": {}}'


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({"kind": "Thing"}, 400, "Incorrect version specified in apply patch. Specified patch version: , expected: x/v1"),
        (_thing(version="x/v2"), 400, "Incorrect version specified in apply patch. Specified patch version: x/v2, expected: x/v1"),
        (_thing(managedFields=[]), 400, "metadata.managedFields must be nil"),
        (_thing({"no": 1}), 500, "failed to create typed patch object (/t; x/v1, Kind=Thing): .spec.no: field not declared in schema"),
        (
            _thing({"set": ["a", "a"]}, namespace="ns"),
            500,
            'failed to create typed patch object (ns/t; x/v1, Kind=Thing): .spec.set: duplicate entries for key [="a"]',
        ),
    ],
)  # fmt: skip
def test_invalid_configurations_are_refused(config: Any, code: int, message: str) -> None:
    """Each invalid configuration has its error."""
    with pytest.raises(ApiError) as caught:
        on_apply(TARGET, None, config, manager="m", now=1.0)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_duplicate_list_keys_fail_apply() -> None:
    """An apply to a list with duplicate keys fails; an update of it clears the managed fields."""
    live = _write(None, _thing({"a": "1"}), "m1")
    broken = {**live, "spec": {"a": "1", "set": ["x", "x"]}}
    assert on_write(TARGET, live, broken, manager="m2", now=1.0) == []
    where = r"\(/t; x/v1, Kind=Thing\)"
    why = r'.spec.set: duplicate entries for key \[="x"\]$'
    with pytest.raises(ApiError, match=f"failed to create typed live object {where}: {why}"):
        _apply(broken, {"set": ["y"]}, "m3")
    forgotten = {**broken, "metadata": {"name": "t", "uid": "u"}}
    with pytest.raises(
        ApiError, match=f"^failed to create manager for existing fields: .* {where} to smd typed: {why}"
    ):
        _apply(forgotten, {"set": ["y"]}, "m3")


def test_upgrade_from_client_side_apply() -> None:
    """kubectl may take over the fields of its client-side apply, and keeps the last-applied annotation up to date;
    other managers may not."""
    tool = KUBERNETES("{short}ctl")
    note = KUBERNETES.last_applied
    sent = _thing({"a": "1", "b": "1"})
    live = _write(None, {**sent, "metadata": {"name": "t", "annotations": {note: json.dumps(sent)}}}, "old-tool")
    with pytest.raises(ApiError):
        _apply(live, {"a": "2", "b": "1"}, "other")
    after = _apply(live, {"a": "2", "b": "1"}, tool)
    assert after["spec"] == {"a": "2", "b": "1"}
    assert json.loads(after["metadata"]["annotations"][note]) == _thing({"a": "2", "b": "1"})
    moved = _write(live, merge_patch.merge(live, {"spec": {"a": "live"}}), "editor")
    with pytest.raises(ApiError, match=r'1 conflict: conflict with "editor" using x/v1: .spec.a'):
        _apply(moved, {"a": "2", "b": "2"}, tool)


def _renamed(obj: dict[str, Any], version: str) -> dict[str, Any] | None:
    """Version 2 names ``spec.a`` ``spec.z``; version 3 is no longer served."""
    if version not in ("x/v1", "x/v2"):
        return None
    spec = dict(obj.get("spec") or {})
    old, new = ("a", "z") if version == "x/v2" else ("z", "a")
    if obj["apiVersion"] != version and old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": version, "spec": spec}


def _versioned(version: str) -> OwnershipTarget:
    types = {"x/v1": KIND, "x/v2": _kind(z=_TEXT)}
    return OwnershipTarget(
        dialect=KUBERNETES, type=types[version], kind="Thing", api_version=version, convert=_renamed, types=types.get
    )


def test_owned_fields_are_kept_in_the_managers_version() -> None:
    """Field sets are in the version of their manager: they are converted to be compared, removed and reported."""
    one = on_apply(_versioned("x/v2"), None, _thing({"z": "1", "b": "1"}, "x/v2"), manager="m2", now=1.0)
    live = _renamed(one, "x/v1")
    assert live is not None
    with pytest.raises(ApiError, match=r'conflict with "m2": .spec.z'):
        on_apply(_versioned("x/v1"), live, _thing({"a": "2"}), manager="m1", now=2.0)
    forced = on_apply(_versioned("x/v1"), live, _thing({"a": "2"}), manager="m1", force=True, now=2.0)
    assert _owned_fields(forced) == {"m1/Apply": {"f:a": {}}, "m2/Apply": {"f:b": {}}}
    # The same applier in another version replaces what it applied before.
    again = on_apply(_versioned("x/v1"), live, _thing({"b": "1"}), manager="m2", now=3.0)
    assert again["spec"] == {"b": "1"}
    assert [e["apiVersion"] for e in again["metadata"]["managedFields"]] == ["x/v1"]


@pytest.mark.parametrize("everywhere", [True, False])
def test_reset_fields_differ_by_version(everywhere: bool) -> None:
    """A status in a request to the main endpoint changes no owner; if only one version resets it, managers that wrote
    it through another version lose it."""
    reset = of_paths(("f:status",))
    live = {**_thing({"b": "1"}), "status": {"a": "1"}}
    status = replace(_versioned("x/v1"), subresource="status", reset=of_paths(("f:spec",)))
    live["metadata"] = {"managedFields": on_write(status, None, live, manager="kubelet", now=1.0)}
    other = _renamed(live, "x/v2")
    assert other is not None
    main = replace(_versioned("x/v2"), reset=reset, resets_all_versions=everywhere)
    entries = on_write(main, other, {**other, "status": {"a": "2"}}, manager="editor", now=2.0)
    left: dict[str, Any] = {".": {}, "f:a": {}} if everywhere else {}
    assert [entry["fieldsV1"] for entry in entries] == [{"f:status": left}]


def test_owners_in_unserved_versions_are_dropped() -> None:
    """Owners in a version that is no longer served are dropped."""
    one = _write(None, _thing({"a": "1"}), "m1")
    one["metadata"]["managedFields"][0]["apiVersion"] = "x/v3"
    assert on_write(_versioned("x/v1"), one, one, manager="m", now=1.0) == []


def test_ownership_follows_atomic_and_granular_changes() -> None:
    """A map that becomes atomic is owned as a whole; one that becomes granular keeps the owner of the map, but not of
    its keys."""
    atomic = Type("map", element=_TEXT, atomic=True)
    one = _apply(None, {"map": {"x": "1"}}, "m1")
    whole = OwnershipTarget(dialect=KUBERNETES, type=_kind(map=atomic), kind="Thing", api_version="x/v1")
    with pytest.raises(ApiError, match=r'1 conflict: conflict with "m1": .spec.map'):
        _apply(one, {"map": {"y": "1"}}, "m2", target=whole)
    two = _apply(None, {"map": {"x": "1"}}, "m1", target=whole)
    three = _apply(two, {"map": {"y": "1"}}, "m2")
    assert _owned_fields(three) == {"m1/Apply": {"f:map": {}}, "m2/Apply": {"f:map": {"f:y": {}}}}


def test_owner_of_an_empty_struct_owns_no_members() -> None:
    """The owner of an empty struct does not share ownership of members that others add."""
    one = _write(None, _thing({}), "creator")
    two = _apply(one, {"a": "1"}, "m1")
    assert _apply(two, {"a": "1"}, "m1", 20.0) is two
    # A struct that loses its members is null, also if it is applied without them.
    assert _apply(two, {}, "m1")["spec"] is None
    assert _apply(two, None, "m1")["spec"] is None


def test_reordering_is_no_change() -> None:
    """Existing items keep their positions: order has no owner."""
    one = _apply(None, {"items": [{"name": "a"}, {"name": "b"}], "set": ["x", "y"]}, "m1")
    assert _apply(one, {"items": [{"name": "b"}, {"name": "a"}], "set": ["y", "x"]}, "m1", 20.0) is one
    two = _apply(one, {"items": [{"name": "b"}, {"name": "a"}]}, "m2")
    assert two["spec"] == one["spec"] and "m2/Apply" in _owned_fields(two)
    three = _apply(one, {"items": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}, "m2")
    assert [i["name"] for i in three["spec"]["items"]] == ["c", "b", "a"]


def test_update_time_is_that_of_the_last_ownership_change() -> None:
    """The time of an updater's entry is that of its last change of ownership, not of its last write."""
    one = _write(None, _thing({"a": "1"}), "m1", 10.0)
    two = _write(one, merge_patch.merge(one, {"spec": {"a": "2"}}), "m1", 20.0)
    assert two["metadata"]["managedFields"] == one["metadata"]["managedFields"]
    three = _write(two, merge_patch.merge(two, {"spec": {"b": "2"}}), "m1", 30.0)
    assert three["metadata"]["managedFields"][0]["time"] == "1970-01-01T00:00:30Z"


def test_managed_fields_order() -> None:
    """Appliers come first, then by time and name; members of an entry are in the recorded order."""
    one = _apply(None, {"a": "1"}, "z", 50.0)
    one["metadata"]["uid"] = "u"
    two = _write(one, merge_patch.merge(one, {"spec": {"b": "1"}}), "a", 10.0)
    three = _apply(two, {"c": "1"}, "y", 60.0)
    assert [(e["manager"], e["operation"]) for e in three["metadata"]["managedFields"]] == [
        ("z", "Apply"), ("y", "Apply"), ("a", "Update"),
    ]  # fmt: skip
    assert list(three["metadata"]["managedFields"][0]) == [
        "manager",
        "operation",
        "apiVersion",
        "time",
        "fieldsType",
        "fieldsV1",
    ]


def test_scale_without_owners() -> None:
    """An object without entries has none in its Scale, and gets one when the Scale is written."""
    replicas = {"apps/v1": ("f:spec", "f:replicas")}
    assert scale.to_scale(None, replicas) == []
    entry = {
        "manager": "m", "operation": "Update", "apiVersion": "autoscaling/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}}, "subresource": "scale",
    }  # fmt: skip
    assert scale.to_parent(None, [entry], replicas, "apps/v1") == [{**entry, "apiVersion": "apps/v1"}]


def test_an_owner_of_other_fields_of_a_scale_owns_no_replicas() -> None:
    """Zero replicas are no member of a Scale, so that their writer owns its empty spec at most."""
    entry = {
        "manager": "m", "operation": "Update", "apiVersion": "autoscaling/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}}, "subresource": "scale",
    }  # fmt: skip
    assert scale.to_parent(None, [entry], {"apps/v1": ("f:spec", "f:replicas")}, "apps/v1") == []


def test_the_last_of_two_entries_of_an_owner_counts() -> None:
    """A write that changes nothing else removes the other one."""
    entry = {"manager": "m", "operation": "Update", "apiVersion": TARGET.api_version, "fieldsType": "FieldsV1"}
    former = {**entry, "fieldsV1": {"f:spec": {"f:a": {}}}}
    latter = {**entry, "time": "2020-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:b": {}}}}
    live = _thing({"a": "1", "b": "1"}, managedFields=[former, latter])
    assert on_write(TARGET, live, live, manager="m", now=0) == [latter]


def test_scale_of_the_owner_keeps_its_other_fields() -> None:
    """An owner of the replicas and of more, whose Scale is written unchanged, has two entries, as in the reference."""
    replicas = {"apps/v1": ("f:spec", "f:replicas")}
    both: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
    }
    parent = [{**entry, "fieldsV1": both}]
    after = scale.to_parent(parent, scale.to_scale(parent, replicas), replicas, "apps/v1")
    assert [each["fieldsV1"]["f:spec"] for each in after] == [{"f:replicas": {}}, {"f:paused": {}}]


_WORDS = st.sampled_from(["x", "y"])
_SPECS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "a": _WORDS,
        "b": _WORDS,
        "map": st.dictionaries(_WORDS, _WORDS, max_size=2),
        "set": st.lists(_WORDS, unique=True, min_size=1),
        "items": st.lists(
            st.fixed_dictionaries({"name": _WORDS}, optional={"v": _WORDS, "w": _WORDS}),
            unique_by=lambda i: str(i["name"]),
            min_size=1,
        ),
    },
)


@given(_SPECS, _SPECS, _SPECS)
def test_apply_is_idempotent(before: Any, first: Any, second: Any) -> None:
    """Applying a configuration twice equals applying it once, whatever existed before, where it leaves no emptied
    struct."""
    live = _apply(_write(None, _thing(before), "creator"), first, "m1", force=True)
    once = _apply(live, second, "m1", 20.0, force=True)
    emptied = once["spec"] is None or None in once["spec"].values()
    again = _apply(once, second, "m1", 30.0, force=emptied)
    assert again is once or emptied
    assert _apply(again, second, "m1", 40.0) is again
    fields = typed.fields_of(_thing(second), KIND)
    entry = next((e for e in once["metadata"].get("managedFields", []) if e["manager"] == "m1"), None)
    assert (entry or {}).get("fieldsV1", {}).get("f:spec") == fields.get("f:spec")


def _by_name(obj: Any) -> Any:
    """An object with its keyed lists sorted."""
    spec = {k: sorted(v, key=json.dumps) if isinstance(v, list) else v for k, v in obj.get("spec", {}).items()}
    return spec, _owned_fields(obj)


@given(_SPECS, _SPECS, _SPECS)
def test_disjoint_appliers_commute(first: Any, second: Any, third: Any) -> None:
    """Two appliers of different fields get the same object and owners in either order."""
    # An empty spec would itself be a field of both.
    left = {k: v for k, v in first.items() if k in ("a", "map")} or None
    right = {k: v for k, v in second.items() if k in ("b", "set", "items")} or None
    one = _apply(_apply(None, left, "m1"), right, "m2")
    two = _apply(_apply(None, right, "m2"), left, "m1")
    assert _by_name(one) == _by_name(two)
    changed = {k: v for k, v in third.items() if k in (left or ())} or None
    shrunk = {k: v for k, v in third.items() if k in (right or ())} or None
    assert _by_name(_apply(_apply(one, changed, "m1"), shrunk, "m2")) == _by_name(
        _apply(_apply(one, shrunk, "m2"), changed, "m1")
    )


@given(_SPECS, _SPECS)
def test_every_field_of_an_update_has_one_owner(first: Any, second: Any) -> None:
    """After an update every owned field exists, and what changed belongs to the updater."""
    one = _write(None, _thing(first), "m1")
    two = _write(one, _thing(second), "m2")
    added, modified, _ = typed.compare(_thing(first), _thing(second), KIND)
    mine = _owned_fields(two).get("m2/Update", {})
    for part in (added.get("f:spec", {}), modified.get("f:spec", {})):
        assert all(key in mine for key in part)
    for element in _owned_fields(two).get("m1/Update", {}):
        assert element == "." or element[2:] in second


def test_ownership_of_required_empty_lists() -> None:
    """A creator that sends an empty required list owns it; one that omits it does not."""
    catalog = builtin_catalog(KUBERNETES)
    resource = catalog.resource(KUBERNETES("rbac.authorization.{abbr}.io"), "v1", "roles")
    assert resource is not None
    target = OwnershipTarget(dialect=KUBERNETES, type=resource.type, kind="Role", api_version=resource.api_version)
    for rules, owned in (([], {"f:rules": {}}), (None, None)):
        sent: dict[str, Any] = {
            "apiVersion": resource.api_version,
            "kind": "Role",
            "metadata": {"name": "a"},
            "rules": rules,
        }
        entries = on_write(target, None, canonical(sent, resource.type), manager="m", now=0.0)
        assert (entries[0]["fieldsV1"] if entries else None) == owned
