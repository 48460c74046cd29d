"""Ownership of irregular lists in release 1.35."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.ir import Type
from orchd.kinds.patch import ownership, typed
from orchd.kinds.patch.typed import TypedError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from tests.kinds.patch.conftest import struct


def kind(release: Release, plural: str = "services") -> Type:
    resource = builtin_catalog(ORCH, release).resource("", "v1", plural)
    assert resource is not None
    return resource.type


def service(*ports: Any) -> Any:
    return {"spec": {"ports": [*ports]}}


ONE = {"port": 1, "protocol": "TCP", "name": "a"}
TWO = {"port": 1, "protocol": "TCP", "name": "b"}
KEY = 'k:{"port":1,"protocol":"TCP"}'


def test_repeated_items_are_owned_as_one() -> None:
    """Early releases cannot own an object with several items of one identity."""
    owned = typed.fields_of(service(ONE, TWO), kind(NEWEST))
    assert owned == {"f:spec": {"f:ports": {KEY: {}}}}
    with pytest.raises(TypedError, match="duplicate entries"):
        typed.fields_of(service(ONE, TWO), kind(SPECIFICATION))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ((ONE, TWO), (ONE, TWO), ({}, {}, {})),
        ((ONE, TWO), (TWO, ONE), ({}, {KEY: {}}, {})),
        ((ONE,), (ONE, TWO), ({KEY: {}}, {}, {KEY: {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}})),
        ((ONE, TWO), (ONE,), ({KEY: {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}}, {}, {KEY: {}})),
    ],
)
def test_changes_of_repeated_items(before: Any, after: Any, changes: Any) -> None:
    """Repeated items are compared as one value; they and a single item replace each other."""
    comparison = typed.compare(service(*before), service(*after), kind(NEWEST))
    assert tuple((part.get("f:spec") or {}).get("f:ports") or {} for part in comparison) == changes


def test_an_applied_item_replaces_repeated_ones() -> None:
    """An apply leaves one item where the object has several, and must not have several itself."""
    assert typed.merge(service(ONE, TWO), service(TWO), kind(NEWEST)) == service(TWO)
    with pytest.raises(TypedError, match="duplicate entries"):
        typed.merge(service(ONE), service(ONE, TWO), kind(NEWEST))


@pytest.mark.parametrize(
    ("release", "item", "why"),
    [
        (SPECIFICATION, {"k": "a"}, 'omits key field "p" (and doesn\'t have default value)'),
        (NEWEST, {"k": "a"}, ""),
        (NEWEST, {}, 'omits all key fields ["p" "k"] (and doesn\'t have default values for any key fields)'),
    ],
)
def test_items_need_one_of_their_keys(release: Release, item: Any, why: str) -> None:
    """An item may omit some of its keys, in early releases none without a default."""
    members = struct(k=Type("string"), p=Type("string"))
    listed = Type("list", element=members, list_type="map", list_keys=("p", "k"), release=release)
    if not why:
        assert typed.fields_of({"list": [item]}, struct(list=listed)) == {
            "f:list": {'k:{"k":"a"}': {".": {}, "f:k": {}}}
        }
        return
    with pytest.raises(TypedError) as caught:
        typed.validate({"list": [item]}, struct(list=listed))
    assert str(caught.value) == f".list: element 0: associative list with keys has an element that {why}"


def test_scalars_of_several_types_are_no_objects() -> None:
    """A quantity, a time or a number or text is a scalar."""
    quota: Any = {"spec": {"hard": {"pods": {}}}}
    typed.validate(quota, kind(SPECIFICATION, "resourcequotas"))
    with pytest.raises(TypedError, match=r"\.spec\.hard\.pods: expected any scalar, got &\{map\[\]\}"):
        typed.validate(quota, kind(NEWEST, "resourcequotas"))


def test_who_repeats_an_item_owns_it() -> None:
    """An update that repeats an item, or that leaves one of several, owns it."""
    target = ownership.OwnershipTarget(
        dialect=ORCH, type=kind(NEWEST), kind="Service", api_version="v1", release=NEWEST
    )
    whole: Any = {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}
    live: Any = service(ONE)
    for ports, owned in (((ONE, TWO), {}), ((TWO,), whole)):
        new = service(*ports)
        entries = ownership.on_write(
            target, {**live, "metadata": {"managedFields": [ENTRY]}}, new, manager="a", now=0.0
        )
        assert [entry["fieldsV1"]["f:spec"]["f:ports"][KEY] for entry in entries if entry["manager"] == "a"] == [owned]
        live = new


ENTRY = {
    "manager": "other",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2020-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:type": {}}},
}
