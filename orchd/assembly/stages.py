"""The optional stages of one server, in running order (docs/decisions.md 6)."""

from __future__ import annotations

from collections.abc import Callable

from orchd.config.settings import Settings
from orchd.server.pipeline.audit.stage import AuditStage, AuditTrail, UnauthenticatedAuditStage
from orchd.server.pipeline.interfaces import Stage
from orchd.server.pipeline.stages.access_log import AccessLog
from orchd.server.pipeline.stages.cross_site import CrossSite
from orchd.server.pipeline.stages.headers import CrossOrigin, DrainingStage, StrictTransport


def outermost(settings: Settings, clock: Callable[[], float], verbosity_of: Callable[[str], int]) -> list[Stage]:
    """Stages around the whole pipeline, failures included."""
    stages: list[Stage] = [AccessLog(clock, verbosity_of)]
    if settings.serving.strict_transport_security_directives:
        stages.append(StrictTransport(settings.serving.strict_transport_security_directives))
    return stages


def before_authentication(settings: Settings, leaving: Callable[[], bool], trail: AuditTrail | None) -> list[Stage]:
    """Stages before authentication: open endpoints, and handling of unauthenticated requests."""
    stages: list[Stage] = []
    if settings.serving.shutdown_send_retry_after:
        stages.append(DrainingStage(settings.dialect, leaving))
    if settings.serving.cors_allowed_origins:
        stages.append(CrossOrigin(settings.serving.cors_allowed_origins))
    stages.append(CrossSite(settings.serving.cors_allowed_origins))
    if trail is not None:
        stages.append(UnauthenticatedAuditStage(trail))
    return stages


def after_authentication(trail: AuditTrail | None) -> list[Stage]:
    """Stages between authentication and authorization."""
    return [] if trail is None else [AuditStage(trail)]
