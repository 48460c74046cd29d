"""Settings of the controllers, one field per flag of the controller manager; defaults as release 1.23.

Durations are seconds. `orchd/assembly/controllers.py` fills them from the flags; tests make their own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Every field is named after its flag, with underscores."""

    concurrent_deployment_syncs: int = 5
    concurrent_replicaset_syncs: int = 5
    concurrent_rc_syncs: int = 5
    concurrent_statefulset_syncs: int = 5
    concurrent_endpoint_syncs: int = 5
    concurrent_service_endpoint_syncs: int = 5
    concurrent_namespace_syncs: int = 10
    concurrent_gc_syncs: int = 20
    concurrent_serviceaccount_token_syncs: int = 5
    concurrent_ttl_after_finished_syncs: int = 5
    terminated_pod_gc_threshold: int = 12_500
    max_endpoints_per_slice: int = 100
    endpoint_updates_batch_period: float = 0.0
    endpointslice_updates_batch_period: float = 0.0
    mirroring_endpointslice_updates_batch_period: float = 0.0
    namespace_sync_period: float = 300.0
    concurrent_resource_quota_syncs: int = 5
    resource_quota_sync_period: float = 300.0
    mirroring_concurrent_service_endpoint_syncs: int = 5
    mirroring_max_endpoints_per_subset: int = 1000
    horizontal_pod_autoscaler_sync_period: float = 15.0
    horizontal_pod_autoscaler_tolerance: float = 0.1
    horizontal_pod_autoscaler_downscale_stabilization: float = 300.0
    horizontal_pod_autoscaler_cpu_initialization_period: float = 300.0
    horizontal_pod_autoscaler_initial_readiness_delay: float = 30.0
