"""`ListQuery`: the parameters of a list, watch or deletecollection, parsed and checked once.

The verbs make it from the request's `ListOptions` and hand it down; nothing below them reads a parameter again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from orchd import errors
from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.objects import selectors
from orchd.kinds.objects.list_options import ListOptions, OptionRules, validate_options
from orchd.kinds.release import Release

_NAME: Final = "metadata.name"


class Selectable(Protocol):
    """A value with labels and selectable fields: an entry of the watch cache."""

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def fields(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Parsed selectors for the cache: exact requirements that an index can serve, and a predicate for the rest (None:
    no rest)."""

    labels: Mapping[str, str] | None
    fields: Mapping[str, str] | None
    match: Callable[[Any], bool] | None
    #: True without selectors: the number of remaining items is known.
    everything: bool
    #: Labels of which an object must have one of several values; any value, if the set is empty. `match` includes them.
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Both selectors as they were sent. Selections of one kind with the same texts accept the same objects.
    texts: tuple[str, str] = ("", "")

    def accepts(self, entry: Selectable) -> bool:
        """True if an entry matches both selectors, including their exact requirements."""
        if self.labels and any(entry.labels.get(k) != v for k, v in self.labels.items()):
            return False
        if self.fields and any(entry.fields.get(k) != v for k, v in self.fields.items()):
            return False
        return self.match is None or self.match(entry)


EVERYTHING = Selection(labels=None, fields=None, match=None, everything=True)


def selection(resource: Resource, label_selector: str, field_selector: str, release: Release) -> Selection:
    """Parse both selectors, in the words of `release`. Raises ApiError 400 that names the error."""
    if not label_selector and not field_selector:
        return EVERYTHING
    by_label = selectors.LabelSelector.parse(label_selector, release) if label_selector else None
    by_field = selectors.FieldSelector.parse(field_selector, resource) if field_selector else None
    labels = dict(by_label.exact) if by_label is not None else None
    fields = dict(by_field.exact) if by_field is not None else None
    choices = by_label.choices if by_label is not None else {}
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
        choices=choices,
        texts=(label_selector, field_selector),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A list, watch or deletecollection of one resource.

    `prefix` limits the keys: ``namespace/``, or "" for all. `path` is the key of the only object that the selection can
    match, "" where it can match several."""

    resource: Resource
    options: ListOptions
    selection: Selection
    prefix: str
    path: str

    @classmethod
    def of(
        cls,
        dialect: Dialect,
        resource: Resource,
        namespace: str,
        options: ListOptions,
        *,
        rules: OptionRules,
        name: str = "",
    ) -> ListQuery:
        """`rules` are those of the options. `name` is that of the request: in the URL of a watch, or the selected one
        by which the request was authorized. The selector must be of it. Raises ApiError: 400 for malformed selectors
        and for another name, 422 for options that exclude each other."""
        validate_options(dialect, options, rules)
        chosen = selection(resource, options.label_selector, options.field_selector, rules.release)
        if name:
            if not options.field_selector:
                chosen = replace(chosen, fields={_NAME: name}, everything=False)
            elif (chosen.fields or {}).get(_NAME) != name:
                raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        prefix = f"{namespace}/" if namespace and resource.namespaced else ""
        one = (chosen.fields or {}).get(_NAME, "") if prefix or not resource.namespaced else ""
        return cls(
            resource=resource, options=options, selection=chosen, prefix=prefix, path=prefix + one if one else ""
        )

    def unpaged(self) -> ListQuery:
        """The query of the whole list, whatever page was asked for."""
        return replace(self, options=replace(self.options, limit=0, continue_=""))

    @property
    def scope(self) -> str:
        """The narrowest prefix of the keys that can match: `path`, or else `prefix`."""
        return self.path or self.prefix
