"""``apply view-last-applied`` and ``apply set-last-applied``: the configuration that was last applied to an object."""

from __future__ import annotations

import json
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.apply import apply
from orchd.ctl.command import dry_query, dry_run_option, field_manager_option, files_option
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.last_applied import annotation, as_annotation
from orchd.ctl.reports import report
from orchd.ctl.selection import Selection, selection_options
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


@apply.command("view-last-applied")
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@click.option("-o", "--output", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="yaml or json.")
@selection_options
@pass_session
def view_last_applied(session: Session, /, words: tuple[str, ...], form: str, **given: Any) -> None:
    """Print the configuration that was last applied: the fields owned by this program's server-side apply, or the annotation of
    client-side apply."""
    selection = Selection.take(given)

    async def work(api: Api) -> None:
        dialect = await api.dialect()
        texts = []
        for target in await selection.targets(api, session, words):
            obj = await api.get(target.resource, target.name, target.namespace)
            applied = last_applied({"apiVersion": target.resource.api_version, "kind": target.resource.kind, **obj}, api.manager, dialect)
            if applied is None:
                raise CommandError(f"{target.label} was never applied: apply it, or create it with --save-config")
            texts.append(output.yaml_text(applied) if form == "yaml" else output.json_text(applied))
        output.document(("---\n" if form == "yaml" else "\n").join(texts), form)

    session.run(work)


def last_applied(obj: Object, manager: str, dialect: Dialect) -> Object | None:
    """The configuration that `manager` last applied to an object, None without one. Raises CommandError for an annotation that is not JSON."""
    metadata = obj["metadata"]
    entries = [each for each in metadata.get("managedFields") or () if each.get("operation") == "Apply"]
    own = [each for each in entries if each.get("manager") == manager and not each.get("subresource")]
    if own:
        found = owned_part(obj, own[0].get("fieldsV1") or {})
        names = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
        inner = {**names, **(found.get("metadata") or {})}
        return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **found, "metadata": inner}
    text = (metadata.get("annotations") or {}).get(annotation(dialect))
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CommandError(f"the annotation {annotation(dialect)} of {metadata['name']} is not an object in JSON: apply the object again")
    return value


def owned_part(value: Any, fields: Object) -> Any:
    """The part of a value that a field set (fieldsV1 of managedFields) selects."""
    names = [key for key in fields if key != "."]
    if not names:
        return value if "." not in fields or not isinstance(value, dict | list) else type(value)()
    if isinstance(value, dict):
        return {key[2:]: owned_part(value[key[2:]], fields[key]) for key in names if key.startswith("f:") and key[2:] in value}
    if isinstance(value, list):
        return [owned_part(item, fields[key]) for key in names for item in _members(value, key)]
    return value


def _members(value: list[Any], key: str) -> list[Any]:
    """The list members that one path element of a field set selects."""
    kind, _, text = key.partition(":")
    if kind == "i":
        return value[int(text) :][:1] if text.isdecimal() else []
    wanted = json.loads(text)
    if kind == "v":
        return [item for item in value if item == wanted][:1]
    # A key field that the object omits has its default, which is unknown here: the first such member is taken.
    matching = (item for item in value if isinstance(item, dict) and all(item.get(name, wanted[name]) == wanted[name] for name in wanted))
    return list(matching)[:1]


@apply.command("set-last-applied")
@files_option
@click.option("--create-annotation", is_flag=True, help="Also of objects that do not have the annotation yet.")
@dry_run_option
@field_manager_option
@form_option
@pass_session
def set_last_applied(session: Session, files: tuple[str, ...], recursive: bool, create_annotation: bool, dry_run: str, form: str) -> None:
    """Keep objects of files in the annotation of client-side apply; nothing else of them is changed."""
    selection = Selection(files=files, recursive=recursive)

    async def work(api: Api) -> None:
        failures = Failures()
        for obj in selection.objects(session):
            with failures.collect():
                await one(api, obj)
        failures.raise_collected()

    async def one(api: Api, obj: Object) -> None:
        dialect, target = await api.dialect(), await target_of(api, obj)
        present = await api.get(target.resource, target.name, target.namespace)
        before = (present["metadata"].get("annotations") or {}).get(annotation(dialect))
        if before is None and not create_annotation:
            raise CommandError(f"{target.label} has no annotation of client-side apply: --create-annotation adds it")
        await _set(api, target, present, as_annotation(obj, dialect), before, dry_run=dry_run, form=form)

    async def _set(api: Api, target: Target, present: Object, text: str, before: str | None, *, dry_run: str, form: str) -> None:
        if text == before:
            output.line(f"set-last-applied {target.name}: no changes required.")
            return
        patch = {"metadata": {"annotations": {annotation(await api.dialect()): text}}}
        done = present
        if dry_run != "client":
            done = await api.patch(target.resource, target.name, patch, namespace=target.namespace, query=dry_query(dry_run))
        report(target, done, "configured", form=form, dry_run=dry_run)

    session.run(work)


@apply.command("edit-last-applied", hidden=True)
@click.argument("words", nargs=-1)
def edit_last_applied(words: tuple[str, ...]) -> None:
    """Rejected: not supported."""
    raise CommandError("apply edit-last-applied is not built here: apply view-last-applied -o yaml, edit, and apply or set-last-applied -f")
