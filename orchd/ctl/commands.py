"""The commands of the program."""

from __future__ import annotations

from typing import Final

import click

from orchd.ctl.apply import apply, create, diff
from orchd.ctl.change import annotate, edit, label, patch, scale
from orchd.ctl.delete import delete
from orchd.ctl.get import get
from orchd.ctl.logs import logs
from orchd.ctl.rollout import rollout
from orchd.ctl.wait import wait

COMMANDS: Final[tuple[click.Command, ...]] = (
    annotate,
    apply,
    create,
    delete,
    diff,
    edit,
    get,
    label,
    logs,
    patch,
    rollout,
    scale,
    wait,
)
