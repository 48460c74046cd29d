"""The table of commands."""

from __future__ import annotations

import os
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


#: Runs a command line until its first request. Prints "collected" for each collection of garbage, "connects" with
#: whether it is on by then and what was imported was set aside, and the modules that were imported.
PROBE = """
import gc, sys
if "NETWORK":
    import orchd.ctl.cluster.connection as connection
    def connect(session, work):
        print("connects", gc.isenabled(), gc.get_freeze_count() > 0)
        raise SystemExit
    connection.connect = connect
from orchd.ctl import main
gc.collect()
gc.callbacks.append(lambda phase, about: print("collected"))
try:
    main.run()
finally:
    gc.disable()
    print(*(name for name, module in sys.modules.items() if module))
"""
#: What no command imports before its first request: the server, tables of all kinds, libraries of terminals and
#: metrics.
ANYWHERE = (
    "rich", "google.protobuf", "prometheus_client", "treq", "numpy", "orchd.server", "orchd.store", "orchd.controllers", "orchd.scheduler",
    "orchd.assembly", "orchd.config", "orchd.cel", "orchd.kinds.builtin", "orchd.kinds.catalog", "orchd.kinds.openapi",
)  # fmt: skip
NETWORK = ("twisted", "OpenSSL", "cryptography", "h2", "service_identity", "ssl", "asyncio")
#: Command lines, and the modules that they do not need.
UNNEEDED = {
    "get pods": ("orchd.kinds.jsonpath", "orchd.ctl.cluster.tracing", "orchd.ctl.printing.gotemplate", "orchd.ctl.printing.describe", "orchd.kinds.patch", "urllib3"),
    "get pods -o yaml": ("orchd.ctl.cluster.tracing", "orchd.ctl.printing.gotemplate", "orchd.ctl.printing.describe", "orchd.kinds.patch"),
    "delete pod p": ("orchd.ctl.printing.gotemplate", "orchd.ctl.printing.describe", "orchd.kinds.patch"),
    "label pod p a=b": ("orchd.ctl.printing.gotemplate", "orchd.ctl.printing.describe"),
    "describe pod p": ("orchd.ctl.printing.gotemplate", "orchd.kinds.patch"),
    "logs p": ("orchd.ctl.printing.gotemplate", "orchd.ctl.printing.describe", "orchd.kinds.patch"),
    "version --client": NETWORK,
    "config view": NETWORK,
    "options": NETWORK,
}  # fmt: skip


@pytest.mark.parametrize("line", UNNEEDED)
def test_a_command_imports_what_it_needs(line: str, tmp_path: Path) -> None:
    """A command imports no other one, nothing of the server, and nothing of `UNNEEDED`; garbage is collected from the
    first request on, and not before."""
    connects = UNNEEDED[line] is not NETWORK
    words = [*line.split(" "), "--config", str(tmp_path / "none")]
    ran = subprocess.run(
        [sys.executable, "-c", PROBE.replace("NETWORK", "connects" if connects else ""), *words],
        capture_output=True, text=True, cwd=FOLDER.parents[2], env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    *printed, imported = ran.stdout.splitlines()
    modules = imported.split()
    before = printed[: printed.index("connects True True")] if connects else printed
    assert "collected" not in before
    own = [name for name in modules if name.startswith("orchd.ctl.commands.")]
    name = line.split(" ")[0]
    assert own and all(each.startswith(f"orchd.ctl.commands.{name}") for each in own), ran.stderr
    unneeded = (*ANYWHERE, *UNNEEDED[line])
    assert not [name for name in modules for each in unneeded if name == each or name.startswith(f"{each}.")]
