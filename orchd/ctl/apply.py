"""``apply``, ``create`` and ``diff``: objects of files as the server is to have them."""

from __future__ import annotations

import base64
import difflib
from pathlib import Path
from typing import Any

import click

from orchd.client.interfaces import Object
from orchd.ctl import output
from orchd.ctl.api import APPLY, Api
from orchd.ctl.command import Command, Group, done_suffix, dry_query, dry_run_option, files_option
from orchd.ctl.errors import CommandError
from orchd.ctl.get import labels
from orchd.ctl.manifests import read_objects
from orchd.ctl.printers import printer, without_managed_fields
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.dialect import COMMAND_LINE
from orchd.errors import ApiError

form_option = click.option("-o", "--output", "form", default="", metavar="FORM", help="Print the object: yaml, json, name, ...")


async def report(api: Api, target: Target, obj: Object, done: str, *, form: str, dry_run: str) -> None:
    """Say what was done, or print the object in the form that was asked for."""
    if form:
        printer(form, label=await labels(api))([obj], True)
    else:
        name = target.name or str(obj["metadata"].get("name", ""))
        output.line(f"{target.resource.label(name)} {done}{done_suffix(dry_run)}")


def _check_namespace(api: Api, session: Session, target: Target) -> None:
    if target.namespace and session.flags.namespace and target.namespace != session.flags.namespace:
        raise CommandError(
            f"{target.label} is of namespace {target.namespace!r}, -n says {session.flags.namespace!r}: leave out one of them"
        )


@click.command(cls=Command)
@files_option
@dry_run_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@click.option("--field-manager", default=COMMAND_LINE, show_default=True, help="Name under which fields are owned.")
@click.option("--server-side", is_flag=True, default=True, hidden=True, help="Always on.")
@form_option
@pass_session
def apply(
    session: Session, files: tuple[str, ...], recursive: bool, dry_run: str, force_conflicts: bool, field_manager: str,
    server_side: bool, form: str,
) -> None:
    """Make objects as files say (server-side apply): creates what is missing, owns the fields that the files have."""  # fmt: skip
    objects = read_objects(session, files, recursive=recursive)
    query = {"fieldManager": field_manager, **dry_query(dry_run), **({"force": "true"} if force_conflicts else {})}

    async def work(api: Api) -> None:
        for obj in objects:
            target = await target_of(api, obj)
            _check_namespace(api, session, target)
            if not target.name:
                raise CommandError(f"{target.resource.kind}: apply needs metadata.name; create takes generateName")
            if dry_run == "client":
                await report(api, target, obj, "applied", form=form, dry_run=dry_run)
                continue
            before = await _current(api, target)
            done = await api.patch(
                target.resource, target.name, without_managed_fields(obj), namespace=target.namespace, content_type=APPLY,
                query=query,
            )  # fmt: skip
            word = "created" if before is None else "unchanged" if _lines(before) == _lines(done) else "configured"
            await report(api, target, done, word, form=form, dry_run=dry_run)

    session.run(work)


async def _current(api: Api, target: Target) -> Object | None:
    try:
        return await api.get(target.resource, target.name, target.namespace)
    except ApiError as error:
        if error.code == 404:
            return None
        raise


@click.command(cls=Command)
@files_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@pass_session
def diff(session: Session, files: tuple[str, ...], recursive: bool, force_conflicts: bool) -> None:
    """Print what apply would change. Exit status 1 when there is a difference."""
    objects = read_objects(session, files, recursive=recursive)
    query = {"dryRun": "All", **({"force": "true"} if force_conflicts else {})}

    async def work(api: Api) -> bool:
        different = False
        for obj in objects:
            target = await target_of(api, obj)
            before = await _current(api, target)
            after = await api.patch(
                target.resource, target.name, without_managed_fields(obj), namespace=target.namespace, content_type=APPLY,
                query=query,
            )  # fmt: skip
            lines = list(
                difflib.unified_diff(
                    _lines(before), _lines(after), f"live/{target.label}", f"applied/{target.label}", lineterm=""
                )
            )
            if lines:
                different = True
                output.document("\n".join(lines), "diff")
        return different

    if session.run(work):
        raise click.exceptions.Exit(1)


#: Metadata that every write changes.
_VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


def _lines(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    return output.yaml_text({**obj, "metadata": metadata}).splitlines()


@click.group(cls=Group, invoke_without_command=True)
@files_option
@dry_run_option
@form_option
@click.pass_context
def create(context: click.Context, files: tuple[str, ...], recursive: bool, dry_run: str, form: str) -> None:
    """Create objects of files, or one of the kinds below from arguments."""
    if context.invoked_subcommand is not None:
        if files:
            raise CommandError(f"create {context.invoked_subcommand} takes no -f: use one of them")
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    create_all(session, read_objects(session, files, recursive=recursive), dry_run=dry_run, form=form)


def create_all(session: Session, objects: list[Object], *, dry_run: str, form: str) -> None:
    async def work(api: Api) -> None:
        for obj in objects:
            target = await target_of(api, obj)
            _check_namespace(api, session, target)
            made = obj
            if dry_run != "client":
                made = await api.create(target.resource, obj, namespace=target.namespace, query=dry_query(dry_run))
            await report(api, target, made, "created", form=form, dry_run=dry_run)

    session.run(work)


def _pairs(given: tuple[str, ...], flag: str) -> dict[str, str]:
    """KEY=VALUE arguments. Raises CommandError."""
    out = {}
    for each in given:
        key, mark, value = each.partition("=")
        if not mark or not key:
            raise CommandError(f"{flag}={each!r}: write {flag}=KEY=VALUE")
        out[key] = value
    return out


def _file_values(given: tuple[str, ...]) -> dict[str, bytes]:
    """The contents of --from-file arguments: FILE, KEY=FILE, or a folder."""
    out: dict[str, bytes] = {}
    for each in given:
        key, mark, name = each.rpartition("=")
        path = Path(name)
        paths = sorted(path.iterdir()) if path.is_dir() and not mark else [path]
        for one in filter(lambda p: p.is_file() or p == path, paths):
            try:
                out[key or one.name] = one.read_bytes()
            except OSError as error:
                raise CommandError(f"{one}: {error.strerror}: check the path of --from-file") from None
    return out


_literal = click.option("--from-literal", "literals", multiple=True, metavar="KEY=VALUE", help="A value; may be repeated.")
_from_file = click.option("--from-file", "sources", multiple=True, metavar="[KEY=]FILE", help="A value from a file or folder.")


def _named(api_version: str, kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


@create.command("namespace", short_help="Create a namespace.")
@click.argument("name")
@dry_run_option
@form_option
@pass_session
def create_namespace(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a namespace."""
    create_all(session, [_named("v1", "Namespace", name)], dry_run=dry_run, form=form)


@create.command("configmap")
@click.argument("name")
@_literal
@_from_file
@dry_run_option
@form_option
@pass_session
def create_config_map(
    session: Session, name: str, literals: tuple[str, ...], sources: tuple[str, ...], dry_run: str, form: str
) -> None:
    """Create a config map of literals and files."""
    data, binary = dict(_pairs(literals, "--from-literal")), {}
    for key, value in _file_values(sources).items():
        try:
            data[key] = value.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(value).decode()
    more = {"data": data, **({"binaryData": binary} if binary else {})}
    create_all(session, [_named("v1", "ConfigMap", name, **more)], dry_run=dry_run, form=form)


@create.command("secret")
@click.argument("name")
@click.option("--type", "type_", default="Opaque", show_default=True, help="Type of the secret.")
@_literal
@_from_file
@dry_run_option
@form_option
@pass_session
def create_secret(
    session: Session, name: str, type_: str, literals: tuple[str, ...], sources: tuple[str, ...], dry_run: str, form: str
) -> None:
    """Create a secret of literals and files."""
    values = {key: value.encode() for key, value in _pairs(literals, "--from-literal").items()} | _file_values(sources)
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    create_all(session, [_named("v1", "Secret", name, type=type_, data=data)], dry_run=dry_run, form=form)


@create.command("serviceaccount")
@click.argument("name")
@dry_run_option
@form_option
@pass_session
def create_service_account(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a service account."""
    create_all(session, [_named("v1", "ServiceAccount", name)], dry_run=dry_run, form=form)


@create.command("deployment")
@click.argument("name")
@click.option("--image", "images", multiple=True, required=True, help="Image of a container; may be repeated.")
@click.option("-r", "--replicas", type=click.IntRange(min=0), default=1, show_default=True, help="Number of pods.")
@dry_run_option
@form_option
@pass_session
def create_deployment(session: Session, name: str, images: tuple[str, ...], replicas: int, dry_run: str, form: str) -> None:
    """Create a deployment of containers with these images."""
    labels_ = {"app": name}
    containers = [{"name": _container_name(image), "image": image} for image in images]
    obj = _named("apps/v1", "Deployment", name, spec={
        "replicas": replicas, "selector": {"matchLabels": labels_},
        "template": {"metadata": {"labels": labels_}, "spec": {"containers": containers}},
    })  # fmt: skip
    obj["metadata"]["labels"] = labels_
    create_all(session, [obj], dry_run=dry_run, form=form)


def _container_name(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0].partition("@")[0].replace("_", "-").lower()
