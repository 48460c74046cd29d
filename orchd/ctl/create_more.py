"""``create`` of services, ingresses, cron jobs, quotas, disruption budgets, priority classes and tokens."""

from __future__ import annotations

import re
from typing import Any

import click

from orchd.ctl.api import Api
from orchd.ctl.command import Group
from orchd.ctl.create import create, create_all, create_made, create_options, named, pairs
from orchd.ctl.errors import CommandError
from orchd.ctl.identity import create_token
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object

create.add_command(create_token, "token")


# -- services


@create.group("service", cls=Group)
def service() -> None:
    """Create a service: clusterip, nodeport, loadbalancer or externalname."""


def _tcp_ports(given: tuple[str, ...], node_port: int = 0) -> list[Object]:
    out: list[Object] = []
    for each in (part for text in given for part in text.split(",")):
        number, _, target = each.partition(":")
        if not re.fullmatch(r"[0-9]{1,5}", number) or not 0 < int(number) < 65536:
            raise CommandError(f"--tcp={each}: write --tcp=PORT or --tcp=PORT:TARGETPORT")
        wanted: str | int = int(target) if target.isdecimal() else target or int(number)
        port = {"name": each.replace(":", "-"), "port": int(number), "protocol": "TCP", "targetPort": wanted}
        out.append({**port, "nodePort": node_port} if node_port else port)
    return out


def _create_service(session: Session, name: str, spec: Object, dry_run: str, form: str) -> None:
    obj = named("v1", "Service", name, spec={"selector": {"app": name}, **spec})
    obj["metadata"]["labels"] = {"app": name}
    create_all(session, [obj], dry_run=dry_run, form=form)


_tcp = click.option("--tcp", "tcp", multiple=True, metavar="PORT[:TARGETPORT]", help="A port; may be repeated.")


@service.command("clusterip")
@click.argument("name")
@_tcp
@click.option("--clusterip", default="", help="Address of the service; None for a headless one.")
@create_options
@pass_session
def cluster_ip(session: Session, name: str, tcp: tuple[str, ...], clusterip: str, dry_run: str, form: str) -> None:
    """Create a service with a cluster IP."""
    if not tcp and clusterip != "None":
        raise CommandError("which ports? Give --tcp=PORT:TARGETPORT; only a headless service (--clusterip=None) has none")
    more = {"clusterIP": clusterip} if clusterip else {}
    _create_service(session, name, {"type": "ClusterIP", **({"ports": _tcp_ports(tcp)} if tcp else {}), **more}, dry_run, form)


@service.command("nodeport")
@click.argument("name")
@_tcp
@click.option("--node-port", type=click.IntRange(0, 65535), default=0, help="Node port; default: a free one.")
@create_options
@pass_session
def node_port(session: Session, name: str, tcp: tuple[str, ...], node_port: int, dry_run: str, form: str) -> None:
    """Create a service with a port on every node."""
    _needs_ports(tcp)
    _create_service(session, name, {"type": "NodePort", "ports": _tcp_ports(tcp, node_port)}, dry_run, form)


@service.command("loadbalancer")
@click.argument("name")
@_tcp
@create_options
@pass_session
def load_balancer(session: Session, name: str, tcp: tuple[str, ...], dry_run: str, form: str) -> None:
    """Create a service with a load balancer."""
    _needs_ports(tcp)
    _create_service(session, name, {"type": "LoadBalancer", "ports": _tcp_ports(tcp)}, dry_run, form)


@service.command("externalname")
@click.argument("name")
@click.option("--external-name", required=True, help="DNS name that the service is an alias of.")
@_tcp
@create_options
@pass_session
def external_name(session: Session, name: str, external_name: str, tcp: tuple[str, ...], dry_run: str, form: str) -> None:
    """Create a service that is an alias of an external DNS name."""
    spec = {"type": "ExternalName", "externalName": external_name, **({"ports": _tcp_ports(tcp)} if tcp else {})}
    _create_service(session, name, spec, dry_run, form)


def _needs_ports(tcp: tuple[str, ...]) -> None:
    if not tcp:
        raise CommandError("which ports? Give --tcp=PORT:TARGETPORT")


# -- cron jobs, ingresses


@create.command("cronjob")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", required=True, help="Image of the container.")
@click.option("--schedule", required=True, help="Schedule: minute, hour, day, month, day of the week.")
@click.option("--restart", type=click.Choice(["OnFailure", "Never"]), default="OnFailure", show_default=True, help="Restart policy of the container.")
@create_options
@pass_session
def create_cron_job(
    session: Session, name: str, words: tuple[str, ...], image: str, schedule: str, restart: str, dry_run: str, form: str
) -> None:
    """Create a cron job with one container."""
    container = {"name": name, "image": image, **({"command": list(words)} if words else {})}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": restart}}}}
    spec = {"schedule": schedule, "jobTemplate": {"metadata": {"name": name}, **template}}
    create_all(session, [named("batch/v1", "CronJob", name, spec=spec)], dry_run=dry_run, form=form)


#: HOST/PATH=SERVICE:PORT[,tls[=SECRET]]; a path that ends in * stands for all below it.
_RULE = re.compile(r"(?P<host>[^/=,]*)(?P<path>/[^=,]*)=(?P<service>[^:=,]+):(?P<port>[^=,]+)(?P<tls>,tls(?:=(?P<secret>[^=,]+))?)?\Z")


def _backend(service: str, port: str) -> Object:
    return {"service": {"name": service, "port": {"number": int(port)} if port.isdecimal() else {"name": port}}}


@create.command("ingress")
@click.argument("name")
@click.option("--rule", "rules", multiple=True, metavar="HOST/PATH=SERVICE:PORT[,tls[=SECRET]]", help="A rule; PATH* matches all paths below; may be repeated.")
@click.option("--class", "class_", default="", help="The ingress class.")
@click.option("--default-backend", default="", metavar="SERVICE:PORT", help="Backend for requests that no rule matches.")
@click.option("--annotation", "notes", multiple=True, metavar="KEY=VALUE", help="An annotation; may be repeated.")
@create_options
@pass_session
def create_ingress(
    session: Session, name: str, rules: tuple[str, ...], class_: str, default_backend: str, notes: tuple[str, ...], dry_run: str, form: str
) -> None:
    """Create an ingress from rules."""
    spec: Object = {"ingressClassName": class_} if class_ else {}
    if default_backend:
        target, colon, port = default_backend.partition(":")
        if not target or not colon or not port:
            raise CommandError(f"--default-backend={default_backend}: write SERVICE:PORT")
        spec["defaultBackend"] = _backend(target, port)
    if not rules and not default_backend:
        raise CommandError("which rules? Give --rule=HOST/PATH=SERVICE:PORT, or --default-backend")
    by_host: dict[str, list[Object]] = {}
    tls: dict[str, list[str]] = {}
    for each in rules:
        found = _RULE.match(each)
        if found is None:
            raise CommandError(f"--rule={each}: write HOST/PATH=SERVICE:PORT or HOST/PATH=SERVICE:PORT,tls=SECRET")
        prefix = found["path"].endswith("*")
        path = {"path": found["path"].rstrip("*"), "pathType": "Prefix" if prefix else "Exact"}
        by_host.setdefault(found["host"], []).append({**path, "backend": _backend(found["service"], found["port"])})
        if found["tls"]:
            hosts = tls.setdefault(found["secret"] or "", [])
            if found["host"] and found["host"] not in hosts:
                hosts.append(found["host"])
    if by_host:
        spec["rules"] = [{**({"host": host} if host else {}), "http": {"paths": paths}} for host, paths in by_host.items()]
    if tls:
        spec["tls"] = [{**({"secretName": secret} if secret else {}), **({"hosts": hosts} if hosts else {})} for secret, hosts in tls.items()]
    annotations = pairs(notes, "--annotation")

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        obj = named(dialect("networking.{abbr}.io/v1"), "Ingress", name, spec=spec)
        if annotations:
            obj["metadata"]["annotations"] = annotations
        return [obj]

    create_made(session, make, dry_run=dry_run, form=form)


# -- policies

@create.command("quota")
@click.argument("name")
@click.option("--hard", default="", metavar="RESOURCE=QUANTITY,...", help="Limits such as pods=10,requests.cpu=4.")
@click.option("--scopes", default="", metavar="SCOPE,...", help="Scopes of the quota, such as BestEffort.")
@create_options
@pass_session
def create_quota(session: Session, name: str, hard: str, scopes: str, dry_run: str, form: str) -> None:
    """Create a resource quota."""
    spec: Object = {"hard": pairs(tuple(filter(None, hard.split(","))), "--hard")}
    if scopes:
        spec["scopes"] = scopes.split(",")
    create_all(session, [named("v1", "ResourceQuota", name, spec=spec)], dry_run=dry_run, form=form)


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


@create.command("poddisruptionbudget")
@click.argument("name")
@click.option("--selector", required=True, metavar="KEY=VALUE,...", help="Label selector of the pods.")
@click.option("--min-available", default="", metavar="NUMBER|PERCENT", help="Minimum number or percentage of available pods.")
@click.option("--max-unavailable", default="", metavar="NUMBER|PERCENT", help="Maximum number or percentage of unavailable pods.")
@create_options
@pass_session
def create_budget(
    session: Session, name: str, selector: str, min_available: str, max_unavailable: str, dry_run: str, form: str
) -> None:
    """Create a pod disruption budget."""
    if bool(min_available) == bool(max_unavailable):
        raise CommandError("give --min-available or --max-unavailable, and not both")
    limit = {"minAvailable": _number(min_available)} if min_available else {"maxUnavailable": _number(max_unavailable)}
    labels = pairs(tuple(selector.split(",")), "--selector")
    spec = {"selector": {"matchLabels": labels}, **limit}
    create_all(session, [named("policy/v1", "PodDisruptionBudget", name, spec=spec)], dry_run=dry_run, form=form)


@create.command("priorityclass")
@click.argument("name")
@click.option("--value", type=int, default=0, show_default=True, help="The priority; a higher number is scheduled first.")
@click.option("--global-default", is_flag=True, help="Use it for pods without a priority class.")
@click.option("--preemption-policy", type=click.Choice(["PreemptLowerPriority", "Never"]), default="PreemptLowerPriority", show_default=True, help="Preemption policy: whether pods of lower priority may be preempted.")
@click.option("--description", default="", help="Description of the class.")
@create_options
@pass_session
def create_priority_class(
    session: Session, name: str, value: int, global_default: bool, preemption_policy: str, description: str, dry_run: str, form: str
) -> None:
    """Create a priority class."""
    more: dict[str, Any] = {"value": value, "globalDefault": global_default, "preemptionPolicy": preemption_policy}
    if description:
        more["description"] = description

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        return [named(dialect("scheduling.{abbr}.io/v1"), "PriorityClass", name, **more)]

    create_made(session, make, dry_run=dry_run, form=form)
