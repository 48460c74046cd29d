"""What validation does otherwise in later releases: a rule that is another function, and a text in other words.

Rules themselves do not ask for the release. `since` names a release as in the rows of kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from orchd.kinds.release import Release

Rule = TypeVar("Rule", bound=Callable[..., Any])


def by_release(first: Rule, *changes: tuple[str, Rule]) -> Rule:
    """The rule `first`, and in its place each rule of `changes` from its release on, ascending.

    The last argument of rules is the report, which knows the release.
    """

    rules = (("", first), *changes)

    @cache
    def chosen(release: Release) -> Rule:
        return release.choose(rules)

    @wraps(first)
    def rule(*arguments: Any, **named: Any) -> Any:
        return chosen(arguments[-1].settings.release)(*arguments, **named)

    return rule  # type: ignore[return-value]  # it is called as the rules are


class Reworded(str):
    """A text of an error, and the texts of later releases in its place."""

    __slots__ = ("changes",)
    changes: tuple[tuple[str, str], ...]

    def in_release(self, release: Release) -> str:
        return release.choose((("", self), *self.changes))


def reworded(text: str, *changes: tuple[str, str]) -> Reworded:
    """`text`, and from the releases of `changes` on, ascending, theirs. Errors of a `Report` have the text of its release."""
    both = Reworded(text)
    both.changes = changes
    return both
