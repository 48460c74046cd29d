"""`Query`: the parameters of one request, parsed once for request info, authorization and verbs.

If a single-valued parameter repeats, every reader uses the first value; otherwise a verb could act on a value that
authorization has not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchd import errors
from orchd.kinds.digits import integer
from orchd.kinds.objects.list_options import ListOptions

_NOTHING: tuple[str, ...] = ()


class Query(Mapping[str, Sequence[str]]):
    """Parameters with all their values in order. Immutable."""

    __slots__ = ("_list_options", "_values")

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {name: tuple(texts) for name, texts in values.items()}
        self._list_options: ListOptions | None = None

    @staticmethod
    def of(values: Mapping[str, Sequence[str]]) -> Query:
        """Convert `values`; returns it unchanged if it is a Query."""
        if isinstance(values, Query):
            return values
        return Query(values) if values else EMPTY

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a repeatable parameter."""
        return self._values.get(name, _NOTHING)

    def first(self, name: str) -> str:
        """The value of a parameter, "" without one."""
        values = self._values.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool | None:
        """A boolean parameter: every text means true except "false" and "0"; None without one."""
        values = self._values.get(name)
        return values[0].lower() not in ("false", "0") if values else None

    def number(self, name: str) -> int:
        """A 64-bit integer parameter, 0 without one. Raises ApiError 400 with the reference's message."""
        values = self._values.get(name)
        if not values:
            return 0
        text = values[0]
        try:
            value = integer(text)
        except ValueError:
            raise errors.bad_request(f"strconv.ParseInt: parsing {errors.quoted(text)}: invalid syntax") from None
        if not -(2**63) <= value < 2**63:
            raise errors.bad_request(f"strconv.ParseInt: parsing {errors.quoted(text)}: value out of range")
        return value

    def list_options(self) -> ListOptions:
        """Options of a list, watch or deletecollection. Raises ApiError 400."""
        if self._list_options is None:
            seconds = self.number("timeoutSeconds")
            self._list_options = ListOptions(
                label_selector=self.first("labelSelector"),
                field_selector=self.first("fieldSelector"),
                resource_version=self.first("resourceVersion"),
                match=self.first("resourceVersionMatch"),
                limit=self.number("limit"),
                timeout_seconds=seconds,
                continue_=self.first("continue"),
                watch=bool(self.flag("watch")),
                bookmarks=bool(self.flag("allowWatchBookmarks")),
                initial_events=self.flag("sendInitialEvents"),
            )
        return self._list_options


EMPTY = Query({})
