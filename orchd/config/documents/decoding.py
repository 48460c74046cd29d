"""The text of a configuration file to data in the shape of its type. Strict: unknown, repeated and mistyped members are
errors, in the words of the reference's decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.config.documents import types
from orchd.dialect import Dialect
from orchd.kinds.codec import decode, json_, yaml_
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape, strict

_HEAD: Final = ("apiVersion", "kind")


class DocumentError(ValueError):
    """A document that cannot be used; the text names the field and says why."""


def decode_document(data: bytes, kind: str, dialect: Dialect) -> dict[str, Any]:
    """The document of `kind` in a YAML or JSON text, in canonical shape and without its apiVersion and kind. Raises
    DocumentError."""
    return decode_versioned(data, kind, dialect)[1]


def decode_versioned(data: bytes, kind: str, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """The version without its group, and the document of `decode_document`. Raises DocumentError."""
    form = Form.JSON if data.lstrip()[:1] == b"{" else Form.YAML
    try:
        document = decode.parse(data, form)
    except ValueError as error:
        raise DocumentError(str(error)) from None
    _check_head(document, kind, dialect)
    wanted = types.type_of(kind, dialect)
    # The members in the order of the text show duplicates; the YAML decoder reports them itself.
    members = json_.decode_members(data) if form is Form.JSON else document
    repeated = yaml_.duplicates(data) if form is Form.YAML else ""
    problems = [*([repeated] if repeated else []), *strict.names(_without_head(members), wanted, located=True)]
    shaped = _to_shape(document, wanted)
    if problems:
        raise DocumentError(f"strict decoding error: {', '.join(problems)}")
    return document["apiVersion"].rpartition("/")[2], shaped


def _check_head(document: Mapping[str, Any], kind: str, dialect: Dialect) -> None:
    versions = types.api_versions(kind, dialect)
    found, version = document.get("kind") or "", document.get("apiVersion") or ""
    expected = f"expected {kind} of {', '.join(versions[:-1])} or {versions[-1]}"
    for name, value in (("Kind", found), ("apiVersion", version)):
        if not value:
            raise DocumentError(f"Object '{name}' is missing; {expected}")
    if found != kind or version not in versions:
        raise DocumentError(f'no kind "{found}" is registered for version "{version}"; {expected}')


def _to_shape(document: Mapping[str, Any], wanted: Type) -> dict[str, Any]:
    try:
        shaped: dict[str, Any] = shape.canonical(_without_head(document), wanted)
    except shape.ShapeError as error:
        raise DocumentError(str(error)) from None
    return shaped


def _without_head(value: Any) -> Any:
    if isinstance(value, strict.Members):
        return strict.Members(member for member in value if member[0] not in _HEAD)
    return {name: item for name, item in value.items() if name not in _HEAD}
