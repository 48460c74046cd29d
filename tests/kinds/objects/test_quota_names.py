"""Which names of a resource quota count which objects."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.quota.usage import claim_usage, concerned_names

_NAMES = frozenset(
    (
        *("pods", "cpu", "requests.cpu", "limits.memory", "requests.example.com/gpu", "hugepages-2Mi", "count/pods"),
        *(
            "services",
            "services.nodeports",
            "count/services",
            "configmaps",
            "count/configmaps",
            "secrets",
            "count/deployments.apps",
        ),
        *("persistentvolumeclaims", "requests.storage", "other", "count/other.example.com"),
        ORCH("gold.storageclass.storage.{abbr}.io/requests.storage"),
    )
)


def test_concerned_names_are_those_that_concern_a_resource() -> None:
    """For every resource, the names found at once are those found one by one."""
    catalog = builtin_catalog(ORCH)
    resources = [
        r for group in catalog.groups for version in group.versions for r in catalog.in_version(group.name, version)
    ]
    assert len(resources) > 40
    for resource in resources:
        alone = {name for name in _NAMES if concerned_names(resource, {name}, ORCH)}
        assert concerned_names(resource, _NAMES, ORCH) == alone
        if resource.plural == "secrets":
            assert alone == {"secrets", "count/secrets"} & _NAMES
        elif resource.plural == "pods":
            assert alone == _NAMES & {
                *("pods", "cpu", "requests.cpu", "limits.memory", "requests.example.com/gpu", "hugepages-2Mi"),
                "count/pods",
            }


@pytest.mark.parametrize(
    ("spec", "usage"),
    [
        ({}, {"persistentvolumeclaims": "1"}),
        ({"storageClassName": ""}, {"persistentvolumeclaims": "1"}),
        ({"resources": {"requests": {"storage": "1Gi", "cpu": "1"}}}, {"persistentvolumeclaims": "1", "requests.storage": "1Gi"}),
        (
            {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}},
            {
                "persistentvolumeclaims": "1",
                "requests.storage": "2",
                "gold.storageclass.storage.orch.io/persistentvolumeclaims": "1",
                "gold.storageclass.storage.orch.io/requests.storage": "2",
            },
        ),
        ({"storageClassName": "gold"},
         {"persistentvolumeclaims": "1", "gold.storageclass.storage.orch.io/persistentvolumeclaims": "1"}),
    ],
)  # fmt: skip
def test_usage_of_a_claim(spec: dict[str, Any], usage: dict[str, str]) -> None:
    """A claim counts as one, and with its storage in whole bytes, in total and for its class."""
    counted = claim_usage({"metadata": {"name": "c"}, "spec": spec}, ORCH)
    assert {name: str(amount) for name, amount in counted.items()} == usage
