"""``patch``, ``edit``, ``label``, ``annotate``, ``scale``: changes of existing objects."""

from __future__ import annotations

from typing import Any

import click
import yaml

from orchd.ctl import output
from orchd.ctl.api import JSON_PATCH, MERGE, STRATEGIC, Api
from orchd.ctl.apply import report
from orchd.ctl.command import Command, done_suffix, dry_query, dry_run_option, everywhere_option, selector_options
from orchd.ctl.errors import CommandError, explain_api_error
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import parse_objects
from orchd.ctl.printers import without_managed_fields
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, named_targets, one_target, parse_targets, selected
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_TYPES = {"strategic": STRATEGIC, "merge": MERGE, "json": JSON_PATCH}


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("-p", "--patch", "text", default="", help="The patch as JSON or YAML.")
@click.option("--patch-file", default="", metavar="FILE", help="A file with the patch; - is standard input.")
@click.option("--type", "type_", type=click.Choice(list(_TYPES)), default="strategic", show_default=True, help="Kind of patch.")
@click.option("--subresource", default="", help="Patch a subresource such as status or scale.")
@dry_run_option
@form_option
@pass_session
def patch(
    session: Session, words: tuple[str, ...], text: str, patch_file: str, type_: str, subresource: str, dry_run: str, form: str
) -> None:
    """Change fields of objects with a patch. Custom kinds take --type=merge or json."""
    if bool(text) == bool(patch_file):
        raise CommandError("give the patch with -p or --patch-file, and not with both")
    try:
        body = yaml.safe_load(text or session.read(patch_file))
    except yaml.YAMLError:
        raise CommandError("the patch is neither JSON nor YAML: quote it as one argument") from None
    if not isinstance(body, list if type_ == "json" else dict):
        raise CommandError(f"a patch of --type={type_} is a {'list of operations' if type_ == 'json' else 'mapping'}")

    async def work(api: Api) -> None:
        for target in await named_targets(api, words):
            before = await api.get(target.resource, target.name, target.namespace, subresource=subresource)
            done = await api.patch(
                target.resource, target.name, body, namespace=target.namespace, content_type=_TYPES[type_],
                subresource=subresource, query=dry_query(dry_run),
            )  # fmt: skip
            await report(api, target, done, "patched" if done != before else "patched (no change)", form=form, dry_run=dry_run)

    session.run(work)


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@pass_session
def edit(session: Session, words: tuple[str, ...]) -> None:
    """Edit an object in the editor ($VISUAL, $EDITOR) and send the changes. If they are rejected, the editor opens
    again."""

    async def work(api: Api) -> None:
        target = await one_target(api, words)
        before = without_managed_fields(await api.get(target.resource, target.name, target.namespace))
        original = output.yaml_text(before)
        text, note = original, ""
        while True:
            changed = session.edit(note + text)
            body = _uncommented(changed or "")
            if note and body == text:
                raise CommandError(note.strip("# \n"))  # the refused text was left as it was
            if changed is None or not body.strip() or body == original:
                raise _UnchangedError
            text = body
            try:
                obj = _one_object(body)
                await _replace(api, target, before, obj)
            except CommandError as error:
                note = f"# {error}\n"
            except ApiError as error:
                note = f"# {explain_api_error(error)}\n"
            else:
                output.line(f"{target.label} edited")
                return

    try:
        session.run(work)
    except _UnchangedError:
        output.line("Edit cancelled, no changes made.")


class _UnchangedError(Exception):
    """The user left the text unchanged."""


def _uncommented(text: str) -> str:
    lines = text.splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return "".join(lines)


def _one_object(text: str) -> Object:
    objects = list(parse_objects(text, "the edited text"))
    if len(objects) != 1:
        raise CommandError("the edited text must be one object")
    return objects[0]


async def _replace(api: Api, target: Target, before: Object, obj: Object) -> None:
    """Send the difference as a merge patch, guarded by the resource version that was read."""
    if obj["metadata"].get("name") != target.name or obj.get("kind") != before.get("kind"):
        raise CommandError("kind and metadata.name cannot be changed: create another object")
    merge = difference(before, obj)
    merge.setdefault("metadata", {})["resourceVersion"] = before["metadata"]["resourceVersion"]
    await api.patch(target.resource, target.name, merge, namespace=target.namespace, content_type=MERGE)


def difference(before: Object, after: Object) -> Object:
    """The merge patch that turns `before` into `after`."""
    out: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = difference(old, value)
            if inner:
                out[key] = inner
        elif key not in before or value != old:
            out[key] = value
    return out


# -- labels and annotations


def _mark_command(name: str, field: str, word: str) -> click.Command:
    @click.command(name, cls=Command, help=f"Set (KEY=VALUE) or remove (KEY-) {field} of objects.")
    @click.argument("words", nargs=-1, metavar=f"TYPE NAME... KEY=VALUE... KEY-... ({field})")
    @click.option("--overwrite", is_flag=True, help="Change existing values.")
    @click.option("--all", "every", is_flag=True, help="All objects of the type.")
    @click.option("--list", "list_", is_flag=True, help=f"Print the {field} instead.")
    @selector_options
    @everywhere_option
    @dry_run_option
    @form_option
    @pass_session
    def command(
        session: Session, words: tuple[str, ...], overwrite: bool, every: bool, list_: bool, selector: str,
        field_selector: str, everywhere: bool, dry_run: str, form: str,
    ) -> None:  # fmt: skip
        objects, changes = split_changes(words)
        if not changes and not list_:
            raise CommandError(f"which {field}? Write KEY=VALUE to set and KEY- to remove one")

        async def work(api: Api) -> None:
            targets = await parse_targets(api, objects)
            chosen = await selected(
                api, targets, selector=selector, field_selector=field_selector, every=every, everywhere=everywhere
            )
            for target, obj in chosen:
                current = (obj["metadata"].get(field)) or {}
                if list_:
                    if len(chosen) > 1:
                        output.line(f"Listing {field} for {target.label}:")
                    for key, value in sorted(current.items()):
                        output.line(f"{key}={value}")
                    continue
                check_overwrite(target, current, changes, overwrite)
                if all(current.get(key) == value for key, value in changes.items()):
                    await report(api, target, obj, f"not {word}", form=form, dry_run=dry_run)
                    continue
                if dry_run != "client":
                    obj = await api.patch(
                        target.resource, target.name, {"metadata": {field: changes}}, namespace=target.namespace,
                        query=dry_query(dry_run),
                    )  # fmt: skip
                removed = name == "label" and all(value is None for value in changes.values())
                await report(api, target, obj, "unlabeled" if removed else word, form=form, dry_run=dry_run)

        session.run(work)

    return command


def split_changes(words: tuple[str, ...]) -> tuple[list[str], dict[str, str | None]]:
    """Arguments that name objects, and the value of each key; None removes the key."""
    objects: list[str] = []
    changes: dict[str, str | None] = {}
    for word in words:
        if "=" in word:
            key, _, value = word.partition("=")
            if not key:
                raise CommandError(f"{word!r}: a key is missing in front of =")
            changes[key] = value
        elif word.endswith("-") and len(word) > 1 and (objects or changes):
            changes[word[:-1]] = None
        else:
            objects.append(word)
    return objects, changes


def check_overwrite(target: Target, current: Object, changes: dict[str, str | None], overwrite: bool) -> None:
    for key, value in changes.items():
        if value is not None and not overwrite and key in current and current[key] != value:
            raise CommandError(f"{target.label} already has {key}={current[key]}: --overwrite changes it")


label = _mark_command("label", "labels", "labeled")
annotate = _mark_command("annotate", "annotations", "annotated")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME... | TYPE/NAME...")
@click.option("--replicas", type=click.IntRange(min=0), required=True, help="Number of pods.")
@click.option("--current-replicas", type=int, default=-1, help="Only if the current number is this.")
@click.option("--resource-version", default="", help="Only if the object has this resourceVersion.")
@dry_run_option
@pass_session
def scale(
    session: Session, words: tuple[str, ...], replicas: int, current_replicas: int, resource_version: str, dry_run: str
) -> None:
    """Set the number of replicas of deployments, replica sets, stateful sets and custom kinds with a scale."""

    async def work(api: Api) -> None:
        for target in await named_targets(api, words):
            if "scale" not in target.resource.subresources:
                raise CommandError(f"{target.resource.qualified} cannot be scaled: choose a type with a scale subresource")
            body: dict[str, Any] = {"spec": {"replicas": replicas}}
            if current_replicas >= 0:
                now = await api.get(target.resource, target.name, target.namespace, subresource="scale")
                found = (now.get("spec") or {}).get("replicas", 0)
                if found != current_replicas:
                    raise CommandError(f"{target.label} has {found} replicas, not {current_replicas}: nothing was changed")
                body["metadata"] = {"resourceVersion": now["metadata"]["resourceVersion"]}
            if resource_version:
                body["metadata"] = {"resourceVersion": resource_version}
            if dry_run != "client":
                await api.patch(
                    target.resource, target.name, body, namespace=target.namespace, subresource="scale",
                    query=dry_query(dry_run),
                )  # fmt: skip
            output.line(f"{target.label} scaled{done_suffix(dry_run)}")

    session.run(work)
