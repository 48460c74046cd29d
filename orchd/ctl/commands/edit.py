"""``edit``: objects changed in the user's editor."""

from __future__ import annotations

import tempfile
from typing import Any

import click
import orjson

from orchd.ctl.cluster.api import MERGE, Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, explain_api_error
from orchd.ctl.flags import field_manager_option, files_option, save_config_option, validate_option, validation_query
from orchd.ctl.objects.applied import with_last_applied
from orchd.ctl.objects.differences import difference
from orchd.ctl.objects.manifests import parse_objects
from orchd.ctl.objects.selection import Selection
from orchd.ctl.objects.targets import Target, named_targets
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_options
from orchd.ctl.printing.printers import text_of
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object, without_managed_fields

#: How often a refused text is opened again; an editor that is a program never gives up by itself.
_ATTEMPTS = 20


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME... | TYPE/NAME...")
@click.option("--subresource", default="", help="Edit a subresource such as status.")
@click.option("--output-patch", is_flag=True, help="Print the patch that was sent.")
@click.option(
    "--windows-line-endings",
    is_flag=True,
    hidden=True,
    expose_value=False,
    help="Without effect: editors keep their own.",
)
@files_option
@field_manager_option
@save_config_option
@validate_option
@form_options("yaml", text="Form of the text that is edited: yaml or json.")
@pass_session
def edit(
    session: Session, /, words: tuple[str, ...], subresource: str, output_patch: bool, form: str, **flags: Any
) -> None:
    """Edit objects in the editor ($VISUAL, $EDITOR), one after the other, and send the changes. If they are rejected,
    the editor opens again with the reason."""
    if form not in ("yaml", "json"):
        raise CommandError(f"-o {form}: a text to edit is yaml or json")
    selection = Selection.of_files(flags)

    async def work(api: Api) -> None:
        targets = await selection.targets(api, session, words) if selection.files else await named_targets(api, words)
        for target in targets:
            await _edit_one(api, session, target, subresource, form, show_patch=output_patch)

    session.run(work)


async def _edit_one(
    api: Api, session: Session, target: Target, subresource: str, form: str, *, show_patch: bool
) -> None:
    before = without_managed_fields(
        await api.get(target.resource, target.name, target.namespace, subresource=subresource)
    )
    original = text_of(before, form)
    text, note = original, ""
    for _ in range(_ATTEMPTS):
        changed = session.edit(note + text)
        body = _uncommented(changed or "")
        if note and (body == text or not body.strip()):
            # The refused text was left as it was.
            raise CommandError(f"{note.strip('# ' + chr(10))}; the text is kept in {_kept(text, form)}")
        if changed is None or not body.strip() or body == original:
            output.line("Edit cancelled, no changes made.")
            return
        text = body
        try:
            patch = await _send(api, session, target, before, _one_object(body), subresource)
        except CommandError as error:
            note = f"# {error}\n"
        except ApiError as error:
            note = f"# {explain_api_error(error)}\n"
        else:
            output.line(f"{target.label} edited")
            if show_patch:
                output.line(f"Patch: {orjson.dumps(patch).decode()}")
            return
    raise CommandError(f"{note.strip('# ' + chr(10))}; the text is kept in {_kept(text, form)}")


def _kept(text: str, form: str) -> str:
    """The path of a new file with the text."""
    with tempfile.NamedTemporaryFile("w", prefix="edit-", suffix=f".{form}", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


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


async def _send(api: Api, session: Session, target: Target, before: Object, obj: Object, subresource: str) -> Object:
    """Send the difference as a merge patch, guarded by the resource version that was read; the patch."""
    if obj["metadata"].get("name") != target.name or obj.get("kind") != before.get("kind"):
        raise CommandError("kind and metadata.name cannot be changed: create another object")
    if session.writing.save_config:
        obj = with_last_applied(obj, await api.dialect())
    merge = difference(before, obj)
    guarded = {
        **merge,
        "metadata": {**merge.get("metadata", {}), "resourceVersion": before["metadata"]["resourceVersion"]},
    }
    await api.patch(
        target.resource, target.name, guarded, namespace=target.namespace, content_type=MERGE, subresource=subresource,
        query=validation_query(session),
    )  # fmt: skip
    return merge
