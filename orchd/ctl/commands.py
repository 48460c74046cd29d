"""The commands of the program."""

from __future__ import annotations

from typing import Final

import click

import orchd.ctl.applied
import orchd.ctl.config_properties
import orchd.ctl.create_data
import orchd.ctl.create_more
import orchd.ctl.create_rbac
import orchd.ctl.dump
import orchd.ctl.reconcile  # noqa: F401 - these add commands to groups of others
from orchd.ctl.apply import apply, diff
from orchd.ctl.certs import certs
from orchd.ctl.change import patch, scale
from orchd.ctl.cluster_info import cluster_info, options
from orchd.ctl.config_commands import config
from orchd.ctl.copying import cp
from orchd.ctl.create import create
from orchd.ctl.delete import delete
from orchd.ctl.describe import describe, events
from orchd.ctl.edit import edit
from orchd.ctl.execute import attach, execute
from orchd.ctl.forwarding import port_forward
from orchd.ctl.generate import autoscale, expose, run
from orchd.ctl.get import get
from orchd.ctl.identity import auth, certificate, token
from orchd.ctl.local import completion, convert
from orchd.ctl.logs import logs
from orchd.ctl.marks import annotate, label
from orchd.ctl.nodes import cordon, drain, taint, uncordon
from orchd.ctl.proxying import proxy
from orchd.ctl.replace import replace
from orchd.ctl.rollout import rollout
from orchd.ctl.scheduling import explain_scheduling
from orchd.ctl.served import api_resources, api_versions, explain, version
from orchd.ctl.set_fields import set_
from orchd.ctl.store import store
from orchd.ctl.top import top
from orchd.ctl.wait import wait

COMMANDS: Final[tuple[click.Command, ...]] = (
    annotate, api_resources, api_versions, apply, attach, auth, autoscale, certificate, certs, cluster_info, completion, config,
    convert, cordon, cp, create, delete, describe, diff, drain, edit, events, execute, explain, explain_scheduling, expose, get,
    label, logs, options, patch, port_forward, proxy, replace, rollout, run, scale, set_, store, taint, token, top, uncordon, version,
    wait,
)  # fmt: skip
