"""``set env``: variables of containers."""

from __future__ import annotations

import base64
import fnmatch
import re
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options, split_pairs
from orchd.ctl.objects.pod_templates import containers
from orchd.ctl.objects.selection import Selection
from orchd.ctl.objects.targets import Target, parse_targets
from orchd.ctl.printing import output
from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object

_KEY = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME KEY=VALUE... KEY-...")
@click.option("-e", "--env", "more", multiple=True, metavar="KEY=VALUE", help="A variable; may be repeated.")
@click.option(
    "-c", "--containers", "pattern", default="*", show_default=True, help="Containers; * stands for any text."
)
@click.option(
    "--from", "source", default="", metavar="TYPE/NAME", help="Variables from the keys of a configmap or secret."
)
@click.option("--keys", default="", metavar="KEY,...", help="Only these keys of --from.")
@click.option("--prefix", default="", help="In front of the names of --from.")
@click.option("--list", "list_", is_flag=True, help="Print the variables.")
@click.option(
    "--resolve", is_flag=True, help="With --list: print the values from config maps and secrets instead of their names."
)
@click.option(
    "--overwrite/--no-overwrite", default=True, show_default=True, help="Change variables that are there already."
)
@set_options
@pass_session
def env(
    session: Session,
    /,
    words: tuple[str, ...],
    more: tuple[str, ...],
    pattern: str,
    source: str,
    keys: str,
    prefix: str,
    list_: bool,
    resolve: bool,
    overwrite: bool,
    **flags: Any,
) -> None:
    """Set (KEY=VALUE), remove (KEY-) or list environment variables of containers."""
    objects, values = split_pairs(words)
    types = 0 if flags["files"] else 1
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
        _list_all(session, objects, flags, pattern, resolve=resolve)
        return

    def edit(obj: Object) -> None:
        for container in containers(obj):
            if fnmatch.fnmatchcase(container["name"], pattern):
                _set_variables(container, set_values, removed, overwrite)

    async def prepare(api: Api) -> None:
        set_values.update(await _variables(api, source, keys, prefix))

    change_selected(session, objects, flags, lambda target: edit, "env", prepare if source else None)


def _list_all(session: Session, words: list[str], flags: dict[str, Any], pattern: str, *, resolve: bool) -> None:
    selection = Selection.take(flags)
    if flags["local"]:
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
                name = (mapping(each, "valueFrom").get(field) or {}).get("name")
                if name and (field, name) not in out:
                    source = await api.get(await api.discovery.find(plural), name, target.namespace)
                    data = mapping(source, "data")
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
            raise CommandError(
                f"container {container['name']} already has {name}: leave out --overwrite=false to change it"
            )
        kept[present[name]] = {"name": name, **value}
    if kept or container.get("env"):
        container["env"] = kept


async def _variables(api: Api, source: str, keys: str, prefix: str) -> dict[str, Object]:
    """Variables that refer to the keys of a config map or secret."""
    targets = await parse_targets(api, [source])
    kind = targets[0].resource.kind
    if kind not in ("ConfigMap", "Secret") or not targets[0].name:
        raise CommandError(f"--from={source}: write configmap/NAME or secret/NAME")
    source_object = await api.get(targets[0].resource, targets[0].name)
    chosen_keys = [key for key in keys.split(",") if key] or sorted(source_object.get("data") or ())
    field = "configMapKeyRef" if kind == "ConfigMap" else "secretKeyRef"
    out = {}
    for key in chosen_keys:
        if key not in mapping(source_object, "data"):
            raise CommandError(
                f"{targets[0].label} has no key {key!r}: it has "
                f"{', '.join(sorted(source_object.get('data') or ())) or 'none'}"
            )
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
            output.line(
                f"# {each['name']} from {_reference_text(reference)}" if value is None else f"{each['name']}={value}"
            )


def _value_of(reference: Object, sources: dict[tuple[str, str], dict[str, str]]) -> str | None:
    for field, inner in reference.items():
        values = sources.get((field, inner.get("name", ""))) if isinstance(inner, dict) else None
        if values is not None:
            return values.get(inner.get("key", ""))
    return None


def _reference_text(reference: Object) -> str:
    for field, what in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
        if field in reference:
            return f"{what} {reference[field].get('name')}, key {reference[field].get('key')}"
    if "fieldRef" in reference:
        return f"field path {reference['fieldRef'].get('fieldPath')}"
    inner = mapping(reference, "resourceFieldRef")
    return f"resource field {inner.get('resource')}"
