"""Which nodes a pod may run on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.objects.placement import RequiredAffinity, Tolerations, find_untolerated_taint, tolerates

TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
NODE = {"metadata": {"name": "n", "labels": {"zone": "a", "size": "4"}}}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k"}, False),
        ({"key": "k", "value": "w"}, False),
        ({"key": "j", "operator": "Exists"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Other", "value": "v"}, False),
    ],
)
def test_toleration_matching(toleration: dict[str, str], fits: bool) -> None:
    """An empty effect or key matches all; Equal compares values, Exists does not."""
    assert tolerates(toleration, TAINT) is fits
    assert (find_untolerated_taint([TAINT], Tolerations([toleration]), ("NoSchedule",)) is None) is fits


_TAINTS = st.fixed_dictionaries(
    {"key": st.sampled_from("ab"), "effect": st.sampled_from(["NoSchedule", "NoExecute"])},
    optional={"value": st.sampled_from(["", "x", "y"])},
)
_TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["", "a", "b", "c"]),
        "effect": st.sampled_from(["", "NoSchedule", "NoExecute"]),
        "operator": st.sampled_from(["", "Equal", "Exists", "Other"]),
        "value": st.sampled_from(["", "x", "y"]),
    },
)


@given(st.lists(_TOLERATIONS, max_size=4), _TAINTS, st.integers(0, 4))
def test_many_tolerations_are_found_like_few(tolerations: list[dict[str, str]], taint: dict[str, str], at: int) -> None:
    """The first toleration that matches is the same with an index as by comparing one by one."""
    many = [*tolerations[:at], *({"key": f"other{i}", "operator": "Exists"} for i in range(20)), *tolerations[at:]]
    first = next((each for each in many if tolerates(each, taint)), None)
    assert Tolerations(many).first(taint) is first and Tolerations(many).has(taint) == (first is not None)


OTHERS = [{"key": f"other{i}", "operator": "Exists"} for i in range(40)]


@pytest.mark.parametrize("others", [[], OTHERS], ids=["few", "many"])
@pytest.mark.parametrize(
    ("toleration", "taint", "fits"),
    [
        ({"key": "k", "value": "v"}, TAINT, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, TAINT, True),
        ({"operator": "Exists"}, TAINT, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, TAINT, True),
        ({"operator": "Exists", "effect": "NoExecute"}, TAINT, False),
        ({"key": "j", "operator": "Exists"}, TAINT, False),
        ({"key": "k", "operator": "Other"}, TAINT, False),
        ({"key": "k"}, {"key": "k", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "v"}, {"key": "k", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Exists"}, {"key": "k"}, True),
        ({"key": "k", "operator": "Exists"}, {}, False),
    ],
)
def test_tolerations_of_a_pod(
    others: list[dict[str, str]], toleration: dict[str, str], taint: dict[str, str], fits: bool
) -> None:
    """Few tolerations are compared one by one, many are found by their members."""
    tolerations = Tolerations([*others, toleration])
    assert len(tolerations) == len(others) + 1
    assert tolerations.has(taint) is fits
    assert tolerations.first(taint) == (toleration if fits else None)


def test_only_relevant_effects_are_checked() -> None:
    """Only taints with the given effects are checked."""
    assert find_untolerated_taint([TAINT], Tolerations([]), ("NoExecute",)) is None


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        }
    }


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"nodeSelector": {"zone": "b"}, **required(expression("zone", "In", "a"))}, False),
        (required(), False),
        (required({}), False),
        (required({}, expression("zone", "In", "a")), True),
        (required(expression("zone", "In", "a", "b")), True),
        (required(expression("zone", "NotIn", "a")), False),
        (required(expression("other", "NotIn", "a")), True),
        (required(expression("zone", "Exists")), True),
        (required(expression("zone", "DoesNotExist")), False),
        (required(expression("size", "Gt", "3")), True),
        (required(expression("size", "Gt", "4")), False),
        (required(expression("size", "Lt", "5")), True),
        (required(expression("zone", "Lt", "5")), False),
        (required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}), True),
        (required({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}), False),
        (required(expression("zone", "In", "b"), expression("size", "Exists")), True),
        (required({**expression("zone", "Exists"), "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}), False),
    ],
)  # fmt: skip
def test_node_affinity_matching(spec: dict[str, Any], fits: bool) -> None:
    """Terms are ORed, requirements of a term are ANDed, and the node selector must match as well."""
    assert RequiredAffinity(spec).fits(NODE) is fits
