"""Click commands of this program: global flags are accepted before and after the command's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchd.ctl.errors import CommandError
from orchd.ctl.forms import put_form
from orchd.ctl.session import Session
from orchd.dialect import COMMAND_LINE, DIALECTS

F = TypeVar("F", bound=Callable[..., Any])


#: In front of the parameters' names of global flags: a command may have a parameter with the same name and another flag.
_GLOBAL = "global_"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store the value of a global flag in the session."""
    session = context.find_object(Session)
    if session is not None and parameter.name and value not in (None, (), False):
        setattr(session.flags, parameter.name.removeprefix(_GLOBAL), value)


def seconds(text: str) -> float:
    """A duration such as ``30``, ``30s``, ``1m30s``, ``2h`` in seconds. Raises CommandError."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        return sign * float(rest)
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|[smhd]))+", rest):
        raise CommandError(f"{text!r} is not a duration: write it as 30s, 5m or 1h30m")
    return sign * sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|[smhd])", rest))


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return seconds(str(value))


DURATION = Duration()


def global_options(*, hidden: bool) -> list[click.Option]:
    """The flags of every command."""

    def option(*names: str, **more: Any) -> click.Option:
        flags = [name for name in names if name.startswith("-")]
        own = next((name for name in names if not name.startswith("-")), max(flags, key=len).lstrip("-").replace("-", "_"))
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
        option("--client-certificate", "certificate", metavar="FILE", help="Client certificate instead of the configured one."),
        option("--client-key", "key", metavar="FILE", help="Key of --client-certificate."),
        option("--certificate-authority", "authority", metavar="FILE", help="CA certificates (PEM) that verify the server's certificate."),
        option("--tls-server-name", "server_name", metavar="NAME", help="Name that the server's certificate must have."),
        option("--as", "as_user", metavar="USER", help="Impersonate a user."),
        option("--as-group", "as_groups", metavar="GROUP", multiple=True, help="Impersonate a group; may be repeated."),
        option("--as-uid", metavar="UID", help="Impersonate a user with this uid."),
        option(
            "--insecure-skip-tls-verify", "insecure", is_flag=True, help="Do not verify the server's certificate. Insecure."
        ),
        option("--request-timeout", type=DURATION, help="Maximum wait for a response; default 30s."),
        option("--username", default="", help="User name for basic authentication instead of the configured credentials."),
        option("--password", default="", help="Password for basic authentication."),
        option("-v", "--v", "verbosity", type=int, default=0, help="6 prints every request and its status, 8 their bodies as well."),
        option("--warnings-as-errors", is_flag=True, help="A warning of the server is an error."),
    ]


_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def _with_boolean_values(command: click.Command, words: list[str]) -> list[str]:
    """Arguments with ``--flag=true`` and ``--flag=false`` of boolean flags, and ``-f=value``, converted to click's form. The last
    value of a boolean flag counts."""
    valued = {name for option in command.params if isinstance(option, click.Option) and not option.is_flag for name in option.opts}
    switches = {name: option for option in command.params if isinstance(option, click.Option) and option.is_bool_flag for name in option.opts}
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


class Command(click.Command):
    """A command that also takes the global flags, and values of boolean flags: ``--wait=false``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, _with_boolean_values(self, args))
        put_form(ctx.params)
        return rest

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params += [each for each in global_options(hidden=True) if not taken & set(each.opts)]


#: Short names of commands, as of types.
ALIASES = {
    "svc": "service", "pdb": "poddisruptionbudget", "pc": "priorityclass", "ing": "ingress", "cj": "cronjob",
    "ns": "namespace", "cm": "configmap", "sa": "serviceaccount", "deploy": "deployment", "csr": "certificate", "no": "nodes",
    "node": "nodes", "po": "pods", "pod": "pods",
}  # fmt: skip
#: Commands that users of similar programs look for, and what does the same here.
_INSTEAD = {
    "kustomize": "kustomize is a separate program: kustomize build DIR | apply -f -",
    "debug": "describe and logs show objects and output, exec runs commands",
    "plugin": "plugins are not supported: run the plugin's program directly",
    "alpha": "there are no alpha commands",
}


class Group(click.Group):
    """A group of commands that also takes the global flags."""

    command_class = Command

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # They are shown in the help of the program itself, and by the command `options`.
        self.params += global_options(hidden=self.name != COMMAND_LINE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, _with_boolean_values(self, args))
        put_form(ctx.params)
        return rest

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            advice = _INSTEAD.get(args[0]) if ctx.parent is None else None
            where = "" if ctx.parent is None else f" {ctx.command_path.partition(' ')[2]}"
            raise CommandError(f"no command {f'{where} {args[0]}'.strip()!r}: {advice or '--help lists the commands'}") from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


Group.group_class = Group


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help text."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


selector_options: Callable[[F], F] = stacked(
    click.option("-l", "--selector", default="", metavar="SELECTOR", help="Label selector: a=b,c!=d,e in (f,g),!h."),
    click.option("--field-selector", default="", metavar="SELECTOR", help="Field selector: metadata.name=a."),
)
everywhere_option: Callable[[F], F] = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="Select objects of all namespaces."
)
def _refuse_kustomization(context: click.Context, parameter: click.Parameter, value: str) -> None:
    if value:
        raise CommandError(f"-k: kustomizations are not built here: kustomize build {value} | {context.command_path} -f -")


files_option: Callable[[F], F] = stacked(
    click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="File, folder or URL with objects; - is standard input."),
    click.option(
        "-k", "--kustomize", default="", hidden=True, expose_value=False, callback=_refuse_kustomization, help="Refused: not built here."
    ),
    click.option("-R", "--recursive", is_flag=True, help="Include subfolders."),
)
dry_run_option: Callable[[F], F] = click.option(
    "--dry-run", type=click.Choice(["none", "server", "client"]), default="none", show_default=True, is_flag=False,
    flag_value="server", help="Check without storing: by the server, or locally without a request.",
)  # fmt: skip


def _remember_writing(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    session = context.find_object(Session)
    if session is not None and parameter.name and value:
        setattr(session.writing, parameter.name, value)


field_manager_option: Callable[[F], F] = click.option(
    "--field-manager", "manager", default=COMMAND_LINE, show_default=True, expose_value=False, callback=_remember_writing,
    help="Name under which fields are owned.",
)  # fmt: skip
save_config_option: Callable[[F], F] = click.option(
    "--save-config", is_flag=True, expose_value=False, callback=_remember_writing,
    help="Store the object in the annotation that apply view-last-applied prints.",
)  # fmt: skip
write_options: Callable[[F], F] = stacked(dry_run_option, field_manager_option)


def dry_query(dry_run: str) -> dict[str, str]:
    """The query of a write with that flag."""
    return {"dryRun": "All"} if dry_run == "server" else {}


def done_suffix(dry_run: str) -> str:
    """The suffix of messages about a dry run."""
    return {"server": " (server dry run)", "client": " (dry run)"}.get(dry_run, "")


#: Value of --validate -> value of the query parameter.
_VALIDATION = {"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
validate_option: Callable[[F], F] = click.option(
    "--validate", "validation", type=click.Choice(list(_VALIDATION)), default="strict", show_default=True, is_flag=False,
    flag_value="strict", expose_value=False, callback=_remember_writing,
    help="Unknown fields are rejected (strict), cause warnings (warn) or are dropped (ignore).",
)  # fmt: skip


def validation_query(session: Session) -> dict[str, str]:
    """The query of a write with that flag."""
    word = session.writing.validation
    return {"fieldValidation": _VALIDATION[word]} if word else {}
