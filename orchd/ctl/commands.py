"""The commands of the program."""

from __future__ import annotations

from typing import Final

import click

import orchd.ctl.create_more  # noqa: F401 - adds commands to `create`
from orchd.ctl.apply import apply, diff
from orchd.ctl.certs import certs
from orchd.ctl.change import annotate, edit, label, patch, scale
from orchd.ctl.cluster_info import cluster_info, options
from orchd.ctl.config_commands import config
from orchd.ctl.copying import cp
from orchd.ctl.create import create
from orchd.ctl.delete import delete
from orchd.ctl.describe import describe, events
from orchd.ctl.execute import attach, execute
from orchd.ctl.forwarding import port_forward
from orchd.ctl.generate import autoscale, expose, run
from orchd.ctl.get import get
from orchd.ctl.identity import auth, certificate, token
from orchd.ctl.local import completion, convert
from orchd.ctl.logs import logs
from orchd.ctl.nodes import cordon, drain, taint, uncordon
from orchd.ctl.proxying import proxy
from orchd.ctl.replace import replace
from orchd.ctl.rollout import rollout
from orchd.ctl.scheduling import explain_scheduling, top
from orchd.ctl.served import api_resources, api_versions, explain, version
from orchd.ctl.set_fields import set_
from orchd.ctl.store import store
from orchd.ctl.wait import wait

COMMANDS: Final[tuple[click.Command, ...]] = (
    annotate, api_resources, api_versions, apply, attach, auth, autoscale, certificate, certs, cluster_info, completion, config,
    convert, cordon, cp, create, delete, describe, diff, drain, edit, events, execute, explain, explain_scheduling, expose, get,
    label, logs, options, patch, port_forward, proxy, replace, rollout, run, scale, set_, store, taint, token, top, uncordon, version,
    wait,
)  # fmt: skip
