"""``explain``: types and fields, from the server's OpenAPI document."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("path", metavar="TYPE[.FIELD...]")
@click.option("--recursive", is_flag=True, help="All fields below, without descriptions.")
@click.option("--api-version", default="", help="Version of the API, such as apps/v1; default: the preferred one.")
@pass_session
def explain(session: Session, path: str, recursive: bool, api_version: str) -> None:
    """Describe a type or a field from the server's OpenAPI document."""

    async def work(api: Api) -> None:
        word, *fields = path.split(".")
        resource = await api.discovery.find(word)
        definitions = (await api.document("/openapi/v2")).get("definitions") or {}
        version = api_version or resource.api_version
        schema = _definition(definitions, version, resource.kind)
        for line in explain_lines(definitions, schema, resource.kind, version, fields, recursive=recursive):
            output.line(line)

    session.run(work)


def _definition(definitions: Object, api_version: str, kind: str) -> Object:
    group, _, version_ = api_version.rpartition("/")
    identity = {"group": group, "version": version_, "kind": kind}
    for schema in definitions.values():
        for key, value in schema.items():
            if key.endswith("-group-version-kind") and identity in value:
                definition: Object = schema
                return definition
    raise CommandError(f'the server does not describe kind "{kind}" of "{api_version}": see api-resources')


def explain_lines(
    definitions: Object, schema: Object, kind: str, api_version: str, fields: list[str], *, recursive: bool
) -> list[str]:
    """The lines about the field at the end of a path. Raises CommandError for a field that is not there."""
    at, type_, description, rules = schema, kind, str(schema.get("description", "")), _rules(schema)
    for depth, field in enumerate(fields):
        properties = at.get("properties") or {}
        if field not in properties:
            names = ", ".join(sorted(properties)) or "none"
            raise CommandError(
                f'field "{".".join(fields[: depth + 1])}" does not exist: those at this place are {names}'
            )
        type_ = type_name(definitions, properties[field])
        description = str(properties[field].get("description", ""))
        at = _inside(definitions, properties[field])
        rules = _rules(properties[field]) + (_rules(at) if at is not properties[field] else [])
    lines = [f"KIND:       {kind}", f"VERSION:    {api_version}", ""]
    if fields:
        lines += [f"FIELD:      {fields[-1]} <{type_}>", ""]
    lines += ["DESCRIPTION:", *(f"    {line}" for line in description.splitlines() or ["<empty>"]), ""]
    if rules:
        lines += ["RULES:", *(f"    {line}" for line in rules), ""]
    if at.get("properties"):
        lines += ["FIELDS:", *_field_lines(definitions, at, 1, recursive=recursive, seen=())]
    return lines


def _rules(schema: Object) -> list[str]:
    """The rules that values must meet, each with its message below it."""
    lines: list[str] = []
    for key, rules in schema.items():
        for rule in rules if key.endswith("-validations") else ():
            said = rule.get("message") or rule.get("messageExpression") or ""
            lines += [*rule.get("rule", "").splitlines(), *(f"    {line}" for line in said.splitlines())]
    return lines


def _field_lines(
    definitions: Object, schema: Object, depth: int, *, recursive: bool, seen: tuple[int, ...]
) -> list[str]:
    lines = []
    required = schema.get("required") or ()
    for name, inner in sorted((schema.get("properties") or {}).items()):
        mark = " -required-" if name in required else ""
        lines.append(f"{'  ' * depth}{name}\t<{type_name(definitions, inner)}>{mark}")
        target = _inside(definitions, inner)
        if recursive:
            # Some types contain themselves.
            if id(target) not in seen:
                lines += _field_lines(definitions, target, depth + 1, recursive=True, seen=(*seen, id(target)))
        elif inner.get("description"):
            lines += [f"{'  ' * depth}  {line}" for line in str(inner["description"]).splitlines()] + [""]
    return lines


def _resolve(definitions: Object, schema: Object) -> Object:
    reference = schema.get("$ref")
    target: Object = definitions.get(str(reference).rpartition("/")[2], {}) if reference else schema
    return target


def _inside(definitions: Object, schema: Object) -> Object:
    """The schema whose fields follow in a path: that of members for lists and maps."""
    schema = _resolve(definitions, schema)
    while True:
        inner = schema.get("items") or schema.get("additionalProperties")
        if not isinstance(inner, dict):
            return schema
        schema = _resolve(definitions, inner)


def type_name(definitions: Object, schema: Object) -> str:
    """A type as people write it: ``[]Container``, ``map[string]string``, ``integer``."""
    if "$ref" in schema:
        target = _resolve(definitions, schema)
        if target.get("type", "object") != "object":
            return str(target["type"])
        return str(schema["$ref"]).rpartition(".")[2]
    if schema.get("type") == "array":
        return f"[]{type_name(definitions, schema.get('items') or {})}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map[string]{type_name(definitions, schema['additionalProperties'])}"
    return str(schema.get("type") or "Object")
