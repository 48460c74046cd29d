"""The selectors of an action: what a list, a watch or the deletion of a collection is restricted to.

Requirements only narrow an action. Those that cannot be read are left out, which asks for permission to do more, never
less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import (
    EQUALS,
    EXISTS,
    IN,
    MAX_LENGTH,
    MISSING,
    NOT_EQUALS,
    NOT_IN,
    FieldRequirement,
    FieldSelector,
    LabelSelector,
    Requirement,
)
from orchd.kinds.objects.validate.names import label_value, qualified_name
from orchd.values import value_class

_LABEL_OPERATORS: Final = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": MISSING}
_SPELLED: Final = {
    EQUALS: "In",
    IN: "In",
    NOT_EQUALS: "NotIn",
    NOT_IN: "NotIn",
    EXISTS: "Exists",
    MISSING: "DoesNotExist",
}
_FIELD_OPERATORS: Final = {"In": True, "NotIn": False}


@value_class(kw_only=True)
class Selectors:
    """Requirements on fields and labels. `fields_wrong` and `labels_wrong`: some were left out."""

    fields: tuple[FieldRequirement, ...] = ()
    labels: tuple[Requirement, ...] = ()
    fields_wrong: bool = False
    labels_wrong: bool = False

    def requires(self, field: str, value: str) -> bool:
        """True if the field must have this value."""
        return FieldRequirement(field, True, value) in self.fields

    def errors(self) -> Iterable[str]:
        """Errors of omitted requirements, as reviews report them."""
        for name, kept, wrong in (
            ("fieldSelector", self.fields, self.fields_wrong),
            ("labelSelector", self.labels, self.labels_wrong),
        ):
            if wrong:
                partially = "partially " if kept else ""
                yield f"spec.resourceAttributes.{name} {partially}ignored due to parse error"


def of_texts(field_selector: str, label_selector: str) -> Selectors | None:
    """The selectors of query parameters. None if both are empty."""
    if not field_selector and not label_selector:
        return None
    fields, labels = _field_terms(field_selector), _label_terms(label_selector)
    return Selectors(fields=fields or (), labels=labels or (), fields_wrong=fields is None, labels_wrong=labels is None)


def of_review(attributes: Object) -> Selectors | None:
    """The selectors in the resourceAttributes of a review, whose texts count where there are no requirements."""
    by_field, by_label = attributes.get("fieldSelector") or {}, attributes.get("labelSelector") or {}
    if not by_field and not by_label:
        return None
    fields, labels = _field_terms(by_field.get("rawSelector") or ""), _label_terms(by_label.get("rawSelector") or "")
    fields_wrong, labels_wrong = fields is None, labels is None
    if asked := by_field.get("requirements"):
        field_requirements = [_field_requirement(each) for each in asked]
        fields, fields_wrong = (
            tuple(each for each in field_requirements if each is not None),
            None in field_requirements,
        )
    if asked := by_label.get("requirements"):
        label_requirements = [_label_requirement(each) for each in asked]
        labels, labels_wrong = (
            tuple(each for each in label_requirements if each is not None),
            None in label_requirements,
        )
    return Selectors(fields=fields or (), labels=labels or (), fields_wrong=fields_wrong, labels_wrong=labels_wrong)


def attributes_of(selectors: Selectors | None, *, complete: bool = False) -> dict[str, Any]:
    """The selectors as members of resourceAttributes, without comparisons, which reviews do not have. `complete`:
    requirements have values even if these are none."""
    if selectors is None:
        return {}
    fields = [
        {"key": each.field, "operator": "In" if each.equal else "NotIn", "values": [each.value]}
        for each in selectors.fields
    ]
    labels = [
        {
            "key": each.key,
            "operator": _SPELLED[each.operator],
            **({"values": sorted(each.values)} if each.values or complete else {}),
        }
        for each in selectors.labels
        if each.operator in _SPELLED
    ]
    named = {"fieldSelector": fields, "labelSelector": labels}
    return {name: {"requirements": listed} for name, listed in named.items() if listed}


def _field_terms(text: str) -> tuple[FieldRequirement, ...] | None:
    """The requirements of a text; None for one that cannot be read."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        return tuple(FieldRequirement(*term) for term in FieldSelector.terms(text))
    except ApiError:
        return None


def _label_terms(text: str) -> tuple[Requirement, ...] | None:
    """The requirements of a text in the order of their keys; None for one that cannot be read."""
    try:
        return tuple(sorted(LabelSelector.parse(text).requirements, key=lambda each: each.key))
    except ApiError:
        return None


def _field_requirement(asked: Object) -> FieldRequirement | None:
    equal, values = _FIELD_OPERATORS.get(asked.get("operator") or ""), asked.get("values") or []
    if equal is None or len(values) != 1:
        return None
    return FieldRequirement(asked.get("key") or "", equal, values[0])


def _label_requirement(asked: Object) -> Requirement | None:
    key, values = asked.get("key") or "", frozenset(asked.get("values") or ())
    operator = _LABEL_OPERATORS.get(asked.get("operator") or "")
    if operator is None or bool(values) != (operator in (IN, NOT_IN)):
        return None
    if qualified_name(key) or any(label_value(value) for value in values):
        return None
    return Requirement(key, operator, values)
