"""``create``: creates objects from files, and some kinds from arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.apply import check_namespace
from orchd.ctl.command import (
    F,
    Group,
    dry_query,
    files_option,
    save_config_option,
    stacked,
    validate_option,
    validation_query,
    write_options,
)
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.last_applied import with_last_applied
from orchd.ctl.manifests import parse_objects, read_objects, select_by_labels
from orchd.ctl.raw import send_raw
from orchd.ctl.reports import report
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.kinds.jsonvalues import Object

#: Flags of commands that create an object.
create_options: Callable[[F], F] = stacked(write_options, save_config_option, validate_option, form_option)


@click.group(cls=Group, invoke_without_command=True)
@files_option
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only objects in the files that match this label selector.")
@click.option("--raw", default="", metavar="PATH", help="Send the file unchanged to this path of the server.")
@click.option("--windows-line-endings", is_flag=True, expose_value=False, hidden=True, help="Without effect: editors keep their own.")
@click.option("--edit", "edited", is_flag=True, help="Edit the objects before they are created.")
@create_options
@click.pass_context
def create(
    context: click.Context, files: tuple[str, ...], recursive: bool, selector: str, raw: str, edited: bool, dry_run: str, form: str
) -> None:
    """Create objects from files, or an object of one of the kinds below from arguments."""
    if context.invoked_subcommand is not None:
        if files or raw or edited:
            raise CommandError(f"create {context.invoked_subcommand} takes no -f, --raw or --edit: leave them out")
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    if raw:
        send_raw(session, "POST", raw, files)
        return
    objects = select_by_labels(read_objects(session, files, recursive=recursive), selector)
    if edited:
        objects = _edited(session, objects)
    create_all(session, objects, dry_run=dry_run, form=form)


def _edited(session: Session, objects: list[Object]) -> list[Object]:
    """The objects after editing. Raises CommandError if nothing was saved."""
    text = session.edit("---\n".join(map(output.yaml_text, objects)))
    if text is None or not text.strip():
        raise CommandError("edit cancelled: nothing was created")
    return list(parse_objects(text, "the edited text"))


def create_all(session: Session, objects: list[Object], *, dry_run: str, form: str) -> None:
    async def make(api: Api) -> list[Object]:
        return objects

    create_made(session, make, dry_run=dry_run, form=form)


def create_made(session: Session, make: Callable[[Api], Awaitable[list[Object]]], *, dry_run: str, form: str) -> None:
    """Create the objects that `make` returns; `make` may query the server."""

    async def work(api: Api) -> None:
        failures = Failures()
        for obj in await make(api):
            with failures.collect():
                await create_one(api, session, obj, dry_run=dry_run, form=form)
        failures.raise_collected()

    session.run(work)


async def create_one(
    api: Api, session: Session, obj: Object, *, dry_run: str, form: str, word: str = "created", label: str = ""
) -> tuple[Target, Object]:
    """Create an object and report it, under `label` instead of its name if given; returns the target and the created object."""
    target = await target_of(api, obj)
    check_namespace(api, session, target)
    if session.writing.save_config:
        obj = with_last_applied(obj, await api.dialect())
    made = obj
    if dry_run != "client":
        query = {**dry_query(dry_run), **validation_query(session)}
        made = await api.create(target.resource, obj, namespace=target.namespace, query=query)
    shown = Target(target.resource, label or target.name, target.namespace)
    report(shown, made, word, form=form, dry_run=dry_run)
    return target, made


def pairs(given: tuple[str, ...], flag: str) -> dict[str, str]:
    """KEY=VALUE arguments. Raises CommandError."""
    out = {}
    for each in given:
        key, mark, value = each.partition("=")
        if not mark or not key:
            raise CommandError(f"{flag}={each!r}: write {flag}=KEY=VALUE")
        if key in out:
            raise CommandError(f"{flag}={each!r}: there is a value for {key} already: leave out one of them")
        out[key] = value
    return out


def named(api_version: str, kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


@create.command("namespace", short_help="Create a namespace.")
@click.argument("name")
@create_options
@pass_session
def create_namespace(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a namespace."""
    create_all(session, [named("v1", "Namespace", name)], dry_run=dry_run, form=form)


@create.command("serviceaccount")
@click.argument("name")
@create_options
@pass_session
def create_service_account(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a service account."""
    create_all(session, [named("v1", "ServiceAccount", name)], dry_run=dry_run, form=form)


@create.command("deployment")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", "images", multiple=True, required=True, help="Image of a container; may be repeated.")
@click.option("-r", "--replicas", type=click.IntRange(min=0), default=1, show_default=True, help="Number of pods.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the first container.")
@create_options
@pass_session
def create_deployment(
    session: Session, name: str, words: tuple[str, ...], images: tuple[str, ...], replicas: int, port: int | None, dry_run: str, form: str
) -> None:
    """Create a deployment of containers with these images; arguments after -- are the command of a single container."""
    if words and len(images) > 1:
        raise CommandError("a command after -- requires a single --image: add other containers with set or edit")
    labels_ = {"app": name}
    containers: list[Object] = [{"name": _container_name(image), "image": image} for image in images]
    if words:
        containers[0]["command"] = list(words)
    if port:
        containers[0]["ports"] = [{"containerPort": port}]
    obj = named("apps/v1", "Deployment", name, spec={
        "replicas": replicas, "selector": {"matchLabels": labels_},
        "template": {"metadata": {"labels": labels_}, "spec": {"containers": containers}},
    })  # fmt: skip
    obj["metadata"]["labels"] = labels_
    create_all(session, [obj], dry_run=dry_run, form=form)


def _container_name(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0].partition("@")[0].replace("_", "-").lower()


@create.command("job", short_help="Create a job.")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", default="", help="Image of the container.")
@click.option("--from", "source", default="", metavar="cronjob/NAME", help="Create the job from this cron job's template.")
@create_options
@pass_session
def create_job(
    session: Session, name: str, words: tuple[str, ...], image: str, source: str, dry_run: str, form: str
) -> None:
    """Create a job with one container, or from a cron job's template."""
    if bool(image) == bool(source):
        raise CommandError("give either --image or --from=cronjob/NAME")
    if source:
        kind, _, cron_job = source.partition("/")
        if kind not in ("cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch") or not cron_job:
            raise CommandError(f"--from={source}: write --from=cronjob/NAME")
        create_made(session, lambda api: _run_of(api, cron_job, name), dry_run=dry_run, form=form)
        return
    container = {"name": name, "image": image, **({"command": list(words)} if words else {})}
    spec = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    create_all(session, [named("batch/v1", "Job", name, spec=spec)], dry_run=dry_run, form=form)


async def _run_of(api: Api, cron_job: str, name: str) -> list[Object]:
    """A job from the template of a cron job."""
    found = await api.get(await api.discovery.find("cronjobs.batch"), cron_job)
    template = found["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    job = named("batch/v1", "Job", name, spec=template["spec"])
    job["metadata"] |= {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    job["metadata"].setdefault("annotations", {})[(await api.dialect())("cronjob.{long}.io/instantiate")] = "manual"
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": cron_job, "uid": found["metadata"]["uid"]}
    job["metadata"]["ownerReferences"] = [owner]
    return [job]
