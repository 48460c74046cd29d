"""The table of commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import orchd.ctl.commands
from orchd.ctl.command import Group
from orchd.ctl.program import cli
from orchd.ctl.table import COMMANDS

FOLDER = Path(str(orchd.ctl.commands.__file__)).parent


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_of_the_table_is_found_by_its_name(path: str) -> None:
    """The module of a command is named after it, and help names it as the table does; a folder is a group."""
    module = COMMANDS[path].partition(":")[0]
    *group, name = path.split(" ")
    command: click.Command | None = cli
    for word in path.split(" "):
        assert isinstance(command, Group)
        context = click.Context(command)
        assert word in command.list_commands(context)
        command = command.get_command(context, word)
    assert command is not None and (command.name == name or path == "create token")
    places = {name.replace("-", "_"), ".".join([*group, name]).replace("-", "_"), f"{name}.{name}".replace("-", "_")}
    # Commands that set, list and remove entries of one list of the configuration are beside each other.
    assert module in places or group == ["config"] or path == "create token", f"{path} is in {module}"


def test_every_module_of_a_command_is_in_the_table() -> None:
    """No module of the folder is a command that the table lacks, but those that commands of one folder share."""
    modules = {
        path.relative_to(FOLDER).with_suffix("").as_posix().replace("/", ".")
        for path in FOLDER.rglob("*.py")
        if path.stem != "__init__"
    }
    assert modules - {place.partition(":")[0] for place in COMMANDS.values()} == {
        "config.entries",
        "config.certificate_files",
    }


def test_a_command_imports_no_other_and_no_server() -> None:
    """`get` imports neither other commands nor packages of the server, nor libraries for terminals and templates."""
    program = "import sys, orchd.ctl.program, orchd.ctl.commands.get, orchd.ctl.cluster.connection; print(*sorted(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=FOLDER.parents[2]
    )
    modules = ran.stdout.split()
    assert [name for name in modules if name.startswith("orchd.ctl.commands.")] == ["orchd.ctl.commands.get"]
    heavy = ("rich", "google.protobuf", "orchd.server", "orchd.store", "orchd.kinds.builtin", "orchd.kinds.catalog")
    assert not [name for name in modules for each in heavy if name == each or name.startswith(f"{each}.")]


def test_commands_without_a_server_start_without_a_network() -> None:
    """`version --client` imports no library of the network: neither Twisted nor TLS."""
    program = "import sys, orchd.ctl.program as p; p.main(['version', '--client']); print(*sorted(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=FOLDER.parents[2]
    )
    roots = {name.partition(".")[0] for name in ran.stdout.split()}
    assert "click" in roots and not roots & {"twisted", "OpenSSL", "cryptography", "h2", "service_identity"}
