"""The commands of the program."""

from __future__ import annotations

from typing import Final

import click

from orchd.ctl.apply import apply, diff
from orchd.ctl.certs import certs
from orchd.ctl.change import annotate, edit, label, patch, scale
from orchd.ctl.copying import cp
from orchd.ctl.create import create
from orchd.ctl.delete import delete
from orchd.ctl.describe import describe, events
from orchd.ctl.execute import attach, execute
from orchd.ctl.forwarding import port_forward
from orchd.ctl.get import get
from orchd.ctl.identity import auth, certificate, token
from orchd.ctl.local import completion, config, convert
from orchd.ctl.logs import logs
from orchd.ctl.nodes import cordon, drain, taint, uncordon
from orchd.ctl.rollout import rollout
from orchd.ctl.scheduling import explain_scheduling, top
from orchd.ctl.served import api_resources, api_versions, explain, version
from orchd.ctl.store import store
from orchd.ctl.wait import wait

COMMANDS: Final[tuple[click.Command, ...]] = (
    annotate, api_resources, api_versions, apply, attach, auth, certificate, certs, completion, config, convert, cordon, cp,
    create, delete, describe, diff, drain, edit, events, execute, explain, explain_scheduling, get, label, logs, patch,
    port_forward, rollout, scale, store, taint, token, top, uncordon, version, wait,
)  # fmt: skip
