"""Collects the errors of an object: one method per reason, with the messages of the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import MAX_CAUSES, Cause
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.values import quote, show, show_json
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import Reworded, in_release, reworded
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.release import Release

#: Maximum number of characters of a value in a message.
_LONGEST: Final = 32 << 10


#: How values are printed, from a release on.
_PRINTERS: Final[tuple[tuple[str, Callable[[Any], str]], ...]] = (("", show), ("1.34", show_json))


def too_long(limit: int) -> Reworded:
    """The reason for a text of more than `limit` bytes."""
    return reworded(
        f"must have at most {limit} bytes", ("1.32", f"may not be more than {limit} byte{'s' if limit != 1 else ''}")
    )


def too_many(limit: int) -> Reworded:
    """The reason for a list of more than `limit` items."""
    return reworded(
        f"must have at most {limit} items", ("1.31", f"must have at most {limit} item{'s' if limit != 1 else ''}")
    )


#: How changes of immutable values are printed, from a release on.
_DIFFERS: Final[tuple[tuple[str, Callable[[str, Object, Object], str]], ...]] = (
    ("", differences.text),
    ("1.34", differences.json_text),
)


class Report:
    """Errors so far, in order and up to `MAX_CAUSES`, and the settings that rules depend on. `sound` is the object
    whose metadata follows the rules of every kind for a new object, `sound_change` the one for a changed object; None
    if it is not known."""

    __slots__ = ("causes", "dialect", "release", "settings", "sound", "sound_change")

    def __init__(self, settings: ObjectSettings) -> None:
        self.causes: list[Cause] = []
        self.sound: Object | None = None
        self.sound_change: Object | None = None
        self.settings = settings
        self.dialect: Dialect = settings.dialect
        self.release: Release = settings.release

    def summary(self) -> str:
        """All errors in one text, several in brackets and repeated ones once; "" without any."""
        texts = list(
            dict.fromkeys(f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in self.causes)
        )
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""

    def show(self, value: Any) -> str:
        """A value as messages print it, cut after `_LONGEST` characters."""
        text = self.release.choose(_PRINTERS)(value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."

    def difference(self, type_name: str, old: Object, new: Object) -> str:
        """The text of a change of an immutable value of one of the reference's internal types."""
        return self.release.choose(_DIFFERS)(type_name, old, new)

    def joined(self, whys: Iterable[str], separator: str) -> str:
        """Reasons as one text."""
        return in_release(whys, separator, self.release)

    def required(self, at: Path, why: str = "") -> None:
        self._add("FieldValueRequired", "Required value", at, why)

    def invalid(self, at: Path, value: Any, why: str) -> None:
        if len(self.causes) >= MAX_CAUSES:
            return
        self._add("FieldValueInvalid", f"Invalid value: {self.show(value)}", at, why)

    def inadmissible(self, at: Path, why: str) -> None:
        """An invalid value that is not shown."""
        self._add("FieldValueInvalid", "Invalid value", at, why)

    def invalids(self, at: Path, value: Any, whys: Iterable[str]) -> None:
        """One cause per reason."""
        for why in whys:
            self.invalid(at, value, why)

    def duplicate(self, at: Path, value: Any) -> None:
        self._add("FieldValueDuplicate", f"Duplicate value: {self.show(value)}", at)

    def duplicate_because(self, at: Path, value: Any, why: str) -> None:
        self._add("FieldValueDuplicate", f"Duplicate value: {self.show(value)}", at, why)

    def not_found(self, at: Path, value: Any) -> None:
        self._add("FieldValueNotFound", f"Not found: {self.show(value)}", at)

    def not_found_because(self, at: Path, value: Any, why: str) -> None:
        self._add("FieldValueNotFound", f"Not found: {self.show(value)}", at, why)

    def unsupported(self, at: Path, value: Any, supported: Sequence[str]) -> None:
        why = "supported values: " + ", ".join(map(quote, supported)) if supported else ""
        self._add("FieldValueNotSupported", f"Unsupported value: {self.show(value)}", at, why)

    def forbidden(self, at: Path, why: str) -> None:
        self._add("FieldValueForbidden", "Forbidden", at, why)

    def too_long(self, at: Path, limit: int) -> None:
        self._add("FieldValueTooLong", "Too long", at, too_long(limit))

    def too_many(self, at: Path, count: int, limit: int) -> None:
        self._add("FieldValueTooMany", f"Too many: {count}", at, too_many(limit))

    def internal(self, at: Path, why: str) -> None:
        self._add("InternalError", "Internal error", at, why)

    def immutable(self, at: Path, new: Any, old: Any) -> None:
        """`new` must equal `old`; an absent value equals null."""
        if new != old:
            self.invalid(at, new, "field is immutable")

    def nonnegative(self, at: Path, value: int | None) -> None:
        """An absent number is zero."""
        if value is not None and value < 0:
            self.invalid(at, value, "must be greater than or equal to 0")

    def _add(self, reason: str, head: str, at: Path, why: str = "") -> None:
        if len(self.causes) >= MAX_CAUSES:
            return
        if isinstance(why, Reworded):
            why = why.in_release(self.release)
        self.causes.append(Cause(reason, f"{head}: {why}" if why else head, str(at)))
