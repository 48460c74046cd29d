"""``cluster-info dump``: the state of a cluster for debugging."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import everywhere_option
from orchd.ctl.objects.pods import containers_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import Form, form_options
from orchd.ctl.printing.printers import printer, text_of
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object, without_managed_fields

#: Resources that are dumped of each namespace.
_RESOURCES: Final = (
    "events", "replicationcontrollers", "services", "daemonsets.apps", "deployments.apps", "replicasets.apps", "pods",
)  # fmt: skip
#: Maximum bytes of a container's log.
_MOST_LOG: Final = 16 * 1024 * 1024


@click.command("dump", cls=Command)
@click.option(
    "--namespaces", multiple=True, metavar="NAME,...", help="Namespaces; default: that of the context and the system's."
)
@click.option(
    "--output-directory",
    "folder",
    default="",
    metavar="DIR",
    help="Write files into this folder instead; - is standard output.",
)
@everywhere_option
@form_options("json")
@pass_session
def dump(session: Session, namespaces: tuple[str, ...], folder: str, everywhere: bool, form: str) -> None:
    """Print nodes, events, services, workloads, pods and the logs of their containers."""
    if form not in ("json", "yaml"):
        raise CommandError(f"-o {form}: a dump is json or yaml")
    chosen = [name for each in namespaces for name in each.split(",") if name]

    async def work(api: Api) -> None:
        writer = DumpWriter(folder if folder != "-" else "", Form(form))
        writer.write("nodes", await _list(api, "nodes"))
        names = chosen
        if everywhere:
            names = [each["metadata"]["name"] for each in (await _list(api, "namespaces")).get("items") or ()]
        for name in names or dict.fromkeys([(await api.dialect()).system_namespace, api.namespace]):
            await _dump_namespace(api, writer, name)
        if folder and folder != "-":
            output.line(f"Cluster info dumped to {folder}")

    session.run(work)


class DumpWriter:
    """Writes to standard output, or to files of a folder."""

    def __init__(self, folder: str, form: Form) -> None:
        self._folder = Path(folder) if folder else None
        self._form = form

    def write(self, path: str, value: Object) -> None:
        if self._folder is None:
            printer(self._form)([value], True)
        else:
            self._put(f"{path}.{self._form}", text_of(value, self._form))

    def write_log(self, namespace: str, pod: str, container: str, text: str) -> None:
        if self._folder is None:
            output.line(f"==== START logs for container {container} of pod {namespace}/{pod} ====")
            output.text(text.rstrip("\n") + "\n")
            output.line(f"==== END logs for container {container} of pod {namespace}/{pod} ====")
        else:
            self._put(f"{namespace}/{pod}/{container}.txt", text)

    def _put(self, path: str, text: str) -> None:
        assert self._folder is not None, "only with a folder"
        target = self._folder / path
        if not target.resolve().is_relative_to(self._folder.resolve()):
            raise CommandError(f"{path}: the server sent a name that is not a file name")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{target}: {error.strerror}: check --output-directory") from None


async def _list(api: Api, plural: str, namespace: str = "") -> Object:
    listed = await api.list(await api.discovery.find(plural), namespace=namespace)
    return {**listed, "items": [without_managed_fields(each) for each in listed.get("items") or ()]}


async def _dump_namespace(api: Api, writer: DumpWriter, namespace: str) -> None:
    pods: Object = {}
    for plural in _RESOURCES:
        pods = await _list(api, plural, namespace)
        writer.write(f"{namespace}/{plural.partition('.')[0]}", pods)
    resource = await api.discovery.find("pods")
    for pod in pods.get("items") or ():
        name = pod["metadata"]["name"]
        for container in containers_of(pod, "", True):
            path = paths.item(resource.ref, namespace, name, "log")
            query = {"container": container, "limitBytes": str(_MOST_LOG)}
            try:
                response = await api.client.exchange(Call(method="GET", path=path, query=query, accept="*/*"))
                text = response.body.decode("utf-8", "replace")
            except ApiError as error:
                text = f"the log cannot be read: {error.message}"
            writer.write_log(namespace, name, container, text)
