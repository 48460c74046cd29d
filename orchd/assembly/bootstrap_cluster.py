"""Brings a cluster to where a fresh one is, before anybody is served."""

from __future__ import annotations

from orchd.assembly.checks import Progress
from orchd.client.interfaces import IClient
from orchd.config.settings import Settings
from orchd.kinds.catalog import Catalog
from orchd.kinds.objects.scalars import timestamp
from orchd.server.authz import bootstrap_policy as rbac
from orchd.server.bootstrap import ensure_objects, objects


async def bootstrap(
    settings: Settings,
    client: IClient,
    progress: Progress,
    *,
    base: Catalog,
    service_ip: str,
    at: objects.Server | None,
    port: int,
    roles: bool,
    now: float,
) -> None:
    """Make what is missing, and restore what is kept; the steps are what the health checks report.

    `base` has the built-in resources. The API's own service gets `service_ip`, and leads to `at` unless that is None.
    `roles` says whether RBAC decides. Raises ApiError."""
    dialect, moment = settings.dialect, timestamp(now)
    await ensure_objects.ensure(client, objects.namespaces(dialect), now=moment)
    if roles:
        await rbac.ensure(client, dialect)
    progress.done("roles")
    address = objects.Address(port=port, service_ip=service_ip, service_node_port=settings.api.service_node_port)
    endpoints = () if at is None else objects.own_endpoints(dialect, [at])
    for step, wanted in (
        ("own service", (*objects.own_service(dialect, address), *endpoints)),
        ("priority classes", objects.priority_classes(dialect)),
        ("flow control", objects.flow_control(dialect)),
        ("api services", objects.api_services(dialect, base)),
    ):
        await ensure_objects.ensure(client, wanted, now=moment)
        progress.done(step)
