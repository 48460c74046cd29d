"""Creation of objects that a command makes from arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import F, dry_query, save_config_option, stacked, validate_option, validation_query, write_options
from orchd.ctl.objects.applied import with_last_applied
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import check_namespace, target_of
from orchd.ctl.printing.forms import form_option
from orchd.kinds.jsonvalues import Object

#: Flags of commands that create an object.
create_options: Callable[[F], F] = stacked(write_options, save_config_option, validate_option, form_option)


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
    api: Api, session: Session, obj: Object, *, dry_run: str, form: str, word: str = "created"
) -> None:
    """Create an object and report it."""
    target = await target_of(api, obj)
    check_namespace(session, target)
    if session.writing.save_config:
        obj = with_last_applied(obj, await api.dialect())
    created = obj
    if dry_run != "client":
        query = {**dry_query(dry_run), **validation_query(session)}
        created = await api.create(target.resource, obj, namespace=target.namespace, query=query)
    report(target, created, word, form=form, dry_run=dry_run)


def pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """KEY=VALUE arguments. Raises CommandError."""
    out = {}
    for each in texts:
        key, mark, value = each.partition("=")
        if not mark or not key:
            raise CommandError(f"{flag}={each!r}: write {flag}=KEY=VALUE")
        if key in out:
            raise CommandError(f"{flag}={each!r}: there is a value for {key} already: leave out one of them")
        out[key] = value
    return out


def named(api_version: str, kind: str, name: str, **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def container_name(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0].partition("@")[0].replace("_", "-").lower()
