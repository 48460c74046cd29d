"""The parameters of lists and watches: resource versions, limits and selectors, and the rules between them.

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
    """What has labels and indexed fields beside it: an entry of the cache."""

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


#: One more than the largest resourceVersion, and how many digits it has.
_LIMIT: Final = 1 << 64
_DIGITS: Final = 20


def parse_version(text: str) -> int:
    """A resourceVersion parameter as a number; "" and "0" are 0. Raises ApiError 500, as the reference does."""
    if not text:
        return 0
    try:
        return unsigned(text)
    except ApiError as error:
        raise ApiError(500, "", f"resourceVersion: Invalid value: {errors.quoted(text)}: {error.message}") from None


def unsigned(text: str) -> int:
    """A whole number of 64 bits without a sign. Raises ApiError 500 in the words of the reference."""
    if not (text.isascii() and text.isdecimal()):
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: invalid syntax")
    # Zeros in front do not count, and Python would not read a number of thousands of digits.
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS else _LIMIT
    if value >= _LIMIT:
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: value out of range")
    return value


def cached(resource: Resource) -> bool:
    """Does the reference answer reads of `resource` from a cache where it may? It has none for events: those are seen with
    the rules of its store."""
    return resource.custom or resource.plural != "events"


def validate_options(dialect: Dialect, options: ListOptions, *, watch: bool = False) -> None:
    """The rules between resourceVersion, resourceVersionMatch and continue. Raises ApiError 422, or 400 for selectors
    that cannot be read: those count first."""
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
    """Selectors, ready for the cache: what an index may serve, and the rest as a predicate (None: nothing left)."""

    labels: Mapping[str, str] | None
    fields: Mapping[str, str] | None
    match: Callable[[Any], bool] | None
    #: No selector at all: counts of what remains are known.
    everything: bool

    def accepts(self, entry: Selectable) -> bool:
        """Does an entry satisfy both selectors (exact parts included)?"""
        if self.labels and any(entry.labels.get(k) != v for k, v in self.labels.items()):
            return False
        if self.fields and any(entry.fields.get(k) != v for k, v in self.fields.items()):
            return False
        return self.match is None or self.match(entry)


EVERYTHING = Selection(labels=None, fields=None, match=None, everything=True)


def selection(resource: Resource, label_selector: str, field_selector: str) -> Selection:
    """Parse both selectors. Raises ApiError 400 naming what is wrong."""
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
