"""Click commands of this program: global flags are accepted before and after the command's name; groups import the
module of the command that runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION, put_files
from orchd.ctl.plugins import find_plugin
from orchd.ctl.printing.forms import put_form
from orchd.ctl.table import COMMANDS
from orchd.dialect import COMMAND_LINE, DIALECTS

#: In front of the parameters' names of global flags: a command may have a parameter with the same name and another
#: flag.
_GLOBAL = "global_"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store the value of a global flag in the session."""
    session = context.find_object(Session)
    if session is not None and parameter.name and value not in (None, (), False):
        setattr(session.flags, parameter.name.removeprefix(_GLOBAL), value)


def global_options(*, hidden: bool) -> list[click.Option]:
    """The flags of every command."""

    def option(*names: str, **more: Any) -> click.Option:
        flags = [name for name in names if name.startswith("-")]
        own = next(
            (name for name in names if not name.startswith("-")), max(flags, key=len).lstrip("-").replace("-", "_")
        )
        return click.Option([*flags, _GLOBAL + own], expose_value=False, callback=_remember, hidden=hidden, **more)

    files = tuple(f"--{dialect.config_file_kind}" for dialect in DIALECTS.values())
    return [
        option("--config", *files, "config", metavar="FILE", help="Client configuration file."),
        option("--context", metavar="NAME", help="Context of the configuration; default: its current one."),
        option("-n", "--namespace", metavar="NAME", help="Namespace; default: that of the context, else 'default'."),
        option("-s", "--server", metavar="URL", help="Address of the server instead of the configured one."),
        option("--cluster", metavar="NAME", help="Cluster of the configuration instead of the context's."),
        option("--user", metavar="NAME", help="User of the configuration instead of the context's."),
        option("--token", help="Bearer token instead of the configured credentials."),
        option(
            "--client-certificate",
            "certificate",
            metavar="FILE",
            help="Client certificate instead of the configured one.",
        ),
        option("--client-key", "key", metavar="FILE", help="Key of --client-certificate."),
        option(
            "--certificate-authority",
            "authority",
            metavar="FILE",
            help="CA certificates (PEM) that verify the server's certificate.",
        ),
        option(
            "--tls-server-name", "server_name", metavar="NAME", help="Name that the server's certificate must have."
        ),
        option("--as", "as_user", metavar="USER", help="Impersonate a user."),
        option("--as-group", "as_groups", metavar="GROUP", multiple=True, help="Impersonate a group; may be repeated."),
        option("--as-uid", metavar="UID", help="Impersonate a user with this uid."),
        option(
            "--insecure-skip-tls-verify",
            "insecure",
            is_flag=True,
            help="Do not verify the server's certificate. Insecure.",
        ),
        option("--request-timeout", type=DURATION, help="Maximum wait for a response; default 30s."),
        option(
            "--username", default="", help="User name for basic authentication instead of the configured credentials."
        ),
        option("--password", default="", help="Password for basic authentication."),
        option(
            "-v",
            "--v",
            "verbosity",
            type=int,
            default=0,
            help="6 prints every request and its status, 8 their bodies as well.",
        ),
        option(
            "--cache-dir", metavar="DIR", help="Folder of discovery documents, kept for ten minutes; '' keeps none."
        ),
        option("--warnings-as-errors", is_flag=True, help="A warning of the server is an error."),
    ]


_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def _with_boolean_values(command: click.Command, words: list[str]) -> list[str]:
    """Arguments with ``--flag=true`` and ``--flag=false`` of boolean flags, and ``-f=value``, converted to click's
    form. The last value of a boolean flag counts."""
    valued = {
        name
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag
        for name in option.opts
    }
    switches = {
        name: option
        for option in command.params
        if isinstance(option, click.Option) and option.is_bool_flag
        for name in option.opts
    }
    out: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*out, *words[at:]]
        name, mark, value = word.partition("=")
        option = switches.get(name)
        if mark and len(name) == 2 and name in valued:
            out += [name, value]
            continue
        if not mark or option is None:
            out.append(word)
            continue
        if value.lower() not in _BOOLEANS:
            raise CommandError(f"{word}: {name} is true or false")
        if _BOOLEANS[value.lower()]:
            out.append(name)
        elif option.secondary_opts:
            out.append(option.secondary_opts[0])
        else:
            out = [each for each in out if each != name]
    return out


class _BooleanValues(click.Command):
    """Takes values of boolean flags: ``--wait=false``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, _with_boolean_values(self, args))
        put_form(ctx.params)
        put_files(ctx.params)
        return rest


class Command(_BooleanValues):
    """A command that also takes the global flags."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params += [each for each in global_options(hidden=True) if not taken & set(each.opts)]


#: Short names of commands, as of types.
ALIASES = {
    "svc": "service", "pdb": "poddisruptionbudget", "pc": "priorityclass", "ing": "ingress", "cj": "cronjob",
    "ns": "namespace", "cm": "configmap", "sa": "serviceaccount", "deploy": "deployment", "csr": "certificate",
    "no": "nodes", "node": "nodes", "po": "pods", "pod": "pods",
}  # fmt: skip
#: Commands that users of similar programs look for, and what does the same here.
_INSTEAD = {"alpha": "there are no alpha commands"}


class Group(_BooleanValues, click.Group):
    """A group of commands that also takes the global flags."""

    command_class = Command

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # They are shown in the help of the program itself, and by the command `options`.
        self.params += global_options(hidden=self.name != COMMAND_LINE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if ctx.parent is None:
                _run_plugin(ctx, args)
            advice = _INSTEAD.get(args[0]) if ctx.parent is None else None
            where = "" if ctx.parent is None else f" {ctx.command_path.partition(' ')[2]}"
            raise CommandError(
                f"no command {f'{where} {args[0]}'.strip()!r}: {advice or '--help lists the commands'}"
            ) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._elsewhere()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        place = self._elsewhere().get(name)
        return super().get_command(ctx, name) if place is None else _load(place)

    def _elsewhere(self) -> dict[str, str]:
        """The commands of the group that have modules of their own, with their places."""
        prefix = "" if self.name == COMMAND_LINE else f"{self.name} "
        names = {path.removeprefix(prefix): place for path, place in COMMANDS.items() if path.startswith(prefix)}
        return {name: place for name, place in names.items() if " " not in name}


def _run_plugin(context: click.Context, words: list[str]) -> None:
    """Replace this program by the plugin of these words, if there is one. Raises CommandError for flags in front of its
    name."""
    session = context.find_object(Session)
    plugin = find_plugin(words, session.environment.get("PATH")) if session is not None else None
    if session is None or plugin is None:
        return
    if session.flags != GlobalFlags():
        raise CommandError(f"flags cannot be placed before the name of a plugin: write them behind {words[0]}")
    program, arguments = plugin
    session.replace_program(program, [program, *arguments], session.environment)
    raise click.exceptions.Exit(0)


def _load(place: str) -> click.Command:
    module, _, name = place.partition(":")
    command: click.Command = getattr(import_module(f"orchd.ctl.commands.{module}"), name)
    return command


Group.group_class = Group
