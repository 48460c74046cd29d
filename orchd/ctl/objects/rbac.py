"""Rules and subjects of roles and bindings, from arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import F, stacked
from orchd.ctl.objects.creation import create_made, create_options, named
from orchd.kinds.jsonvalues import Object

role_options: Callable[[F], F] = stacked(
    click.option("--verb", "verbs", multiple=True, metavar="VERB,...", help="Verbs such as get,list,watch."),
    click.option(
        "--resource",
        "resources",
        multiple=True,
        metavar="TYPE,...",
        help="Types such as pods,deployments.apps,pods/log.",
    ),
    click.option(
        "--resource-name", "names", multiple=True, metavar="NAME", help="Only objects of this name; may be repeated."
    ),
    create_options,
)


def split_words(texts: tuple[str, ...]) -> list[str]:
    return [word for each in texts for word in each.split(",") if word]


async def rules_of(
    api: Api, verbs: tuple[str, ...], resources: tuple[str, ...], names: tuple[str, ...]
) -> list[Object]:
    """One rule per API group. Raises CommandError for types that the server does not have."""
    by_group: dict[str, list[str]] = {}
    for word in split_words(resources):
        name, mark, subresource = word.partition("/")
        resource = await api.discovery.find(name) if name != "*" else None
        group, plural = ("*", "*") if resource is None else (resource.group, resource.plural)
        by_group.setdefault(group, []).append(plural + mark + subresource)
    more = {"resourceNames": split_words(names)} if names else {}
    return [
        {"apiGroups": [group], "resources": plurals, "verbs": split_words(verbs), **more}
        for group, plurals in by_group.items()
    ]


def create_rbac(session: Session, kind: str, name: str, dry_run: str, form: str, rules: Any, **more: Any) -> None:
    """Create an object of the RBAC group, whose name the server's dialect decides."""

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        group = dialect("rbac.authorization.{abbr}.io")
        obj = named(f"{group}/v1", kind, name)
        if rules is not None:
            obj["rules"] = await rules(api)
        for key, value in more.items():
            if key in ("subjects", "roleRef"):
                value = (
                    [_with_group(each, group) for each in value]
                    if isinstance(value, list)
                    else _with_group(value, group)
                )
            obj[key] = value
        return [obj]

    create_made(session, make, dry_run=dry_run, form=form)


def _with_group(reference: Object, group: str) -> Object:
    return reference if reference["kind"] == "ServiceAccount" else {"apiGroup": group, **reference}


binding_options: Callable[[F], F] = stacked(
    click.option("--user", "users", multiple=True, help="A user; may be repeated."),
    click.option("--group", "groups", multiple=True, help="A group; may be repeated."),
    click.option(
        "--serviceaccount",
        "accounts",
        multiple=True,
        metavar="NAMESPACE:NAME",
        help="A service account; may be repeated.",
    ),
    create_options,
)


def subjects_of(users: tuple[str, ...], groups: tuple[str, ...], accounts: tuple[str, ...]) -> list[Object]:
    out: list[Object] = [{"kind": "User", "name": name} for name in users] + [
        {"kind": "Group", "name": name} for name in groups
    ]
    for each in accounts:
        namespace, _, name = each.partition(":")
        if not namespace or not name or ":" in name:
            raise CommandError(f"--serviceaccount={each}: write NAMESPACE:NAME")
        out.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return out
