"""``create role``, ``clusterrole``, ``rolebinding``, ``clusterrolebinding``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from orchd.ctl.api import Api
from orchd.ctl.command import F, stacked
from orchd.ctl.create import create, create_made, create_options, named, pairs
from orchd.ctl.errors import CommandError
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object

_role_options: Callable[[F], F] = stacked(
    click.option("--verb", "verbs", multiple=True, metavar="VERB,...", help="Verbs such as get,list,watch."),
    click.option("--resource", "resources", multiple=True, metavar="TYPE,...", help="Types such as pods,deployments.apps,pods/log."),
    click.option("--resource-name", "names", multiple=True, metavar="NAME", help="Only objects of this name; may be repeated."),
    create_options,
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
            if key in ("subjects", "roleRef"):
                value = [_with_group(each, group) for each in value] if isinstance(value, list) else _with_group(value, group)
            obj[key] = value
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
    if not resources or not verbs:
        raise CommandError("a role needs --verb and --resource")
    _create_rbac(session, "Role", name, dry_run, form, lambda api: _rules(api, verbs, resources, names))


@create.command("clusterrole")
@click.argument("name")
@click.option("--aggregation-rule", "aggregated", default="", metavar="KEY=VALUE,...", help="The rules of cluster roles with these labels, instead of its own.")
@click.option("--non-resource-url", "urls", multiple=True, metavar="PATH,...", help="Paths such as /healthz.")
@_role_options
@pass_session
def create_cluster_role(
    session: Session, name: str, aggregated: str, urls: tuple[str, ...], verbs: tuple[str, ...], resources: tuple[str, ...],
    names: tuple[str, ...], dry_run: str, form: str,
) -> None:
    """Create a cluster role that allows verbs on types or paths."""  # fmt: skip
    if aggregated:
        if verbs or resources or urls or names:
            raise CommandError("--aggregation-rule takes the rules of other roles: leave out --verb, --resource and --non-resource-url")
        selector = {"matchLabels": pairs(tuple(aggregated.split(",")), "--aggregation-rule")}
        _create_rbac(session, "ClusterRole", name, dry_run, form, None, aggregationRule={"clusterRoleSelectors": [selector]})
        return
    if not verbs or not (resources or urls):
        raise CommandError("a cluster role needs --verb, and --resource or --non-resource-url; or --aggregation-rule")

    async def rules(api: Api) -> list[Object]:
        paths = [{"nonResourceURLs": _split(urls), "verbs": _split(verbs)}] if urls else []
        return [*await _rules(api, verbs, resources, names), *paths]

    _create_rbac(session, "ClusterRole", name, dry_run, form, rules)


_binding_options: Callable[[F], F] = stacked(
    click.option("--user", "users", multiple=True, help="A user; may be repeated."),
    click.option("--group", "groups", multiple=True, help="A group; may be repeated."),
    click.option("--serviceaccount", "accounts", multiple=True, metavar="NAMESPACE:NAME", help="A service account; may be repeated."),
    create_options,
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
