"""Rules of metadata: what changes may not touch, and entries of field managers."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.paths import METADATA
from orchd.kinds.objects.validate.report import Report

Object = dict[str, Any]
BASE: Object = {"name": "a", "namespace": "b", "uid": "u", "generation": 2}
TIME = "2000-01-01T00:00:00Z"
DELETED = {**BASE, "deletionTimestamp": TIME, "finalizers": ["a/b"], "deletionGracePeriodSeconds": 5}


@pytest.mark.parametrize(
    "before, changes, expected",
    [
        (BASE, {}, []),
        (BASE, {"labels": {"a": "b"}, "finalizers": ["a/b"]}, []),
        (BASE, {"name": "c"}, ["name"]),
        (BASE, {"namespace": "c"}, ["namespace"]),
        (BASE, {"uid": "v"}, ["uid"]),
        (BASE, {"uid": ""}, []),
        (BASE, {"generation": 3}, []),
        (BASE, {"generation": 1}, ["generation"]),
        (BASE, {"generation": None}, ["generation"]),
        (BASE, {"clusterName": "x"}, ["clusterName"]),
        (BASE, {"deletionTimestamp": TIME}, ["deletionTimestamp"]),
        (BASE, {"deletionGracePeriodSeconds": 0}, ["deletionGracePeriodSeconds"]),
        (BASE, {"labels": {"a b": ""}}, ["labels"]),
        (BASE, {"annotations": {"a b": ""}}, ["annotations"]),
        (BASE, {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "b"}]}, ["ownerReferences.uid"]),
        (BASE, {"finalizers": ["odd"]}, ["finalizers[0]"]),
        (DELETED, {}, []),
        (DELETED, {"finalizers": []}, []),
        (DELETED, {"finalizers": ["a/b", "a/c"]}, ["finalizers"]),
        (DELETED, {"deletionGracePeriodSeconds": 4}, ["deletionGracePeriodSeconds"]),
        (DELETED, {"deletionGracePeriodSeconds": None}, []),
        (BASE, {"managedFields": [{"operation": "Apply", "manager": "m", "fieldsType": "FieldsV1"}]}, []),
        (BASE, {"managedFields": [{"operation": "Update", "fieldsType": ""}]}, []),
        (BASE, {"managedFields": [{}]}, ["managedFields[0].operation"]),
        (BASE, {"managedFields": [{"operation": "Apply", "fieldsType": "X"}]}, ["managedFields[0].fieldsType"]),
        (
            BASE,
            {"managedFields": [{"operation": "Apply"}, {"operation": "Apply", "subresource": "s" * 257}]},
            ["managedFields[1].subresource"],
        ),
        (BASE, {"managedFields": [{"operation": "Apply", "subresource": "s" * 256}]}, []),
        (
            BASE,
            {"managedFields": [{"operation": "Apply", "manager": "m" * 129}]},
            ["fieldManager", "managedFields[0].manager"],
        ),
        (BASE, {"managedFields": [{"operation": "Apply", "manager": "m" * 128}]}, []),
        (
            BASE,
            {"managedFields": [{"operation": "Apply", "manager": "a\nb\t"}]},
            ["fieldManager"] * 2 + ["managedFields[0].manager"] * 2,
        ),
        (
            BASE,
            {"managedFields": [{"operation": "Apply", "manager": "\u00e4" * 65}]},
            ["fieldManager", "managedFields[0].manager"],
        ),
    ],
)
def test_changes(before: Object, changes: Object, expected: list[str]) -> None:
    report = Report(ObjectSettings(dialect=KUBERNETES))
    after = {name: value for name, value in {**before, **changes}.items() if value is not None}
    meta.update({"metadata": after}, {"metadata": before}, report)
    assert [cause.field for cause in report.causes] == [f"metadata.{field}" for field in expected]


def test_rules_of_every_kind_are_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata without errors is validated once for all callers, except for its name and the finalizers of a kind;
    metadata with errors each time."""
    looked_at: list[Object] = []
    monkeypatch.setattr(meta, "labels", lambda value, at, report: looked_at.append(value))
    report = Report(ObjectSettings(dialect=KUBERNETES))
    new, old = {"metadata": {**BASE, "labels": {"a": "b"}, "finalizers": ["odd"]}}, {"metadata": BASE}
    for core in (False, True):
        meta.create(new, report, namespaced=True, name_rule=lambda name, prefix: (), core=core)
        meta.update(new, old, report, core=False)
    assert len(looked_at) == 2
    assert [cause.field for cause in report.causes] == ["metadata.finalizers[0]"]
    meta.create(new, report, namespaced=True, name_rule=lambda name, prefix: ("no",), core=False)
    assert report.causes[-1].field == "metadata.name"
    meta.create({**new}, report, namespaced=True, name_rule=lambda name, prefix: (), core=False)
    assert len(looked_at) == 3


def test_positions_of_wrong_characters() -> None:
    """Lengths and positions are those of the bytes."""
    report = Report(ObjectSettings(dialect=KUBERNETES))
    meta.field_manager("\u00e4\x01b", METADATA / "fieldManager", report)
    [cause] = report.causes
    assert "invalid character U+0001 (at position 2)" in cause.message


def test_metadata_of_templates() -> None:
    """A template has labels and annotations; other members that are set are named."""
    report = Report(ObjectSettings(dialect=KUBERNETES))
    value = {"labels": {"a": "b"}, "annotations": {}, "uid": "x", "name": "", "deletionGracePeriodSeconds": 0}
    meta.template(value, METADATA, report, "no")
    assert [(cause.field, cause.message) for cause in report.causes] == [
        ("metadata.uID", "Forbidden: no"),
        ("metadata.deletionGracePeriodSeconds", "Forbidden: no"),
    ]
