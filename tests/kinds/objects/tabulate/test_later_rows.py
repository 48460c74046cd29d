"""Rows of the kinds of release 1.35 that the release of the specification lacks, as the reference prints them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.kinds.objects.tabulate.table import tabulator
from orchd.kinds.objects.tabulate.text import Printing
from orchd.kinds.release import NEWEST

Object = dict[str, Any]
CATALOG = builtin_catalog(ORCH, NEWEST, enabled=lambda group, version, default: True)
PRINTING = Printing(age=Ages(datetime(2026, 1, 1, 12, tzinfo=UTC)), dialect=ORCH)
POLICIES = "admissionregistration.{abbr}.io/v1/validatingadmissionpolic"
REQUIREMENT = {"key": "k", "operator": "In", "values": ["x", "y"]}
SELECTOR = {"matchLabels": {"b": "c", "a": "d"}, "matchExpressions": [REQUIREMENT, {"key": "l", "operator": "Exists"}]}
SELECTOR_TEXT = (
    "&LabelSelector{MatchLabels:map[string]string{a: d,b: c,},MatchExpressions:[]LabelSelectorRequirement"
    "{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},LabelSelectorRequirement{Key:l,Operator:Exists,Values:[],},},}"
)


@pytest.mark.parametrize(
    ("path", "obj", "cells"),
    [
        (f"{POLICIES}ies", {"spec": {"validations": [{}, {}], "paramKind": {"apiVersion": "g/v1", "kind": "K"}}}, [2, "g/v1/K"]),
        (f"{POLICIES}ies", {"spec": {}}, [0, "<unset>"]),
        (f"{POLICIES}ybindings", {"spec": {"policyName": "p"}}, ["p", "<unset>"]),
        (f"{POLICIES}ybindings", {"spec": {"policyName": "p", "paramRef": {"name": "x"}}}, ["p", "*/x"]),
        (f"{POLICIES}ybindings", {"spec": {"policyName": "p", "paramRef": {"name": "x", "namespace": "n"}}}, ["p", "n/x"]),
        (f"{POLICIES}ybindings", {"spec": {"policyName": "p", "paramRef": {"selector": SELECTOR}}}, ["p", SELECTOR_TEXT]),
        (f"{POLICIES}ybindings", {"spec": {"policyName": "p", "paramRef": {"selector": {}}}},
         ["p", "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"]),
        ("networking.{abbr}.io/v1/ipaddresses",
         {"spec": {"parentRef": {"group": "a.b", "resource": "Things", "namespace": "n", "name": "x"}}}, ["things.a.b/n/x"]),
        ("networking.{abbr}.io/v1/ipaddresses", {"spec": {"parentRef": {"resource": "things", "name": "x"}}}, ["things/x"]),
        ("networking.{abbr}.io/v1/servicecidrs", {"spec": {"cidrs": ["10.8.0.0/16", "fd00::/64"]}}, ["10.8.0.0/16,fd00::/64"]),
        ("resource.{abbr}.io/v1/deviceclasses", {"spec": {}}, []),
        ("storage.{abbr}.io/v1/volumeattributesclasses", {"driverName": "d.e"}, ["d.e"]),
    ],
)  # fmt: skip
def test_rows(path: str, obj: Object, cells: list[Any]) -> None:
    """Each row has the name, the columns of its kind, and the age."""
    resource = CATALOG.resource(*ORCH(path).split("/"))
    assert resource is not None, path
    named = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T10:00:00Z"}, **obj}
    assert tabulator(resource, ORCH).cells(named, PRINTING)[: len(cells) + 2] == ["a", *cells, "120m"]


@pytest.mark.parametrize(
    ("condition", "cells"),
    [
        (None, ["Unknown", "", ""]),
        ({"type": "Other", "status": "True"}, ["Unknown", "", ""]),
        ({"type": "Healthy", "status": "True", "message": "ok"}, ["Healthy", "ok", ""]),
        ({"type": "Healthy", "status": "False", "error": "down"}, ["Unhealthy", "", "down"]),
        ({"type": "Healthy", "status": "Maybe"}, ["Unknown", "", ""]),
    ],
)
def test_states_of_components(condition: Object | None, cells: list[Any]) -> None:
    resource = CATALOG.resource("", "v1", "componentstatuses")
    assert resource is not None
    obj = {"metadata": {"name": "a"}, "conditions": [condition] if condition else []}
    assert tabulator(resource, ORCH).cells(obj, PRINTING) == ["a", *cells]
