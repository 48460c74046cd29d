"""Nodes that a command means, and whether pods may be bound to them."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import done_suffix, dry_query, dry_run_option
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object

node_selector_option = click.option(
    "-l", "--selector", default="", metavar="SELECTOR", help="All nodes that match this label selector."
)
node_names = click.argument("names", nargs=-1, metavar="NODE...")


async def find_nodes(
    api: Api, names: tuple[str, ...], selector: str, *, every: bool = False
) -> tuple[Resource, list[Object]]:
    resource = await api.discovery.find("nodes")
    if names and selector:
        raise CommandError("give nodes by name or by selector, not both")
    if names:
        return resource, [await api.get(resource, name.rpartition("/")[2]) for name in names]
    if not selector and not every:
        raise CommandError("name a node, or select nodes with -l")
    listed = await api.list(resource, query={"labelSelector": selector} if selector else {})
    nodes: list[Object] = list(listed.get("items") or ())
    if not nodes:
        output.note("No resources found")
    return resource, nodes


async def set_unschedulable(api: Api, resource: Resource, node: Object, unschedulable: bool, dry_run: str) -> None:
    word = "cordoned" if unschedulable else "uncordoned"
    name = node["metadata"]["name"]
    if bool(node["spec"].get("unschedulable")) == unschedulable:
        output.line(f"{resource.label(name)} already {word}{done_suffix(dry_run)}")
        return
    if dry_run != "client":
        body = {"spec": {"unschedulable": True if unschedulable else None}}
        await api.patch(resource, name, body, query=dry_query(dry_run))
    output.line(f"{resource.label(name)} {word}{done_suffix(dry_run)}")


def cordon_command(name: str, unschedulable: bool, text: str) -> click.Command:
    @click.command(name, cls=Command, help=text)
    @node_names
    @node_selector_option
    @dry_run_option
    @pass_session
    def command(session: Session, names: tuple[str, ...], selector: str, dry_run: str) -> None:
        async def work(api: Api) -> None:
            resource, nodes = await find_nodes(api, names, selector)
            for node in nodes:
                await set_unschedulable(api, resource, node, unschedulable, dry_run)

        session.run(work)

    return command
