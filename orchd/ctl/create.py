"""``create``: creates objects from files, and some kinds from arguments."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import click

from orchd.ctl.api import Api
from orchd.ctl.apply import check_namespace, report
from orchd.ctl.command import (
    F,
    Group,
    dry_query,
    dry_run_option,
    files_option,
    stacked,
    validate_option,
    validation_query,
)
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import read_objects
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import target_of
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group, invoke_without_command=True)
@files_option
@dry_run_option
@validate_option
@form_option
@click.pass_context
def create(
    context: click.Context, files: tuple[str, ...], recursive: bool, dry_run: str, validate: str, form: str
) -> None:
    """Create objects from files, or an object of one of the kinds below from arguments."""
    if context.invoked_subcommand is not None:
        if files:
            raise CommandError(f"create {context.invoked_subcommand} takes no -f: use one of them")
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    objects = read_objects(session, files, recursive=recursive)
    create_all(session, objects, dry_run=dry_run, form=form, query=validation_query(validate))


def create_all(
    session: Session, objects: list[Object], *, dry_run: str, form: str, query: Mapping[str, str] | None = None
) -> None:
    async def make(api: Api) -> list[Object]:
        return objects

    create_made(session, make, dry_run=dry_run, form=form, query=query)


def create_made(
    session: Session, make: Callable[[Api], Awaitable[list[Object]]], *, dry_run: str, form: str,
    query: Mapping[str, str] | None = None,
) -> None:
    """Create the object that `make` returns; `make` may query the server."""

    async def work(api: Api) -> None:
        failures = Failures()
        for obj in await make(api):
            with failures.collect():
                target = await target_of(api, obj)
                check_namespace(api, session, target)
                made = obj
                if dry_run != "client":
                    asked = {**dry_query(dry_run), **(query or {})}
                    made = await api.create(target.resource, obj, namespace=target.namespace, query=asked)
                await report(api, target, made, "created", form=form, dry_run=dry_run)
        failures.raise_collected()

    session.run(work)


def pairs(given: tuple[str, ...], flag: str) -> dict[str, str]:
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


def _variables(given: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of --from-env-file arguments: lines of KEY=VALUE, or of a KEY whose value is that of `environment`."""
    out: dict[str, str] = {}
    for name in given:
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{name}: {getattr(error, 'strerror', None) or 'not UTF-8'}: check --from-env-file") from None
        for number, line in enumerate(text.splitlines(), 1):
            key, mark, value = line.lstrip().partition("=")
            if not line.strip() or key.startswith("#"):
                continue
            if not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", key):
                raise CommandError(f"{name}: line {number}: {key!r} is not the name of a variable: write KEY=VALUE")
            out[key] = value if mark else environment.get(key, "")
    return out


def _only_variables(env_files: tuple[str, ...], others: tuple[str, ...]) -> None:
    if env_files and others:
        raise CommandError("--from-env-file cannot be combined with --from-file or --from-literal: leave out one of them")


_env_file = click.option("--from-env-file", "env_files", multiple=True, metavar="FILE", help="Values from a file of KEY=VALUE lines.")
_literal = click.option("--from-literal", "literals", multiple=True, metavar="KEY=VALUE", help="A value; may be repeated.")
_from_file = click.option("--from-file", "sources", multiple=True, metavar="[KEY=]FILE", help="A value from a file or folder.")


def named(api_version: str, kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


@create.command("namespace", short_help="Create a namespace.")
@click.argument("name")
@dry_run_option
@form_option
@pass_session
def create_namespace(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a namespace."""
    create_all(session, [named("v1", "Namespace", name)], dry_run=dry_run, form=form)


@create.command("configmap")
@click.argument("name")
@_literal
@_from_file
@_env_file
@dry_run_option
@form_option
@pass_session
def create_config_map(
    session: Session, name: str, literals: tuple[str, ...], sources: tuple[str, ...], env_files: tuple[str, ...], dry_run: str,
    form: str,
) -> None:
    """Create a config map from literals and files."""  # fmt: skip
    _only_variables(env_files, (*literals, *sources))
    data, binary = {**pairs(literals, "--from-literal"), **_variables(env_files, session.environment)}, {}
    for key, value in _file_values(sources).items():
        try:
            data[key] = value.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(value).decode()
    more = {"data": data, **({"binaryData": binary} if binary else {})}
    create_all(session, [named("v1", "ConfigMap", name, **more)], dry_run=dry_run, form=form)


@create.command("secret")
@click.argument("names", nargs=-1, required=True, metavar="[generic] NAME")
@click.option("--type", "type_", default="Opaque", show_default=True, help="Type of the secret.")
@_literal
@_from_file
@_env_file
@dry_run_option
@form_option
@pass_session
def create_secret(
    session: Session, names: tuple[str, ...], type_: str, literals: tuple[str, ...], sources: tuple[str, ...],
    env_files: tuple[str, ...], dry_run: str, form: str,
) -> None:
    """Create a secret from literals and files."""  # fmt: skip
    _only_variables(env_files, (*literals, *sources))
    *sort, name = names
    if sort not in ([], ["generic"]):
        raise CommandError(f"create secret {sort[0]}: write create secret NAME with --type, --from-literal and --from-file")
    texts = pairs(literals, "--from-literal") | _variables(env_files, session.environment)
    values = {key: value.encode() for key, value in texts.items()} | _file_values(sources)
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    create_all(session, [named("v1", "Secret", name, type=type_, data=data)], dry_run=dry_run, form=form)


@create.command("serviceaccount")
@click.argument("name")
@dry_run_option
@form_option
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
@dry_run_option
@form_option
@pass_session
def create_deployment(
    session: Session, name: str, words: tuple[str, ...], images: tuple[str, ...], replicas: int, port: int | None, dry_run: str, form: str
) -> None:
    """Create a deployment of containers with these images; arguments after -- are the command of a single container."""
    if words and len(images) > 1:
        raise CommandError("a command behind -- goes with one --image: make others with set or edit")
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
@dry_run_option
@form_option
@pass_session
def create_job(
    session: Session, name: str, words: tuple[str, ...], image: str, source: str, dry_run: str, form: str
) -> None:
    """Create a job with one container, or from a cron job's template."""
    if bool(image) == bool(source):
        raise CommandError("give --image, or --from=cronjob/NAME, and not both")
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
    return [job]


_role_options: Callable[[F], F] = stacked(
    click.option("--verb", "verbs", multiple=True, required=True, metavar="VERB,...", help="Verbs such as get,list,watch."),
    click.option("--resource", "resources", multiple=True, metavar="TYPE,...", help="Types such as pods,deployments.apps,pods/log."),
    click.option("--resource-name", "names", multiple=True, metavar="NAME", help="Only objects of this name; may be repeated."),
    dry_run_option,
    form_option,
)


def _split(given: tuple[str, ...]) -> list[str]:
    return [word for each in given for word in each.split(",") if word]


async def _rules(api: Api, verbs: tuple[str, ...], resources: tuple[str, ...], names: tuple[str, ...]) -> list[Object]:
    """One rule per API group. Raises CommandError for types that the server does not have."""
    by_group: dict[str, list[str]] = {}
    for word in _split(resources):
        name, mark, subresource = word.partition("/")
        found = await api.discovery.find(name) if name != "*" else None
        group, plural = ("*", "*") if found is None else (found.group, found.plural)
        by_group.setdefault(group, []).append(plural + mark + subresource)
    more = {"resourceNames": _split(names)} if names else {}
    return [{"apiGroups": [group], "resources": plurals, "verbs": _split(verbs), **more} for group, plurals in by_group.items()]


def _create_rbac(session: Session, kind: str, name: str, dry_run: str, form: str, rules: Any, **more: Any) -> None:
    """Create an object of the RBAC group, whose name the server's dialect decides."""

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        group = dialect("rbac.authorization.{abbr}.io")
        obj = named(f"{group}/v1", kind, name)
        if rules is not None:
            obj["rules"] = await rules(api)
        for key, value in more.items():
            obj[key] = [_with_group(each, group) for each in value] if isinstance(value, list) else _with_group(value, group)
        return [obj]

    create_made(session, make, dry_run=dry_run, form=form)


def _with_group(reference: Object, group: str) -> Object:
    return reference if reference["kind"] == "ServiceAccount" else {"apiGroup": group, **reference}


@create.command("role")
@click.argument("name")
@_role_options
@pass_session
def create_role(
    session: Session, name: str, verbs: tuple[str, ...], resources: tuple[str, ...], names: tuple[str, ...], dry_run: str, form: str
) -> None:
    """Create a role that allows verbs on types."""
    if not resources:
        raise CommandError("a role needs --resource")
    _create_rbac(session, "Role", name, dry_run, form, lambda api: _rules(api, verbs, resources, names))


@create.command("clusterrole")
@click.argument("name")
@click.option("--non-resource-url", "urls", multiple=True, metavar="PATH,...", help="Paths such as /healthz.")
@_role_options
@pass_session
def create_cluster_role(
    session: Session, name: str, urls: tuple[str, ...], verbs: tuple[str, ...], resources: tuple[str, ...],
    names: tuple[str, ...], dry_run: str, form: str,
) -> None:
    """Create a cluster role that allows verbs on types or paths."""  # fmt: skip
    if not resources and not urls:
        raise CommandError("a cluster role needs --resource or --non-resource-url")

    async def rules(api: Api) -> list[Object]:
        paths = [{"nonResourceURLs": _split(urls), "verbs": _split(verbs)}] if urls else []
        return [*await _rules(api, verbs, resources, names), *paths]

    _create_rbac(session, "ClusterRole", name, dry_run, form, rules)


_binding_options: Callable[[F], F] = stacked(
    click.option("--user", "users", multiple=True, help="A user; may be repeated."),
    click.option("--group", "groups", multiple=True, help="A group; may be repeated."),
    click.option("--serviceaccount", "accounts", multiple=True, metavar="NAMESPACE:NAME", help="A service account; may be repeated."),
    dry_run_option,
    form_option,
)


def subjects_of(users: tuple[str, ...], groups: tuple[str, ...], accounts: tuple[str, ...]) -> list[Object]:
    out: list[Object] = [{"kind": "User", "name": name} for name in users] + [{"kind": "Group", "name": name} for name in groups]
    for each in accounts:
        namespace, _, name = each.partition(":")
        if not namespace or not name or ":" in name:
            raise CommandError(f"--serviceaccount={each}: write NAMESPACE:NAME")
        out.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return out


@create.command("rolebinding")
@click.argument("name")
@click.option("--role", default="", help="A role of the namespace.")
@click.option("--clusterrole", default="", help="A cluster role, for this namespace.")
@_binding_options
@pass_session
def create_role_binding(
    session: Session, name: str, role: str, clusterrole: str, users: tuple[str, ...], groups: tuple[str, ...],
    accounts: tuple[str, ...], dry_run: str, form: str,
) -> None:
    """Create a role binding, which grants a role to users, groups and service accounts in a namespace."""
    if bool(role) == bool(clusterrole):
        raise CommandError("give --role or --clusterrole, and not both")
    reference = {"kind": "Role" if role else "ClusterRole", "name": role or clusterrole}
    _create_rbac(
        session, "RoleBinding", name, dry_run, form, None, roleRef=reference, subjects=subjects_of(users, groups, accounts)
    )


@create.command("clusterrolebinding")
@click.argument("name")
@click.option("--clusterrole", required=True, help="The cluster role.")
@_binding_options
@pass_session
def create_cluster_role_binding(
    session: Session, name: str, clusterrole: str, users: tuple[str, ...], groups: tuple[str, ...], accounts: tuple[str, ...],
    dry_run: str, form: str,
) -> None:
    """Create a cluster role binding, which grants a cluster role to users, groups and service accounts everywhere."""
    _create_rbac(
        session, "ClusterRoleBinding", name, dry_run, form, None,
        roleRef={"kind": "ClusterRole", "name": clusterrole}, subjects=subjects_of(users, groups, accounts),
    )  # fmt: skip
