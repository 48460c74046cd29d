"""``create clusterrole``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import pairs
from orchd.ctl.objects.rbac import create_rbac, role_options, rules_of, split_words
from orchd.kinds.jsonvalues import Object


@click.command("clusterrole", cls=Command)
@click.argument("name")
@click.option(
    "--aggregation-rule",
    "aggregated",
    default="",
    metavar="KEY=VALUE,...",
    help="The rules of cluster roles with these labels, instead of its own.",
)
@click.option("--non-resource-url", "urls", multiple=True, metavar="PATH,...", help="Paths such as /healthz.")
@role_options
@pass_session
def create_cluster_role(
    session: Session,
    name: str,
    aggregated: str,
    urls: tuple[str, ...],
    verbs: tuple[str, ...],
    resources: tuple[str, ...],
    names: tuple[str, ...],
    dry_run: str,
    form: str,
) -> None:
    """Create a cluster role that allows verbs on types or paths."""
    if aggregated:
        if verbs or resources or urls or names:
            raise CommandError(
                "--aggregation-rule takes the rules of other roles: leave out --verb, --resource and --non-resource-url"
            )
        selector = {"matchLabels": pairs(tuple(aggregated.split(",")), "--aggregation-rule")}
        create_rbac(
            session, "ClusterRole", name, dry_run, form, None, aggregationRule={"clusterRoleSelectors": [selector]}
        )
        return
    if not verbs or not (resources or urls):
        raise CommandError("a cluster role needs --verb, and --resource or --non-resource-url; or --aggregation-rule")

    async def rules(api: Api) -> list[Object]:
        paths = [{"nonResourceURLs": split_words(urls), "verbs": split_words(verbs)}] if urls else []
        return [*await rules_of(api, verbs, resources, names), *paths]

    create_rbac(session, "ClusterRole", name, dry_run, form, rules)
