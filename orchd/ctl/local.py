"""Commands that need no server, or only its address: ``convert``, ``config``, ``completion``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click
import yaml
from click.shell_completion import get_completion_class

from orchd.client.interfaces import Object
from orchd.ctl import configuration, output
from orchd.ctl.command import Command, Group, files_option
from orchd.ctl.errors import CommandError
from orchd.ctl.manifests import read_objects
from orchd.ctl.printers import printer
from orchd.ctl.session import Session, pass_session
from orchd.dialect import COMMAND_LINE, DIALECTS
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, builtin_catalog, split_group_version
from orchd.kinds.objects.convert import convert as convert_object
from orchd.kinds.objects.shape import canonical


@click.command(cls=Command)
@files_option
@click.option("--output-version", default="", metavar="GROUP/VERSION", help="Version to convert to; default: the preferred one.")
@click.option("-o", "--output", "form", default="yaml", show_default=True, help="yaml, json, name, ...")
@pass_session
def convert(session: Session, files: tuple[str, ...], recursive: bool, output_version: str, form: str) -> None:
    """Print objects of files in another version of their group. No server is asked."""
    catalogs = [builtin_catalog(dialect, enabled=lambda group, version, default: True) for dialect in DIALECTS.values()]
    objects = read_objects(session, files, recursive=recursive)
    done = [convert_one(catalogs, obj, output_version) for obj in objects]
    printer(form, label=lambda obj: f"{obj['kind'].lower()}/{obj['metadata'].get('name', '')}")(done, True)


def convert_one(catalogs: list[Catalog], obj: Object, version: str) -> Object:
    """An object in `version` (with or without its group). Raises CommandError."""
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    for catalog in catalogs:
        resource = catalog.kind(api_version, kind)
        if resource is None:
            continue
        group = catalog.group(resource.group)
        assert group is not None, "it has the resource"
        target = version or (f"{group.name}/{group.preferred}" if group.name else group.preferred)
        if "/" not in target and resource.group:
            target = f"{resource.group}/{target}"
        to = catalog.kind(target, kind)
        if to is None:
            known = ", ".join(each.api_version for each in catalog.versions_of(resource))
            raise CommandError(f"{kind} has no version {target}: those that it has are {known}")
        if split_group_version(target)[0] != resource.group:
            raise CommandError(f"{kind} of {api_version} is not converted to another group ({target}): name a version of its own")
        try:
            return _trim(convert_object(canonical(obj, resource.type), target, catalog), obj)
        except (ApiError, KeyError, TypeError, ValueError) as error:
            raise CommandError(f"{kind} {obj['metadata'].get('name', '')}: cannot be converted: {error}") from None
    raise CommandError(f"{kind} of {api_version} is no built-in kind: the server converts custom kinds (get with TYPE.VERSION.GROUP)")


def _trim(done: Object, given: Object) -> Object:
    """Without what the canonical shape adds and the file did not say: a status, a time of creation."""
    out = {key: value for key, value in done.items() if key != "status" or "status" in given}
    metadata = {key: value for key, value in done["metadata"].items() if value is not None or key in given["metadata"]}
    return {**out, "metadata": metadata}


# -- config


@click.group(cls=Group)
def config() -> None:
    """The client configuration."""


def _redacted(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _redacted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner) for inner in value]
    if key in ("client-key-data", "token", "password"):
        return "REDACTED"
    return "DATA+OMITTED" if key.endswith("-data") else value


@config.command("view")
@click.option("--raw", is_flag=True, help="Print keys, tokens and certificates as well.")
@click.option("--minify", is_flag=True, help="Only what the current context uses.")
@click.option("-o", "--output", "form", default="yaml", show_default=True, help="yaml, json, jsonpath=...")
@pass_session
def view(session: Session, raw: bool, minify: bool, form: str) -> None:
    """Print the configuration as it is used, merged from all files."""
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
    document = configuration.read_document(session.flags, session.environment)
    if not any(each["name"] == name for each in document["contexts"]):
        raise CommandError(f"no context {name!r}: config get-contexts lists them")
    # The first file that says which context is current counts; without one, the first that is there.
    files = [path for path in configuration.candidate_files(session.flags, session.environment) if path.exists()]
    path = next((each for each in files if (yaml.safe_load(each.read_text()) or {}).get("current-context")), files[0])
    _replace_file(path, {**(yaml.safe_load(path.read_text()) or {}), "current-context": name})
    output.line(f'Switched to context "{name}".')


@config.command("set-context")
@click.argument("name", default="")
@click.option("--current", is_flag=True, help="The current context.")
@click.option("--cluster", default="", help="The cluster of the context.")
@click.option("--user", default="", help="The user of the context.")
@pass_session
def set_context(session: Session, name: str, current: bool, cluster: str, user: str) -> None:
    """Change a context, or add one: --namespace, --cluster and --user say what it has."""
    if bool(name) == current:
        raise CommandError("which context? Give its name, or --current")
    name = name or str(configuration.read_document(session.flags, session.environment).get("current-context") or "")
    if not name:
        raise CommandError("no current context: choose one with config use-context")
    changes = {"cluster": cluster, "user": user, "namespace": session.flags.namespace}
    changes = {key: value for key, value in changes.items() if value}
    files = configuration.candidate_files(session.flags, session.environment)
    documents = {path: yaml.safe_load(path.read_text()) or {} for path in files if path.exists()}
    holder = next(
        (path for path, each in documents.items() if any(c.get("name") == name for c in each.get("contexts") or ())), None
    )
    path = holder or next(iter(documents), None)
    if path is None:
        raise CommandError(f"no client configuration in {', '.join(map(str, files))}: name one with --config")
    document = documents[path]
    contexts = list(document.get("contexts") or ())
    if holder is None:
        contexts.append({"name": name, "context": changes})
    else:
        contexts = [{**c, "context": {**(c.get("context") or {}), **changes}} if c.get("name") == name else c for c in contexts]
    _replace_file(path, {**document, "contexts": contexts})
    output.line(f'Context "{name}" {"modified" if holder else "created"}.')


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


# -- completion


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell, to be evaluated by it."""
    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    variable = f"_{COMMAND_LINE.upper()}_COMPLETE"
    root = context.find_root().command
    instance = made(root, {}, COMMAND_LINE, variable)
    output.line(instance.source_template % instance.source_vars())

