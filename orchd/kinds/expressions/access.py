"""Expressions of configuration files: about claims of tokens, users, and requests that an authorization webhook is
asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from orchd.cel.environment import Environment, Struct, Variable
from orchd.cel.operators import is_list
from orchd.cel.releases import environment_of_release
from orchd.cel.syntax import Call, Ident, Literal, Select, children
from orchd.cel.types import ANY, BOOL, STRING, VENDOR, Type, list_of, map_of, struct
from orchd.dialect import Dialect
from orchd.kinds.expressions.claims import Members
from orchd.kinds.expressions.compiled import RELEASE, Expression, compile_expression

_STRINGS: Final = list_of(STRING)
_EXTRA: Final = map_of(STRING, _STRINGS)
_CLAIMS: Final = struct(f"{VENDOR}.claims")
_USER: Final = struct(f"{VENDOR}.UserInfo")
_REVIEW: Final = struct(f"{VENDOR}.SubjectAccessReviewSpec")
_RESOURCE: Final = struct(f"{VENDOR}.ResourceAttributes")
_PATH: Final = struct(f"{VENDOR}.NonResourceAttributes")
_REQUIREMENT: Final = struct(f"{VENDOR}.SelectorRequirement")
_FIELD_SELECTOR: Final = struct(f"{VENDOR}.FieldSelectorAttributes")
_LABEL_SELECTOR: Final = struct(f"{VENDOR}.LabelSelectorAttributes")
_SELECTOR: Final = {"rawSelector": STRING, "requirements": list_of(_REQUIREMENT)}
_FIELDS: Final[Mapping[Type, Mapping[str, Type]]] = {
    _USER: {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": _EXTRA},
    _REVIEW: {
        "resourceAttributes": _RESOURCE,
        "nonResourceAttributes": _PATH,
        "user": STRING,
        "groups": _STRINGS,
        "extra": _EXTRA,
        "uid": STRING,
    },
    _RESOURCE: {
        **dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING),
        "fieldSelector": _FIELD_SELECTOR,
        "labelSelector": _LABEL_SELECTOR,
    },
    _PATH: {"path": STRING, "verb": STRING},
    _FIELD_SELECTOR: _SELECTOR,
    _LABEL_SELECTOR: _SELECTOR,
    _REQUIREMENT: {"key": STRING, "operator": STRING, "values": _STRINGS},
}
_STRUCTS: Final = {type_.name: Struct(fields=fields) for type_, fields in _FIELDS.items()}


@lru_cache(maxsize=16)
def _environment(vendor: str, name: str, type_: Type) -> Environment:
    return environment_of_release(RELEASE, vendor).with_variables({name: Variable(type=type_)}, _STRUCTS)


def claims_value(claims: Mapping[str, Any]) -> Members:
    """The variable `claims`."""
    return Members(claims, _CLAIMS)


def user_value(name: str, uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> Members:
    """The variable `user`."""
    listed = {key: list(values) for key, values in extra.items()}
    return Members({"username": name, "uid": uid, "groups": list(groups), "extra": listed}, _USER)


def compile_claims(text: str, dialect: Dialect) -> Expression:
    """A mapping of claims. The types of claims are not known, so its result is checked when it is evaluated."""
    return compile_expression(text, _environment(dialect("{long}"), "claims", map_of(STRING, ANY)))


def compile_claims_rule(text: str, dialect: Dialect) -> Expression:
    """A rule about claims."""
    return _rule(text, _environment(dialect("{long}"), "claims", map_of(STRING, ANY)))


def compile_user_rule(text: str, dialect: Dialect) -> Expression:
    """A rule about the user that claims were mapped to."""
    return _rule(text, _environment(dialect("{long}"), "user", _USER))


def compile_review_condition(text: str, dialect: Dialect) -> Expression:
    """A match condition of an authorization webhook, about the spec of a SubjectAccessReview."""
    return compile_expression(text, _environment(dialect("{long}"), "request", _REVIEW), (BOOL,))


def _rule(text: str, environment: Environment) -> Expression:
    return compile_expression(text, environment, (BOOL,), names_result=False)


def texts_of(value: Any) -> tuple[str, ...] | None:
    """The strings of a value: those of a list, a single one, or none of null. None if it is anything else."""
    if value is None:
        return ()
    if value.__class__ is str:
        return (value,)
    if not is_list(value):
        return None
    texts = tuple(value)
    return texts if all(each.__class__ is str for each in texts) else None


def uses_claim(expression: Expression, claim: str) -> bool:
    """True if a compiled expression selects a claim by its name, as in ``claims.email`` and ``claims.?email``."""
    left = [expression.node] if expression.node is not None else []
    while left:
        node = left.pop()
        match node:
            case Select(operand=Ident(name="claims"), field=field) if field == claim:
                return True
            case Call(function="_?._", args=[Ident(name="claims"), Literal(value=value)]) if value == claim:
                return True
        left.extend(children(node))
    return False
