"""matchLabelKeys and mismatchLabelKeys of pods that are created."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.objects.label_keys import merge_affinity_keys, merge_spread_keys

Object = dict[str, Any]
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
LABELS = {"app": "web", "tenant": "t"}
OWN = {"key": "own", "operator": "Exists"}
APP, TENANT = ({"key": key, "operator": "In", "values": [LABELS[key]]} for key in ("app", "tenant"))
NOT_APP = {**APP, "operator": "NotIn"}


@pytest.mark.parametrize(
    ("term", "requirements"),
    [
        ({"matchLabelKeys": ["app"]}, [OWN, APP]),
        ({"matchLabelKeys": ["tenant", "app"]}, [OWN, TENANT, APP]),
        ({"mismatchLabelKeys": ["app"]}, [OWN, NOT_APP]),
        ({"mismatchLabelKeys": ["app"], "matchLabelKeys": ["tenant"]}, [OWN, TENANT, NOT_APP]),
        ({"matchLabelKeys": ["absent"]}, [OWN]),
        ({"matchLabelKeys": ["absent", "app"]}, [OWN, APP]),
        ({}, [OWN]),
    ],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_keys_of_affinity_terms(kind: str, term: Object, requirements: list[Object]) -> None:
    """Required and preferred terms select by the values that the pod has; other members stay."""
    whole = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"x": "y"}, "matchExpressions": [OWN]}, **term}
    merged = {**whole, "labelSelector": {"matchLabels": {"x": "y"}, "matchExpressions": requirements}}
    for listed, expected in (
        ({REQUIRED: [whole]}, {REQUIRED: [merged]}),
        (
            {PREFERRED: [{"weight": 1, "podAffinityTerm": whole}]},
            {PREFERRED: [{"weight": 1, "podAffinityTerm": merged}]},
        ),
        ({REQUIRED: [whole], PREFERRED: []}, {REQUIRED: [merged], PREFERRED: []}),
    ):
        spec = {"nodeName": "n", "affinity": {"nodeAffinity": {}, kind: listed}}
        merged_spec = merge_affinity_keys(spec, LABELS)
        assert merged_spec == {"nodeName": "n", "affinity": {"nodeAffinity": {}, kind: expected}}
        assert (merged_spec is spec) == (not term)


def test_terms_without_a_selector_select_nothing() -> None:
    """A key adds no requirement to a term that has no selector; an empty selector gets one."""
    for terms, expected in (
        ({"matchLabelKeys": ["app"]}, {"matchLabelKeys": ["app"]}),
        ({"labelSelector": {}, "matchLabelKeys": ["app"]},
         {"labelSelector": {"matchExpressions": [APP]}, "matchLabelKeys": ["app"]}),
    ):  # fmt: skip
        spec = {"affinity": {"podAffinity": {REQUIRED: [terms]}}, "topologySpreadConstraints": [terms]}
        assert merge_affinity_keys(spec, LABELS)["affinity"]["podAffinity"][REQUIRED] == [expected]
        assert merge_spread_keys(spec, LABELS)["topologySpreadConstraints"] == [expected]
    assert merge_affinity_keys({"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}}, LABELS) == {
        "affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}
    }


def test_keys_of_spread_constraints() -> None:
    """Constraints have matchLabelKeys alone; a spec without any is returned itself."""
    selector = {"matchExpressions": [OWN]}
    plain: Object = {"maxSkew": 1, "labelSelector": selector}
    spec: Object = {"nodeName": "n", "topologySpreadConstraints": [plain, {**plain, "matchLabelKeys": ["app"]}]}
    merged = {**plain, "matchLabelKeys": ["app"], "labelSelector": {"matchExpressions": [OWN, APP]}}
    assert merge_spread_keys(spec, LABELS) == {"nodeName": "n", "topologySpreadConstraints": [plain, merged]}
    for spec in ({"topologySpreadConstraints": [plain]}, {}):
        assert merge_spread_keys(spec, LABELS) is spec
