"""What defaults, validation and warnings do otherwise in later releases: a rule that is another function, and a text in
other words.

Rules themselves do not ask for the release. `since` names a release as in the rows of kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from orchd.kinds.release import Release

Rule = TypeVar("Rule", bound=Callable[..., Any])


def by_release(first: Rule, *changes: tuple[str, Rule]) -> Rule:
    """The rule `first`, and in its place each rule of `changes` from its release on, ascending.

    The last positional argument of rules knows the release, as a report or as settings.
    """

    rules = (("", first), *changes)
    chosen: dict[int, Rule] = {}

    @wraps(first)
    def rule(*arguments: Any, **named: Any) -> Any:
        release = arguments[-1].release
        chosen_rule = chosen.get(release.minor)
        if chosen_rule is None:
            chosen_rule = chosen[release.minor] = release.choose(rules)
        return chosen_rule(*arguments, **named)

    return rule  # type: ignore[return-value]  # it is called as the rules are


def _nothing(*arguments: Any) -> None:
    """The rule of releases that have none."""


def since(release: str, rule: Rule) -> Rule:
    """`rule` from `release` on, and none before. Only for rules that report."""
    return by_release(cast(Rule, _nothing), (release, rule))


def until(release: str, rule: Rule) -> Rule:
    """`rule` before `release`, and none from then on. Only for rules that report."""
    return by_release(rule, (release, cast(Rule, _nothing)))


class Reworded(str):
    """A text of an error, and the texts of later releases in its place."""

    __slots__ = ("changes",)
    changes: tuple[tuple[str, str], ...]

    def in_release(self, release: Release) -> str:
        return release.choose((("", self), *self.changes))


def reworded(text: str, *changes: tuple[str, str]) -> Reworded:
    """`text`, and from the releases of `changes` on, ascending, theirs. Errors of a `Report` have the text of its
    release."""
    both = Reworded(text)
    both.changes = changes
    return both


def in_release(texts: Iterable[str], separator: str, release: Release) -> str:
    """`texts` as they are in a release, as one text."""
    return separator.join(text.in_release(release) if isinstance(text, Reworded) else text for text in texts)
