"""``create service``: clusterip, nodeport, loadbalancer or externalname."""

from __future__ import annotations

import re

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import create_all, create_options, named
from orchd.kinds.jsonvalues import Object


@click.group("service", cls=Group)
def service() -> None:
    """Create a service: clusterip, nodeport, loadbalancer or externalname."""


def _tcp_ports(texts: tuple[str, ...], node_port: int = 0) -> list[Object]:
    out: list[Object] = []
    for each in (part for text in texts for part in text.split(",")):
        number, _, target = each.partition(":")
        if not re.fullmatch(r"[0-9]{1,5}", number) or not 0 < int(number) < 65536:
            raise CommandError(f"--tcp={each}: write --tcp=PORT or --tcp=PORT:TARGETPORT")
        target_of_port: str | int = int(target) if target.isdecimal() else target or int(number)
        port = {"name": each.replace(":", "-"), "port": int(number), "protocol": "TCP", "targetPort": target_of_port}
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
        raise CommandError(
            "which ports? Give --tcp=PORT:TARGETPORT; only a headless service (--clusterip=None) has none"
        )
    more = {"clusterIP": clusterip} if clusterip else {}
    _create_service(
        session, name, {"type": "ClusterIP", **({"ports": _tcp_ports(tcp)} if tcp else {}), **more}, dry_run, form
    )


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
def external_name(
    session: Session, name: str, external_name: str, tcp: tuple[str, ...], dry_run: str, form: str
) -> None:
    """Create a service that is an alias of an external DNS name."""
    spec = {"type": "ExternalName", "externalName": external_name, **({"ports": _tcp_ports(tcp)} if tcp else {})}
    _create_service(session, name, spec, dry_run, form)


def _needs_ports(tcp: tuple[str, ...]) -> None:
    if not tcp:
        raise CommandError("which ports? Give --tcp=PORT:TARGETPORT")
