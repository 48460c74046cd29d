"""``wait``: waits until objects have a condition or value, or are deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION
from orchd.ctl.objects.deletion import wait_gone
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection, selection_options
from orchd.ctl.objects.targets import Target, parse_targets, selected
from orchd.ctl.printing import jsonpath, output
from orchd.ctl.printing.forms import form_option
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

#: Seconds between two looks.
_LOOK = 0.5
#: Has an object what is waited for?
Test = Callable[[Object], bool]


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@click.option(
    "--for",
    "condition",
    required=True,
    metavar="WHAT",
    help="condition=NAME[=VALUE], delete, create, or jsonpath=PATH[=VALUE].",
)
@click.option("--timeout", type=DURATION, default=30.0, help="Longest wait; default 30s, 0 looks once.")
@selection_options
@form_option
@pass_session
def wait(session: Session, /, words: tuple[str, ...], condition: str, timeout: float, form: str, **flags: Any) -> None:
    """Wait for a condition of objects; exit status 1 at the timeout."""
    selection = Selection.take(flags)
    selector, field_selector, every, everywhere = (
        selection.selector,
        selection.field_selector,
        selection.every,
        selection.everywhere,
    )
    gone = condition == "delete"
    test = None if gone else parse_test(condition)

    async def work(api: Api) -> None:
        end = api.clock.seconds() + (timeout if timeout >= 0 else 7 * 24 * 3600.0)
        targets = await selection.targets(api, session, words) if selection.files else await parse_targets(api, words)
        if gone:
            for target, uid in await _existing_objects(
                api, targets, selector=selector, field_selector=field_selector, every=every, everywhere=everywhere
            ):
                await wait_gone(api, target, uid, end)
                output.line(f"{target.label} condition met")
            return
        named = [target for target in targets if target.name]
        rest = [target for target in targets if not target.name]
        listed = await selected(
            api, rest, selector=selector, field_selector=field_selector, every=every, everywhere=everywhere
        )
        chosen = [*named, *(target for target, _ in listed)]
        if not chosen:
            raise CommandError("no matching objects: check the names or the selector")
        for target in chosen:
            assert test is not None, "not for delete"
            report(target, await _until(api, target, test, end, condition), "condition met", form=form, dry_run="none")

    session.run(work)


async def _existing_objects(api: Api, targets: list[Target], **selection: Any) -> list[tuple[Target, str]]:
    """The objects that are there, with their uids."""
    out = []
    for target in targets:
        try:
            out += [
                (one, str(obj["metadata"].get("uid", ""))) for one, obj in await selected(api, [target], **selection)
            ]
        except ApiError as error:
            # An object that does not exist needs no waiting for its deletion.
            if error.code != 404:
                raise
    return out


async def _until(api: Api, target: Target, test: Test, end: float, condition: str) -> Object:
    while True:
        try:
            obj = await api.get(target.resource, target.name, target.namespace)
            if test(obj):
                return obj
        except ApiError as error:
            if error.code != 404 or condition != "create":
                raise
        if api.clock.seconds() >= end:
            raise CommandError(f"timed out waiting for {condition} of {target.label}: look at it with describe")
        await api.sleep(_LOOK)


def parse_test(text: str) -> Test:
    """The condition of ``--for``. Raises CommandError."""
    kind, _, rest = text.partition("=")
    if kind == "create" and not rest:
        return lambda obj: True
    if kind == "condition" and rest:
        name, _, value = rest.partition("=")
        return _condition(name.lower(), (value or "true").lower())
    if kind == "jsonpath" and rest:
        return _at_path(rest)
    raise CommandError(f"--for={text}: write condition=NAME, delete, create or jsonpath=PATH=VALUE")


def _condition(name: str, value: str) -> Test:
    def test(obj: Object) -> bool:
        generation = obj["metadata"].get("generation", 0)
        for each in fields.conditions(obj):
            if str(each.get("type")).lower() == name:
                # A condition of an older state of the object says nothing about this one.
                return (
                    str(each.get("status")).lower() == value
                    and each.get("observedGeneration", generation) >= generation
                )
        return False

    return test


def _at_path(text: str) -> Test:
    end = text.find("}") + 1 if text.startswith("{") else _path_end(text)
    path, rest = text[:end], text[end:]
    compiled = jsonpath.compile_path(path)
    if not rest:
        return lambda obj: bool(compiled.find(obj))
    value = rest.removeprefix("=").removeprefix("=").strip("'\"")
    return lambda obj: value in map(jsonpath.plain_text, compiled.find(obj))


def _path_end(text: str) -> int:
    """Where the first = outside of brackets is, or the end."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char in "[(") - (char in ")]")
        if char == "=" and not depth:
            return at
    return len(text)
