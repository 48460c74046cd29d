"""``api-resources``: resources of the server."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output


@click.command("api-resources", cls=Command)
@click.option("-o", "--output", "form", type=click.Choice(["", "wide", "name"]), default="", help="wide or name.")
@click.option(
    "--namespaced",
    type=bool,
    default=None,
    is_flag=False,
    flag_value="true",
    help="Only resources with (true) or without (false) namespaces.",
)
@click.option("--api-group", default=None, help="Only resources of a group; '' is the core group.")
@click.option("--verbs", default="", metavar="VERB,...", help="Only resources with all of these verbs.")
@click.option(
    "--categories", default="", metavar="NAME,...", help="Only resources of all of these categories, such as all."
)
@click.option(
    "--sort-by", type=click.Choice(["", "name", "kind"]), default="", help="Sort by name or kind; default: by group."
)
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@click.option(
    "--cached/--no-cached", default=False, help="Print the resources of kept documents, up to ten minutes old."
)
@pass_session
def api_resources(
    session: Session,
    form: str,
    namespaced: bool | None,
    api_group: str | None,
    verbs: str,
    categories: str,
    sort_by: str,
    no_headers: bool,
    cached: bool,
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
        if not cached:
            api.discovery.forget()
        order = {
            "": lambda each: (each.group, each.plural),
            "name": lambda each: each.plural,
            "kind": lambda each: each.kind,
        }
        resources = sorted(filter(chosen, await api.discovery.preferred()), key=order[sort_by])
        if form == "name":
            for each in resources:
                output.line(each.qualified)
        else:
            wide = ["verbs", "categories"] if form == "wide" else []
            columns = output.Columns(
                ["name", "shortnames", "apiversion", "namespaced", "kind", *wide], show_headings=not no_headers
            )
            rows = []
            for each in resources:
                row = [
                    each.plural,
                    ",".join(each.short_names),
                    each.api_version,
                    str(each.namespaced).lower(),
                    each.kind,
                ]
                rows.append(row + ([",".join(each.verbs), ",".join(each.categories)] if wide else []))
            columns.write(rows)
        if api.discovery.failures:
            raise CommandError(
                *(f"{name} did not respond: {error.message}" for name, error in api.discovery.failures.items())
            )

    session.run(work)
