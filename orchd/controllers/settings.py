"""Settings of the controllers, one field per flag of the controller manager, with the defaults of release 1.23.

Durations are seconds. `orchd/assembly/controllers.py` fills them from the flags; tests create their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Every field is named after its flag, with underscores."""

    concurrent_deployment_syncs: int = 5
    concurrent_replicaset_syncs: int = 5
    concurrent_rc_syncs: int = 5
    concurrent_statefulset_syncs: int = 5
    concurrent_cron_job_syncs: int = 5
    concurrent_daemonset_syncs: int = 2
    concurrent_job_syncs: int = 5
    concurrent_validating_admission_policy_status_syncs: int = 5
    concurrent_endpoint_syncs: int = 5
    concurrent_service_endpoint_syncs: int = 5
    concurrent_namespace_syncs: int = 10
    concurrent_gc_syncs: int = 20
    concurrent_serviceaccount_token_syncs: int = 5
    concurrent_ttl_after_finished_syncs: int = 5
    legacy_service_account_token_clean_up_period: float = 8760 * 3600.0
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
    concurrent_ephemeralvolume_syncs: int = 5
    enable_dynamic_provisioning: bool = True
    pvclaimbinder_sync_period: float = 15.0
    pv_recycler_minimum_timeout_hostpath: int = 60
    pv_recycler_timeout_increment_hostpath: int = 30
    pv_recycler_minimum_timeout_nfs: int = 300
    pv_recycler_increment_timeout_nfs: int = 30
    attach_detach_reconcile_sync_period: float = 60.0
    disable_attach_detach_reconcile_sync: bool = False
    #: Content of the file that the flag names, a pod without a volume source; None for the built-in pod.
    pv_recycler_pod_template_filepath_hostpath: Mapping[str, Any] | None = None
    pv_recycler_pod_template_filepath_nfs: Mapping[str, Any] | None = None
    controller_start_interval: float = 0.0
    min_resync_period: float = 12 * 3600.0
    enable_taint_manager: bool = True
    pod_eviction_timeout: float = 300.0
    node_monitor_period: float = 5.0
    node_monitor_grace_period: float = 40.0
    node_startup_grace_period: float = 60.0
    node_eviction_rate: float = 0.1
    secondary_node_eviction_rate: float = 0.01
    unhealthy_zone_threshold: float = 0.55
    large_cluster_size_threshold: int = 50
    allocate_node_cidrs: bool = False
    cidr_allocator_type: str = "RangeAllocator"
    cluster_cidr: tuple[IPv4Network | IPv6Network, ...] = ()
    service_cluster_ip_range: tuple[IPv4Network | IPv6Network, ...] = ()
    node_cidr_mask_size: int = 0
    node_cidr_mask_size_ipv4: int = 0
    node_cidr_mask_size_ipv6: int = 0
    cluster_signing_duration: float = 8760 * 3600.0
