"""``run``, ``expose``, ``autoscale``: objects generated from arguments or from an existing object."""

from __future__ import annotations

import re
from typing import Any

import click
import yaml

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import DURATION, Command, files_option, save_config_option, write_options
from orchd.ctl.create import create_one
from orchd.ctl.errors import CommandError
from orchd.ctl.execute import attend
from orchd.ctl.forms import form_option
from orchd.ctl.local_patches import patched
from orchd.ctl.pod_templates import pod_template
from orchd.ctl.remote_process import RemoteProcess
from orchd.ctl.selection import Selection
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, one_target, target_of
from orchd.kinds.jsonvalues import Object

_LOOK = 0.5


def _labels(text: str, flag: str) -> dict[str, str]:
    out = {}
    for part in filter(None, text.split(",")):
        key, mark, value = part.partition("=")
        if not mark or not key:
            raise CommandError(f"{flag}={text}: write {flag}=KEY=VALUE,KEY=VALUE")
        out[key] = value
    return out


_override_type = click.option(
    "--override-type", type=click.Choice(["merge", "strategic", "json"]), default="merge", show_default=True, help="Kind of patch of --overrides."
)


def _overridden(obj: Object, text: str, type_: str) -> Object:
    """An object after a patch. Raises CommandError."""
    if not text:
        return obj
    try:
        patch = yaml.safe_load(text)
    except yaml.YAMLError:
        patch = None
    if not isinstance(patch, list if type_ == "json" else dict):
        what = "a list of operations" if type_ == "json" else "an object"
        raise CommandError(f"--overrides is neither JSON nor YAML of {what}: quote it as one argument")
    return patched(obj, patch, type_)


# -- run


@click.command(cls=Command, context_settings={"allow_interspersed_args": True})
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- ARG...]")
@click.option("--image", required=True, help="Image of the container.")
@click.option("--env", "variables", multiple=True, metavar="KEY=VALUE", help="A variable of the container; may be repeated.")
@click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="Labels of the pod; default: run=NAME.")
@click.option("--annotations", "notes", multiple=True, metavar="KEY=VALUE", help="An annotation of the pod; may be repeated.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the container.")
@click.option("--expose", is_flag=True, help="Create a service for --port as well.")
@click.option("--restart", type=click.Choice(["Always", "OnFailure", "Never"]), default="Always", show_default=True, help="Restart policy of the container.")
@click.option("--image-pull-policy", type=click.Choice(["", "Always", "IfNotPresent", "Never"]), default="", help="Image pull policy.")
@click.option("--command", "is_command", is_flag=True, help="The arguments after -- are the command instead of its arguments.")
@click.option("--privileged", is_flag=True, help="Run the container in privileged mode.")
@click.option("--overrides", default="", metavar="JSON", help="Fields of the pod, as a patch.")
@_override_type
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the container prints.")
@click.option("--leave-stdin-open", is_flag=True, help="The container's input stays open when the first one attached leaves.")
@click.option("-i", "--stdin", "stdin", is_flag=True, help="Keep standard input open, and attach.")
@click.option("-t", "--tty", is_flag=True, help="Allocate a terminal.")
@click.option("--attach", is_flag=True, default=None, help="Attach to the container; default with -i.")
@click.option("--rm", "remove", is_flag=True, help="Delete the pod when the attached container has ended.")
@click.option("--pod-running-timeout", type=DURATION, default=60.0, help="Maximum wait for the pod before attaching; default 1m.")
@write_options
@save_config_option
@form_option
@pass_session
def run(
    session: Session, /, name: str, words: tuple[str, ...], image: str, stdin: bool, tty: bool, attach: bool | None, remove: bool,
    dry_run: str, form: str, **given: Any,
) -> int:
    """Create a pod with one container, and with -i or --attach attach to it."""  # fmt: skip
    follow = stdin if attach is None else attach
    if remove and not follow:
        raise CommandError("--rm needs -i or --attach: nothing is followed whose end could be waited for")
    if follow and dry_run != "none":
        raise CommandError("--dry-run makes no pod to attach to: leave out -i and --attach")
    if tty and not stdin:
        raise CommandError("-t needs -i: the terminal's input goes to the container")
    if given["expose"] and not given["port"]:
        raise CommandError("--expose needs --port: the port of the service")
    pod = _overridden(_pod(name, image, words, stdin=stdin, tty=tty, **given), given["overrides"], given["override_type"])

    async def work(api: Api) -> int:
        if given["expose"]:
            ports = [{"port": given["port"], "targetPort": given["port"], "protocol": "TCP"}]
            spec = {"selector": pod["metadata"]["labels"], "ports": ports}
            service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
            await create_one(api, session, service, form=form, dry_run=dry_run)
            if form and form not in ("name",):
                output.line("---")
        if not follow:
            await create_one(api, session, pod, form=form, dry_run=dry_run)
            return 0
        target = await target_of(api, pod)
        made = await api.create(target.resource, pod, namespace=target.namespace)
        try:
            return await _follow(api, target, given["pod_running_timeout"], stdin=stdin, tty=tty)
        finally:
            if remove:
                uid = {"preconditions": {"uid": made["metadata"]["uid"]}}
                await api.delete(target.resource, target.name, target.namespace, uid, {})
                if not given["quiet"]:
                    output.line(f'pod "{target.name}" deleted')

    return session.run(work)


def _pod(
    name: str, image: str, words: tuple[str, ...], *, variables: tuple[str, ...], labels: str, notes: tuple[str, ...],
    port: int | None, restart: str, image_pull_policy: str, is_command: bool, privileged: bool, stdin: bool, tty: bool, leave_stdin_open: bool, **_: Any,
) -> Object:  # fmt: skip
    container: Object = {"name": name, "image": image}
    if words:
        container["command" if is_command else "args"] = list(words)
    if variables:
        for each in variables:
            if not each.partition("=")[0] or "=" not in each:
                raise CommandError(f"--env={each}: write --env=KEY=VALUE")
        container["env"] = [dict(zip(("name", "value"), each.split("=", 1), strict=True)) for each in variables]
    if port:
        container["ports"] = [{"containerPort": port}]
    if image_pull_policy:
        container["imagePullPolicy"] = image_pull_policy
    if privileged:
        container["securityContext"] = {"privileged": True}
    if stdin:
        container |= {"stdin": True, "stdinOnce": not leave_stdin_open, "tty": tty}
    metadata: Object = {"name": name, "labels": _labels(labels, "--labels") or {"run": name}}
    annotations = {key: value for each in notes for key, value in _labels(each, "--annotations").items()}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"containers": [container], "restartPolicy": restart}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def _follow(api: Api, target: Target, seconds: float, *, stdin: bool, tty: bool) -> int:
    """Attach to a new pod once it runs; its container's exit status."""
    end = api.clock.seconds() + seconds
    while True:
        pod = await api.get(target.resource, target.name, target.namespace)
        phase = (pod.get("status") or {}).get("phase")
        if phase == "Running":
            break
        if phase in ("Succeeded", "Failed"):
            raise CommandError(f"{target.label} has ended before it could be attached to: see its logs")
        if api.clock.seconds() >= end:
            raise CommandError(f"{target.label} does not run after {seconds:g} s: look at it with describe")
        await api.sleep(_LOOK)
    container = pod["spec"]["containers"][0]["name"]
    process = await RemoteProcess.open(api, target.resource, pod, container, stdin=stdin, tty=tty)
    return await attend(api, process, stdin=stdin, tty=tty)


# -- expose


async def _one(api: Api, session: Session, words: tuple[str, ...], selection: Selection) -> Target:
    """The one object of the words or files. Raises CommandError."""
    if not selection.files:
        return await one_target(api, words)
    targets = await selection.targets(api, session, words)
    if len(targets) != 1:
        raise CommandError("this command takes one object: the files have several")
    return targets[0]


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("--name", default="", help="Name of the service; default: that of the object.")
@click.option("--port", "ports", default="", metavar="PORT,...", help="Ports of the service; default: those of the containers.")
@click.option("--target-port", default="", help="Port of the pods, by number or name; default: as --port.")
@click.option("--protocol", default="", help="TCP, UDP or SCTP; default: that of the containers' ports, else TCP.")
@click.option("--type", "type_", default="", metavar="TYPE", help="ClusterIP (default), NodePort, LoadBalancer or ExternalName.")
@click.option("--selector", default="", metavar="KEY=VALUE,...", help="Selector of pods; default: that of the object.")
@click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="Labels of the service; default: those of the object.")
@click.option("--cluster-ip", default="", help="Address of the service; None for a headless one.")
@click.option("--external-ip", default="", help="An address outside the cluster.")
@click.option("--external-name", default="", help="DNS name of a service of type ExternalName.")
@click.option("--load-balancer-ip", default="", help="Address of a load balancer.")
@click.option("--session-affinity", default="", help="Session affinity: None or ClientIP.")
@click.option("--overrides", default="", metavar="JSON", help="Fields of the service, as a merge patch.")
@_override_type
@files_option
@write_options
@save_config_option
@form_option
@pass_session
def expose(session: Session, /, words: tuple[str, ...], name: str, overrides: str, override_type: str, dry_run: str, form: str, **given: Any) -> None:
    """Create a service for the pods of a deployment, replica set, service or pod."""
    selection = Selection.of_files(given)

    async def work(api: Api) -> None:
        target = await _one(api, session, words, selection)
        obj = {"kind": target.resource.kind, **await api.get(target.resource, target.name, target.namespace)}
        service = _overridden(_service(name or target.name, target, obj, **given), overrides, override_type)
        service["metadata"].setdefault("namespace", obj["metadata"].get("namespace", api.namespace))
        await create_one(api, session, service, form=form, dry_run=dry_run, word="exposed")

    session.run(work)


_EXPOSED = ("Pod", "Service", "ReplicationController", "Deployment", "ReplicaSet")


def _service(
    name: str, target: Target, obj: Object, *, ports: str, target_port: str, protocol: str, type_: str, selector: str, labels: str,
    cluster_ip: str, external_ip: str, external_name: str, load_balancer_ip: str, session_affinity: str,
) -> Object:  # fmt: skip
    if obj["kind"] not in _EXPOSED:
        raise CommandError(f"cannot expose a {obj['kind']}: name a pod, service, deployment or replica set")
    found = _labels(selector, "--selector") or _selector_of(obj, target)
    own = _labels(labels, "--labels") or (obj["metadata"].get("labels") or {})
    spec: Object = {"selector": found, "ports": _ports(obj, target, ports, target_port, protocol)}
    more = {
        "type": type_, "clusterIP": cluster_ip, "externalName": external_name, "loadBalancerIP": load_balancer_ip,
        "sessionAffinity": session_affinity, "externalIPs": [external_ip] if external_ip else None,
    }  # fmt: skip
    spec |= {key: value for key, value in more.items() if value}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **({"labels": own} if own else {})}, "spec": spec}


def _selector_of(obj: Object, target: Target) -> dict[str, str]:
    if obj["kind"] == "Pod":
        found = obj["metadata"].get("labels")
        if not found:
            raise CommandError(f"{target.label} has no labels by which a service could choose it: label it, or give --selector")
        return dict(found)
    selector = obj["spec"].get("selector") or {}
    if selector.get("matchExpressions"):
        raise CommandError(f"the selector of {target.label} has expressions, which services do not have: give --selector")
    found = selector.get("matchLabels", selector)
    if not found:
        raise CommandError(f"{target.label} has no selector: give --selector")
    return dict(found)


def _ports(obj: Object, target: Target, given: str, target_port: str, protocol: str) -> list[Object]:
    if obj["kind"] == "Service":
        known = [(int(each["port"]), each.get("protocol", "TCP")) for each in obj["spec"].get("ports") or ()]
    else:
        known = [
            (int(each["containerPort"]), each.get("protocol", "TCP"))
            for container in (pod_template(obj).get("spec") or {}).get("containers") or ()
            for each in container.get("ports") or ()
        ]
    if given:
        numbers = given.split(",")
        if not all(re.fullmatch(r"[0-9]{1,5}", each) and 0 < int(each) < 65536 for each in numbers):
            raise CommandError(f"--port={given}: ports are numbers from 1 to 65535, separated by commas")
        protocols = dict(known)
        known = [(int(each), protocols.get(int(each), "TCP")) for each in numbers]
    if not known:
        raise CommandError(f"{target.label} names no ports: give --port")
    known = list(dict.fromkeys(known))
    out: list[Object] = []
    for at, (number, default) in enumerate(known, start=1):
        wanted: str | int = int(target_port) if target_port.isdecimal() else target_port or number
        port = {"port": number, "targetPort": wanted, "protocol": (protocol or default).upper()}
        out.append({"name": f"port-{at}", **port} if len(known) > 1 else port)
    return out


# -- autoscale


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("--min", "least", type=click.IntRange(min=1), help="Minimum number of pods.")
@click.option("--max", "most", type=click.IntRange(min=1), required=True, help="Maximum number of pods.")
@click.option("--cpu-percent", type=click.IntRange(min=1), help="Target CPU utilization in percent of the requests.")
@click.option("--name", default="", help="Name of the autoscaler; default: that of the object.")
@files_option
@write_options
@save_config_option
@form_option
@pass_session
def autoscale(
    session: Session, /, words: tuple[str, ...], least: int | None, most: int, cpu_percent: int | None, name: str, dry_run: str, form: str,
    **given: Any,
) -> None:
    """Create an autoscaler for a deployment, replica set, stateful set or custom kind with a scale."""
    selection = Selection.of_files(given)
    if least is not None and least > most:
        raise CommandError(f"--min={least} is above --max={most}")

    async def work(api: Api) -> None:
        target = await _one(api, session, words, selection)
        if "scale" not in target.resource.subresources:
            raise CommandError(f"{target.resource.qualified} cannot be scaled: choose a type with a scale subresource")
        found = await api.get(target.resource, target.name, target.namespace)
        reference = {"apiVersion": target.resource.api_version, "kind": target.resource.kind, "name": target.name}
        spec: Object = {"scaleTargetRef": reference, "maxReplicas": most}
        if least is not None:
            spec["minReplicas"] = least
        if cpu_percent is not None:
            spec["targetCPUUtilizationPercentage"] = cpu_percent
        metadata = {"name": name or target.name, "namespace": found["metadata"].get("namespace", api.namespace)}
        scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}
        await create_one(api, session, scaler, form=form, dry_run=dry_run, word="autoscaled")

    session.run(work)
