"""``explain-scheduling``: scheduling decisions."""

from __future__ import annotations

import click

from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_EXPLAIN = "/debug/scheduler/explain"


@click.command("explain-scheduling", cls=Command)
@click.argument("pod", required=False, metavar="[POD]")
@click.option(
    "-f", "--filename", "file", default="", metavar="FILE", help="A pod that does not exist yet; - is standard input."
)
@click.option("-o", "--output", "form", type=click.Choice(["", "yaml", "json"]), default="", help="yaml or json.")
@pass_session
def explain_scheduling(session: Session, pod: str | None, file: str, form: str) -> None:
    """Explain why a pod is on its node or on none; with -f, where a new pod would be scheduled now."""
    if bool(pod) == bool(file):
        raise CommandError("name a pod, or give a file with -f")

    async def work(api: Api) -> Object:
        if pod:
            call = Call(method="GET", path=_EXPLAIN, query={"namespace": api.namespace, "pod": pod.rpartition("/")[2]})
        else:
            call = Call(method="POST", path=_EXPLAIN, body=await _read_pod(api, session, file))
        try:
            response: Object = await api.call(call)
        except ApiError as error:
            if error.code == 404 and not (error.details or {}).get("name"):
                raise CommandError("the server runs no scheduler: start it with --scheduler=true") from None
            raise
        return response

    response = session.run(work)
    if form:
        output.document(output.yaml_text(response) if form == "yaml" else output.json_text(response), form)
        return
    for line in explanation_lines(response):
        output.line(line)


async def _read_pod(api: Api, session: Session, file: str) -> Object:
    objects = [each for each in read_objects(session, [file]) if each["kind"] == "Pod"]
    if len(objects) != 1:
        raise CommandError(f"{file}: explain-scheduling takes a file with one pod")
    metadata = {"namespace": api.namespace, **objects[0]["metadata"]}
    # A dry run sets defaults and validates the pod.
    resource = await api.discovery.find("pods")
    return await api.create(
        resource, {**objects[0], "metadata": metadata}, namespace=metadata["namespace"], query={"dryRun": "All"}
    )


def explanation_lines(response: Object) -> list[str]:
    """The lines that show a response of the explain endpoint."""
    lines = [f"Node:      {response.get('node') or '<none>'}"]
    if response.get("message"):
        lines.append(f"Message:   {response['message']}")
    feasible = response.get("feasible") or {}
    if feasible:
        lines.append("Feasible nodes, best first:")
        for name, entry in sorted(feasible.items(), key=lambda item: (-item[1].get("total", 0), item[0])):
            plugins = " ".join(f"{plugin}={score}" for plugin, score in (entry.get("plugins") or {}).items())
            lines.append(f"  {name}  total={entry.get('total', 0)}  {plugins}".rstrip())
    filtered = response.get("filtered") or {}
    if filtered:
        lines.append("Refused nodes:")
        for name, entry in sorted(filtered.items()):
            remedy = f"  remedy: {entry['remedy']}" if entry.get("remedy") else ""
            lines.append(f"  {name}  {entry.get('plugin', '')}: {'; '.join(entry.get('reasons') or ())}{remedy}")
    if response.get("wouldHelp"):
        lines.append("What would help:")
        for each in response["wouldHelp"]:
            more = " (preemption may help)" if each.get("preemptionMayHelp") else ""
            lines.append(
                f"  {each.get('nodes')} nodes: {each.get('plugin')}: {'; '.join(each.get('reasons') or ())}{more}"
            )
    return lines
