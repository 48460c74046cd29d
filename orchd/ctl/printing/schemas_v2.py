"""Types and fields of OpenAPI documents as text, in the older form of the reference's ``explain``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchd.ctl.errors import CommandError
from orchd.ctl.printing.schemas import resolve
from orchd.kinds.jsonvalues import Object

_WIDTH = 80
#: The beginning of an element of a list.
_ELEMENT = re.compile(r"(\d+\.?|-|\*)\s")


def explain(definitions: Object, schema: Object, fields: list[str], *, recursive: bool) -> Iterator[str]:
    """The lines about the field at the end of a path. Raises CommandError for a field that is not there."""
    at = schema
    for field in fields:
        properties = _leaf(definitions, at).get("properties")
        if properties is None:
            break
        if field not in properties:
            raise CommandError(f'field "{field}" does not exist')
        at = properties[field]
    leaf = _leaf(definitions, at)
    if "properties" in leaf and fields:
        yield from (f"RESOURCE: {fields[-1]} <{_type_name(definitions, at)}>", "")
    elif leaf.get("type", "object") != "object":
        yield from (f"FIELD:    {fields[-1]} <{_type_name(definitions, at)}>", "")
    yield "DESCRIPTION:"
    described = [str(each.get("description") or "") for each in _chain(definitions, at)]
    for number, text in enumerate(described):
        if text:
            yield from ("",) if number else ()
            yield from _lines(text, 5)
    if not any(described):
        yield from _lines("<empty>", 5)
    if "properties" in leaf:
        yield from ("", "FIELDS:", *_field_lines(definitions, leaf, 3, recursive=recursive, above=frozenset()))


def _chain(definitions: Object, schema: Object) -> Iterator[Object]:
    """A schema, and what it refers to or has as members, to the last."""
    yield schema
    for inner in (resolve(definitions, schema), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict) and inner is not schema:
            yield from _chain(definitions, inner)
            return


def _leaf(definitions: Object, schema: Object) -> Object:
    return list(_chain(definitions, schema))[-1]


def _field_lines(
    definitions: Object, schema: Object, indent: int, *, recursive: bool, above: frozenset[str]
) -> Iterator[str]:
    for name, inner in sorted(schema["properties"].items()):
        mark = " -required-" if not recursive and name in (schema.get("required") or ()) else ""
        yield f"{' ' * indent}{name}\t<{_type_name(definitions, inner)}>{mark}"
        if not recursive:
            yield from (*_lines(str(inner.get("description") or ""), indent + 2), "")
            continue
        references = [str(each["$ref"]) for each in _chain(definitions, inner) if "$ref" in each]
        leaf = _leaf(definitions, inner)
        # Some types contain themselves.
        if "properties" in leaf and above.isdisjoint(references):
            yield from _field_lines(definitions, leaf, indent + 3, recursive=True, above=above.union(references))


def _type_name(definitions: Object, schema: Object) -> str:
    schema = resolve(definitions, schema)
    type_ = schema.get("type")
    if type_ == "array":
        return f"[]{_type_name(definitions, schema.get('items') or {})}"
    if "properties" in schema:
        return "Object"
    if type_ == "object":
        inner = schema.get("additionalProperties")
        return f"map[string]{_type_name(definitions, inner if isinstance(inner, dict) else {})}"
    return str(type_ or "")


def _lines(text: str, indent: int) -> Iterator[str]:
    """The lines of a description: words fill lines, but lists, empty lines and indented lines stay."""
    for line in _filled(text, _WIDTH - indent):
        yield " " * indent + line if line else ""


def _filled(text: str, width: int) -> list[str]:
    out: list[str] = []
    current = ""
    for line in text.split("\n"):
        verbatim, blank = line.startswith("    "), not line.strip()
        separates = blank and bool(out)
        if current and (current.endswith(":") or verbatim or blank or _ELEMENT.match(line.strip())):
            out.append(current)
            current = ""
        if verbatim or separates:
            out.append(line if verbatim else "")
            continue
        for word in line.split():
            if current and len(current) + 1 + len(word) > width:
                out.append(current)
                current = ""
            current = f"{current} {word}" if current else word
    return [*out, current] if current else out
