"""`ListOptions`: the query parameters of lists and watches, before they are applied to a resource, and the rules
between them.

The rules are the specification's ("Resource versions", table of resourceVersion and resourceVersionMatch).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.objects import selectors
from orchd.kinds.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The query parameters of a list or watch, parsed (ListOptions of meta/v1). `watch` is the parameter of that name:
    a list and a watch differ by it, a deletecollection may have it too."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    timeout_seconds: int = 0
    continue_: str = ""
    watch: bool = False
    bookmarks: bool = False
    #: sendInitialEvents of later releases: whether a watch begins with the present objects; None without the parameter.
    initial_events: bool | None = None


#: The largest resourceVersion plus one, and its number of digits.
_LIMIT: Final = 1 << 64
_DIGITS: Final = 20


def parse_version(text: str) -> int:
    """Parse a resourceVersion parameter; "" and "0" yield 0. Raises ApiError 500 like the reference."""
    if not text:
        return 0
    try:
        return parse_unsigned(text)
    except ApiError as error:
        raise ApiError(500, "", f"resourceVersion: Invalid value: {errors.quoted(text)}: {error.message}") from None


def parse_unsigned(text: str, *, limit: int = _LIMIT) -> int:
    """Parse an unsigned integer below `limit`. Raises ApiError 500 with the reference's message."""
    if not (text.isascii() and text.isdecimal()):
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: invalid syntax")
    # Leading zeros do not count, and Python refuses to parse thousands of digits.
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS else limit
    if value >= limit:
        raise ApiError(500, "", f"strconv.ParseUint: parsing {errors.quoted(text)}: value out of range")
    return value


def has_watch_cache(resource: Resource) -> bool:
    """True if the reference has a watch cache for `resource`. Without one (events), the rules of its store apply."""
    return resource.row.cached


@dataclass(frozen=True, slots=True)
class OptionRules:
    """How the options of a release are read: `complete` fills in defaults, and `causes` are the errors of options that
    exclude each other."""

    release: Release
    causes: Callable[[ListOptions], list[Cause]]
    complete: Callable[[ListOptions], ListOptions]


def option_rules(release: Release, *, watch_list: bool = True) -> OptionRules:
    """The rules of a release. `watch_list` is its feature gate."""
    return OptionRules(
        release,
        release.choose((("", _rules_without_initial_events), ("1.27", _rules_with_initial_events))),
        release.choose((("", _as_sent), ("1.34", _with_initial_state if watch_list else _as_sent))),
    )


def _as_sent(options: ListOptions) -> ListOptions:
    return options


def _with_initial_state(options: ListOptions) -> ListOptions:
    """A watch from the present state marks the end of this state, as if it had asked for initial events."""
    if (
        not options.watch
        or options.initial_events is not None
        or options.match
        or options.resource_version not in ("", "0")
    ):
        return options
    return replace(options, initial_events=True, match="NotOlderThan")


def validate_options(dialect: Dialect, options: ListOptions, rules: OptionRules) -> None:
    """Check the `rules` between resourceVersion, resourceVersionMatch, continue and sendInitialEvents.

    Raises ApiError 400 for malformed selectors, which take precedence, else 422.
    """
    if options.match or options.initial_events is not None:
        check_options(dialect, options, rules)


def check_options(dialect: Dialect, options: ListOptions, rules: OptionRules) -> None:
    """As `validate_options`, also for malformed selectors alone; whether the kind has the fields is not examined."""
    selectors.LabelSelector.parse(options.label_selector, rules.release)
    selectors.FieldSelector.terms(options.field_selector)
    causes = rules.causes(options)
    if causes:
        raise errors.invalid(dialect.meta_group, "ListOptions", "", causes)


def _rules_without_initial_events(options: ListOptions) -> list[Cause]:
    """Rules of releases whose clients do not know sendInitialEvents; watches honor it anyway."""
    if options.watch and options.initial_events is not None:
        return _with_initial_events(options)
    return _match_causes(options) if options.match else []


def _rules_with_initial_events(options: ListOptions) -> list[Cause]:
    """Rules of releases in which a watch may begin with the present objects."""
    if not options.watch and options.initial_events is not None:
        forbidden = _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        return [*_rules_without_initial_events(options), forbidden]
    if not options.watch or options.initial_events is not None or not options.match:
        return _rules_without_initial_events(options)
    causes = [
        _forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    ]
    if options.match != "NotOlderThan":
        causes.append(_unsupported_match(options.match, "NotOlderThan"))
    if options.continue_:
        causes.append(_forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
    return causes


def _forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def _unsupported_match(match: str, *supported: str) -> Cause:
    listed = ", ".join(errors.quoted(each) for each in supported)
    message = f"Unsupported value: {errors.quoted(match)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", message, "resourceVersionMatch")


def _with_initial_events(options: ListOptions) -> list[Cause]:
    """Errors of a watch with sendInitialEvents, as in later releases."""
    causes: list[Cause] = []
    if options.match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(_forbidden("resourceVersionMatch", why))
    if options.match and options.match != "NotOlderThan":
        causes.append(_unsupported_match(options.match, "NotOlderThan"))
    if options.match and options.continue_:
        why = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(_forbidden("resourceVersionMatch", why))
    return causes


def _match_causes(options: ListOptions) -> list[Cause]:
    """The errors of release 1.23 about resourceVersionMatch."""
    causes: list[Cause] = []

    def forbid(why: str) -> None:
        causes.append(_forbidden("resourceVersionMatch", why))

    if options.watch:
        forbid("resourceVersionMatch is forbidden for watch")
    if not options.resource_version:
        forbid("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if options.continue_:
        forbid("resourceVersionMatch is forbidden when continue is provided")
    if options.match not in ("Exact", "NotOlderThan"):
        causes.append(_unsupported_match(options.match, "Exact", "NotOlderThan", ""))
    if options.match == "Exact" and options.resource_version == "0":
        forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    return causes
