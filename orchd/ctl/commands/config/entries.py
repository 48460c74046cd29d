"""Commands that list the entries of the client configuration, and that remove one."""

from __future__ import annotations

import click

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.config_files import WORDS, ConfigFiles
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.printing import output


def list_command(key: str) -> click.Command:
    """``config get-clusters``, ``get-users``."""

    @click.command(f"get-{key}", help=f"Print the names of all {key}.", cls=Command)
    @pass_session
    def command(session: Session) -> None:
        document = configuration.read_document(session.flags, session.environment)
        output.Columns(["name"]).write([[each["name"]] for each in document[key]])

    return command


def delete_command(key: str) -> click.Command:
    """``config delete-context``, ``delete-cluster``, ``delete-user``."""
    word = WORDS[key]

    @click.command(f"delete-{word}", help=f"Remove a {word}.", cls=Command)
    @click.argument("name")
    @pass_session
    def command(session: Session, name: str) -> None:
        files = ConfigFiles(session)
        path = files.remove(key, name)
        output.line(f"deleted {word} {name} from {path}")
        if key == "contexts" and any(each.get("current-context") == name for each in files.documents.values()):
            output.note("Warning: this was the current context: choose another with config use-context")

    return command
