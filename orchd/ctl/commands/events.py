"""``events``: Events, oldest first."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.commands.get import show
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import everywhere_option
from orchd.ctl.objects.events import event_time, last_seen
from orchd.ctl.objects.targets import Target, one_target
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import Form, form_option
from orchd.ctl.printing.printers import printer
from orchd.ctl.printing.tables import View
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages


@click.command(cls=Command)
@everywhere_option
@click.option("--for", "about", default="", metavar="TYPE/NAME", help="Only events about this object.")
@click.option("--types", default="", metavar="TYPE,...", help="Only events of these types: Normal, Warning.")
@click.option("-w", "--watch", is_flag=True, help="Print the events, then every new one until interrupted.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@form_option
@pass_session
def events(
    session: Session, everywhere: bool, about: str, types: str, watch: bool, no_headers: bool, form: Form
) -> None:
    """Print events, oldest first."""
    chosen_types = {each.lower() for each in types.split(",") if each}
    if chosen_types - {"normal", "warning"}:
        raise CommandError(f"--types={types}: types of events are Normal and Warning")

    async def work(api: Api) -> None:
        resource = await api.discovery.find("events")
        fields = ""
        if about:
            target = await one_target(api, [about])
            fields = f"involvedObject.name={target.name},involvedObject.kind={target.resource.kind}"
        if watch:
            # Of both types is all.
            if len(chosen_types) == 1:
                fields = ",".join(filter(None, [fields, *(f"type={each.capitalize()}" for each in chosen_types)]))
            view = View(form=form, field_selector=fields, everywhere=everywhere, watch=True, headings=not no_headers)
            await show(api, [Target(resource)], view)
            return
        query = {"fieldSelector": fields} if fields else {}
        listed = await api.list(resource, everywhere=everywhere, query=query)
        age = Ages(datetime.fromtimestamp(api.clock.seconds(), UTC))
        chosen = [
            each
            for each in listed.get("items") or ()
            if not chosen_types or str(each.get("type", "")).lower() in chosen_types
        ]
        if not chosen:
            output.note("No events found." if everywhere else f"No events found in {api.namespace} namespace.")
        if form:
            kind = {"apiVersion": resource.api_version, "kind": resource.kind}
            printer(form, headings=not no_headers)([{**kind, **each} for each in sorted(chosen, key=event_time)], False)
            return
        headings = (["namespace"] if everywhere else []) + ["last seen", "type", "reason", "object", "message"]
        output.Columns(headings, show_headings=not no_headers).write(
            [_event_row(each, age, everywhere) for each in sorted(chosen, key=event_time)]
        )

    session.run(work)


def _event_row(event: Object, age: Ages, everywhere: bool) -> list[str]:
    about = event.get("involvedObject") or {}
    cells = [last_seen(event, age), event.get("type", ""), event.get("reason", "")]
    cells += [f"{about.get('kind', '')}/{about.get('name', '')}", output.cell_text(event.get("message", "").strip())]
    return [event["metadata"].get("namespace", ""), *cells] if everywhere else cells
