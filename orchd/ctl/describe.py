"""``describe`` and ``events``: readable descriptions of objects, and the Events about them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.ages import age_text
from orchd.ctl.api import Api
from orchd.ctl.command import Command, everywhere_option, files_option, selector_options
from orchd.ctl.describe_kinds import SECTIONS, WIDTH, row
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import Form, form_option
from orchd.ctl.get import View, show
from orchd.ctl.manifests import read_objects
from orchd.ctl.printers import printer
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, one_target, parse_targets, selected, target_of
from orchd.kinds.jsonvalues import Object

#: Metadata fields that are printed in the header of a description or not at all.
_HEADER_METADATA = ("name", "namespace", "labels", "annotations", "managedFields", "creationTimestamp", "uid", "resourceVersion")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@files_option
@selector_options
@everywhere_option
@click.option("--show-events/--no-show-events", default=True, show_default=True, help="Show the Events about each object.")
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@pass_session
def describe(
    session: Session, words: tuple[str, ...], files: tuple[str, ...], recursive: bool, selector: str, field_selector: str,
    everywhere: bool, show_events: bool,
) -> None:
    """Show details of objects, with related objects and events."""  # fmt: skip

    async def work(api: Api) -> None:
        if files:
            targets = [await target_of(api, obj) for obj in read_objects(session, files, recursive=recursive)]
        else:
            targets = await parse_targets(api, words)
        chosen = await selected(
            api, targets, selector=selector, field_selector=field_selector, every=True, everywhere=everywhere
        )
        if not chosen:
            click.echo("No resources found.", err=True)
        for at, (target, obj) in enumerate(chosen):
            if at:
                output.line("\n")
            for line in await describe_object(api, target, obj, with_events=show_events):
                output.line(line)

    session.run(work)


async def describe_object(api: Api, target: Target, obj: Object, *, with_events: bool) -> list[str]:
    """The lines about one object."""
    metadata = obj["metadata"]
    lines = [row("Name", metadata["name"])]
    if metadata.get("namespace"):
        lines.append(row("Namespace", metadata["namespace"]))
    lines += pairs("Labels", metadata.get("labels")) + pairs("Annotations", metadata.get("annotations"))
    lines += [row("API Version", obj["apiVersion"]), row("Kind", obj["kind"])]
    lines.append(row("Created", metadata.get("creationTimestamp")))
    section = SECTIONS.get(obj["kind"]) if not _custom(target) else None
    if section is not None:
        lines += await section(api, obj)
    else:
        rest = {key: value for key, value in metadata.items() if key not in _HEADER_METADATA}
        lines += indented_lines({"metadata": rest} if rest else {})
        lines += indented_lines({key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")})
    if with_events:
        lines += await _event_lines(api, obj)
    return lines


def _custom(target: Target) -> bool:
    return "." in target.resource.group


def pairs(title: str, mapping: Object | None) -> list[str]:
    """The lines of a mapping: one pair a line, aligned under the title."""
    rows = [f"{key}={value}" for key, value in sorted((mapping or {}).items())] or ["<none>"]
    return [row(title, each) if not at else f"{' ' * WIDTH}{each}" for at, each in enumerate(rows)]


def indented_lines(value: Any, depth: int = 0) -> list[str]:
    """JSON data as indented lines, with keys as `title` spells them."""
    indent = "  " * depth
    lines: list[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list) and inner:
                lines += [f"{indent}{title(key)}:", *indented_lines(inner, depth + 1)]
            else:
                lines.append(f"{indent}{title(key)}:  {'<none>' if inner in (None, {}, []) else output.cell_text(inner)}")
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                first, *rest = indented_lines(inner, depth + 1) or [""]
                lines += [f"{indent}- {first.strip()}", *rest]
            else:
                lines.append(f"{indent}{output.cell_text(inner)}")
    return lines


def title(key: str) -> str:
    """The title for a field name: ``podIP`` becomes ``Pod IP``. Other keys are returned unchanged."""
    if not re.fullmatch(r"[a-z][A-Za-z0-9]*", key):
        return key
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key)
    return words[0].upper() + words[1:]


# -- events


async def _event_lines(api: Api, obj: Object) -> list[str]:
    events = await events_of(api, obj)
    if not events:
        return [row("Events", None)]
    rows = [["Type", "Reason", "Age", "From", "Message"], ["----", "------", "----", "----", "-------"]]
    now = api.clock.seconds()
    for each in events:
        count = each.get("count") or 1
        age = age_text(now, event_time(each)) + (f" (x{count})" if count > 1 else "")
        source = (each.get("source") or {}).get("component") or each.get("reportingComponent") or ""
        rows.append([each.get("type", ""), each.get("reason", ""), age, source, " ".join(each.get("message", "").split())])
    return ["Events:", *(f"  {line}" for line in align_columns(rows))]


async def events_of(api: Api, obj: Object) -> list[Object]:
    """Events about an object, oldest first."""
    metadata = obj["metadata"]
    fields = f"involvedObject.name={metadata['name']},involvedObject.uid={metadata.get('uid', '')}"
    resource = await api.discovery.find("events")
    namespace = metadata.get("namespace") or "default"
    scoped = Api(api.client, api.clock, namespace, api.warn)
    scoped.discovery = api.discovery
    listed = await scoped.list(resource, query={"fieldSelector": fields})
    return sorted(listed.get("items") or (), key=event_time)


def event_time(event: Object) -> str:
    """Time of an Event's last occurrence, as text that sorts by time."""
    series = event.get("series") or {}
    found = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(found or event["metadata"].get("creationTimestamp") or "")


def align_columns(rows: Iterable[list[str]]) -> list[str]:
    """One line of text per row, with cells padded to the width of their column."""
    listed = list(rows)
    widths = [max(len(each[at]) for each in listed) for at in range(len(listed[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip() for each in listed]


@click.command(cls=Command)
@everywhere_option
@click.option("--for", "about", default="", metavar="TYPE/NAME", help="Only events about this object.")
@click.option("--types", default="", metavar="TYPE,...", help="Only events of these types: Normal, Warning.")
@click.option("-w", "--watch", is_flag=True, help="Print the events, then every new one until interrupted.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@form_option
@pass_session
def events(session: Session, everywhere: bool, about: str, types: str, watch: bool, no_headers: bool, form: str) -> None:
    """Print events, oldest first."""
    wanted = {each.lower() for each in types.split(",") if each}
    if wanted - {"normal", "warning"}:
        raise CommandError(f"--types={types}: types of events are Normal and Warning")

    async def work(api: Api) -> None:
        resource = await api.discovery.find("events")
        fields = ""
        if about:
            target = await one_target(api, [about])
            fields = f"involvedObject.name={target.name},involvedObject.kind={target.resource.kind}"
        if watch:
            if wanted:
                fields = ",".join(filter(None, [fields, *(f"type={each.capitalize()}" for each in wanted)]))
            view = View(form=form if isinstance(form, Form) else Form(form), field_selector=fields, everywhere=everywhere, watch=True, headings=not no_headers)
            await show(api, [Target(resource)], view)
            return
        query = {"fieldSelector": fields} if fields else {}
        listed = await api.list(resource, everywhere=everywhere, query=query)
        now = api.clock.seconds()
        found = [each for each in listed.get("items") or () if not wanted or str(each.get("type", "")).lower() in wanted]
        if not found:
            click.echo("No events found." if everywhere else f"No events found in {api.namespace} namespace.", err=True)
        if form:
            kind = {"apiVersion": resource.api_version, "kind": resource.kind}
            printer(form, headings=not no_headers)([{**kind, **each} for each in sorted(found, key=event_time)], False)
            return
        headings = (["namespace"] if everywhere else []) + ["last seen", "type", "reason", "object", "message"]
        output.Columns(headings, show_headings=not no_headers).write(
            [_event_row(each, now, everywhere) for each in sorted(found, key=event_time)]
        )

    session.run(work)


def _event_row(event: Object, now: float, everywhere: bool) -> list[str]:
    about = event.get("involvedObject") or {}
    cells = [age_text(now, event_time(event)), event.get("type", ""), event.get("reason", "")]
    cells += [f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}", output.cell_text(event.get("message", "").strip())]
    return [event["metadata"].get("namespace", ""), *cells] if everywhere else cells
