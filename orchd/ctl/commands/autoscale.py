"""``autoscale``: creates an autoscaler."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import files_option, save_config_option, write_options
from orchd.ctl.objects.creation import create_one
from orchd.ctl.objects.selection import Selection, selected_one
from orchd.ctl.printing.forms import form_option
from orchd.kinds.jsonvalues import Object


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
    session: Session,
    /,
    words: tuple[str, ...],
    least: int | None,
    most: int,
    cpu_percent: int | None,
    name: str,
    dry_run: str,
    form: str,
    **flags: Any,
) -> None:
    """Create an autoscaler for a deployment, replica set, stateful set or custom kind with a scale."""
    selection = Selection.of_files(flags)
    if least is not None and least > most:
        raise CommandError(f"--min={least} is above --max={most}")

    async def work(api: Api) -> None:
        target = await selected_one(api, session, words, selection)
        if "scale" not in target.resource.subresources:
            raise CommandError(f"{target.resource.qualified} cannot be scaled: choose a type with a scale subresource")
        obj = await api.get(target.resource, target.name, target.namespace)
        reference = {"apiVersion": target.resource.api_version, "kind": target.resource.kind, "name": target.name}
        spec: Object = {"scaleTargetRef": reference, "maxReplicas": most}
        if least is not None:
            spec["minReplicas"] = least
        if cpu_percent is not None:
            spec["targetCPUUtilizationPercentage"] = cpu_percent
        metadata = {"name": name or target.name, "namespace": obj["metadata"].get("namespace", api.namespace)}
        scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}
        await create_one(api, session, scaler, form=form, dry_run=dry_run, word="autoscaled")

    session.run(work)
