"""``config``: the client configuration, read and changed."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import click
import yaml

from orchd.ctl import configuration, output
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import form_options
from orchd.ctl.printers import printer
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object

#: The lists of a configuration: the word for one of their entries, which is also the field that has its values.
_WORDS: Final = {"contexts": "context", "clusters": "cluster", "users": "user"}


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
@form_options("yaml")
@pass_session
def view(session: Session, raw: bool, minify: bool, form: str) -> None:
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
    printer(form, label=lambda obj: "config")([document if raw else _redacted(document)], True)


@config.command("current-context")
@pass_session
def current_context(session: Session) -> None:
    """Print the name of the current context."""
    name = configuration.read_document(session.flags, session.environment).get("current-context")
    if not name:
        raise CommandError("no current context: choose one with config use-context")
    output.line(name)


@config.command("get-contexts")
@pass_session
def get_contexts(session: Session) -> None:
    """Print all contexts; * marks the current one."""
    document = configuration.read_document(session.flags, session.environment)
    rows = []
    for each in document["contexts"]:
        inner = each.get("context") or {}
        mark = "*" if each["name"] == document.get("current-context") else ""
        rows.append([mark, each["name"], *(str(inner.get(key) or "") for key in ("cluster", "user", "namespace"))])
    output.Columns(["current", "name", "cluster", "authinfo", "namespace"]).write(rows)


@config.command("use-context")
@click.argument("name")
@pass_session
def use_context(session: Session, name: str) -> None:
    """Make a context the current one."""
    files = _Files(session)
    if files.holder("contexts", name) is None:
        raise CommandError(f"no context {name!r}: config get-contexts lists them")
    # The first file that says which context is current counts; without one, the first that is there.
    path = next((path for path, each in files.documents.items() if each.get("current-context")), files.first())
    files.write(path, {"current-context": name})
    output.line(f'Switched to context "{name}".')


class _Files:
    """The files of the configuration, each with its document. Missing ones are left out."""

    def __init__(self, session: Session) -> None:
        self.paths = configuration.candidate_files(session.flags, session.environment)
        self.documents = {path: configuration.read_file(path) for path in self.paths if path.exists()}

    def first(self) -> Path:
        """The file to which new entries are added. Raises CommandError if no file exists."""
        if not self.documents:
            raise CommandError(f"no client configuration in {', '.join(map(str, self.paths))}: name one with --config")
        return next(iter(self.documents))

    def holder(self, key: str, name: str) -> Path | None:
        """The file whose entry of that name takes effect."""
        return next((path for path, each in self.documents.items() if any(e.get("name") == name for e in each.get(key) or ())), None)

    def entry(self, key: str, name: str) -> Object:
        path = self.holder(key, name)
        if path is None:
            raise CommandError(f"no {_WORDS[key]} {name!r}: config get-{key} lists them")
        return next(dict(each) for each in self.documents[path][key] if each.get("name") == name)

    def put(self, key: str, name: str, changes: Object, *, without: tuple[str, ...] = ()) -> str:
        """Change an entry where it is, or add one; "modified" or "created"."""
        inner = _WORDS[key]
        path = self.holder(key, name)
        at = path or self.first()
        entries = list(self.documents[at].get(key) or ())
        if path is None:
            entries.append({"name": name, inner: changes})
        else:
            entries = [
                {**e, inner: {**{k: v for k, v in (e.get(inner) or {}).items() if k not in without}, **changes}}
                if e.get("name") == name
                else e
                for e in entries
            ]
        self.write(at, {key: entries})
        return "modified" if path else "created"

    def remove(self, key: str, name: str) -> Path:
        self.entry(key, name)
        path = self.holder(key, name)
        assert path is not None, "entry found it"
        self.write(path, {key: [each for each in self.documents[path][key] if each.get("name") != name]})
        return path

    def write(self, path: Path, changes: Object) -> None:
        self.documents[path] = {"apiVersion": "v1", "kind": "Config", **self.documents[path], **changes}
        _replace_file(path, self.documents[path])




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
    done = _Files(session).put("contexts", name, {key: value for key, value in changes.items() if value})
    output.line(f'Context "{name}" {done}.')


@config.command("rename-context")
@click.argument("name")
@click.argument("new")
@pass_session
def rename_context(session: Session, name: str, new: str) -> None:
    """Rename a context."""
    files = _Files(session)
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


def _pem(path: str, flag: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: check the path of {flag}") from None
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
    _Files(session).put("clusters", name, values, without=without)
    output.line(f'Cluster "{name}" set.')


@config.command("set-credentials")
@click.argument("name")
@click.option("--client-certificate", "certificate", default="", metavar="FILE", help="Certificate of the user.")
@click.option("--client-key", "key", default="", metavar="FILE", help="Key of the certificate.")
@click.option("--username", default="", help="Name for basic authentication.")
@click.option("--password", default="", help="Password for basic authentication.")
@_embed
@pass_session
def set_credentials(
    session: Session, name: str, certificate: str, key: str, username: str, password: str, embed: bool
) -> None:
    """Change or add a user with the values of --token and the flags below."""
    values, without = _file_values({"client-certificate": certificate, "client-key": key}, embed=embed)
    plain = {"token": session.flags.token, "username": username, "password": password}
    values |= {each: value for each, value in plain.items() if value}
    if session.flags.token:
        without += ("tokenFile",)
    _Files(session).put("users", name, values, without=without)
    output.line(f'User "{name}" set.')


def _list_command(key: str, heading: str) -> None:
    @config.command(f"get-{key}", help=f"Print the names of all {key}.")
    @pass_session
    def command(session: Session) -> None:
        document = configuration.read_document(session.flags, session.environment)
        output.Columns([heading]).write([[each["name"]] for each in document[key]])


def _delete_command(key: str, done: str) -> None:
    word = _WORDS[key]

    @config.command(f"delete-{word}", help=f"Remove a {word}.")
    @click.argument("name")
    @pass_session
    def command(session: Session, name: str) -> None:
        files = _Files(session)
        path = files.remove(key, name)
        output.line(done.format(name=name, path=path))
        if key == "contexts" and any(each.get("current-context") == name for each in files.documents.values()):
            click.echo("Warning: this was the current context: choose another with config use-context", err=True)


_list_command("clusters", "name")
_list_command("users", "name")
_delete_command("contexts", "deleted context {name} from {path}")
_delete_command("clusters", "deleted cluster {name} from {path}")
_delete_command("users", "deleted user {name} from {path}")


@config.command("unset")
@click.argument("what")
@pass_session
def unset(session: Session, what: str) -> None:
    """Remove a value: current-context, or LIST.NAME such as users.alice."""
    files = _Files(session)
    key, _, name = what.partition(".")
    if what == "current-context":
        for path, document in files.documents.items():
            if document.get("current-context"):
                files.write(path, {"current-context": ""})
    elif key in _WORDS and name:
        files.remove(key, name)
    else:
        raise CommandError(f"{what!r}: write current-context, contexts.NAME, clusters.NAME or users.NAME")
    output.line(f'Property "{what}" unset.')


def _replace_file(path: Path, document: Object) -> None:
    """Write a file as a whole or not at all; its mode stays."""
    path = path.resolve()
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as made:
            yaml.safe_dump(document, made, sort_keys=False)
        os.chmod(made.name, path.stat().st_mode & 0o777)
        os.replace(made.name, path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: the configuration was not changed") from None
