"""Selection of the objects that a command changes: by name, from files, by selector, or all of a type; with ``--local``
without a server."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import F, everywhere_option, files_option, selector_options, stacked
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.targets import Target, one_target, parse_targets, selected, target_of
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object

every_option: Callable[[F], F] = click.option("--all", "every", is_flag=True, help="All objects of the type.")
selection_options: Callable[[F], F] = stacked(files_option, selector_options, everywhere_option, every_option)
local_option: Callable[[F], F] = click.option(
    "--local", is_flag=True, help="Change the objects of -f locally and print them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The values of `selection_options`."""

    files: tuple[str, ...] = ()
    recursive: bool = False
    selector: str = ""
    field_selector: str = ""
    every: bool = False
    everywhere: bool = False

    @classmethod
    def take(cls, flags: MutableMapping[str, Any]) -> Selection:
        """Take the flags out of a command's arguments."""
        return cls(**{name: flags.pop(name) for name in cls.__dataclass_fields__ if name in flags})

    @classmethod
    def of_files(cls, flags: MutableMapping[str, Any]) -> Selection:
        """Take the flags of `files_option` out of a command's arguments, and no others."""
        return cls(files=flags.pop("files"), recursive=flags.pop("recursive"))

    async def targets(
        self, api: Api, session: Session, words: Sequence[str], *, whole_types: bool = False, needed: bool = False
    ) -> list[Target]:
        """The selected objects; named ones are not read. With `whole_types` a type alone selects all of its objects. If
        nothing is selected, prints so, or raises CommandError with `needed`. Raises CommandError and ApiError."""
        if self.files:
            if words:
                raise CommandError("give objects by -f or by name, not both")
            return [await target_of(api, obj) for obj in self.objects(session)]
        targets = await parse_targets(api, words)
        if self.everywhere and any(target.name for target in targets):
            raise CommandError("an object cannot be fetched by name across all namespaces: leave out -A, or the name")
        rest = [target for target in targets if not target.name]
        every = self.every or (whole_types and not self.selector and not self.field_selector)
        listed = await selected(
            api,
            rest,
            selector=self.selector,
            field_selector=self.field_selector,
            every=every,
            everywhere=self.everywhere,
        )
        chosen = [*(target for target in targets if target.name), *(target for target, _ in listed)]
        if not chosen and needed:
            raise CommandError("no matching objects: check the selector and the namespace")
        if not chosen:
            where = "" if self.everywhere else f" in {api.namespace} namespace"
            output.note(f"No resources found{where}.")
        return chosen

    def objects(self, session: Session) -> list[Object]:
        """The objects of the files."""
        return read_objects(session, self.files, recursive=self.recursive)

    def local(self, session: Session, words: Sequence[str]) -> list[tuple[Target, Object]]:
        """The objects of the files with targets that need no server. Raises CommandError without files."""
        if not self.files or words:
            raise CommandError("--local changes objects of files: name them with -f, without types and names")
        return [(local_target(obj), obj) for obj in self.objects(session)]


def local_target(obj: Object) -> Target:
    """The resource of an object as far as it is known without a server: enough for messages."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    word = str(obj["kind"]).lower()
    resource = Resource(
        group=group, version=version, plural=f"{word}s", singular=word, kind=str(obj["kind"]), namespaced=True,
        verbs=(), short_names=(), categories=(), subresources=(),
    )  # fmt: skip
    metadata = obj["metadata"]
    return Target(resource, str(metadata.get("name") or ""), str(metadata.get("namespace") or ""))


async def selected_one(api: Api, session: Session, words: tuple[str, ...], selection: Selection) -> Target:
    """The one object of the words or files. Raises CommandError."""
    if not selection.files:
        return await one_target(api, words)
    targets = await selection.targets(api, session, words)
    if len(targets) != 1:
        raise CommandError("this command takes one object: the files have several")
    return targets[0]
