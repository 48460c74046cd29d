"""``config``: contexts, printed, chosen and changed."""

from __future__ import annotations

import click

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.config_files import ConfigFiles
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.commands.config.entries import delete_command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output


@click.command("current-context", cls=Command)
@pass_session
def current_context(session: Session) -> None:
    """Print the name of the current context."""
    name = configuration.read_document(session.flags, session.environment).get("current-context")
    if not name:
        raise CommandError("no current context: choose one with config use-context")
    output.line(name)


@click.command("get-contexts", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-o", "--output", "form", type=click.Choice(["", "name"]), default="", help="name: print names only.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@pass_session
def get_contexts(session: Session, names: tuple[str, ...], form: str, no_headers: bool) -> None:
    """Print contexts, all without a name; * marks the current one."""
    document = configuration.read_document(session.flags, session.environment)
    contexts = {each["name"]: each.get("context") or {} for each in document["contexts"]}
    chosen = [name for name in names or sorted(contexts) if name in contexts]
    if form == "name":
        output.lines(chosen)
    else:
        rows = []
        for name in chosen:
            mark = "*" if name == document.get("current-context") else ""
            rows.append([mark, name, *(str(contexts[name].get(key) or "") for key in ("cluster", "user", "namespace"))])
        output.Columns(["current", "name", "cluster", "authinfo", "namespace"], show_headings=not no_headers).write(
            rows
        )
    missing = [name for name in names if name not in contexts]
    if missing:
        raise CommandError(f"no context {', '.join(map(repr, missing))}: config get-contexts lists them")


@click.command("use-context", cls=Command)
@click.argument("name")
@pass_session
def use_context(session: Session, name: str) -> None:
    """Make a context the current one."""
    files = ConfigFiles(session)
    if files.holder("contexts", name) is None:
        raise CommandError(f"no context {name!r}: config get-contexts lists them")
    # The first file that says which context is current counts; without one, the first that is there.
    path = next((path for path, each in files.documents.items() if each.get("current-context")), files.first())
    files.write(path, {"current-context": name})
    output.line(f'Switched to context "{name}".')


@click.command("set-context", cls=Command)
@click.argument("name", default="")
@click.option("--current", is_flag=True, help="The current context.")
@click.option("--cluster", default="", help="The cluster of the context.")
@click.option("--user", default="", help="The user of the context.")
@pass_session
def set_context(session: Session, name: str, current: bool, cluster: str, user: str) -> None:
    """Change or add a context with the values of --namespace, --cluster and --user."""
    if bool(name) == current:
        raise CommandError("which context? Give its name, or --current")
    name = name or str(configuration.read_document(session.flags, session.environment).get("current-context") or "")
    if not name:
        raise CommandError("no current context: choose one with config use-context")
    changes = {"cluster": cluster, "user": user, "namespace": session.flags.namespace}
    done = ConfigFiles(session).put("contexts", name, {key: value for key, value in changes.items() if value})
    output.line(f'Context "{name}" {done}.')


@click.command("rename-context", cls=Command)
@click.argument("name")
@click.argument("new")
@pass_session
def rename_context(session: Session, name: str, new: str) -> None:
    """Rename a context."""
    files = ConfigFiles(session)
    if files.holder("contexts", new) is not None:
        raise CommandError(f"there is a context {new!r} already: choose another name")
    entry = files.entry("contexts", name)
    path = files.holder("contexts", name)
    assert path is not None, "entry found it"
    changes = {
        "contexts": [
            {**entry, "name": new} if each.get("name") == name else each for each in files.documents[path]["contexts"]
        ]
    }
    files.write(path, changes)
    for each, document in files.documents.items():
        if document.get("current-context") == name:
            files.write(each, {"current-context": new})
    output.line(f'Context "{name}" renamed to "{new}".')


delete_context = delete_command("contexts")
