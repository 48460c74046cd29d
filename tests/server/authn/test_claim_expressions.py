"""Expressions that make a user of claims, and rules about both."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.expressions.stretches import Stretch
from orchd.kinds.users import User
from orchd.server.authn.claimexpressions import ClaimTexts
from orchd.server.authn.interfaces import AuthenticationError
from orchd.server.authn.jose import TokenError
from orchd.server.authn.oidc import OidcOptions, user_of


def mapped(claims: dict[str, Any], **given: Any) -> User:
    texts = ClaimTexts(**{"username": "claims.sub", "extra": {}, **given})
    options = OidcOptions(issuer="https://a", audiences=("x",), expressions=texts.compile(ORCH))
    return user_of(claims, options, Stretch(quick=False))


@pytest.mark.parametrize(("given", "user"), [
    ({}, User(name="s")),
    ({"username": "'p:' + claims.sub"}, User(name="p:s")),
    ({"groups": "claims.roles"}, User(name="s", groups=("a", "b"))),
    ({"groups": "dyn(claims.roles).map(r, 'g:' + r) + ['c', '']"}, User(name="s", groups=("g:a", "g:b", "c"))),
    ({"groups": "claims.roles.split(' ')[?0].orValue('x')"}, None),
    ({"groups": "claims.one"}, User(name="s", groups=("solo",))),
    ({"groups": "null"}, User(name="s")),
    ({"uid": "claims.deep.id"}, User(name="s", uid="7")),
    ({"extra": {"a/b": "claims.roles", "a/c": "''", "a/d": "claims.?none.orValue(null)"}}, User(name="s", extra={"a/b": ("a", "b")})),
    ({"claim_rules": (("claims.n < 10", "m"), ("has(claims.roles)", "m"))}, User(name="s")),
    ({"user_rules": (("user.username == 's' && user.groups == [] && user.extra == {}", "m"),)}, User(name="s")),
])  # fmt: skip
def test_expressions_make_the_user(given: dict[str, Any], user: User | None) -> None:
    """Names, groups, uid and extra attributes are what expressions give, without empty texts."""
    claims = {"sub": "s", "roles": ["a", "b"], "one": "solo", "deep": {"id": "7"}, "n": 5}
    if user is None:
        with pytest.raises(TokenError):
            mapped(claims, **given)
    else:
        assert mapped(claims, **given) == user


@pytest.mark.parametrize(("given", "why"), [
    ({"username": "claims.none"},
     "error evaluating username claim expression: expression 'claims.none' resulted in error: no such key: none"),
    ({"username": "claims.n"}, "error evaluating username claim expression: username claim expression must return a string"),
    ({"username": "''"}, "empty username via CEL expression is not allowed"),
    ({"groups": "claims.n"}, "error evaluating group claim expression: expression must return a string or a list of strings"),
    ({"groups": "[1]"}, "error evaluating group claim expression: expression must return a string or a list of strings"),
    ({"uid": "claims.n"}, "error evaluating uid claim expression: uid claim expression must return a string"),
    ({"extra": {"a/b": "claims.n"}},
     "error evaluating extra claim expression: claims.n: expression must return a string or a list of strings"),
    ({"claim_rules": (("claims.n > 10", "too small"),)},
     "error evaluating claim validation expression: validation expression 'claims.n > 10' failed: too small"),
    ({"claim_rules": (("claims.x > 10", "too small"),)},
     "error evaluating claim validation expression: expression 'claims.x > 10' resulted in error: no such key: x"),
    ({"user_rules": (("user.username != 's'", "reserved"),)},
     "error evaluating user info validation rule: validation expression 'user.username != 's'' failed: reserved"),
    ({"claim_rules": (("dyn(claims.l).all(a, dyn(claims.l).all(b, dyn(claims.l).all(c, true)))", "m"),)},
     "error evaluating claim validation expression: expression 'dyn(claims.l).all(a, dyn(claims.l).all(b, dyn(claims.l).all(c, true)))' resulted in "
     "error: operation cancelled: actual cost limit exceeded"),
])  # fmt: skip
def test_tokens_are_rejected_with_the_reason(given: dict[str, Any], why: str) -> None:
    """A token is rejected if an expression has an error or another type, a rule is false, or the budget is used up."""
    with pytest.raises(TokenError) as error:
        mapped({"sub": "s", "n": 5, "l": list(range(100))}, **given)
    assert str(error.value) == why


def test_all_extra_expressions_are_evaluated_before_their_results_are_looked_at() -> None:
    """An error of an extra attribute is told without a prefix, also if an earlier attribute is no list of strings."""
    with pytest.raises(AuthenticationError) as error:
        mapped({"sub": "s", "n": 5}, extra={"a/b": "claims.n", "a/c": "claims.x"})
    assert str(error.value) == "expression 'claims.x' resulted in error: no such key: x"


DEEP = {"a.b": 1, "in": [1, {"x/y": 2}], "n": {"a.b": "c"}}


@pytest.mark.parametrize(("rule", "holds"), [
    ("claims.n == 5 && claims.n == 5.0 && type(claims.n) == double", True),
    ("claims.deep.a__dot__b == 1", True),
    ("claims.deep.__in__[1].x__slash__y == 2", True),
    ("claims.deep.?n.?a__dot__b.orValue('') == 'c'", True),
    ("claims.foo__dot__bar == 'x' && claims['foo.bar'] == 'x' && has(claims.foo__dot__bar)", True),
    ("claims.foo__dot__none == 'x'", "no such key: foo__dot__none"),
    ("claims.n % 2 == 1", "no such overload: _%_"),
    ("'n' in claims", "no such overload"),
    ("size(claims) > 0", "no such overload: size"),
    # Loops go through values of claims, and through data without escapes inside of them.
    ("claims.exists(v, v == 's')", True),
    ("dyn(claims.deep).all(k, k in claims.deep) && !('a__dot__b' in claims.deep)", True),
    ("dyn(claims.deep.__in__).exists(e, e == 1) && 1 in claims.deep.__in__", True),
    ("dyn(claims.deep.__in__).filter(e, type(e) == map)[0].x__slash__y == 2", "no such key: x__slash__y"),
    ("claims.deep == {'a.b': dyn(1), 'in': dyn([dyn(1), dyn({'x/y': 2})]), 'n': dyn({'a.b': 'c'})}", True),
    ("claims.deep.__in__ == [dyn(1), dyn({'x/y': 2})] && claims.deep.__in__ + [3] != claims.deep.__in__", True),
    ("claims == claims && dyn(claims) != claims", False),
    ("type(claims) == map", False),
    ("claims.huge > 1.0", 'claim "huge" failed to unmarshal: int too large to convert to float'),
])  # fmt: skip
def test_claims_are_data_of_json(rule: str, holds: bool | str) -> None:
    """Numbers are doubles, names are escaped where they are selected, and the claims as a whole are no map."""
    claims = {"sub": "s", "n": 5, "deep": DEEP, "foo.bar": "x", "huge": 10**400}
    if holds is True:
        mapped(claims, claim_rules=((rule, "no"),))
        return
    why = holds or f"validation expression '{rule}' failed: no"
    with pytest.raises(TokenError) as error:
        mapped(claims, claim_rules=((rule, "no"),))
    assert str(error.value).endswith(why)


@pytest.mark.parametrize("rule", [
    "user.extra.example__dot__com__slash__x == ['a'] && user.extra['example.com/x'][0] == 'a'",
    "has(user.uid) && user.uid == '' && user.groups == ['a', 'b'] && user == user",
    "user.extra.all(k, k == 'example.com/x') && user.groups.exists(g, g == 'b')",
])  # fmt: skip
def test_rules_see_the_user(rule: str) -> None:
    """Names of extra attributes may be escaped."""
    given = {"groups": "['a', 'b']", "extra": {"example.com/x": "'a'"}}
    assert mapped({"sub": "s"}, user_rules=((rule, "no"),), **given).extra == {"example.com/x": ("a",)}
    with pytest.raises(TokenError, match="no"):
        mapped({"sub": "s"}, user_rules=((f"!({rule})", "no"),), **given)
