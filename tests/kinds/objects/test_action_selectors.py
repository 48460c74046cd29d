"""The selectors of an action: what is read of them narrows the action, and what cannot be read is left out and
reported."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.objects.action_selectors import attributes_of, of_review, of_texts

FIELDS = "spec.resourceAttributes.fieldSelector"
LABELS = "spec.resourceAttributes.labelSelector"


@pytest.mark.parametrize(
    ("fields", "labels", "attributes"),
    [
        ("", "", {}),
        (
            "b!=2,a=1",
            "",
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["1"]},
                        {"key": "b", "operator": "NotIn", "values": ["2"]},
                    ]
                }
            },
        ),
        ("broken", "$", {}),
        (
            "",
            "z,!b,c=1,d!=2,e in (2,1),f notin (3),g>4",
            {
                "labelSelector": {
                    "requirements": [
                        {"key": "b", "operator": "DoesNotExist"},
                        {"key": "c", "operator": "In", "values": ["1"]},
                        {"key": "d", "operator": "NotIn", "values": ["2"]},
                        {"key": "e", "operator": "In", "values": ["1", "2"]},
                        {"key": "f", "operator": "NotIn", "values": ["3"]},
                        {"key": "z", "operator": "Exists"},
                    ]
                }
            },
        ),
    ],
)
def test_texts_become_attributes(fields: str, labels: str, attributes: dict[str, Any]) -> None:
    """Query parameters become requirements of a review, in the order of their keys; comparisons have no form there."""
    assert attributes_of(of_texts(fields, labels)) == attributes


EXISTS = {"key": "a", "operator": "Exists"}


def requirements(*each: Any) -> dict[str, Any]:
    return {"requirements": [{"key": key, "operator": operator, "values": values} for key, operator, values in each]}


@pytest.mark.parametrize(
    ("attributes", "kept", "errors"),
    [
        ({}, {}, []),
        ({"fieldSelector": {"rawSelector": "bad"}}, {}, [f"{FIELDS} ignored due to parse error"]),
        ({"labelSelector": {"rawSelector": "$"}}, {}, [f"{LABELS} ignored due to parse error"]),
        (
            {"fieldSelector": requirements(("a", "In", ["1"]), ("b", "Exists", []), ("c", "In", ["1", "2"]))},
            {"fieldSelector": requirements(("a", "In", ["1"]))},
            [f"{FIELDS} partially ignored due to parse error"],
        ),
        (
            {"labelSelector": requirements(("a", "In", ["2", "1"]), ("b", "New", []), ("c", "NotIn", ["$"]))},
            {"labelSelector": requirements(("a", "In", ["1", "2"]))},
            [f"{LABELS} partially ignored due to parse error"],
        ),
        (
            {"labelSelector": {"requirements": [EXISTS, {**EXISTS, "operator": "DoesNotExist"}]}},
            {"labelSelector": {"requirements": [EXISTS, {**EXISTS, "operator": "DoesNotExist"}]}},
            [],
        ),
        ({"labelSelector": requirements(("$", "In", ["1"]))}, {}, [f"{LABELS} ignored due to parse error"]),
    ],
)
def test_selectors_of_reviews(attributes: Any, kept: Any, errors: list[str]) -> None:
    """Reviews with operators of newer clients are decided without these requirements, and say so."""
    selectors = of_review(attributes)
    assert attributes_of(selectors) == kept
    assert list(selectors.errors() if selectors is not None else ()) == errors


@pytest.mark.parametrize(
    ("text", "required"),
    [("a=1", True), ("a==1,b=2", True), ("a=2", False), ("a!=1", False), ("b=1", False), ("", False)],
)
def test_required_fields(text: str, required: bool) -> None:
    """A selector requires a value of a field if it selects nothing else."""
    selectors = of_texts(text, "x")
    assert selectors is not None and selectors.requires("a", "1") == required
