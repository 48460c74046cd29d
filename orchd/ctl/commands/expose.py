"""``expose``: creates a service for the pods of an object."""

from __future__ import annotations

import re
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import files_option, key_values, save_config_option, write_options
from orchd.ctl.objects.creation import create_one
from orchd.ctl.objects.local_patches import overridden, override_type
from orchd.ctl.objects.pod_templates import pod_template
from orchd.ctl.objects.selection import Selection, selected_one
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("--name", default="", help="Name of the service; default: that of the object.")
@click.option(
    "--port", "ports", default="", metavar="PORT,...", help="Ports of the service; default: those of the containers."
)
@click.option("--target-port", default="", help="Port of the pods, by number or name; default: as --port.")
@click.option("--protocol", default="", help="TCP, UDP or SCTP; default: that of the containers' ports, else TCP.")
@click.option(
    "--type", "type_", default="", metavar="TYPE", help="ClusterIP (default), NodePort, LoadBalancer or ExternalName."
)
@click.option("--selector", default="", metavar="KEY=VALUE,...", help="Selector of pods; default: that of the object.")
@click.option(
    "-l", "--labels", default="", metavar="KEY=VALUE,...", help="Labels of the service; default: those of the object."
)
@click.option("--cluster-ip", default="", help="Address of the service; None for a headless one.")
@click.option("--external-ip", default="", help="An address outside the cluster.")
@click.option("--external-name", default="", help="DNS name of a service of type ExternalName.")
@click.option("--load-balancer-ip", default="", help="Address of a load balancer.")
@click.option("--session-affinity", default="", help="Session affinity: None or ClientIP.")
@click.option("--overrides", default="", metavar="JSON", help="Fields of the service, as a merge patch.")
@override_type
@files_option
@write_options
@save_config_option
@form_option
@pass_session
def expose(
    session: Session,
    /,
    words: tuple[str, ...],
    name: str,
    overrides: str,
    override_type: str,
    dry_run: str,
    form: str,
    **flags: Any,
) -> None:
    """Create a service for the pods of a deployment, replica set, service or pod."""
    selection = Selection.of_files(flags)

    async def work(api: Api) -> None:
        target = await selected_one(api, session, words, selection)
        obj = {"kind": target.resource.kind, **await api.get(target.resource, target.name, target.namespace)}
        service = overridden(_service(name or target.name, target, obj, **flags), overrides, override_type)
        service["metadata"].setdefault("namespace", obj["metadata"].get("namespace", api.namespace))
        await create_one(api, session, service, form=form, dry_run=dry_run, word="exposed")

    session.run(work)


_EXPOSED = ("Pod", "Service", "ReplicationController", "Deployment", "ReplicaSet")


def _service(
    name: str, target: Target, obj: Object, *, ports: str, target_port: str, protocol: str, type_: str, selector: str,
    labels: str, cluster_ip: str, external_ip: str, external_name: str, load_balancer_ip: str, session_affinity: str,
) -> Object:  # fmt: skip
    if obj["kind"] not in _EXPOSED:
        raise CommandError(f"cannot expose a {obj['kind']}: name a pod, service, deployment or replica set")
    chosen = key_values(selector, "--selector") or _selector_of(obj, target)
    own = key_values(labels, "--labels") or fields.labels(obj)
    spec: Object = {"selector": chosen, "ports": _ports(obj, target, ports, target_port, protocol)}
    more = {
        "type": type_, "clusterIP": cluster_ip, "externalName": external_name, "loadBalancerIP": load_balancer_ip,
        "sessionAffinity": session_affinity, "externalIPs": [external_ip] if external_ip else None,
    }  # fmt: skip
    spec |= {key: value for key, value in more.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **({"labels": own} if own else {})},
        "spec": spec,
    }


def _selector_of(obj: Object, target: Target) -> dict[str, str]:
    if obj["kind"] == "Pod":
        labels = obj["metadata"].get("labels")
        if not labels:
            raise CommandError(
                f"{target.label} has no labels by which a service could choose it: label it, or give --selector"
            )
        return dict(labels)
    selector = obj["spec"].get("selector") or {}
    if selector.get("matchExpressions"):
        raise CommandError(
            f"the selector of {target.label} has expressions, which services do not have: give --selector"
        )
    labels = selector.get("matchLabels", selector)
    if not labels:
        raise CommandError(f"{target.label} has no selector: give --selector")
    return dict(labels)


def _ports(obj: Object, target: Target, listed: str, target_port: str, protocol: str) -> list[Object]:
    if obj["kind"] == "Service":
        ports = [(int(each["port"]), each.get("protocol", "TCP")) for each in obj["spec"].get("ports") or ()]
    else:
        ports = [
            (int(each["containerPort"]), each.get("protocol", "TCP"))
            for container in fields.spec(pod_template(obj)).get("containers") or ()
            for each in container.get("ports") or ()
        ]
    if listed:
        numbers = listed.split(",")
        if not all(re.fullmatch(r"[0-9]{1,5}", each) and 0 < int(each) < 65536 for each in numbers):
            raise CommandError(f"--port={listed}: ports are numbers from 1 to 65535, separated by commas")
        protocols = dict(ports)
        ports = [(int(each), protocols.get(int(each), "TCP")) for each in numbers]
    if not ports:
        raise CommandError(f"{target.label} names no ports: give --port")
    ports = list(dict.fromkeys(ports))
    out: list[Object] = []
    for at, (number, default) in enumerate(ports, start=1):
        target_of_port: str | int = int(target_port) if target_port.isdecimal() else target_port or number
        port = {"port": number, "targetPort": target_of_port, "protocol": (protocol or default).upper()}
        out.append({"name": f"port-{at}", **port} if len(ports) > 1 else port)
    return out
