"""Objects named on the command line: ``pods``, ``pods,services``, ``pod a b``, ``pod/a deployment/b``, or files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object


@dataclass(frozen=True, slots=True)
class Target:
    """One object by name, or all of a resource (`name` is ""). `namespace` is "" for the command's own."""

    resource: Resource
    name: str = ""
    namespace: str = ""

    @property
    def label(self) -> str:
        return self.resource.label(self.name)


def note_nothing_found(api: Api, targets: Iterable[Target], *, everywhere: bool) -> None:
    """Say on standard error that no object was found."""
    inside = not everywhere and any(target.resource.namespaced for target in targets)
    output.note(f"No resources found in {api.namespace} namespace." if inside else "No resources found")


async def parse_targets(api: Api, words: Sequence[str]) -> list[Target]:
    """Raises CommandError for words that mean nothing."""
    if not words:
        raise CommandError("which objects? Write TYPE, TYPE NAME or TYPE/NAME; api-resources lists the types")
    if any("/" in word for word in words):
        return [await _pair(api, word) for word in words]
    types, names = words[0], words[1:]
    out = []
    for word in filter(None, types.split(",")):
        resources = [] if names else await _category(api, word)
        for resource in resources or [await api.discovery.find(word)]:
            out += [Target(resource, name) for name in names] or [Target(resource)]
    return out


async def _category(api: Api, word: str) -> list[Resource]:
    """The resources of ``all``; other categories are looked for only where no resource has that name."""
    return await api.discovery.category(word) if word == "all" else []


async def _pair(api: Api, word: str) -> Target:
    type_, _, name = word.partition("/")
    if not type_ or not name or "/" in name:
        raise CommandError(f"{word!r}: write TYPE/NAME for every object, or TYPE NAME NAME for objects of one type")
    return Target(await api.discovery.find(type_), name)


async def named_targets(api: Api, words: Sequence[str]) -> list[Target]:
    """`parse_targets` for commands that need names."""
    targets = await parse_targets(api, words)
    for target in targets:
        if not target.name:
            raise CommandError(f"name the object: {target.resource.plural} NAME or {target.resource.singular}/NAME")
    return targets


async def one_target(api: Api, words: Sequence[str]) -> Target:
    """The single object of the arguments."""
    targets = await named_targets(api, words)
    if len(targets) != 1:
        raise CommandError("this command takes one object: TYPE/NAME")
    return targets[0]


async def target_of(api: Api, obj: Object) -> Target:
    """Where an object of a file belongs."""
    resource = await api.discovery.kind(str(obj["apiVersion"]), str(obj["kind"]))
    metadata = obj["metadata"]
    namespace = str(metadata.get("namespace") or "")
    return Target(resource, str(metadata.get("name") or ""), namespace if resource.namespaced else "")


async def selected(
    api: Api,
    targets: Sequence[Target],
    *,
    selector: str = "",
    field_selector: str = "",
    every: bool = False,
    everywhere: bool = False,
) -> list[tuple[Target, Object]]:
    """The objects of targets: named ones, and of a whole type those that selectors choose. A type without name,
    selector or `every` is refused, so that no command acts on all objects by mistake."""
    out: list[tuple[Target, Object]] = []
    for target in targets:
        if target.name:
            out.append((target, await api.get(target.resource, target.name, target.namespace)))
            continue
        if not (selector or field_selector or every):
            raise CommandError(f"which {target.resource.plural}? Give names, a selector (-l) or --all")
        query = {"labelSelector": selector, "fieldSelector": field_selector}
        listed = await api.list(target.resource, everywhere=everywhere, query={k: v for k, v in query.items() if v})
        kind = {"apiVersion": target.resource.api_version, "kind": target.resource.kind}
        for item in listed.get("items") or ():
            metadata = item["metadata"]
            one = Target(target.resource, metadata["name"], metadata.get("namespace", ""))
            out.append((one, {**kind, **item}))
    return out


def check_namespace(session: Session, target: Target) -> None:
    """Raises CommandError if an object is in another namespace than -n names."""
    if target.namespace and session.flags.namespace and target.namespace != session.flags.namespace:
        raise CommandError(
            f"{target.label} is of namespace {target.namespace!r}, -n says {session.flags.namespace!r}: leave out "
            "one of them"
        )
