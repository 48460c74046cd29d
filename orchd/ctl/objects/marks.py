"""Labels and annotations: the command that sets, removes and lists them."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import dry_query, write_options
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection, local_option, selection_options
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.kinds.jsonvalues import Object


def mark_command(name: str, field: str, word: str) -> click.Command:
    @click.command(name, cls=Command, help=f"Set (KEY=VALUE) or remove (KEY-) {field} of objects.")
    @click.argument("words", nargs=-1, metavar=f"TYPE NAME... KEY=VALUE... KEY-... ({field})")
    @click.option("--overwrite", is_flag=True, help="Change existing values.")
    @click.option("--list", "list_", is_flag=True, help=f"Print the {field} instead.")
    @click.option("--resource-version", "version", default="", help="Only if the object has this version; one object.")
    @local_option
    @selection_options
    @write_options
    @form_option
    @pass_session
    def command(
        session: Session, /, words: tuple[str, ...], overwrite: bool, list_: bool, version: str, local: bool,
        dry_run: str, form: str,
        **flags: Any,
    ) -> None:  # fmt: skip
        selection = Selection.take(flags)
        objects, changes = split_changes(words, of_files=bool(selection.files))
        if not changes and not list_:
            raise CommandError(f"which {field}? Write KEY=VALUE to set and KEY- to remove one")
        if selection.every and (selection.selector or selection.field_selector):
            raise CommandError("--all and a selector cannot be used together: leave out one of them")

        def change(target: Target, obj: Object) -> Object | None:
            """The changes as a patch; None if there is nothing to do."""
            current = obj["metadata"].get(field) or {}
            check_overwrite(target, current, changes, overwrite)
            for key, value in changes.items():
                if value is None and key not in current:
                    output.line(f'{name} "{key}" not found.')
            if all(current.get(key) == value for key, value in changes.items()):
                return None
            return {"metadata": {field: changes}}

        removes = name == "label" and all(value is None for value in changes.values())
        done_word = "unlabeled" if removes else word

        if local:
            for target, obj in selection.local(session, objects):
                patch = change(target, obj)
                report(
                    target,
                    _marked(obj, field, changes),
                    done_word if patch else f"not {word}",
                    form=form,
                    dry_run="none",
                )
            return

        async def work(api: Api) -> None:
            targets = await selection.targets(api, session, objects)
            if version and len(targets) > 1:
                raise CommandError("--resource-version is of one object: name one")
            failures = Failures()
            for target in targets:
                with failures.collect():
                    await one(api, target, several=len(targets) > 1)
            failures.raise_collected()

        async def one(api: Api, target: Target, *, several: bool) -> None:
            obj = await api.get(target.resource, target.name, target.namespace)
            if list_:
                _list_marks(target, obj["metadata"].get(field) or {}, field, several=several)
                return
            patch = change(target, obj)
            if patch is None:
                report(target, obj, f"not {word}", form=form, dry_run=dry_run)
                return
            if version:
                patch["metadata"]["resourceVersion"] = version
            if dry_run == "client":
                obj = _marked(obj, field, changes)
            else:
                query = dry_query(dry_run)
                obj = await api.patch(target.resource, target.name, patch, namespace=target.namespace, query=query)
            report(target, obj, done_word, form=form, dry_run=dry_run)

        session.run(work)

    return command


def _list_marks(target: Target, current: Object, field: str, *, several: bool) -> None:
    if several:
        output.line(f"Listing {field} for {target.label}:")
    for key, value in sorted(current.items()):
        output.line(f"{' ' if several else ''}{key}={value}")


def _marked(obj: Object, field: str, changes: dict[str, str | None]) -> Object:
    current = {**(obj["metadata"].get(field) or {}), **changes}
    return {
        **obj,
        "metadata": {**obj["metadata"], field: {key: value for key, value in current.items() if value is not None}},
    }


def split_changes(words: tuple[str, ...], *, of_files: bool = False) -> tuple[list[str], dict[str, str | None]]:
    """Arguments that name objects, and the value of each key; None removes the key. Raises CommandError for a key that
    is both set and removed."""
    objects: list[str] = []
    changes: dict[str, str | None] = {}
    for word in words:
        if "=" in word:
            key, _, value = word.partition("=")
            if not key:
                raise CommandError(f"{word!r}: a key is missing before =")
            _add_change(changes, key, value)
        elif word.endswith("-") and len(word) > 1 and (objects or changes or of_files):
            _add_change(changes, word[:-1], None)
        else:
            objects.append(word)
    return objects, changes


def _add_change(changes: dict[str, str | None], key: str, value: str | None) -> None:
    if key in changes and (changes[key] is None) != (value is None):
        raise CommandError(f"{key} is both set and removed: leave out one of them")
    changes[key] = value


def check_overwrite(target: Target, current: Object, changes: dict[str, str | None], overwrite: bool) -> None:
    for key, value in changes.items():
        if value is not None and not overwrite and key in current and current[key] != value:
            raise CommandError(f"{target.label} already has {key}={current[key]}: --overwrite changes it")
