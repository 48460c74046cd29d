"""``get``: prints objects as the server's tables or in another format, optionally followed by every change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import click
import orjson

from orchd.client import paths
from orchd.client.errors import NoResponseError
from orchd.client.interfaces import IByteStream
from orchd.client.requests import Call
from orchd.client.statuses import error_of
from orchd.ctl.cluster.api import JSON, TABLE, Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.raw import split_path
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import everywhere_option, files_option, selector_options
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.targets import Target, note_nothing_found, parse_targets, target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import FORMS, form_options
from orchd.ctl.printing.printers import TEXTS, printer, write_text
from orchd.ctl.printing.tables import TableOutput, View, plain_table, sort_key, sorted_rows
from orchd.errors import ApiError
from orchd.kinds.fields import mapping, metadata
from orchd.kinds.jsonvalues import Object, without_managed_fields


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME...] | TYPE/NAME...")
@form_options(text=f"One of {FORMS}.")
@selector_options
@everywhere_option
@files_option
@click.option("-w", "--watch", is_flag=True, help="Print the objects, then every change until interrupted.")
@click.option("--watch-only", is_flag=True, help="Print changes only.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@click.option("--show-labels", is_flag=True, help="Add a column with all labels.")
@click.option(
    "-L", "--label-columns", multiple=True, metavar="KEY,...", help="Add a column per label; may be repeated."
)
@click.option("--sort-by", default="", metavar="PATH", help="Sort by the value at a JSONPath such as .metadata.name.")
@click.option("--ignore-not-found", is_flag=True, help="A missing object is not an error.")
@click.option("--show-kind", is_flag=True, help="Prefix names with the type.")
@click.option(
    "--subresource", default="", metavar="NAME", help="Read a subresource, such as status or scale, of named objects."
)
@click.option(
    "--output-watch-events",
    "events",
    is_flag=True,
    help="With -w: also print the type of each event (ADDED, MODIFIED, DELETED).",
)
@click.option(
    "--raw", "raw", default="", metavar="PATH", help="Print the server's response at a path such as /healthz."
)
@click.option(
    "--server-print/--no-server-print",
    hidden=True,
    expose_value=False,
    default=True,
    help="Tables are always the server's.",
)
@click.option(
    "--chunk-size",
    type=int,
    default=0,
    hidden=True,
    expose_value=False,
    help="No effect: lists are always read in pages.",
)
@pass_session
def get(
    session: Session,
    /,
    raw: str,
    words: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    no_headers: bool,
    label_columns: tuple[str, ...],
    **flags: Any,
) -> None:
    """Print objects as the server's tables, yaml, json, names or templates."""
    if raw:
        if words or files:
            raise CommandError("--raw takes a path alone: leave out types and files")
        path, query = split_path(raw)
        output.text(session.run(lambda api: api.text(path, query)).rstrip("\n") + "\n")
        return
    if words and files:
        raise CommandError("give objects by -f or by name, not both")
    columns = tuple(key for each in label_columns for key in each.split(",") if key)
    view = View(headings=not no_headers, label_columns=columns, **flags)

    async def work(api: Api) -> None:
        if files:
            objects = read_objects(session, files, recursive=recursive)
            targets = [await target_of(api, obj) for obj in objects]
        else:
            targets = await parse_targets(api, words)
        await show(api, targets, view)

    session.run(work)


async def show(api: Api, targets: Sequence[Target], view: View) -> None:
    """Print targets. Raises CommandError when one of several was not found, after the others were printed."""
    if view.everywhere and any(target.name for target in targets):
        raise CommandError("an object cannot be fetched by name across all namespaces: leave out -A, or the name")
    if view.events and not (view.watch or view.watch_only):
        raise CommandError("--output-watch-events needs -w: without it nothing is followed")
    if view.subresource:
        _check_subresource(targets, view)
    if view.watch or view.watch_only:
        if len(targets) != 1:
            raise CommandError("-w follows one object or one type: name one")
        await _Watcher(api, targets[0], view).run()
        return
    failures = Failures()
    await (_show_tables if view.tabular else _show_objects)(api, targets, view, failures)
    failures.raise_collected()


def _check_subresource(targets: Sequence[Target], view: View) -> None:
    for target in targets:
        if view.subresource not in target.resource.subresources:
            names = ", ".join(sorted(target.resource.subresources)) or "none"
            raise CommandError(
                f"{target.resource.qualified} has no subresource {view.subresource}: those that it has are {names}"
            )
        if not target.name or view.watch or view.watch_only:
            raise CommandError("--subresource is of one object: give its name, without -w")


async def _show_tables(api: Api, targets: Sequence[Target], view: View, failures: Failures) -> None:
    groups: dict[Resource, list[Target]] = {}
    for target in targets:
        groups.setdefault(target.resource, []).append(target)
    printed = False
    for resource, members in groups.items():
        tables = []
        for target in members:
            with failures.collect(missing_ok=view.ignore_not_found):
                tables.append(await _table(api, target, view))
        rows = [row for table in tables for row in table.get("rows") or ()]
        if not rows:
            continue
        if printed:
            output.line()
        table_output = TableOutput(view, resource, prefix=view.show_kind or len(groups) > 1)
        table_output.write({**tables[0], "rows": sorted_rows(rows, view)})
        printed = True
    if not printed and not failures and not view.ignore_not_found:
        note_nothing_found(api, targets, everywhere=view.everywhere)


async def _table(api: Api, target: Target, view: View) -> Object:
    table: Object
    if target.name:
        path = paths.item(
            target.resource.ref, api.scope(target.resource, target.namespace), target.name, view.subresource
        )
        table = await api.call(Call(method="GET", path=path, accept=TABLE))
    else:
        table = await api.list(target.resource, everywhere=view.everywhere, query=view.query(), accept=TABLE)
    if table.get("kind") != "Table":
        return plain_table(table, api.clock.seconds())
    return table


async def _show_objects(api: Api, targets: Sequence[Target], view: View, failures: Failures) -> None:
    write = printer(view.form, headings=view.headings)
    objects: list[Object] = []
    for target in targets:
        with failures.collect(missing_ok=view.ignore_not_found):
            objects += await _objects(api, target, view)
    if view.sort_by:
        objects.sort(key=lambda obj: sort_key(obj, view.sort_by))
    if objects or not failures:
        write(objects, len(targets) == 1 and bool(targets[0].name))


async def _objects(api: Api, target: Target, view: View) -> list[Object]:
    if target.name:
        return [await api.get(target.resource, target.name, target.namespace, subresource=view.subresource)]
    listed = await api.list(target.resource, everywhere=view.everywhere, query=view.query())
    kind = {"apiVersion": target.resource.api_version, "kind": target.resource.kind}
    return [{**kind, **item} for item in listed.get("items") or ()]


class _Watcher:
    """Prints one object or list, and then each change. A watch that ended is opened again where it was."""

    def __init__(self, api: Api, target: Target, view: View) -> None:
        self._api = api
        self._target = target
        self._view = view
        self._table = TableOutput(view, target.resource, prefix=view.show_kind)
        self._accept = TABLE if view.tabular else JSON
        self._version = ""

    async def run(self) -> None:
        await self._list(quiet=self._view.watch_only)
        end = self._api.clock.seconds() + self._api.longest_stream
        while self._api.clock.seconds() < end:
            try:
                await self._follow()
            except NoResponseError:
                if self._api.clock.seconds() < end:
                    raise
            except ApiError as error:
                if error.code != 410:
                    raise
                # The history that this watch needs is no longer kept: what is there now is printed again.
                await self._list(quiet=False)

    @property
    def _query(self) -> dict[str, str]:
        return self._view.query(self._target.name)

    async def _list(self, *, quiet: bool) -> None:
        target, api = self._target, self._api
        if target.name:
            await api.get(target.resource, target.name, target.namespace)
        listed = await api.list(
            target.resource, everywhere=self._view.everywhere, query=self._query, accept=self._accept
        )
        self._version = str(metadata(listed).get("resourceVersion") or "")
        if quiet:
            return
        if self._view.tabular:
            self._table.write(listed)
            return
        kind = {"apiVersion": target.resource.api_version, "kind": target.resource.kind}
        for item in listed.get("items") or ():
            await self._write({**kind, **item})

    async def _write(self, obj: Object, event: str = "ADDED") -> None:
        if self._view.events and self._view.form in TEXTS:
            entry = {"type": event, "object": obj if self._view.form.managed else without_managed_fields(obj)}
            write_text(entry, self._view.form)
            return
        write = printer(self._view.form, headings=False)
        write([obj], True)

    async def _follow(self) -> None:
        target, api = self._target, self._api
        namespace = "" if self._view.everywhere else api.scope(target.resource, target.namespace)
        query = {**self._query, "watch": "true", "resourceVersion": self._version, "allowWatchBookmarks": "true"}
        path = paths.collection(target.resource.ref, namespace)
        stream = await api.stream(Call(method="GET", path=path, query=query, accept=self._accept))
        try:
            async for line in lines(stream):
                await self._take(orjson.loads(line))
        finally:
            stream.close()

    async def _take(self, event: Any) -> None:
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            raise error_of(obj, 500)
        rows = obj.get("rows") or () if obj.get("kind") == "Table" else ()
        inner = mapping(rows[0], "object") if rows else obj
        self._version = str(metadata(inner).get("resourceVersion") or self._version)
        if kind == "BOOKMARK":
            return
        if self._view.tabular:
            self._table.write(obj, kind)
        else:
            await self._write(obj, kind)


async def lines(stream: IByteStream) -> AsyncIterator[bytes]:
    """The lines of a stream without their ends; the last one may have had none."""
    rest = b""
    while (piece := await stream.next()) is not None:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest
