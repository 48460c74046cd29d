"""The text of a configuration file to data in the shape of its type. Strict: unknown, repeated and mistyped members are
errors, in the words of the reference's decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.config.documents import types
from orchd.dialect import Dialect
from orchd.kinds.codec import decode, json_, yaml_
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.gotext.values import json_name
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape, strict

_HEAD: Final = ("apiVersion", "kind")


class DocumentError(ValueError):
    """A document that cannot be used; the text names the field and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """A text or a part of one, before its kind is known. `members` is `document` with repeated members, in the order of
    the text; `problems` are those of the text, whatever its kind."""

    document: Any
    members: Any
    problems: tuple[str, ...] = ()

    def part(self, *path: str | int) -> ParsedText:
        """The part at a path, such as ``("plugins", 0, "configuration")``; the path must exist."""
        document, members = self.document, self.members
        for step in path:
            document = document[step]
            inner: Any = dict(members) if isinstance(members, strict.Members) else members
            members = inner[step]
        return ParsedText(document=document, members=members)


def parse_text(data: bytes) -> ParsedText:
    """A YAML or JSON text. Raises DocumentError for one that is neither, not an object, or more than one document."""
    form = Form.JSON if data.lstrip()[:1] == b"{" else Form.YAML
    try:
        document = decode.parse(data, form)
        # The members in the order of the text show duplicates; the YAML decoder reports them itself.
        if form is Form.JSON:
            return ParsedText(document=document, members=json_.decode_members(data))
        repeated = yaml_.duplicates(data, whole=True)
    except ValueError as error:
        raise DocumentError(str(error)) from None
    return ParsedText(document=document, members=document, problems=(repeated,) if repeated else ())


def decode_document(data: bytes, kind: str, dialect: Dialect) -> dict[str, Any]:
    """The document of `kind` in a YAML or JSON text, in canonical shape and without its apiVersion and kind. Raises
    DocumentError."""
    return decode_versioned(data, kind, dialect)[1]


def decode_versioned(data: bytes, kind: str, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """The version without its group, and the document of `decode_document`. Raises DocumentError."""
    text = parse_text(data)
    shaped = decode_parsed(text, kind, dialect)
    return text.document["apiVersion"].rpartition("/")[2], shaped


def decode_parsed(text: ParsedText, kind: str, dialect: Dialect) -> dict[str, Any]:
    """The document of `kind` in a parsed text, as from `decode_document`. Raises DocumentError."""
    heads = types.heads(kind, dialect)
    document, members = text.document, text.members
    if not isinstance(document, dict):
        raise DocumentError(f"must be an object, not {json_name(document)}")
    if heads:
        _check_head(document, heads)
        document, members = _without_head(document), _without_head(members)
    type_ = types.type_of(kind, dialect)
    problems = [*text.problems, *strict.names(members, type_, located=True)]
    shaped = _to_shape(document, type_)
    if problems:
        raise DocumentError(f"strict decoding error: {', '.join(problems)}")
    return shaped


def _check_head(document: Mapping[str, Any], heads: Sequence[tuple[str, str]]) -> None:
    actual, version = document.get("kind") or "", document.get("apiVersion") or ""
    kinds = list(dict.fromkeys(kind for _, kind in heads))
    expected = "expected " + " or ".join(f"{kind} of {_listed([v for v, k in heads if k == kind])}" for kind in kinds)
    for name, value in (("Kind", actual), ("apiVersion", version)):
        if not value:
            raise DocumentError(f"Object '{name}' is missing; {expected}")
    if (version, actual) not in heads:
        raise DocumentError(f'no kind "{actual}" is registered for version "{version}"; {expected}')


def _listed(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{', '.join(versions[:-1])} or {versions[-1]}"


def _to_shape(document: dict[str, Any], type_: Type) -> dict[str, Any]:
    try:
        shaped: dict[str, Any] = shape.canonical(document, type_)
    except shape.ShapeError as error:
        raise DocumentError(str(error)) from None
    return shaped


def _without_head(value: Any) -> Any:
    if isinstance(value, strict.Members):
        return strict.Members(member for member in value if member[0] not in _HEAD)
    return {name: item for name, item in value.items() if name not in _HEAD}
