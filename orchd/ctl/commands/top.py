"""``top``: resource usage of nodes and pods, from the metrics API."""

from __future__ import annotations

from typing import Any

import click

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command, Group
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import everywhere_option, stacked
from orchd.ctl.printing import output
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity

_MEBI = 1024 * 1024


class _Top(Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(
            ctx, {"pod": "pods", "po": "pods", "node": "nodes", "no": "nodes"}.get(cmd_name, cmd_name)
        )


@click.group(cls=_Top)
def top() -> None:
    """Show the current resource usage of nodes or pods, from the metrics API."""


_options = stacked(
    click.argument("name", required=False),
    click.option("-l", "--selector", default="", help="Label selector."),
    click.option(
        "--sort-by", default="", metavar="cpu|memory", help="Sort by usage, the highest first; default: by name."
    ),
    click.option("--no-headers", is_flag=True, help="Leave out the headings of columns."),
    click.option(
        "--use-protocol-buffers/--no-protocol-buffers",
        hidden=True,
        expose_value=False,
        help="Without effect: JSON is read.",
    ),
)


async def _metrics(api: Api, plural: str, name: str, namespace: str, query: dict[str, str]) -> list[Object]:
    group = (await api.dialect())("metrics.{abbr}.io")
    versions = (await api.discovery.groups()).get(group)
    if versions is None:
        raise CommandError(f"the server has no metrics API ({group}): install a metrics server that registers it")
    resource = await api.discovery.find(f"{plural}.{group}")
    path = paths.item(resource.ref, namespace, name) if name else paths.collection(resource.ref, namespace)
    response = await api.call(
        Call(method="GET", path=path, query={} if name else {key: value for key, value in query.items() if value})
    )
    return [response] if name else list(response.get("items") or ())


def amount(text: Any) -> float:
    """A quantity in its unit: cores, bytes. Raises CommandError."""
    try:
        return Quantity.parse(str(text or "0")).nano / 1e9
    except ValueError:
        raise CommandError(
            f"the metrics API responded with {text!r}, which is no quantity: check the metrics server"
        ) from None


def usage_of(usage: Object | None) -> tuple[float, float]:
    """Cores and bytes."""
    return amount((usage or {}).get("cpu")), amount((usage or {}).get("memory"))


def usage_cells(cpu: float, memory: float) -> list[str]:
    return [f"{round(cpu * 1000)}m", f"{round(memory / _MEBI)}Mi"]


def _check_sort(sort_by: str) -> None:
    if sort_by not in ("", "cpu", "memory"):
        raise CommandError(f"--sort-by={sort_by}: usage is sorted by cpu or memory")


def _sorted(rows: list[tuple[float, float, list[str]]], sort_by: str) -> list[list[str]]:
    """The cells of rows with their cores and bytes."""
    order = {
        "": lambda row: (0.0, row[2]),
        "cpu": lambda row: (-row[0], row[2]),
        "memory": lambda row: (-row[1], row[2]),
    }
    return [cells for _, _, cells in sorted(rows, key=order[sort_by])]


@top.command("nodes", cls=Command)
@_options
@click.option("--show-capacity", is_flag=True, help="Percentages of the capacity instead of what pods may have.")
@pass_session
def top_nodes(
    session: Session, name: str | None, selector: str, sort_by: str, no_headers: bool, show_capacity: bool
) -> None:
    """Show CPU and memory usage of nodes."""
    _check_sort(sort_by)

    async def work(api: Api) -> list[list[str]]:
        metrics = await _metrics(api, "nodes", name or "", "", {"labelSelector": selector})
        resource = await api.discovery.find("nodes")
        nodes = [await api.get(resource, name)] if name else (await api.list(resource)).get("items") or []
        field = "capacity" if show_capacity else "allocatable"
        totals = {each["metadata"]["name"]: usage_of(fields.status(each).get(field)) for each in nodes}
        rows = []
        for each in metrics:
            node = str(each["metadata"]["name"])
            rows.append((*usage_of(each.get("usage")), node))
        return _sorted(
            [(cpu, memory, _node_cells(node, cpu, memory, totals.get(node, (0.0, 0.0)))) for cpu, memory, node in rows],
            sort_by,
        )

    headings = ["NAME", "CPU(cores)", "CPU%", "MEMORY(bytes)", "MEMORY%"]
    output.Columns(headings, show_headings=not no_headers, as_given=True).write(session.run(work))


def _node_cells(name: str, cpu: float, memory: float, total: tuple[float, float]) -> list[str]:
    shares = [
        f"{int(100 * part / whole)}%" if whole else "<unknown>"
        for part, whole in zip((cpu, memory), total, strict=True)
    ]
    cells = usage_cells(cpu, memory)
    return [name, cells[0], shares[0], cells[1], shares[1]]


@top.command("pods", cls=Command)
@_options
@click.option("--field-selector", default="", metavar="SELECTOR", help="Field selector: metadata.name=a.")
@click.option("--containers", is_flag=True, help="One line per container.")
@click.option("--sum", "total", is_flag=True, help="Print the sum below.")
@everywhere_option
@pass_session
def top_pods(
    session: Session,
    name: str | None,
    selector: str,
    sort_by: str,
    no_headers: bool,
    field_selector: str,
    containers: bool,
    total: bool,
    everywhere: bool,
) -> None:
    """Show CPU and memory usage of pods, summed over their containers."""
    _check_sort(sort_by)

    async def work(api: Api) -> list[Object]:
        query = {"labelSelector": selector, "fieldSelector": field_selector}
        return await _metrics(api, "pods", name or "", "" if everywhere else api.namespace, query)

    metrics = session.run(work)
    if not metrics:
        output.note("No resources found")
        return
    rows, sums = [], [0.0, 0.0]
    for each in metrics:
        first = [each["metadata"].get("namespace", "")] if everywhere else []
        first.append(each["metadata"]["name"])
        parts = [(str(inner.get("name", "")), *usage_of(inner.get("usage"))) for inner in each.get("containers") or ()]
        cpu, memory = sum(part[1] for part in parts), sum(part[2] for part in parts)
        sums = [sums[0] + cpu, sums[1] + memory]
        if containers:
            rows += [(part[1], part[2], [*first, part[0], *usage_cells(part[1], part[2])]) for part in parts]
        else:
            rows.append((cpu, memory, [*first, *usage_cells(cpu, memory)]))
    headings = [
        *(["NAMESPACE"] if everywhere else []),
        *(["POD", "NAME"] if containers else ["NAME"]),
        "CPU(cores)",
        "MEMORY(bytes)",
    ]
    lines = _sorted(rows, sort_by)
    if total:
        blank = [""] * (len(headings) - 3)
        lines += [[*blank, "", "________", "________"], [*blank, "", *usage_cells(*sums)]]
    output.Columns(headings, show_headings=not no_headers, as_given=True).write(lines)
