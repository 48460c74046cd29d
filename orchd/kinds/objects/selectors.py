"""Label selectors and field selectors.

Label selectors are texts (specification, "Label selectors": ``a=b,c!=d,e in (f,g),!h``) or LabelSelector objects. Field
selectors are texts with ``=``, ``==`` and ``!=`` on the selectable fields of a kind. Error messages are the
reference's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from orchd.errors import bad_request, quoted
from orchd.kinds.catalog import Resource
from orchd.kinds.digits import integer
from orchd.kinds.objects.by_release import Reworded
from orchd.kinds.objects.validate.names import label_value, qualified_name
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.rows import resolve

Labels = Mapping[str, str]

# --- label selectors ----------------------------------------------------------------------------

EQUALS: Final = "="
NOT_EQUALS: Final = "!="
IN: Final = "in"
NOT_IN: Final = "notin"
EXISTS: Final = "exists"
MISSING: Final = "!"
GREATER: Final = "gt"
LESS: Final = "lt"

_WORDS: Final = {"in": IN, "notin": NOT_IN}
_SIGNS: Final = {"=": EQUALS, "==": EQUALS, "!=": NOT_EQUALS, ">": GREATER, "<": LESS}
_TOKEN = re.compile(r"[ \t\r\n]*(?:([(),]|[=<>!]{1,2})|([^ \t\r\n()!,=<>]+)|\Z)")
_EXPECTED_OPERATOR: Final = "in, notin, =, ==, !=, gt, lt"
_INTEGER = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)


class _WrongRequirementError(Exception):
    """A malformed requirement. The message follows ``unable to parse requirement: ``."""


#: Maximum length of a selector. The reference only limits the request head.
MAX_LENGTH: Final = 64 << 10


class Requirement(NamedTuple):
    """A requirement on a label. `values` has one item for equality and comparison, none for existence."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "=" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        if value is None or not _is_integer(value):
            return False
        (bound,) = self.values
        return integer(value) > integer(bound) if self.operator == GREATER else integer(value) < integer(bound)


#: Number of requirements that are tried one by one.
_FEW: Final = 16


class _ByKey:
    """Many requirements, at most one of each sort for each key: an object is compared with those of its own labels."""

    __slots__ = ("_present", "_requirements")

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        alike: dict[str, Sequence[Requirement]] = {}
        repeated: dict[str, list[Requirement]] = {}
        for each in requirements:
            first = alike.setdefault(each.key, (each,))[0]
            if first is not each:
                repeated.setdefault(each.key, [first]).append(each)
        self._requirements = {**alike, **{key: _one_of_each_sort(key, several) for key, several in repeated.items()}}
        #: The keys that an object must have.
        self._present = frozenset(each.key for each in requirements if each.operator not in _WITHOUT)

    def match(self, labels: Labels) -> bool:
        """True if these labels meet all."""
        requirements = self._requirements
        if not self._present <= labels.keys():
            return False
        keys: Iterable[str] = labels if len(labels) < len(requirements) else requirements
        return all(each.matches(labels) for key in keys for each in requirements.get(key, ()))


_SORTS: Final = {EQUALS: IN, NOT_EQUALS: NOT_IN}
#: Operators that labels without the key meet.
_WITHOUT: Final = frozenset((NOT_EQUALS, NOT_IN, MISSING))


def _one_of_each_sort(key: str, requirements: Iterable[Requirement]) -> list[Requirement]:
    """As few requirements of one key that mean the same."""
    sorts: dict[str, list[frozenset[str]]] = {}
    for _, operator, values in requirements:
        sorts.setdefault(_SORTS.get(operator, operator), []).append(values)
    return [Requirement(key, sort, _join(sort, several)) for sort, several in sorts.items()]


def _join(sort: str, values: Sequence[frozenset[str]]) -> frozenset[str]:
    """The values of the requirement that is met where all of this sort and key are."""
    if sort == IN:
        return frozenset.intersection(*values)
    every = frozenset().union(*values)
    if sort in (GREATER, LESS):
        return frozenset(((max if sort == GREATER else min)(every, key=integer),))
    return every


@dataclass(slots=True)
class LabelSelector:
    """Selects labels that contain `equal` and meet all `requirements`; without any, everything. `impossible`: selects
    nothing.

    A value, not to be modified. Thousands of `equal` labels cost no more than their comparison: they may be those of an
    object, and are not copied.
    Of thousands of requirements only those count that concern a label of the object.
    """

    requirements: tuple[Requirement, ...] = ()
    impossible: bool = False
    equal: Mapping[str, str] = field(default_factory=dict)
    #: Required values of labels, for index lookups.
    exact: Mapping[str, str] = field(init=False, compare=False)
    #: The requirements by key, made when they are first needed; None before, and for few.
    _by_key: _ByKey | None = field(default=None, init=False, compare=False, repr=False)
    #: Computed when it is first needed.
    _hash: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.requirements, self.impossible, frozenset(self.equal.items())))
        return self._hash

    def __post_init__(self) -> None:
        exact: dict[str, str] = {}
        for requirement in self.requirements:
            if requirement.operator in (EQUALS, IN) and len(requirement.values) == 1:
                (value,) = requirement.values
                exact.setdefault(requirement.key, value)
        self.exact = {**exact, **self.equal} if exact else self.equal

    @staticmethod
    def parse(text: str, release: Release = SPECIFICATION) -> LabelSelector:
        """Parse a query parameter. Raises ApiError 400 in the words of `release`."""
        _check_length(text)
        return LabelSelector(tuple(_Reader(text, release).requirements()))

    @staticmethod
    def from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
        """Convert a valid LabelSelector object. None selects nothing, an empty object everything."""
        if not selector:
            return NOTHING if selector is None else EVERYTHING
        requirements = []
        for expression in selector.get("matchExpressions") or ():
            operator = _OPERATORS.get(expression.get("operator", ""))
            if operator is None:
                raise ValueError(f'"{expression.get("operator", "")}" is not a valid label selector operator')
            values = frozenset(each) if (each := expression.get("values")) else _NONE
            # Takes half the time of a call of the class.
            requirements.append(Requirement._make((expression.get("key", ""), operator, values)))
        return LabelSelector(tuple(requirements), equal=selector.get("matchLabels") or {})

    @staticmethod
    def from_map(labels: Labels) -> LabelSelector:
        """A selector of exact values (services and replication controllers)."""
        return LabelSelector(equal=labels)

    @property
    def choices(self) -> dict[str, frozenset[str]]:
        """Labels that must have one of several values, or, with an empty set, any value; the first requirement of each
        label."""
        values: dict[str, frozenset[str]] = {}
        for requirement in self.requirements:
            if requirement.operator == IN and len(requirement.values) > 1:
                values.setdefault(requirement.key, requirement.values)
            elif requirement.operator in (EXISTS, GREATER, LESS):
                values.setdefault(requirement.key, frozenset())
        return values

    def matches(self, labels: Labels | None) -> bool:
        if self.impossible:
            return False
        have = labels or {}
        if not self.equal.items() <= have.items():
            return False
        if len(self.requirements) <= _FEW:
            return all(requirement.matches(have) for requirement in self.requirements)
        if self._by_key is None:
            self._by_key = _ByKey(self.requirements)
        return self._by_key.match(have)

    @property
    def everything(self) -> bool:
        return not self.requirements and not self.equal and not self.impossible

    def __str__(self) -> str:
        """The text form, requirements in the order of their keys (status.selector of Scale)."""
        equal = (Requirement(k, EQUALS, frozenset((v,))) for k, v in self.equal.items())
        return ",".join(_text(r) for r in sorted((*equal, *self.requirements), key=lambda r: r.key))


_NONE: Final[frozenset[str]] = frozenset()
_OPERATORS: Final = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": MISSING}
NOTHING: Final = LabelSelector(impossible=True)
EVERYTHING: Final = LabelSelector()


def _text(requirement: Requirement) -> str:
    key, operator, values = requirement.key, requirement.operator, sorted(requirement.values)
    match operator:
        case "exists":
            return key
        case "!":
            return f"!{key}"
        case "in" | "notin":
            return f"{key} {operator} ({','.join(values)})"
        case "gt" | "lt":
            return f"{key}{'>' if operator == GREATER else '<'}{values[0]}"
    return f"{key}{operator}{values[0]}"


class _Reader:
    """Parses the tokens of a text to requirements. "" is the end token."""

    def __init__(self, text: str, release: Release) -> None:
        self._release = release
        self.tokens = list(_tokens(text))
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def requirements(self) -> Iterable[Requirement]:
        while True:
            token = self.peek()
            if token == "":
                return
            if token != "!" and not _is_identifier(token):
                raise bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                yield self.requirement()
            except _WrongRequirementError as error:
                raise bad_request(f"unable to parse requirement: {error}") from None
            token = self.take()
            if token == "":
                return
            if token != ",":
                raise bad_request(f"found '{token}', expected: ',' or 'end of string'")
            following = self.peek()
            if following != "!" and not _is_identifier(following):
                raise bad_request(f"found '{following}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        absent = self.peek() == "!"
        if absent:
            self.take()
        key = self.take()
        if not _is_identifier(key):
            raise _WrongRequirementError(f"found '{key}', expected: identifier")
        wrong = qualified_name(key)
        if wrong:
            raise _WrongRequirementError(f"<nil>: Invalid value: {quoted(key)}: {self._join(wrong)}")
        if absent:
            return Requirement(key, MISSING)
        if self.peek() in ("", ","):
            return Requirement(key, EXISTS)
        token = self.take()
        operator = _SIGNS.get(token) or _WORDS.get(token)
        if operator is None:
            raise _WrongRequirementError(f"found '{token}', expected: {_EXPECTED_OPERATOR}")
        values = self.values() if operator in (IN, NOT_IN) else [self.value()]
        return self._check(key, operator, values)

    def _check(self, key: str, operator: str, values: list[str]) -> Requirement:
        wrong = []
        value_set = frozenset(values)
        for index, value in enumerate(sorted(value_set)):
            if operator in (GREATER, LESS) and not _is_integer(value):
                why = "for 'Gt', 'Lt' operators, the value must be an integer"
                wrong.append(f"values[{index}]: Invalid value: {quoted(value)}: {why}")
            faults = label_value(value)
            if faults:
                wrong.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {self._join(faults)}")
        if wrong:
            raise _WrongRequirementError(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
        return Requirement(key, operator, value_set)

    def _join(self, faults: Sequence[str]) -> str:
        return "; ".join(each.in_release(self._release) if isinstance(each, Reworded) else each for each in faults)

    def value(self) -> str:
        """Parse the value after an operator; "" before a comma or the end."""
        if self.peek() in ("", ","):
            return ""
        token = self.take()
        if not _is_identifier(token):
            raise _WrongRequirementError(f"found '{token}', expected: identifier")
        return token

    def values(self) -> list[str]:
        """Parse a list in parentheses; an omitted value is the empty string."""
        token = self.take()
        if token != "(":
            raise _WrongRequirementError(f"found '{token}' expected: '('")
        values: list[str] = []
        if self.peek() == ")":
            self.take()
            return [""]
        if self.peek() != "," and not _is_identifier(self.peek()):
            raise _WrongRequirementError(f"found '{self.peek()}', expected: ',', ')' or identifier")
        expects_value = True
        while True:
            token = self.take()
            if token == ",":
                if expects_value:
                    values.append("")
                expects_value = True
            elif token == ")":
                if expects_value:
                    values.append("")
                return values
            elif _is_identifier(token) and expects_value:
                values.append(token)
                expects_value = False
            else:
                expected = "',', or identifier" if expects_value else "',' or ')'"
                raise _WrongRequirementError(f"found '{token}', expected: {expected}")


def _tokens(text: str) -> Iterable[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        sign, word = match.groups()
        if sign is None and word is None:
            return
        token = sign or word
        # "=!" is not an operator: a token is the longest prefix that is one.
        while sign and len(token) > 1 and token not in _SIGNS:
            token = token[:-1]
        yield token
        at = match.start(1 if sign else 2) + len(token)


def _is_identifier(token: str) -> bool:
    """True for identifiers, including operator words, which are valid keys and values."""
    return bool(token) and token[0] not in "()!,=<>"


def _is_integer(text: str) -> bool:
    return _INTEGER.match(text) is not None and -(2**63) <= integer(text) < 2**63


# --- field selectors ----------------------------------------------------------------------------

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"


def supported_fields(resource: Resource) -> dict[str, str]:
    """The selectable fields of `resource`: name in selectors -> name in the index."""
    described = resource.row.fields
    names = {_NAME: _NAME}
    if resource.namespaced if resource.custom else described.namespace:
        names[_NAMESPACE] = _NAMESPACE
    names.update((name, name) for name in described.names)
    names.update(described.aliases)
    return names


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    field: str
    equal: bool
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Selects objects that meet all `requirements`."""

    requirements: tuple[FieldRequirement, ...] = ()
    #: Required values of fields, for index lookups.
    exact: Mapping[str, str] = field(init=False, compare=False)
    #: Every value that a requirement names, by its field and by whether the field must have it.
    _named: Mapping[tuple[str, bool], frozenset[str]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        exact: dict[str, str] = {}
        named: dict[tuple[str, bool], set[str]] = {}
        for requirement in self.requirements:
            named.setdefault((requirement.field, requirement.equal), set()).add(requirement.value)
            if requirement.equal:
                exact.setdefault(requirement.field, requirement.value)
        object.__setattr__(self, "exact", exact)
        object.__setattr__(self, "_named", {place: frozenset(values) for place, values in named.items()})

    @staticmethod
    def parse(text: str, resource: Resource) -> FieldSelector:
        """Parse a query parameter. Raises ApiError 400, also for fields that the kind does not support."""
        _check_length(text)
        supported = supported_fields(resource)
        terms = FieldSelector.terms(text)
        for name, _, _ in terms:
            if name not in supported:
                raise bad_request(
                    resource.row.fields.unsupported.format(name=name, quoted=quoted(name), version=resource.api_version)
                )
        return FieldSelector(tuple(FieldRequirement(supported[name], equal, value) for name, equal, value in terms))

    @staticmethod
    def terms(text: str) -> list[tuple[str, bool, str]]:
        """Parse terms to (field, True for equality, value), without those of neither. Raises ApiError 400."""
        terms = (_field_term(part, text) for part in sorted(_split_terms(text)))
        return [term for term in terms if term[0] or term[2]]

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all(
            values == {fields.get(name, "")} if equal else fields.get(name, "") not in values
            for (name, equal), values in self._named.items()
        )

    @property
    def everything(self) -> bool:
        return not self.requirements


def _check_length(text: str) -> None:
    """Raise ApiError 400 for a selector above the maximum length."""
    if len(text) > MAX_LENGTH:
        raise bad_request(f"the selector is longer than {MAX_LENGTH} characters")


def _split_terms(text: str) -> list[str]:
    """Split a field selector at commas that are not escaped by a backslash."""
    return re.findall(r"(?:[^\\,]|\\.)+|\\\Z", text, re.DOTALL)


def _field_term(part: str, whole: str) -> tuple[str, bool, str]:
    match = re.search("!=|==?", part)
    if match is None:
        raise bad_request(f"invalid selector: '{whole}'; can't understand '{part}'")
    return part[: match.start()], match.group() != "!=", _unescape(part[match.end() :])


def _unescape(text: str) -> str:
    """A value without its backslashes; only ``\\\\``, ``\\,`` and ``\\=`` are escapes, and signs must be escaped."""
    out: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            if following not in ("\\", ",", "=") or not following:
                sequence = f"\\{following}" if following else "\\"
                raise bad_request(f"invalid field selector: invalid escape sequence: {sequence}")
            out.append(following)
        elif character in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            out.append(character)
    return "".join(out)


# --- values of objects --------------------------------------------------------------------------


def custom_value(obj: Any, path: str) -> str:
    """The text of a field of a custom object; "" for a missing one."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return "" if obj is None else str(obj)


def index_for(resource: Resource) -> Callable[[bytes | dict[str, Any]], tuple[Labels, Mapping[str, str]]]:
    """The index function of the watch cache for `resource`: extracts labels and selectable fields from stored bytes, or
    from the object that they encode, which may have any version of the kind. Does not refer to `resource`: a cache
    remains when a custom kind is replaced."""
    described, paths = resource.row.fields.values, resource.selectable
    values = resolve(described) if described else None

    def index(stored: bytes | dict[str, Any]) -> tuple[Labels, Mapping[str, str]]:
        obj = stored if isinstance(stored, dict) else orjson.loads(stored)
        metadata = obj.get("metadata") or {}
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        if values is not None:
            fields.update(values(obj))
        for path in paths:
            fields[path] = custom_value(obj, path)
        return metadata.get("labels") or {}, fields

    return index
