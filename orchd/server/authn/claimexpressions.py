"""CEL expressions that map the claims of a token to a user, and rules that claims and user must meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.expressions.access import (
    claims_value,
    compile_claims,
    compile_claims_rule,
    compile_user_rule,
    texts_of,
    user_value,
)
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.expressions.stretches import Stretch
from orchd.kinds.users import User
from orchd.server.authn.interfaces import AuthenticationError
from orchd.server.authn.jose import TokenError

#: Cost of all expressions about one token: about a second.
_BUDGET: Final = 2_500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimExpressions:
    """The expressions of an issuer. `extra` are those by the key of an extra attribute; rules have a message for tokens
    for which they are false."""

    username: Expression | None = None
    groups: Expression | None = None
    uid: Expression | None = None
    extra: tuple[tuple[str, Expression], ...] = ()
    claim_rules: tuple[tuple[Expression, str], ...] = ()
    user_rules: tuple[tuple[Expression, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTexts:
    """The same as texts, "" where there is no expression."""

    username: str = ""
    groups: str = ""
    uid: str = ""
    extra: Mapping[str, str]
    claim_rules: tuple[tuple[str, str], ...] = ()
    user_rules: tuple[tuple[str, str], ...] = ()

    def compile(self, dialect: Dialect) -> ClaimExpressions:
        """The compiled expressions, which were validated."""

        def mapping(text: str) -> Expression | None:
            return compile_claims(text, dialect) if text else None

        return ClaimExpressions(
            username=mapping(self.username),
            groups=mapping(self.groups),
            uid=mapping(self.uid),
            extra=tuple((key, compile_claims(text, dialect)) for key, text in self.extra.items()),
            claim_rules=tuple((compile_claims_rule(text, dialect), message) for text, message in self.claim_rules),
            user_rules=tuple((compile_user_rule(text, dialect), message) for text, message in self.user_rules),
        )


class TokenEvaluation:
    """The evaluation of the expressions of an issuer for one token, within one budget. All methods raise TokenError,
    `extra` also AuthenticationError; and LongEvaluationError if `stretch` is a quick one."""

    def __init__(self, expressions: ClaimExpressions, claims: Mapping[str, Any], stretch: Stretch) -> None:
        self._expressions = expressions
        self._claims = {"claims": claims_value(claims)}
        self._stretch = stretch
        self._left = _BUDGET

    def username(self, expression: Expression) -> str:
        name = self._text(expression, "username")
        if not name:
            raise TokenError("empty username via CEL expression is not allowed")
        return name

    def uid(self, expression: Expression) -> str:
        return self._text(expression, "uid")

    def groups(self, expression: Expression) -> tuple[str, ...]:
        value = self._evaluate(expression, self._claims, "group claim expression")
        return _texts(value, "error evaluating group claim expression")

    def extra(self) -> dict[str, tuple[str, ...]]:
        """The extra attributes that have values."""
        results = [(key, each.text, self._evaluate(each, self._claims, "")) for key, each in self._expressions.extra]
        extra = {key: _texts(value, f"error evaluating extra claim expression: {text}") for key, text, value in results}
        return {key: values for key, values in extra.items() if values}

    def check_claims(self) -> None:
        """Apply the rules about claims."""
        self._check(self._expressions.claim_rules, self._claims, "claim validation expression")

    def check_user(self, user: User) -> None:
        """Apply the rules about the user."""
        seen = user_value(user.name, user.uid, user.groups, user.extra)
        self._check(self._expressions.user_rules, {"user": seen}, "user info validation rule")

    def _check(self, rules: tuple[tuple[Expression, str], ...], bindings: Mapping[str, Any], what: str) -> None:
        results = [(rule.text, message, self._evaluate(rule, bindings, what)) for rule, message in rules]
        for text, message, value in results:
            if value is not True:
                raise TokenError(f"error evaluating {what}: validation expression '{text}' failed: {message}")

    def _text(self, expression: Expression, what: str) -> str:
        value = self._evaluate(expression, self._claims, f"{what} claim expression")
        if value.__class__ is not str:
            why = f"{what} claim expression must return a string"
            raise TokenError(f"error evaluating {what} claim expression: {why}")
        return str(value)

    def _evaluate(self, expression: Expression, bindings: Mapping[str, Any], what: str) -> Any:
        outcome = self._stretch.evaluate(expression, bindings, self._left)
        self._left = max(self._left - outcome.cost, 0)
        if outcome.error is None:
            return outcome.value
        why = f"expression '{expression.text}' resulted in error: {outcome.error}"
        if what:
            raise TokenError(f"error evaluating {what}: {why}")
        raise AuthenticationError(why)


def _texts(value: Any, failure: str) -> tuple[str, ...]:
    """The strings of a value, without empty ones. Raises TokenError, which begins with `failure`."""
    listed = texts_of(value)
    if listed is None:
        raise TokenError(f"{failure}: expression must return a string or a list of strings")
    return tuple(each for each in listed if each)
