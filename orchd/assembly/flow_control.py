"""The concurrency-limiting stage of a server, from its settings."""

from __future__ import annotations

from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient, IInformers
from orchd.server.pipeline.fairness.estimates import WorkEstimates
from orchd.server.pipeline.fairness.stage import Capacity, Fairness
from orchd.server.pipeline.interfaces import Stage
from orchd.server.pipeline.stages.limits import InFlight, InFlightCount
from orchd.server.reconcilers.flow_control import FlowControlReconciler, mandatory


def flow_control(
    runtime: Runtime, in_flight: InFlightCount, client: IClient, informers: IInformers, estimates: WorkEstimates
) -> tuple[Stage, FlowControlReconciler | None]:
    """Priority and fairness with its reconciler, or max-in-flight limits and None."""
    settings = runtime.settings
    serving = settings.serving
    gate = runtime.objects.feature("APIPriorityAndFairness")
    if not (serving.enable_priority_and_fairness and gate):
        return InFlight(
            in_flight, reading=serving.max_requests_inflight, changing=serving.max_mutating_requests_inflight
        ), None
    fairness = Fairness(
        runtime.dialect,
        settings.release,
        runtime.reactor,
        in_flight,
        capacity=Capacity(
            seats=serving.max_requests_inflight + serving.max_mutating_requests_inflight,
            patience=serving.request_timeout / 4,
        ),
        estimates=estimates,
        mandatory=mandatory(runtime.dialect, runtime.settings.release),
    )
    reconciler = FlowControlReconciler(
        runtime.dialect, settings.release, fairness, client, informers, clock=runtime.reactor, wall=runtime.wall
    )
    return fairness, reconciler
