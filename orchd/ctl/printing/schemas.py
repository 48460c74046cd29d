"""Types and fields of OpenAPI documents as text, in the form of the reference's ``explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchd.ctl.errors import CommandError
from orchd.kinds.jsonvalues import Object

#: Width of descriptions in columns, and the most values of an enumeration that a list of fields shows.
_WIDTH = 80
_LISTED_VALUES = 4


def explain(definitions: Object, schema: Object, fields: list[str], *, recursive: bool) -> Iterator[str]:
    """The lines about the field at the end of a path. Raises CommandError for a field that is not there."""
    at = schema
    for depth, field in enumerate(fields):
        properties = dict(_fields(definitions, at))
        if field not in properties:
            names = ", ".join(sorted(properties)) or "none"
            raise CommandError(
                f'field "{".".join(fields[: depth + 1])}" does not exist: those at this place are {names}'
            )
        at = properties[field][1]
    if fields:
        yield f"FIELD: {fields[-1]} <{type_name(definitions, at)}>"
        if at.get("enum"):
            yield from ("ENUM:", *(f"    {_value(each)}" for each in at["enum"]))
        yield from ("", "") if not at.get("enum") else ("",)
    described = [each for part in _parts(definitions, at) for each in (part.get("description"),) if each]
    text = "".join(f"{each}\n" for each in described) or "<empty>"
    yield from ("DESCRIPTION:", *_indented(wrapped(text, _WIDTH - 4), 4))
    rules = [line for part in _parts(definitions, at) for line in _rules(part)]
    if rules:
        yield from ("RULES:", *(f"    {line}" for line in rules), "")
    listed = list(_field_lines(definitions, at, 1, recursive=recursive, above=frozenset()))
    if listed:
        yield from ("FIELDS:", *listed)
    yield ""


def _parts(definitions: Object, schema: Object) -> Iterator[Object]:
    """A schema and those that it consists of: what it refers to, and the members of lists and maps."""
    resolved = resolve(definitions, schema)
    if resolved is not schema and len(schema) > 1:
        yield schema
    yield resolved
    for inner in _inner(resolved):
        yield from _parts(definitions, inner)


def _inner(schema: Object) -> Iterator[Object]:
    yield from schema.get("allOf") or ()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _fields(definitions: Object, schema: Object) -> Iterator[tuple[str, tuple[Object, Object]]]:
    """The name of each field of a schema, with the schema that declares it and the field's own schema."""
    for part in _parts(definitions, schema):
        for name, inner in sorted((part.get("properties") or {}).items()):
            yield name, (part, inner)


def _rules(schema: Object) -> list[str]:
    """The rules that values must meet, each with its message below it."""
    lines: list[str] = []
    for key, rules in schema.items():
        for rule in rules if key.endswith("-validations") else ():
            message = rule.get("message") or rule.get("messageExpression") or ""
            lines += [*rule.get("rule", "").splitlines(), *(f"    {line}" for line in message.splitlines())]
    return lines


def _field_lines(
    definitions: Object, schema: Object, depth: int, *, recursive: bool, above: frozenset[int]
) -> Iterator[str]:
    parts = list(_parts(definitions, schema))
    # Some types contain themselves.
    if any(id(part) in above for part in parts if part.get("properties")):
        return
    above |= {id(part) for part in parts}
    indent = 2 * depth
    for name, (owner, inner) in _fields(definitions, schema):
        mark = " -required-" if name in (owner.get("required") or ()) else ""
        yield f"{' ' * indent}{name}\t<{type_name(definitions, inner)}>{mark}"
        if values := inner.get("enum"):
            more = ", ...." if len(values) > _LISTED_VALUES else ""
            yield f"{' ' * indent}enum: {', '.join(map(_value, values[:_LISTED_VALUES]))}{more}"
        if recursive:
            yield from _field_lines(definitions, inner, depth + 1, recursive=True, above=above)
        else:
            text = str(inner.get("description") or "<no description>")
            yield from (*_indented(wrapped(text, _WIDTH - 2 - indent), indent + 2), "")


def _value(value: Any) -> str:
    return '""' if value == "" else str(value)


def _indented(text: str, depth: int) -> list[str]:
    return [" " * depth + line for line in text.split("\n")]


def resolve(definitions: Object, schema: Object) -> Object:
    """The schema itself, or the one that it refers to."""
    reference = schema.get("$ref")
    target: Object = definitions.get(str(reference).rpartition("/")[2], schema) if reference else schema
    return target


def type_name(definitions: Object, schema: Object) -> str:
    """A type as people write it: ``[]Container``, ``map[string]string``, ``integer``."""
    if isinstance(schema.get("items"), dict):
        return f"[]{type_name(definitions, schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map[string]{type_name(definitions, schema['additionalProperties'])}"
    alternatives = schema.get("allOf") or []
    if len(alternatives) == 1 and not schema.get("properties"):
        return type_name(definitions, alternatives[0])
    if "$ref" in schema:
        type_ = str(resolve(definitions, schema).get("type") or "object")
        return str(schema["$ref"]).rpartition("/")[2].rpartition(".")[2] if type_ == "object" else type_
    type_ = str(schema.get("type") or "object")
    return "Object" if type_ == "object" else type_


def wrapped(text: str, width: int) -> str:
    """A text with line breaks at spaces where lines would be longer than the width; those that it has stay."""
    return "\n".join(_wrapped_line(line, width) for line in text.split("\n"))


def _wrapped_line(line: str, width: int) -> str:
    out, current, spaces, word = "", 0, "", ""
    for char in line:
        if char.isspace() and char != "\xa0":
            if not spaces or word:
                out, current, spaces, word = out + spaces + word, current + len(spaces) + len(word), "", ""
            spaces += char
        else:
            word += char
            if current + len(spaces) + len(word) > width and len(word) < width:
                out, current, spaces = out + "\n", 0, ""
    if not word and current + len(spaces) > width:
        return out
    return out + spaces + word
