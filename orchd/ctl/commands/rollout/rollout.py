"""``rollout``: rollouts of deployments, stateful sets and daemon sets."""

from __future__ import annotations

import click

from orchd.ctl.command import Group


@click.group(cls=Group)
def rollout() -> None:
    """Show and control rollouts of deployments, stateful sets and daemon sets."""
