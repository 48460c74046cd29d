"""``set``: changes single fields of workloads, services and role bindings."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.apply import report
from orchd.ctl.command import (
    F,
    Group,
    dry_run_option,
    everywhere_option,
    files_option,
    selector_options,
    stacked,
)
from orchd.ctl.create import subjects_of
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import read_objects
from orchd.ctl.pod_templates import Edit, change, containers, pod_template
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, parse_targets, selected, target_of
from orchd.kinds.jsonvalues import Object

_KEY = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")


@click.group("set", cls=Group)
def set_() -> None:
    """Set fields of objects: image, env, resources, selector, serviceaccount, subject."""


_selection: Callable[[F], F] = stacked(
    files_option,
    selector_options,
    everywhere_option,
    click.option("--all", "every", is_flag=True, help="All objects of the type."),
    dry_run_option,
    form_option,
)


async def _chosen(api: Api, session: Session, words: list[str], given: dict[str, Any]) -> list[Target]:
    """The objects of the words, of the selector or of the files. Raises CommandError."""
    if given["files"]:
        return [await target_of(api, obj) for obj in read_objects(session, given["files"], recursive=given["recursive"])]
    targets = await parse_targets(api, words)
    rest = [target for target in targets if not target.name]
    found = await selected(
        api, rest, selector=given["selector"], field_selector=given["field_selector"], every=given["every"],
        everywhere=given["everywhere"],
    )  # fmt: skip
    return [*(target for target in targets if target.name), *(target for target, _ in found)]


def _run(session: Session, words: list[str], given: dict[str, Any], edit: Callable[[Target], Edit], word: str) -> None:
    async def work(api: Api) -> None:
        for target in await _chosen(api, session, words, given):
            done, changed = await change(api, target, edit(target), dry_run=given["dry_run"])
            if changed or given["form"]:
                await report(api, target, done, f"{word} updated", form=given["form"], dry_run=given["dry_run"])

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
                for container in _named(obj, name, target):
                    container["image"] = value

        return work

    _run(session, objects, given, edit, "image")


def _named(obj: Object, pattern: str, target: Target) -> list[Object]:
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
@click.option("--overwrite/--no-overwrite", default=True, show_default=True, help="Change variables that are there already.")
@_selection
@pass_session
def env(
    session: Session, /, words: tuple[str, ...], more: tuple[str, ...], pattern: str, source: str, keys: str, prefix: str, list_: bool,
    overwrite: bool, **given: Any,
) -> None:
    """Set (KEY=VALUE), remove (KEY-) or list environment variables of containers."""  # fmt: skip
    objects, values = _pairs(words)
    removed = [word[:-1] for word in objects[1:] if word.endswith("-")]
    objects = [*objects[:1], *(word for word in objects[1:] if not word.endswith("-"))]
    for each in more:
        name, mark, value = each.partition("=")
        if not mark:
            raise CommandError(f"--env={each}: write --env=KEY=VALUE")
        values[name] = value
    for name in (*values, *removed):
        if not _KEY.match(name):
            raise CommandError(f"{name!r} is not a name of a variable: use letters, digits, '-', '_' and '.'")

    async def work(api: Api) -> None:
        set_values: dict[str, Object] = {name: {"value": value} for name, value in values.items()}
        if source:
            set_values |= await _variables(api, source, keys, prefix)
        if not set_values and not removed and not list_:
            raise CommandError("which variables? Write KEY=VALUE, KEY-, --from=TYPE/NAME, or --list")

        def edit(obj: Object) -> None:
            for container in containers(obj):
                if fnmatch.fnmatchcase(container["name"], pattern):
                    _set_variables(container, set_values, removed, overwrite)

        for target in await _chosen(api, session, objects, given):
            if list_:
                _list_variables(target, await api.get(target.resource, target.name, target.namespace), pattern)
                continue
            done, changed = await change(api, target, edit, dry_run=given["dry_run"])
            if changed or given["form"]:
                await report(api, target, done, "env updated", form=given["form"], dry_run=given["dry_run"])

    session.run(work)


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


def _list_variables(target: Target, obj: Object, pattern: str) -> None:
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
            output.line(f"# {each['name']} from {_reference_text(reference)}")


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
            for container in _named(obj, pattern, target):
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
    if (len(words) < 2 and not given["files"]) or not words:
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
@_selection
@pass_session
def selector(session: Session, /, words: tuple[str, ...], **given: Any) -> None:
    """Replace the selector of a service."""
    if (len(words) < 2 and not given["files"]) or not words:
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
        return lambda obj: obj["spec"].update(selector=wanted)

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
