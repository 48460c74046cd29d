"""``create``: creates objects from files."""

from __future__ import annotations

import click

from orchd.ctl.cluster.raw import send_raw
from orchd.ctl.cluster.session import Session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import files_option
from orchd.ctl.objects.creation import create_all, create_options
from orchd.ctl.objects.manifests import parse_objects, read_objects, read_raw_body, select_by_labels
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group, invoke_without_command=True)
@files_option
@click.option(
    "-l", "--selector", default="", metavar="SELECTOR", help="Only objects in the files that match this label selector."
)
@click.option("--raw", default="", metavar="PATH", help="Send the file unchanged to this path of the server.")
@click.option(
    "--windows-line-endings",
    is_flag=True,
    expose_value=False,
    hidden=True,
    help="Without effect: editors keep their own.",
)
@click.option("--edit", "edited", is_flag=True, help="Edit the objects before they are created.")
@create_options
@click.pass_context
def create(
    context: click.Context,
    files: tuple[str, ...],
    recursive: bool,
    selector: str,
    raw: str,
    edited: bool,
    dry_run: str,
    form: str,
) -> None:
    """Create objects from files, or an object of one of the kinds below from arguments."""
    if context.invoked_subcommand is not None:
        if files or raw or edited:
            raise CommandError(f"create {context.invoked_subcommand} takes no -f, --raw or --edit: leave them out")
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    if raw:
        output.text(send_raw(session, "POST", raw, read_raw_body(session, files)))
        return
    objects = select_by_labels(read_objects(session, files, recursive=recursive), selector)
    if edited:
        objects = _edited(session, objects)
    create_all(session, objects, dry_run=dry_run, form=form)


def _edited(session: Session, objects: list[Object]) -> list[Object]:
    """The objects after editing. Raises CommandError if nothing was saved."""
    text = session.edit("---\n".join(map(output.yaml_text, objects)))
    if text is None or not text.strip():
        raise CommandError("edit cancelled: nothing was created")
    return list(parse_objects(text, "the edited text"))
