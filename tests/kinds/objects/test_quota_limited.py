"""Resources whose consumption a quota must cover."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.quota.limited import uncovered_names, uncovered_scopes
from orchd.kinds.objects.scalars import Quantity

CATALOG = builtin_catalog(ORCH)
Object = dict[str, Any]


def resource(plural: str, group: str = "") -> Resource:
    of = CATALOG.resource(group, "v1", plural)
    assert of is not None
    return of


def amounts(**texts: str) -> dict[str, Quantity]:
    return {name.replace("_", "."): Quantity.parse(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("limited", "covered", "names"),
    [
        ([{"resource": "pods", "matchContains": ["cpu"]}], [], ["cpu", "requests.cpu"]),
        ([{"apiGroup": "", "resource": "pods", "matchContains": ["cpu"]}], ["cpu"], ["requests.cpu"]),
        ([{"resource": "pods", "matchContains": ["requests", "mem"]}], [], ["memory", "requests.cpu"]),
        ([{"resource": "pods", "matchContains": ["mem"]}, {"resource": "pods", "matchContains": ["requests"]}], [],
         ["memory", "requests.cpu"]),
        ([{"apiGroup": "apps", "resource": "pods", "matchContains": ["cpu"]}], [], []),
        ([{"resource": "services", "matchContains": ["cpu"]}], [], []),
        ([{"resource": "pods"}], [], []),
        # Nothing of it is consumed.
        ([{"resource": "pods", "matchContains": ["storage"]}], [], []),
    ],
)  # fmt: skip
def test_names_that_no_quota_covers(limited: list[Object], covered: list[str], names: list[str]) -> None:
    """The consumed names that have one of the parts of an item for the resource."""
    usage = amounts(cpu="1", memory="1Gi", storage="0", requests_cpu="1")
    assert uncovered_names(limited, resource("pods"), usage, covered) == names


TERMINATING, BEST_EFFORT = ({"scopeName": name, "operator": "Exists"} for name in ("Terminating", "BestEffort"))


@pytest.mark.parametrize(
    ("limited", "quotas", "names"),
    [
        ([], [], []),
        ([[TERMINATING]], [], ["Terminating"]),
        ([[TERMINATING], [BEST_EFFORT]], [], ["Terminating", "BestEffort"]),
        ([[TERMINATING, BEST_EFFORT]], [["BestEffort"]], ["Terminating"]),
        ([[TERMINATING, BEST_EFFORT]], [["BestEffort"], ["Terminating"]], []),
        ([[TERMINATING]], [["NotTerminating"]], ["Terminating"]),
        ([[{"scopeName": "NotTerminating", "operator": "Exists"}]], [], []),
    ],
)
def test_scopes_that_no_quota_covers(limited: list[list[Object]], quotas: list[list[str]], names: list[str]) -> None:
    """The limited scopes in which the object is, without those of the quotas."""
    pod = {"spec": {"activeDeadlineSeconds": 1, "containers": [{"name": "c"}]}}
    items = [{"resource": "pods", "matchScopes": scopes} for scopes in limited]
    listed = [{"spec": {"scopes": scopes}} for scopes in quotas]
    assert [scope.name for scope in uncovered_scopes(items, resource("pods"), pod, listed)] == names
