"""The values that caches hand out: entries, changes of them, pages, and damaged values.

Bytes are the storage version's JSON with the revision in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from orchd.cache.derived import DerivedBudget, DerivedHolder
from orchd.cache.stored_encoding import at_revision
from orchd.errors import ApiError, internal


class Entry(DerivedHolder):
    """One object at one revision. Immutable except for `derived`.

    `path` is ``namespace/name`` or ``name`` (the key below the resource's prefix), `json` the object's complete JSON,
    `labels` its labels, `fields` the values of its selectable fields. `derived` caches representations computed from
    `json` by codec key (media type and version), within `budget`; without a budget, nothing is cached.

    `fresh` is the decoded object while a change is delivered, and None otherwise. `decoded_form` is the key under which
    `derived` has it afterwards, if it does. `own` is True if this server has written the object while this process was
    running: it then has the canonical shape, the defaults and the order of members of this release.
    """

    __slots__ = ("created", "decoded_form", "fields", "fresh", "json", "labels", "own", "path", "revision")

    def __init__(
        self,
        path: str,
        revision: int,
        created: int,
        json: bytes,
        labels: Mapping[str, str],
        fields: Mapping[str, str],
        budget: DerivedBudget | None = None,
    ) -> None:
        super().__init__(budget)
        self.path = path
        self.revision = revision
        self.created = created
        self.json = json
        self.labels = labels
        self.fields = fields
        self.fresh: dict[str, Any] | None = None
        self.decoded_form: object = None
        self.own = False

    def decoded(self) -> dict[str, Any]:
        """The object. Not to be modified: it is shared if it was kept, and while a change is delivered."""
        obj: dict[str, Any] = self.fresh or self.derived.get(self.decoded_form) or orjson.loads(self.json)
        return obj

    def detached(self) -> DetachedEntry:
        """A copy to compute representations from in another thread."""
        entry = DetachedEntry(self.path, self.revision, self.created, self.json, self.labels, self.fields)
        entry.derived = self.derived
        return entry

    def at_revision(self, revision: int) -> Entry:
        """The same object with another revision, for the DELETED event of an object that stopped matching a
        selector."""
        body = at_revision(self.json, self.revision, revision)
        return Entry(self.path, revision, self.created, body, self.labels, self.fields)


class DetachedEntry(Entry):
    """An entry outside of the cache: `representations` has what was computed from it, as arguments of `keep`."""

    __slots__ = ("representations",)

    def __init__(
        self, path: str, revision: int, created: int, json: bytes, labels: Mapping[str, str], fields: Mapping[str, str]
    ) -> None:
        super().__init__(path, revision, created, json, labels, fields)
        self.representations: list[tuple[Any, Any, int]] = []

    def keep(self, key: Any, value: Any, size: int) -> None:
        self.representations.append((key, value, size))


class ChangeType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(DerivedHolder):
    """One event of one resource.

    `entry` is the object after the change; for DELETED the last state, with the revision of the deletion. `previous` is
    the entry before the change (None for ADDED). `frames` caches encoded watch frames by encoding, within the budget.
    `versions` holds the change converted to other API versions, for the lifetime of the change.
    """

    __slots__ = ("entry", "previous", "type", "versions")

    def __init__(
        self, type: ChangeType, entry: Entry, previous: Entry | None, budget: DerivedBudget | None = None
    ) -> None:
        super().__init__(budget)
        self.type = type
        self.entry = entry
        self.previous = previous
        self.versions: dict[Any, Any] = {}

    @property
    def frames(self) -> Mapping[Any, Any]:
        """The derived representations of a change: encoded watch frames by encoding."""
        return self.derived

    @property
    def revision(self) -> int:
        return self.entry.revision


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stored value that cannot be read: its store key, its revision, and the reason."""

    key: str
    revision: int
    why: str

    def error(self) -> ApiError:
        """ApiError 500 that names the key. The same message is logged when the value is loaded or arrives."""
        return internal(
            f"the stored value of {self.key} at revision {self.revision} cannot be read ({self.why}): "
            "delete the object, or restore a backup"
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Entries of a list, the revision it is consistent with, and the position of the next page.

    `next_path` is the path at which the next page starts, "" on the last page. `remaining` is the number of entries
    after this page, None if unknown (a selector was given).
    """

    entries: Sequence[Entry]
    revision: int
    next_path: str
    remaining: int | None
    #: Number of examined entries.
    fetched: int = 0


#: True for entries that belong to a list. None means all entries.
Match = Callable[[Entry], bool]
#: Extracts labels and selectable fields from stored bytes (the only decoding in the cache, once per write), or from the
#: object that they encode.
Index = Callable[[bytes | dict[str, Any]], tuple[Mapping[str, str], Mapping[str, str]]]


def under(path: str, prefix: str) -> bool:
    """True if a path is under a prefix: everything (""), a namespace (``ns/``), or one path."""
    return not prefix or path == prefix or (prefix[-1] == "/" and path.startswith(prefix))
