"""``set``: changes single fields of workloads, services and role bindings."""

from __future__ import annotations

import base64
import copy
import fnmatch
import re
from collections.abc import Callable, Coroutine
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import F, Group, stacked, write_options
from orchd.ctl.create_rbac import subjects_of
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.pod_templates import Edit, change, containers, pod_template
from orchd.ctl.reports import report
from orchd.ctl.selection import Selection, local_option, selection_options
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, parse_targets
from orchd.kinds.jsonvalues import Object

_KEY = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")


@click.group("set", cls=Group)
def set_() -> None:
    """Set fields of objects: image, env, resources, selector, serviceaccount, subject."""


_selection: Callable[[F], F] = stacked(selection_options, local_option, write_options, form_option)


def _run(
    session: Session, words: list[str], given: dict[str, Any], edit: Callable[[Target], Edit], word: str,
    prepare: Callable[[Api], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Change the chosen objects by `edit`; `prepare` is awaited before, and asks the server for what `edit` needs."""  # fmt: skip
    selection, form, dry_run = Selection.take(given), given["form"], given["dry_run"]
    if given["local"]:
        if prepare is not None:
            session.run(prepare)
        for target, obj in selection.local(session, words):
            done = copy.deepcopy(obj)
            edit(target)(done)
            if done != obj or form:
                report(target, done, f"{word} updated", form=form, dry_run="none")
        return

    async def work(api: Api) -> None:
        failures = Failures()
        if prepare is not None:
            await prepare(api)
        for target in await selection.targets(api, session, words):
            with failures.collect():
                done, changed = await change(api, target, edit(target), dry_run=dry_run)
                if changed or form:
                    report(target, done, f"{word} updated", form=form, dry_run=dry_run)
        failures.raise_collected()

    session.run(work)


def _pairs(words: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Words for objects, and NAME=VALUE words."""
    objects = [word for word in words if "=" not in word]
    return objects, dict(word.split("=", 1) for word in words if "=" in word)


@set_.command()
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME CONTAINER=IMAGE...")
@_selection
@pass_session
def image(session: Session, /, words: tuple[str, ...], **given: Any) -> None:
    """Set images of containers; * is every container."""
    objects, images = _pairs(words)
    if not images or not all(images.values()):
        raise CommandError("which image? Write CONTAINER=IMAGE, or *=IMAGE for all containers")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            for name, value in images.items():
                for container in _matching_containers(obj, name, target):
                    container["image"] = value

        return work

    _run(session, objects, given, edit, "image")


def _matching_containers(obj: Object, pattern: str, target: Target) -> list[Object]:
    """The containers whose names match. Raises CommandError if no name matches."""
    found = [each for each in containers(obj) if fnmatch.fnmatchcase(each["name"], pattern)]
    if not found:
        known = ", ".join(each["name"] for each in containers(obj)) or "none"
        raise CommandError(f'unable to find container named "{pattern}": {target.label} has {known}')
    return found


# -- env


@set_.command()
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME KEY=VALUE... KEY-...")
@click.option("-e", "--env", "more", multiple=True, metavar="KEY=VALUE", help="A variable; may be repeated.")
@click.option("-c", "--containers", "pattern", default="*", show_default=True, help="Containers; * stands for any text.")
@click.option("--from", "source", default="", metavar="TYPE/NAME", help="Variables from the keys of a configmap or secret.")
@click.option("--keys", default="", metavar="KEY,...", help="Only these keys of --from.")
@click.option("--prefix", default="", help="In front of the names of --from.")
@click.option("--list", "list_", is_flag=True, help="Print the variables.")
@click.option("--resolve", is_flag=True, help="With --list: print the values from config maps and secrets instead of their names.")
@click.option("--overwrite/--no-overwrite", default=True, show_default=True, help="Change variables that are there already.")
@_selection
@pass_session
def env(
    session: Session, /, words: tuple[str, ...], more: tuple[str, ...], pattern: str, source: str, keys: str, prefix: str, list_: bool,
    resolve: bool, overwrite: bool, **given: Any,
) -> None:
    """Set (KEY=VALUE), remove (KEY-) or list environment variables of containers."""  # fmt: skip
    objects, values = _pairs(words)
    types = 0 if given["files"] else 1
    removed = [word[:-1] for word in objects[types:] if word.endswith("-")]
    objects = [*objects[:types], *(word for word in objects[types:] if not word.endswith("-"))]
    for each in more:
        name, mark, value = each.partition("=")
        if not mark:
            raise CommandError(f"--env={each}: write --env=KEY=VALUE")
        values[name] = value
    for name in (*values, *removed):
        if not _KEY.match(name):
            raise CommandError(f"{name!r} is not a name of a variable: use letters, digits, '-', '_' and '.'")

    set_values: dict[str, Object] = {name: {"value": value} for name, value in values.items()}
    if not set_values and not source and not removed and not list_:
        raise CommandError("which variables? Write KEY=VALUE, KEY-, --from=TYPE/NAME, or --list")
    if list_:
        _list_all(session, objects, given, pattern, resolve=resolve)
        return

    def edit(obj: Object) -> None:
        for container in containers(obj):
            if fnmatch.fnmatchcase(container["name"], pattern):
                _set_variables(container, set_values, removed, overwrite)

    async def prepare(api: Api) -> None:
        set_values.update(await _variables(api, source, keys, prefix))

    _run(session, objects, given, lambda target: edit, "env", prepare if source else None)


def _list_all(session: Session, words: list[str], given: dict[str, Any], pattern: str, *, resolve: bool) -> None:
    selection = Selection.take(given)
    if given["local"]:
        for target, obj in selection.local(session, words):
            _list_variables(target, obj, pattern, {})
        return

    async def work(api: Api) -> None:
        for target in await selection.targets(api, session, words):
            obj = await api.get(target.resource, target.name, target.namespace)
            _list_variables(target, obj, pattern, await _sources(api, obj, target) if resolve else {})

    session.run(work)


async def _sources(api: Api, obj: Object, target: Target) -> dict[tuple[str, str], dict[str, str]]:
    """The data of the config maps and secrets to which an object's variables refer, by field and name."""
    out: dict[tuple[str, str], dict[str, str]] = {}
    for container in containers({"kind": target.resource.kind, **obj}):
        for each in container.get("env") or ():
            for field, plural in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
                name = ((each.get("valueFrom") or {}).get(field) or {}).get("name")
                if name and (field, name) not in out:
                    found = await api.get(await api.discovery.find(plural), name, target.namespace)
                    data = found.get("data") or {}
                    if plural == "secrets":
                        data = {key: base64.b64decode(value).decode("utf-8", "replace") for key, value in data.items()}
                    out[field, name] = data
    return out


def _set_variables(container: Object, values: dict[str, Object], removed: list[str], overwrite: bool) -> None:
    kept = [each for each in container.get("env") or () if each["name"] not in removed]
    present = {each["name"]: at for at, each in enumerate(kept)}
    for name, value in values.items():
        if name not in present:
            kept.append({"name": name, **value})
            continue
        if kept[present[name]] == {"name": name, **value}:
            continue
        if not overwrite:
            raise CommandError(f"container {container['name']} already has {name}: leave out --overwrite=false to change it")
        kept[present[name]] = {"name": name, **value}
    if kept or container.get("env"):
        container["env"] = kept


async def _variables(api: Api, source: str, keys: str, prefix: str) -> dict[str, Object]:
    """Variables that refer to the keys of a config map or secret."""
    targets = await parse_targets(api, [source])
    kind = targets[0].resource.kind
    if kind not in ("ConfigMap", "Secret") or not targets[0].name:
        raise CommandError(f"--from={source}: write configmap/NAME or secret/NAME")
    found = await api.get(targets[0].resource, targets[0].name)
    wanted = [key for key in keys.split(",") if key] or sorted(found.get("data") or ())
    field = "configMapKeyRef" if kind == "ConfigMap" else "secretKeyRef"
    out = {}
    for key in wanted:
        if key not in (found.get("data") or {}):
            raise CommandError(f"{targets[0].label} has no key {key!r}: it has {', '.join(sorted(found.get('data') or ())) or 'none'}")
        name = re.sub(r"[^a-zA-Z0-9_]", "_", key).upper()
        out[prefix + name] = {"valueFrom": {field: {"name": targets[0].name, "key": key}}}
    return out


def _list_variables(target: Target, obj: Object, pattern: str, sources: dict[tuple[str, str], dict[str, str]]) -> None:
    obj = {"kind": target.resource.kind, **obj}
    for container in containers(obj):
        if not fnmatch.fnmatchcase(container["name"], pattern):
            continue
        output.line(f"# {target.resource.kind} {target.name}, container {container['name']}")
        for each in container.get("env") or ():
            reference = each.get("valueFrom")
            if not reference:
                output.line(f"{each['name']}={each.get('value', '')}")
                continue
            value = _value_of(reference, sources)
            output.line(f"# {each['name']} from {_reference_text(reference)}" if value is None else f"{each['name']}={value}")


def _value_of(reference: Object, sources: dict[tuple[str, str], dict[str, str]]) -> str | None:
    for field, inner in reference.items():
        found = sources.get((field, inner.get("name", ""))) if isinstance(inner, dict) else None
        if found is not None:
            return found.get(inner.get("key", ""))
    return None


def _reference_text(reference: Object) -> str:
    for field, what in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
        if field in reference:
            return f"{what} {reference[field].get('name')}, key {reference[field].get('key')}"
    if "fieldRef" in reference:
        return f"field path {reference['fieldRef'].get('fieldPath')}"
    inner = reference.get("resourceFieldRef") or {}
    return f"resource field {inner.get('resource')}"


# -- resources, serviceaccount


def _quantities(text: str, flag: str) -> dict[str, str]:
    out = {}
    for part in filter(None, text.split(",")):
        name, mark, value = part.partition("=")
        if not mark or not name or not value:
            raise CommandError(f"{flag}={text}: write {flag}=cpu=200m,memory=512Mi")
        out[name] = value
    return out


@set_.command()
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("-c", "--containers", "pattern", default="*", show_default=True, help="Containers; * stands for any text.")
@click.option("--limits", default="", metavar="NAME=QUANTITY,...", help="What containers may use at most.")
@click.option("--requests", default="", metavar="NAME=QUANTITY,...", help="What containers are given.")
@_selection
@pass_session
def resources(session: Session, /, words: tuple[str, ...], pattern: str, limits: str, requests: str, **given: Any) -> None:
    """Set requests and limits of containers."""
    wanted = {"limits": _quantities(limits, "--limits"), "requests": _quantities(requests, "--requests")}
    if not any(wanted.values()):
        raise CommandError("which resources? Give --limits, --requests or both")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            for container in _matching_containers(obj, pattern, target):
                now = container.setdefault("resources", {})
                for field, values in wanted.items():
                    if values:
                        now[field] = {**(now.get(field) or {}), **values}

        return work

    _run(session, list(words), given, edit, "resource requirements")


@set_.command("serviceaccount")
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME SERVICEACCOUNT")
@_selection
@pass_session
def service_account(session: Session, /, words: tuple[str, ...], **given: Any) -> None:
    """Set the service account of a pod template."""
    if not words or (len(words) < 2 and not given["files"]):
        raise CommandError("which service account? Write TYPE NAME SERVICEACCOUNT")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            spec = pod_template(obj).setdefault("spec", {})
            spec["serviceAccountName"] = words[-1]
            # The deprecated name of the same field: both are served, and must agree.
            spec["serviceAccount"] = words[-1]

        return work

    _run(session, list(words[:-1]), given, edit, "serviceaccount")


# -- selector, subject


@set_.command()
@click.argument("words", nargs=-1, metavar="service NAME | service/NAME KEY=VALUE,...")
@click.option("--resource-version", "version", default="", help="Only if the object has this version.")
@_selection
@pass_session
def selector(session: Session, /, words: tuple[str, ...], version: str, **given: Any) -> None:
    """Replace the selector of a service."""
    if not words or (len(words) < 2 and not given["files"]):
        raise CommandError("which selector? Write service NAME KEY=VALUE,KEY=VALUE")
    wanted = {}
    for part in words[-1].split(","):
        key, mark, value = part.partition("=")
        if not mark or not key:
            raise CommandError(f"{words[-1]!r}: a service's selector is KEY=VALUE,KEY=VALUE")
        wanted[key] = value

    def edit(target: Target) -> Edit:
        if target.resource.kind != "Service":
            raise CommandError(f"{target.label}: only selectors of services can be changed")

        def work(obj: Object) -> None:
            found = obj["metadata"].get("resourceVersion", "")
            if version and found != version:
                raise CommandError(f"{target.label} has version {found}, not {version}: read it again")
            obj["spec"]["selector"] = wanted

        return work

    _run(session, list(words[:-1]), given, edit, "selector")


@set_.command()
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("--user", "users", multiple=True, help="A user; may be repeated.")
@click.option("--group", "groups", multiple=True, help="A group; may be repeated.")
@click.option("--serviceaccount", "accounts", multiple=True, metavar="NAMESPACE:NAME", help="A service account; may be repeated.")
@_selection
@pass_session
def subject(
    session: Session, /, words: tuple[str, ...], users: tuple[str, ...], groups: tuple[str, ...], accounts: tuple[str, ...], **given: Any
) -> None:
    """Add users, groups and service accounts to role bindings and cluster role bindings."""
    wanted = subjects_of(users, groups, accounts)
    if not wanted:
        raise CommandError("which subjects? Give --user, --group or --serviceaccount")

    def edit(target: Target) -> Edit:
        if target.resource.kind not in ("RoleBinding", "ClusterRoleBinding"):
            raise CommandError(f"{target.label}: only role bindings and cluster role bindings have subjects")

        def work(obj: Object) -> None:
            present = list(obj.get("subjects") or ())
            known = {(each["kind"], each.get("namespace", ""), each["name"]) for each in present}
            for each in wanted:
                if (each["kind"], each.get("namespace", ""), each["name"]) in known:
                    continue
                group = {} if each["kind"] == "ServiceAccount" else {"apiGroup": target.resource.group}
                present.append({**group, **each})
            obj["subjects"] = present

        return work

    _run(session, list(words), given, edit, "subjects")
