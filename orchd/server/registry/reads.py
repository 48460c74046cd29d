"""GET and LIST: which version of the data answers, for every combination of parameters.

The table is the specification's ("Resource versions"): unset is consistent, "0" is whatever the cache has, N is not
older than N, and Exact (or a limit with N) is exactly N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchd import errors
from orchd.cache.interfaces import Entry, Match, Page
from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.objects import select
from orchd.server.registry import continuation

_TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The query parameters of a list or watch, parsed (ListOptions of meta/v1)."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_: str = ""


def parse_version(text: str) -> int:
    """A resourceVersion parameter as a number; "" and "0" are 0. Raises ApiError 500, as the reference does."""
    if text.isascii() and text.isdigit():
        return int(text)
    if not text:
        return 0
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
    raise ApiError(500, "", why)


def validate_options(dialect: Dialect, options: ListOptions, *, watch: bool = False) -> None:
    """The rules between resourceVersion, resourceVersionMatch and continue. Raises ApiError 422."""
    if not options.match:
        return
    causes: list[Cause] = []

    def forbid(why: str) -> None:
        causes.append(Cause("FieldValueForbidden", f"Forbidden: {why}", "resourceVersionMatch"))

    if watch:
        forbid("resourceVersionMatch is forbidden for watch")
    else:
        if not options.resource_version:
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided")
        if options.continue_:
            forbid("resourceVersionMatch is forbidden when continue is provided")
        if options.match not in ("Exact", "NotOlderThan"):
            supported = f'Unsupported value: "{options.match}": supported values: "Exact", "NotOlderThan", ""'
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
    match: Match | None
    #: No selector at all: counts of what remains are known.
    everything: bool

    def accepts(self, entry: Entry) -> bool:
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
    by_label = select.LabelSelector.parse(label_selector) if label_selector else None
    by_field = select.FieldSelector.parse(field_selector, resource) if field_selector else None
    labels = dict(by_label.exact) if by_label is not None else None
    fields = dict(by_field.exact) if by_field is not None else None
    label_rest = by_label is not None and len(by_label.requirements) > len(labels or ())
    field_rest = by_field is not None and len(by_field.requirements) > len(fields or ())

    def match(entry: Entry) -> bool:
        if by_label is not None and label_rest and not by_label.matches(entry.labels):
            return False
        return by_field is None or not field_rest or by_field.matches(entry.fields)

    return Selection(
        labels=labels or None,
        fields=fields or None,
        match=match if label_rest or field_rest else None,
        everything=False,
    )


async def read_entry(cache: Any, path: str, resource_version: str) -> Entry | None:
    """The entry at `path` as of the asked-for version; None when there is none."""
    wanted = parse_version(resource_version)
    if not resource_version:
        await cache.fresh()
    elif wanted:
        await cache.at_least(wanted)
    else:
        await cache.ready()
    found: Entry | None = cache.get(path)
    return found


async def read_page(
    dialect: Dialect, cache: Any, prefix: str, chosen: Selection, options: ListOptions
) -> tuple[Page, str]:
    """A page and the token of the next one ("" at the end)."""
    wanted = parse_version(options.resource_version)
    revision, start, limit = 0, "", max(options.limit, 0)
    if options.continue_:
        revision, key = continuation.decode(dialect.meta_group, options.continue_)
        if wanted:
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        start = prefix + key
        await cache.fresh()
        revision = max(revision, 0)
    elif options.match == "Exact" or (wanted and limit and not options.match):
        await cache.fresh()
        if wanted > cache.revision:
            raise ApiError(500, "", "etcdserver: mvcc: required revision is a future revision")
        revision = wanted
    elif wanted:
        await cache.at_least(wanted)
    elif options.resource_version == "0":
        await cache.ready()
        limit = 0
    else:
        await cache.fresh()
    try:
        page: Page = cache.page(
            prefix=prefix,
            match=chosen.match,
            limit=limit,
            start=start,
            revision=revision,
            labels=chosen.labels,
            fields=chosen.fields,
        )
    except ApiError as error:
        if error.code != 410:
            raise
        if options.continue_:
            token = continuation.inconsistent(dialect.meta_group, start[len(prefix) :])
            raise _expired_token(token) from None
        raise errors.expired(_TOO_OLD) from None
    if not page.next_path:
        return page, ""
    last = continuation.after(page.entries[-1].path[len(prefix) :])
    return page, continuation.encode(dialect.meta_group, page.revision, last)


def _expired_token(token: str) -> ApiError:
    """410 whose list metadata carries a token for going on inconsistently."""
    error = errors.expired(_TOO_OLD_TOKEN)
    error.list_metadata = {"continue": token}
    return error
