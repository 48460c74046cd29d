"""``api-resources``, ``api-versions``, ``version``, ``explain``: resources and schemas of the server."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version as installed
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import Command
from orchd.ctl.discovery import Resource
from orchd.ctl.errors import CommandError
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object


@click.command("api-resources", cls=Command)
@click.option("-o", "--output", "form", type=click.Choice(["", "wide", "name"]), default="", help="wide or name.")
@click.option("--namespaced", type=bool, default=None, is_flag=False, flag_value="true", help="Only resources with (true) or without (false) namespaces.")
@click.option("--api-group", default=None, help="Only resources of a group; '' is the core group.")
@click.option("--verbs", default="", metavar="VERB,...", help="Only resources with all of these verbs.")
@click.option("--categories", default="", metavar="NAME,...", help="Only resources of all of these categories, such as all.")
@click.option("--sort-by", type=click.Choice(["", "name", "kind"]), default="", help="Sort by name or kind; default: by group.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@click.option("--cached/--no-cached", hidden=True, expose_value=False, help="Without effect: nothing is cached.")
@pass_session
def api_resources(
    session: Session, form: str, namespaced: bool | None, api_group: str | None, verbs: str, categories: str, sort_by: str,
    no_headers: bool,
) -> None:
    """Print the resources of the server with their short names, kinds and verbs."""
    needed = set(filter(None, verbs.split(",")))

    def chosen(resource: Resource) -> bool:
        return (
            (namespaced is None or resource.namespaced == namespaced)
            and (api_group is None or resource.group == api_group)
            and needed <= set(resource.verbs)
            and set(filter(None, categories.split(","))) <= set(resource.categories)
        )

    async def work(api: Api) -> None:
        order = {"": lambda each: (each.group, each.plural), "name": lambda each: each.plural, "kind": lambda each: each.kind}
        found = sorted(filter(chosen, await api.discovery.preferred()), key=order[sort_by])
        if form == "name":
            for each in found:
                output.line(each.qualified)
        else:
            wide = ["verbs", "categories"] if form == "wide" else []
            columns = output.Columns(["name", "shortnames", "apiversion", "namespaced", "kind", *wide], show_headings=not no_headers)
            rows = []
            for each in found:
                row = [each.plural, ",".join(each.short_names), each.api_version, str(each.namespaced).lower(), each.kind]
                rows.append(row + ([",".join(each.verbs), ",".join(each.categories)] if wide else []))
            columns.write(rows)
        if api.discovery.failures:
            broken = "; ".join(f"{name}: {why}" for name, why in api.discovery.failures.items())
            raise CommandError(f"not all groups answered: {broken}")

    session.run(work)


@click.command("api-versions", cls=Command)
@pass_session
def api_versions(session: Session) -> None:
    """Print all versions of all groups, as apiVersion names them."""

    async def work(api: Api) -> None:
        groups = await api.discovery.groups()
        core = (await api.document("/api")).get("versions") or ()
        for text in sorted(f"{name}/{each}" for name, (_, versions) in groups.items() for each in versions):
            output.line(text)
        for each in core:
            output.line(each)

    session.run(work)


@click.command(cls=Command)
@click.option("--client", "client_only", is_flag=True, help="The version of this program only.")
@click.option("-o", "--output", "form", type=click.Choice(["", "yaml", "json"]), default="", help="yaml or json.")
@click.option("--short", is_flag=True, expose_value=False, hidden=True, help="Always on.")
@pass_session
def version(session: Session, client_only: bool, form: str) -> None:
    """Print the versions of this program and of the server."""
    number = installed("orchd")
    major, _, rest = number.partition(".")
    client = {
        "major": major, "minor": rest.partition(".")[0], "gitVersion": f"v{number}", "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{platform.machine()}",
    }  # fmt: skip
    found: dict[str, Any] = {"clientVersion": client}

    async def work(api: Api) -> Object:
        answer: Object = await api.document("/version")
        return answer

    if not client_only:
        found["serverVersion"] = session.run(work)
    if form:
        output.document(output.yaml_text(found) if form == "yaml" else output.json_text(found), form)
        return
    output.line(f"Client Version: {client['gitVersion']}")
    if not client_only:
        output.line(f"Server Version: {found['serverVersion'].get('gitVersion')}")


# -- explain


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
        wanted = api_version or resource.api_version
        schema = _definition(definitions, wanted, resource.kind)
        for line in explain_lines(definitions, schema, resource.kind, wanted, fields, recursive=recursive):
            output.line(line)

    session.run(work)


def _definition(definitions: Object, api_version: str, kind: str) -> Object:
    group, _, version_ = api_version.rpartition("/")
    wanted = {"group": group, "version": version_, "kind": kind}
    for schema in definitions.values():
        for key, value in schema.items():
            if key.endswith("-group-version-kind") and wanted in value:
                found: Object = schema
                return found
    raise CommandError(f'the server does not describe kind "{kind}" of "{api_version}": see api-resources')


def explain_lines(
    definitions: Object, schema: Object, kind: str, api_version: str, fields: list[str], *, recursive: bool
) -> list[str]:
    """The lines about the field at the end of a path. Raises CommandError for a field that is not there."""
    at, type_, description = schema, kind, str(schema.get("description", ""))
    for depth, field in enumerate(fields):
        properties = at.get("properties") or {}
        if field not in properties:
            known = ", ".join(sorted(properties)) or "none"
            raise CommandError(f'field "{".".join(fields[: depth + 1])}" does not exist: those at this place are {known}')
        type_ = type_name(definitions, properties[field])
        description = str(properties[field].get("description", ""))
        at = _inside(definitions, properties[field])
    lines = [f"KIND:       {kind}", f"VERSION:    {api_version}", ""]
    if fields:
        lines += [f"FIELD:      {fields[-1]} <{type_}>", ""]
    lines += ["DESCRIPTION:", *(f"    {line}" for line in description.splitlines() or ["<empty>"]), ""]
    if at.get("properties"):
        lines += ["FIELDS:", *_field_lines(definitions, at, 1, recursive=recursive, seen=())]
    return lines


def _field_lines(definitions: Object, schema: Object, depth: int, *, recursive: bool, seen: tuple[int, ...]) -> list[str]:
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
    found: Object = definitions.get(str(reference).rpartition("/")[2], {}) if reference else schema
    return found


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


