"""Semantic versions: ``semver('1.2.3-rc.1')``."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchd.cel.costs import FLAT, Meter, reading
from orchd.cel.declare import Library, function, member, overload
from orchd.cel.quoting import quote
from orchd.cel.types import BOOL, INT, STRING, VENDOR, Type, struct
from orchd.cel.values import EvaluationError, Opaque, Value, no_overload, wrapped

SEMVER_TYPE = struct(f"{VENDOR}.Semver")
_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9-]*", re.ASCII)
#: What is ordered of a part before the release: numbers before words.
_Part = tuple[int, int, str]


class Semver(Opaque):
    """A version. Build metadata is kept, but takes no part in comparisons."""

    __slots__ = ("build", "numbers", "parts", "text")
    cel_type: Type = SEMVER_TYPE
    class_name = "cel.Semver"
    data_name = "semver.Version"

    def __init__(self, numbers: list[int], parts: list[str], build: list[str]) -> None:
        self.numbers = numbers
        self.parts: list[_Part] = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
        texts = [str(int(part)) if part.isdigit() else part for part in parts]
        self.text = ".".join(map(str, numbers))
        if texts:
            self.text += f"-{'.'.join(texts)}"
        if build:
            self.text += f"+{'.'.join(build)}"

    def __str__(self) -> str:
        return self.text

    def compare(self, other: Semver) -> int:
        # A version without parts is behind all with parts.
        mine = (self.numbers, not self.parts, self.parts)
        yours = (other.numbers, not other.parts, other.parts)
        return (mine > yours) - (mine < yours)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, Semver):
            raise no_overload()
        return self.compare(other) == 0

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"semver": self.text}


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name} number must not contain leading zeroes {quote(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text or len(text) > 20 or int(text) >= 2**64:
        reason = "value out of range" if text else "invalid syntax"
        raise EvaluationError(f"strconv.ParseUint: parsing {quote(text)}: {reason}")
    return int(text)


def parse_version(text: str) -> Semver:
    """Return the version of a text. Raises `EvaluationError`."""
    if not text:
        raise EvaluationError("Version string empty")
    pieces = text.split(".", 2)
    if len(pieces) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    numbers = [_number("Major", pieces[0]), _number("Minor", pieces[1])]
    rest, plus, meta = pieces[2].partition("+")
    patch, dash, before = rest.partition("-")
    numbers.append(_number("Patch", patch))
    parts = before.split(".") if dash else []
    for part in parts:
        if not part:
            raise EvaluationError("Prerelease is empty")
        if _DIGITS.fullmatch(part):
            if len(part) > 1 and part[0] == "0":
                raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quote(part)}")
            _unsigned(part)
        elif not _WORD.fullmatch(part):
            raise EvaluationError(f"Invalid character(s) found in prerelease {quote(part)}")
    build = meta.split(".") if plus else []
    for part in build:
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quote(part)}")
    return Semver(numbers, parts, build)


def normalize_version(text: str, normalize: bool) -> Semver:
    """Like `parse_version`, but if asked also for ``v1``, ``1.2`` and ``01.2.3``."""
    if not normalize:
        return parse_version(text)
    pieces = text.removeprefix("v").split(".", 2)
    for index, piece in enumerate(pieces):
        if len(piece.encode()) > 1:
            piece = piece.lstrip("0")
            if not piece or piece[0] not in "0123456789":
                piece = "0" + piece
            pieces[index] = piece
    if len(pieces) < 3:
        if "+" in pieces[-1] or "-" in pieces[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        pieces += ["0"] * (3 - len(pieces))
    return parse_version(".".join(pieces))


def _is_version(text: str, normalize: bool = False) -> bool:
    try:
        normalize_version(text, normalize)
    except EvaluationError:
        return False
    return True


_PARSE = reading(0)
_PAIR = [SEMVER_TYPE, SEMVER_TYPE]

LIBRARY = Library(
    name="semver",
    functions=(
        function(
            "semver",
            overload("string_to_semver", [STRING], SEMVER_TYPE, parse_version, cost=_PARSE),
            overload("string_bool_to_semver", [STRING, BOOL], SEMVER_TYPE, normalize_version, cost=_PARSE),
        ),
        function(
            "isSemver",
            overload("is_semver_string", [STRING], BOOL, _is_version, cost=_PARSE),
            overload("is_semver_string_bool", [STRING, BOOL], BOOL, _is_version, cost=_PARSE),
        ),
        function(
            "isGreaterThan",
            member("semver_is_greater_than", _PAIR, BOOL, lambda left, right: left.compare(right) > 0, cost=FLAT),
        ),
        function(
            "isLessThan",
            member("semver_is_less_than", _PAIR, BOOL, lambda left, right: left.compare(right) < 0, cost=FLAT),
        ),
        function("compareTo", member("semver_compare_to", _PAIR, INT, Semver.compare, cost=FLAT)),
        function(
            "major", member("semver_major", [SEMVER_TYPE], INT, lambda version: wrapped(version.numbers[0]), cost=FLAT)
        ),
        function(
            "minor", member("semver_minor", [SEMVER_TYPE], INT, lambda version: wrapped(version.numbers[1]), cost=FLAT)
        ),
        function(
            "patch", member("semver_patch", [SEMVER_TYPE], INT, lambda version: wrapped(version.numbers[2]), cost=FLAT)
        ),
    ),
)
