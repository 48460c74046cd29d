"""Arguments, help and short names of commands."""

from __future__ import annotations

import click
import pytest

from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import seconds
from tests.ctl.ctl_runner import Ctl


def test_boolean_flags_take_values(ctl: Ctl) -> None:
    """`--switch=false` sets a boolean flag to false; the last value counts, and -- ends the flags."""
    ctl("create", "cm", "m")
    ctl("label", "cm", "m", "a=b")
    assert "--overwrite" in ctl("label", "cm", "m", "a=c", "--overwrite", "--overwrite=false", status=1).error
    ctl("label", "cm", "m", "a=c", "--overwrite=true")
    assert "true or false" in ctl("delete", "cm", "m", "--wait=perhaps", status=1).error
    assert ctl("label", "cm", "m", "a-").out == "configmap/m unlabeled\n"
    assert ctl("delete", "cm", "m", "--wait=false").status == 0


def test_unknown_commands_are_named(ctl: Ctl) -> None:
    """An unknown command of the program or of a group is named."""
    assert "no command 'alpha': there are no alpha commands" in ctl("alpha", status=1).error
    assert "no command 'create x'" in ctl("create", "x", status=1).error


def test_flags_of_a_command_are_not_taken_for_global_ones(ctl: Ctl) -> None:
    """A parameter of a command may have the name of a global flag's parameter."""
    flags = ("--docker-server=h", "--docker-username=u", "--docker-password=p", "--dry-run=client")
    ctl("create", "secret", "docker-registry", "d", *flags)
    assert ctl.flags == GlobalFlags()
    ctl("get", "ns", "-n=x", "-o=name", "--as=bob", "--as-group=system:masters")
    assert ctl.flags == GlobalFlags(namespace="x", as_user="bob", as_groups=("system:masters",))


def test_help_and_unknown_commands(ctl: Ctl) -> None:
    """Help lists the commands; an unknown command or flag is an error of one line that refers to the help."""
    for words in ((), ("--help",), ("rollout", "--help")):
        assert "Commands:" in ctl(*words).out
    incomplete = ctl("rollout", status=1)
    assert "Commands:" in incomplete.out and "which command?" in incomplete.error
    assert "--help lists the commands" in ctl("frob", status=1).error
    assert "see orchctl get --help" in ctl("get", "--frob", status=1).error


@pytest.mark.parametrize(("text", "value"), [("30", 30), ("1m30s", 90), ("500ms", 0.5), ("2h", 7200), ("-1s", -1)])
def test_durations_with_and_without_units(text: str, value: float) -> None:
    """Durations have units; a number without one is seconds."""
    assert seconds(text) == value


def test_invalid_durations_are_refused() -> None:
    """Other texts are rejected."""
    with pytest.raises(CommandError, match="is not a duration"):
        seconds("1x")


def test_options_and_get_raw(ctl: Ctl) -> None:
    """`options` prints the flags of every command; get --raw requests any path."""
    assert "--as-group GROUP" in ctl("options").out
    assert ctl("get", "--raw=/readyz?verbose=&exclude=etcd").out.startswith("[+]")
    assert "a path begins with /" in ctl("get", "--raw=x", status=1).error


@click.command(cls=Command)
@click.option("-o", "--output", default="")
@click.option("--wait/--no-wait", default=True)
@click.option("-f", "--force", is_flag=True)
@click.argument("words", nargs=-1)
def example(**values: object) -> dict[str, object]:
    return values


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("", {}), ("-o=name", {"output": "name"}), ("-oname", {"output": "name"}), ("--output=a=b", {"output": "a=b"}), ("-o=a=b", {"output": "a=b"}),
        ("--wait=false", {"wait": False}), ("--wait=false --wait=TRUE", {"wait": True}), ("--no-wait --wait=t", {"wait": True}), ("--wait=0", {"wait": False}),
        ("--force=true", {"force": True}), ("-f=1", {"force": True}), ("--force=f", {"force": False}), ("--force --force=false", {"force": False}),
        ("--force=false --force", {"force": True}), ("-- --force=x -f", {"words": ("--force=x", "-f")}), ("a=b --force", {"force": True, "words": ("a=b",)}),
    ],
)  # fmt: skip
def test_values_of_flags(words: str, values: dict[str, object]) -> None:
    """A boolean flag may have a value, and a short flag a sign in front of its own; behind -- there are no flags."""
    plain: dict[str, object] = {"output": "", "wait": True, "force": False, "words": ()}
    assert example.main(words.split(), standalone_mode=False) == {**plain, **values}


def test_flags_that_a_command_has_itself() -> None:
    """A command with a flag of the name of a global one has only its own; global ones are not in its help."""

    @click.command(cls=Command)
    @click.option("--namespace")
    def own(namespace: str) -> str:
        return namespace

    names = [name for parameter in own.params for name in parameter.opts]
    assert names.count("--namespace") == 1 and "-n" not in names and "--context" in names
    assert "--context" not in own.get_help(click.Context(own))
    assert own.main(["--namespace", "x"], standalone_mode=False) == "x"
