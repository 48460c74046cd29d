"""What was made of entries and changes and is kept beside them, so that a second reader pays nothing: within a limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

#: What a holder has that keeps nothing.
NOTHING: Final[Mapping[Any, Any]] = {}


class Holder:
    """Something that forms of itself are kept beside. `forms` is for reading; `keep` adds to it.

    Anything may be missing from `forms` the next time: what no longer fits is forgotten, oldest holders first.
    """

    __slots__ = ("_derived", "forms")

    def __init__(self, derived: Derived | None) -> None:
        self.forms: Mapping[Any, Any] = NOTHING
        self._derived = derived

    @property
    def derived(self) -> Derived | None:
        """Where forms of this are accounted for; for holders that are made of this one."""
        return self._derived

    def keep(self, key: Any, form: Any, size: int) -> None:
        """Keep `form`, which takes about `size` bytes, under `key`. A holder that nobody accounts for keeps nothing."""
        if self._derived is not None:
            self._derived.keep(self, key, form, size)


class Derived:
    """The forms of all holders of a server, at most `limit` bytes of them.

    What goes first is what was made first: a holder that is asked for again and again is made anew once in a while,
    which costs little, and reading leaves no trace.
    """

    def __init__(self, limit: int) -> None:
        self.bytes = 0
        self._limit = limit
        self._sizes: OrderedDict[Holder, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sizes)

    def keep(self, holder: Holder, key: Any, form: Any, size: int) -> None:
        if size > self._limit:
            return
        known = self._sizes.get(holder)
        if known is None:
            holder.forms = {key: form}
            self._sizes[holder] = size
        else:
            # What was there under the key goes on being counted: it is rare, and errs on the right side.
            holder.forms = {**holder.forms, key: form}
            self._sizes[holder] = known + size
        self.bytes += size
        while self.bytes > self._limit:
            oldest, freed = self._sizes.popitem(last=False)
            oldest.forms = NOTHING
            self.bytes -= freed

    def forget(self, holder: Holder) -> None:
        """A holder that is of the past: the forms of those that are current need the place."""
        size = self._sizes.pop(holder, None)
        if size is not None:
            holder.forms = NOTHING
            self.bytes -= size
