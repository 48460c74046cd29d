"""Query parameters of lists and watches: resource versions, limits, selectors, and the rules between them.

The rules are the specification's ("Resource versions", table of resourceVersion and resourceVersionMatch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.objects import selectors


class Selectable(Protocol):
    """A value with labels and selectable fields: an entry of the watch cache."""

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def fields(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The query parameters of a list or watch, parsed (ListOptions of meta/v1)."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    timeout_seconds: int = 0
    continue_: str = ""


#: The largest resourceVersion plus one, and its number of digits.
_LIMIT: Final = 1 << 64
_DIGITS: Final = 20


def parse_version(text: str) -> int:
    """Parse a resourceVersion parameter; "" and "0" yield 0. Raises ApiError 500 like the reference."""
    if not text:
        return 0
    try:
        return unsigned(text)
    except ApiError as error:
        raise ApiError(500, "", f"resourceVersion: Invalid value: {errors.quoted(text)}: {error.message}") from None


def unsigned(text: str) -> int:
    """Parse an unsigned 64-bit integer. Raises ApiError 500 with the reference's message."""
    if not (text.isascii() and text.isdecimal()):
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: invalid syntax")
    # Leading zeros do not count, and Python refuses to parse thousands of digits.
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS else _LIMIT
    if value >= _LIMIT:
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: value out of range")
    return value


def cached(resource: Resource) -> bool:
    """True if the reference has a watch cache for `resource`. Without one (events), the rules of its store apply."""
    return resource.custom or resource.plural != "events"


def validate_options(dialect: Dialect, options: ListOptions, *, watch: bool = False) -> None:
    """Check the rules between resourceVersion, resourceVersionMatch and continue.

    Raises ApiError 400 for malformed selectors, which take precedence, else 422.
    """
    if not options.match:
        return
    selectors.LabelSelector.parse(options.label_selector)
    selectors.FieldSelector.terms(options.field_selector)
    causes: list[Cause] = []

    def forbid(why: str) -> None:
        causes.append(Cause("FieldValueForbidden", f"Forbidden: {why}", "resourceVersionMatch"))

    if watch:
        forbid("resourceVersionMatch is forbidden for watch")
    if not options.resource_version:
        forbid("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if options.continue_:
        forbid("resourceVersionMatch is forbidden when continue is provided")
    if options.match not in ("Exact", "NotOlderThan"):
        supported = f'Unsupported value: {errors.quoted(options.match)}: supported values: "Exact", "NotOlderThan", ""'
        causes.append(Cause("FieldValueNotSupported", supported, "resourceVersionMatch"))
    if options.match == "Exact" and options.resource_version == "0":
        forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if causes:
        raise errors.invalid(dialect.meta_group, "ListOptions", "", causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Parsed selectors for the cache: exact requirements that an index can serve, and a predicate for the rest (None: no
    rest)."""

    labels: Mapping[str, str] | None
    fields: Mapping[str, str] | None
    match: Callable[[Any], bool] | None
    #: True without selectors: the number of remaining items is known.
    everything: bool

    def accepts(self, entry: Selectable) -> bool:
        """True if an entry matches both selectors, including their exact requirements."""
        if self.labels and any(entry.labels.get(k) != v for k, v in self.labels.items()):
            return False
        if self.fields and any(entry.fields.get(k) != v for k, v in self.fields.items()):
            return False
        return self.match is None or self.match(entry)


EVERYTHING = Selection(labels=None, fields=None, match=None, everything=True)


def selection(resource: Resource, label_selector: str, field_selector: str) -> Selection:
    """Parse both selectors. Raises ApiError 400 that names the error."""
    if not label_selector and not field_selector:
        return EVERYTHING
    by_label = selectors.LabelSelector.parse(label_selector) if label_selector else None
    by_field = selectors.FieldSelector.parse(field_selector, resource) if field_selector else None
    labels = dict(by_label.exact) if by_label is not None else None
    fields = dict(by_field.exact) if by_field is not None else None
    label_rest = by_label is not None and len(by_label.requirements) > len(labels or ())
    field_rest = by_field is not None and len(by_field.requirements) > len(fields or ())

    def match(entry: Selectable) -> bool:
        if by_label is not None and label_rest and not by_label.matches(entry.labels):
            return False
        return by_field is None or not field_rest or by_field.matches(entry.fields)

    return Selection(
        labels=labels or None,
        fields=fields or None,
        match=match if label_rest or field_rest else None,
        everything=False,
    )
