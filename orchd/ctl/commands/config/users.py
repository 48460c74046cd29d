"""``config``: users, listed, changed and removed."""

from __future__ import annotations

import click

from orchd.ctl.cluster.config_files import ConfigFiles
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.commands.config.certificate_files import certificate_values, embed_option
from orchd.ctl.commands.config.entries import delete_command, list_command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object


@click.command("set-credentials", cls=Command)
@click.argument("name")
@click.option("--client-certificate", "certificate", default="", metavar="FILE", help="Certificate of the user.")
@click.option("--client-key", "key", default="", metavar="FILE", help="Key of the certificate.")
@click.option("--username", default="", help="Name for basic authentication.")
@click.option("--password", default="", help="Password for basic authentication.")
@click.option("--exec-command", default="", metavar="PROGRAM", help="Program that prints credentials.")
@click.option(
    "--exec-api-version",
    default="",
    metavar="GROUP/VERSION",
    help="Version of the credentials that the program prints.",
)
@click.option("--exec-arg", "exec_args", multiple=True, help="An argument of the program; may be repeated.")
@click.option(
    "--exec-env",
    "exec_env",
    multiple=True,
    metavar="KEY=VALUE",
    help="A variable of the program; KEY- removes it; may be repeated.",
)
@click.option("--auth-provider", default="", help="Refused: use --exec-command.")
@click.option(
    "--auth-provider-arg", multiple=True, hidden=True, expose_value=False, help="Refused: use --exec-command."
)
@embed_option
@pass_session
def set_credentials(
    session: Session,
    name: str,
    certificate: str,
    key: str,
    username: str,
    password: str,
    exec_command: str,
    exec_api_version: str,
    exec_args: tuple[str, ...],
    exec_env: tuple[str, ...],
    auth_provider: str,
    embed: bool,
) -> None:
    """Change or add a user with the values of --token and the flags below."""
    values, without = certificate_values({"client-certificate": certificate, "client-key": key}, embed=embed)
    plain = {"token": session.flags.token, "username": username, "password": password}
    values |= {each: value for each, value in plain.items() if value}
    if session.flags.token and (username or password):
        raise CommandError("--token and --username are two ways to authenticate: leave out one of them")
    if auth_provider:
        raise CommandError(
            "--auth-provider: clients have no such providers any more: name a program with --exec-command"
        )
    if session.flags.token:
        without += ("tokenFile",)
    files = ConfigFiles(session)
    if exec_command or exec_api_version or exec_args or exec_env:
        user = files.entry("users", name).get("user") or {} if files.holder("users", name) else {}
        values["exec"] = _exec_plugin(user.get("exec") or {}, exec_command, exec_api_version, exec_args, exec_env)
    files.put("users", name, values, without=without)
    output.line(f'User "{name}" set.')


def _exec_plugin(
    plugin: Object, command: str, api_version: str, arguments: tuple[str, ...], environment: tuple[str, ...]
) -> Object:
    """The entry of a plugin with the changes of the flags. Raises CommandError without a program or version."""
    out = dict(plugin)
    out |= {key: value for key, value in (("command", command), ("apiVersion", api_version)) if value}
    if not out.get("command") or not out.get("apiVersion"):
        raise CommandError("a program for credentials needs --exec-command and --exec-api-version: give both")
    if arguments:
        out["args"] = list(arguments)
    variables = {each["name"]: each["value"] for each in out.get("env") or ()}
    for each in environment:
        key, mark, value = each.partition("=")
        if mark and key:
            variables[key] = value
        elif each.endswith("-") and len(each) > 1:
            variables.pop(each[:-1], None)
        else:
            raise CommandError(f"--exec-env={each}: write KEY=VALUE to set and KEY- to remove one")
    if variables:
        out["env"] = [{"name": key, "value": value} for key, value in variables.items()]
    out.setdefault("interactiveMode", "IfAvailable")
    return out


get_users = list_command("users")
delete_user = delete_command("users")
