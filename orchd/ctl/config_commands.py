"""``config``: the client configuration, read and changed."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import click

from orchd.ctl import configuration, output
from orchd.ctl.command import Group
from orchd.ctl.config_files import WORDS, ConfigFiles
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import form_options
from orchd.ctl.printers import printer
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group)
def config() -> None:
    """The client configuration."""


def _redacted(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _redacted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner) for inner in value]
    if key in ("token", "password"):
        return "REDACTED"
    return "DATA+OMITTED" if key.endswith("-data") else value


@config.command("view")
@click.option("--raw", is_flag=True, help="Print keys, tokens and certificates as well.")
@click.option("--minify", is_flag=True, help="Only what the current context uses.")
@click.option("--flatten", is_flag=True, help="Print the text of the files that are named instead of their paths.")
@click.option("--merge/--no-merge", default=True, hidden=True, expose_value=False, help="Files are always merged.")
@form_options("yaml")
@pass_session
def view(session: Session, raw: bool, minify: bool, flatten: bool, form: str) -> None:
    """Print the effective configuration, merged from all files."""
    document = configuration.read_document(session.flags, session.environment)
    if minify:
        name = session.flags.context or document.get("current-context", "")
        context = next((each for each in document["contexts"] if each["name"] == name), None)
        if context is None:
            raise CommandError(f"no context {name!r}: config get-contexts lists them")
        inner = context["context"]
        document = {
            **document, "contexts": [context], "current-context": name,
            "clusters": [each for each in document["clusters"] if each["name"] == inner.get("cluster")],
            "users": [each for each in document["users"] if each["name"] == inner.get("user")],
        }  # fmt: skip
    document.setdefault("preferences", {})
    if flatten:
        document = _flattened(document)
    printer(form, label=lambda obj: "config")([document if raw else _redacted(document)], True)


def _flattened(document: Object) -> Object:
    """The document with the text of files in place of their paths. Raises CommandError for a file that cannot be read."""
    out = dict(document)
    for key, inner, names in (
        ("clusters", "cluster", ("certificate-authority",)), ("users", "user", ("client-certificate", "client-key"))
    ):  # fmt: skip
        entries = []
        for each in document[key]:
            values = dict(each.get(inner) or {})
            for name in names:
                if values.get(name):
                    values[f"{name}-data"] = base64.b64encode(read_bytes(values.pop(name), f"{inner} {each['name']}")).decode()
            entries.append({**each, inner: values})
        out[key] = entries
    return out


@config.command("current-context")
@pass_session
def current_context(session: Session) -> None:
    """Print the name of the current context."""
    name = configuration.read_document(session.flags, session.environment).get("current-context")
    if not name:
        raise CommandError("no current context: choose one with config use-context")
    output.line(name)


@config.command("get-contexts")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-o", "--output", "form", type=click.Choice(["", "name"]), default="", help="name: print names only.")
@click.option("--no-headers", is_flag=True, help="Omit the column headings.")
@pass_session
def get_contexts(session: Session, names: tuple[str, ...], form: str, no_headers: bool) -> None:
    """Print contexts, all without a name; * marks the current one."""
    document = configuration.read_document(session.flags, session.environment)
    known = {each["name"]: each.get("context") or {} for each in document["contexts"]}
    chosen = [name for name in names or sorted(known) if name in known]
    if form == "name":
        output.lines(chosen)
    else:
        rows = []
        for name in chosen:
            mark = "*" if name == document.get("current-context") else ""
            rows.append([mark, name, *(str(known[name].get(key) or "") for key in ("cluster", "user", "namespace"))])
        output.Columns(["current", "name", "cluster", "authinfo", "namespace"], show_headings=not no_headers).write(rows)
    missing = [name for name in names if name not in known]
    if missing:
        raise CommandError(f"no context {', '.join(map(repr, missing))}: config get-contexts lists them")


@config.command("use-context")
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


@config.command("set-context")
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


@config.command("rename-context")
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
    changes = {"contexts": [{**entry, "name": new} if each.get("name") == name else each for each in files.documents[path]["contexts"]]}
    files.write(path, changes)
    for each, document in files.documents.items():
        if document.get("current-context") == name:
            files.write(each, {"current-context": new})
    output.line(f'Context "{name}" renamed to "{new}".')


def read_bytes(path: str, of: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: check the path of {of}") from None


def _pem(path: str, flag: str) -> bytes:
    data = read_bytes(path, flag)
    if b"-----BEGIN " not in data:
        raise CommandError(f"{path}: no PEM block: check the path of {flag}")
    return data


def _file_values(given: dict[str, str], *, embed: bool) -> tuple[Object, tuple[str, ...]]:
    """Values of files by key, and the keys that they take the place of: the text itself with `embed`, else the path."""
    out: Object = {}
    without: list[str] = []
    for key, path in given.items():
        if not path:
            continue
        data = _pem(path, f"--{key}")
        without += [key, f"{key}-data"]
        if embed:
            out[f"{key}-data"] = base64.b64encode(data).decode()
        else:
            out[key] = str(Path(path).absolute())
    return out, tuple(without)


_embed = click.option("--embed-certs", "embed", is_flag=True, help="Embed the contents of the files instead of their paths.")


@config.command("set-cluster")
@click.argument("name")
@click.option("--certificate-authority", "authority", default="", metavar="FILE", help="CA certificates.")
@click.option("--tls-server-name", default="", help="Name that the server's certificate must have.")
@click.option("--proxy-url", default="", help="HTTP proxy for connections to the server.")
@_embed
@pass_session
def set_cluster(session: Session, name: str, authority: str, tls_server_name: str, proxy_url: str, embed: bool) -> None:
    """Change or add a cluster with the values of --server and the flags below."""
    values, without = _file_values({"certificate-authority": authority}, embed=embed)
    plain = {"server": session.flags.server, "tls-server-name": tls_server_name, "proxy-url": proxy_url}
    values |= {key: value for key, value in plain.items() if value}
    if session.flags.insecure:
        values["insecure-skip-tls-verify"] = True
        without += ("certificate-authority", "certificate-authority-data")
    elif authority:
        without += ("insecure-skip-tls-verify",)
    ConfigFiles(session).put("clusters", name, values, without=without)
    output.line(f'Cluster "{name}" set.')


@config.command("set-credentials")
@click.argument("name")
@click.option("--client-certificate", "certificate", default="", metavar="FILE", help="Certificate of the user.")
@click.option("--client-key", "key", default="", metavar="FILE", help="Key of the certificate.")
@click.option("--username", default="", help="Name for basic authentication.")
@click.option("--password", default="", help="Password for basic authentication.")
@click.option("--exec-command", default="", metavar="PROGRAM", help="Program that prints credentials.")
@click.option("--exec-api-version", default="", metavar="GROUP/VERSION", help="Version of the credentials that the program prints.")
@click.option("--exec-arg", "exec_args", multiple=True, help="An argument of the program; may be repeated.")
@click.option("--exec-env", "exec_env", multiple=True, metavar="KEY=VALUE", help="A variable of the program; KEY- removes it; may be repeated.")
@click.option("--auth-provider", default="", help="Refused: use --exec-command.")
@click.option("--auth-provider-arg", multiple=True, hidden=True, expose_value=False, help="Refused: use --exec-command.")
@_embed
@pass_session
def set_credentials(
    session: Session, name: str, certificate: str, key: str, username: str, password: str, exec_command: str, exec_api_version: str,
    exec_args: tuple[str, ...], exec_env: tuple[str, ...], auth_provider: str, embed: bool,
) -> None:
    """Change or add a user with the values of --token and the flags below."""
    values, without = _file_values({"client-certificate": certificate, "client-key": key}, embed=embed)
    plain = {"token": session.flags.token, "username": username, "password": password}
    values |= {each: value for each, value in plain.items() if value}
    if session.flags.token and (username or password):
        raise CommandError("--token and --username are two ways to authenticate: leave out one of them")
    if auth_provider:
        raise CommandError("--auth-provider: clients have no such providers any more: name a program with --exec-command")
    if session.flags.token:
        without += ("tokenFile",)
    files = ConfigFiles(session)
    if exec_command or exec_api_version or exec_args or exec_env:
        known = files.entry("users", name).get("user") or {} if files.holder("users", name) else {}
        values["exec"] = _exec_plugin(known.get("exec") or {}, exec_command, exec_api_version, exec_args, exec_env)
    files.put("users", name, values, without=without)
    output.line(f'User "{name}" set.')


def _exec_plugin(known: Object, command: str, api_version: str, arguments: tuple[str, ...], environment: tuple[str, ...]) -> Object:
    """The entry of a plugin with the changes of the flags. Raises CommandError without a program or version."""
    out = dict(known)
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


def _list_command(key: str, heading: str) -> None:
    @config.command(f"get-{key}", help=f"Print the names of all {key}.")
    @pass_session
    def command(session: Session) -> None:
        document = configuration.read_document(session.flags, session.environment)
        output.Columns([heading]).write([[each["name"]] for each in document[key]])


def _delete_command(key: str, done: str) -> None:
    word = WORDS[key]

    @config.command(f"delete-{word}", help=f"Remove a {word}.")
    @click.argument("name")
    @pass_session
    def command(session: Session, name: str) -> None:
        files = ConfigFiles(session)
        path = files.remove(key, name)
        output.line(done.format(name=name, path=path))
        if key == "contexts" and any(each.get("current-context") == name for each in files.documents.values()):
            click.echo("Warning: this was the current context: choose another with config use-context", err=True)


_list_command("clusters", "name")
_list_command("users", "name")
_delete_command("contexts", "deleted context {name} from {path}")
_delete_command("clusters", "deleted cluster {name} from {path}")
_delete_command("users", "deleted user {name} from {path}")
