"""``explain``: types and fields, from the server's OpenAPI documents."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output, schemas, schemas_v2
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("path", metavar="TYPE[.GROUP][.FIELD...]")
@click.option("--recursive", is_flag=True, help="All fields below, without descriptions.")
@click.option("--api-version", default="", help="Version of the API, such as apps/v1; default: the preferred one.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("plaintext", "plaintext-openapiv2")),
    default="plaintext",
    show_default=True,
    help="Form of the description; plaintext-openapiv2 is the older one.",
)
@pass_session
def explain(session: Session, path: str, recursive: bool, api_version: str, form: str) -> None:
    """Describe a type or a field from the server's OpenAPI documents."""

    async def work(api: Api) -> None:
        word, *fields = path.split(".")
        resource = await api.discovery.find(word)
        qualifier = resource.group.split(".") if resource.group else []
        if qualifier and fields[: len(qualifier)] == qualifier:
            del fields[: len(qualifier)]
        if api_version:
            resource = await api.discovery.kind(api_version, resource.kind)
        definitions = await _definitions(api, resource, v2=form == "plaintext-openapiv2")
        schema = _definition(definitions, resource)
        if form == "plaintext":
            if resource.group:
                output.line(f"GROUP:      {resource.group}")
            output.lines((f"KIND:       {resource.kind}", f"VERSION:    {resource.version}", ""))
            output.lines(schemas.explain(definitions, schema, fields, recursive=recursive))
        else:
            output.lines((f"KIND:     {resource.kind}", f"VERSION:  {resource.api_version}", ""))
            output.lines(schemas_v2.explain(definitions, schema, fields, recursive=recursive))

    session.run(work)


async def _definitions(api: Api, resource: Resource, *, v2: bool) -> Object:
    """The schemas of a resource's version, by name: of the second version of OpenAPI where the server has no other."""
    definitions: Object
    if not v2:
        try:
            path = f"/openapi/v3/{'apis' if resource.group else 'api'}/{resource.api_version}"
            definitions = (await api.document(path))["components"]["schemas"]
            return definitions
        except ApiError as error:
            if error.code != 404:
                raise
    definitions = (await api.document("/openapi/v2")).get("definitions") or {}
    return definitions


def _definition(definitions: Object, resource: Resource) -> Object:
    identity = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    for schema in definitions.values():
        for key, value in schema.items():
            if key.endswith("-group-version-kind") and identity in value:
                definition: Object = schema
                return definition
    raise CommandError(
        f'the server does not describe kind "{resource.kind}" of "{resource.api_version}": see api-resources'
    )
