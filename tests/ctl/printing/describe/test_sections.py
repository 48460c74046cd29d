"""Descriptions of objects with surroundings that no server has in a test: deletions, errors, later kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from orchd.ctl.printing.describe import network, policies, storage, templates, volumes, workloads
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet
from orchd.dialect import DIALECTS
from orchd.errors import ApiError, forbidden
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.testing.doubles.server import run

NOW = datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC)
#: Objects by their resource, or the error of a request for them.
Around = Mapping[str, list[Object] | ApiError]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedDouble(Related):
    """Objects around one that is described."""

    around: Around

    async def list(self, plural: str, namespace: str = "", query: Mapping[str, str] | None = None) -> list[Object]:
        objects = self.around.get(plural, [])
        if isinstance(objects, ApiError):
            raise objects
        return objects


def described(section: Any, obj: Object, around: Around | None = None, **metadata: Any) -> list[str]:
    """The lines of a description behind those of name, labels and annotations."""
    sheet = Sheet(frozenset({"hidden"}))
    dialect = next(iter(DIALECTS.values()))
    related = RelatedDouble(api=cast(Any, None), dialect=dialect, age=Ages(NOW), around=around or {})
    run(section(sheet, {"metadata": {"name": "o", "namespace": "n", "uid": "u", **metadata}, **obj}, related))
    return sheet.text()


def owned(name: str, image: str, uid: str = "u", **more: Any) -> Object:
    """A replica set, by default of the object."""
    owner = {"kind": "Deployment", "name": "o", "uid": uid, "controller": True}
    labels = {"app": "a", "pod-template-hash": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    status = {"replicas": 2}
    return {
        "metadata": {"name": name, "ownerReferences": [owner], **more},
        "spec": {"replicas": 3, "template": template},
        "status": status,
    }


TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:2"}]}}
DEPLOYMENT = {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}}
SETS = [
    owned("new", "i:2", creationTimestamp="2026-01-01T00:00:03Z"),
    owned("old", "i:1", creationTimestamp="2026-01-01T00:00:02Z"),
    owned("older", "i:0", creationTimestamp="2026-01-01T00:00:01Z"),
    owned("foreign", "i:2", uid="x"),
]
PODS = [
    {"metadata": {"name": "p", "ownerReferences": [{"uid": uid, "controller": controls}]}, "status": {"phase": phase}}
    for phase, uid, controls in (
        ("Running", "u", True), ("Running", "u", True), ("Pending", "u", True), ("Failed", "u", True),
        ("Failed", "u", False), ("Failed", "x", True), ("Succeeded", "u", True),
    )
]  # fmt: skip
FORBIDDEN = forbidden("", "objects", "", "no")
LEAVING = {"deletionTimestamp": "2025-12-31T23:59:55Z", "deletionGracePeriodSeconds": 30}
OWNED = {"ownerReferences": [{"kind": "Other", "name": "e"}, {"kind": "Owner", "name": "d", "controller": True}]}
SLICES = "endpointslices.discovery.{abbr}.io"


def slices(*objects: Object) -> Around:
    return {SLICES: list(objects)}


#: Section, object, surroundings, more metadata, and lines that the description has in a row.
CASES: dict[str, tuple[Any, Object, Around, Object, str]] = {
    'sets': (
        workloads.deployment, DEPLOYMENT, {"replicasets.apps": SETS}, {}, """\
OldReplicaSets:    older (2/3 replicas created), old (2/3 replicas created)
NewReplicaSet:     new (2/3 replicas created)
"""),
    'old sets': (
        workloads.deployment, DEPLOYMENT, {"replicasets.apps": SETS[1:]}, {}, """\
OldReplicaSets:    older (2/3 replicas created), old (2/3 replicas created)
NewReplicaSet:     <none>
"""),
    'no sets': (
        workloads.deployment, DEPLOYMENT, {"replicasets.apps": FORBIDDEN}, {}, """\
  Tolerations:     <none>
"""),
    'rolling': (
        workloads.deployment, {"spec": {"minReadySeconds": 5, "replicas": 0, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}, {}, {}, """\
Replicas:               0 desired | 0 updated | 0 total | 0 available | 0 unavailable
StrategyType:           RollingUpdate
MinReadySeconds:        5
RollingUpdateStrategy:  1 max unavailable, 25% max surge
Pod Template:
  <unset>
"""),
    'leaving pod': (
        workloads.pod, {"spec": {}, "status": {"phase": "Running"}}, {}, LEAVING, """\
Status:                    Terminating (lasts 5s)
Termination Grace Period:  30s
IP:
"""),
    'leaving pod without a time': (
        workloads.pod, {"spec": {}, "status": {"phase": "Pending"}}, {}, {"deletionTimestamp": "2025-12-31T23:59:55Z"}, """\
Status:                    Terminating (lasts 5s)
Termination Grace Period:  0s
IP:
"""),
    'failed pod that leaves': (
        workloads.pod, {"spec": {}, "status": {"phase": "Failed"}}, {}, LEAVING, """\
Status:       Failed
IP:
"""),
    'pod': (
        workloads.pod, {"spec": {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}, "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}}}, "status": {"nominatedNodeName": "x"}}, {}, OWNED, """\
Status:
SeccompProfile:     Localhost
LocalhostProfile:   p
IP:
IPs:                <none>
Controlled By:      Owner/d
NominatedNodeName:  x
Resources:
  Limits:
    cpu:  1
  Requests:
    cpu:  2
Containers: <none>
Volumes:         <none>
QoS Class:       BestEffort
Node-Selectors:  <none>
Tolerations:     <none>
"""),
    'replica set, labels': (
        workloads.replica_set, {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, {"pods": PODS}, OWNED, """\
Selector:       a=b
Labels:         <none>
Annotations:    <none>
Controlled By:  Owner/d
Replicas:       0 current / 1 desired
Pods Status:    2 Running / 1 Waiting / 1 Succeeded / 1 Failed
Pod Template:
  <unset>
"""),
    'replica set, plain selector': (
        workloads.replica_set, {"spec": {"selector": {"a": "b"}}}, {"pods": PODS}, OWNED, """\
Selector:       a=b
Labels:         <none>
Annotations:    <none>
Controlled By:  Owner/d
Replicas:       0 current / 1 desired
Pods Status:    2 Running / 1 Waiting / 1 Succeeded / 1 Failed
Pod Template:
  <unset>
"""),
    'replica set, expressions': (
        workloads.replica_set, {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}}, {"pods": PODS}, OWNED, """\
Selector:       a
Labels:         <none>
Annotations:    <none>
Controlled By:  Owner/d
Replicas:       0 current / 1 desired
Pods Status:    2 Running / 1 Waiting / 1 Succeeded / 1 Failed
Pod Template:
  <unset>
"""),
    'pods that are forbidden': (
        workloads.replica_set, {"spec": {"selector": {}}, "status": {"replicas": 2}}, {"pods": ApiError(403, "Forbidden", "no")}, {}, """\
Replicas:     2 current / 1 desired
Pods Status:  error in fetching pods: no
Pod Template:
  <unset>
"""),
    'partition': (
        workloads.stateful_set, {"spec": {"replicas": 0, "updateStrategy": {"rollingUpdate": {"partition": 0, "maxUnavailable": 2}}}}, {}, {}, """\
Replicas:           0 desired | 0 total
Update Strategy:
  Partition:        0
  MaxUnavailable:   2
Pods Status:        0 Running / 0 Waiting / 0 Succeeded / 0 Failed
Pod Template:
  <unset>
Volume Claims:  <none>
"""),
    'on delete': (
        workloads.stateful_set, {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 2}}}}, {}, {}, """\
Replicas:           1 desired | 0 total
Update Strategy:    OnDelete
Pods Status:        0 Running / 0 Waiting / 0 Succeeded / 0 Failed
Pod Template:
  <unset>
Volume Claims:  <none>
"""),
    'indexed job': (
        workloads.job, {"spec": {"completions": 0, "ttlSecondsAfterFinished": 0, "completionMode": "Indexed"}, "status": {"ready": 0, "active": 1, "completedIndexes": "1," * 40, "startTime": "2026-01-01T00:00:00Z"}}, {}, OWNED, """\
Controlled By:               Owner/d
Completions:                 0
Completion Mode:             Indexed
TTL Seconds After Finished:  0
Start Time:                  Thu, 01 Jan 2026 00:00:00 +0000
Pods Statuses:               1 Active (0 Ready) / 0 Succeeded / 0 Failed
Completed Indexes:           1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...
Pod Template:
  <unset>
"""),
    'ended job': (
        workloads.job, {"spec": {}, "status": {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z", "completedIndexes": "1"}}, {}, {}, """\
Completions:    <unset>
Start Time:     Thu, 01 Jan 2026 00:00:00 +0000
Completed At:   Thu, 01 Jan 2026 00:01:00 +0000
Duration:       60s
Pods Statuses:  0 Active / 0 Succeeded / 0 Failed
Pod Template:
  <unset>
"""),
    'cron job': (
        workloads.cron_job, {"spec": {"startingDeadlineSeconds": 0, "jobTemplate": {"spec": {"selector": {"matchLabels": {"a": "b"}}, "parallelism": 0, "completions": 0, "activeDeadlineSeconds": 0}}}}, {}, {}, """\
Starting Deadline Seconds:     0s
Selector:                      a=b
Parallelism:                   0
Completions:                   0
Active Deadline Seconds:       0s
Pod Template:
  <unset>
Last Schedule Time:  <unset>
Active Jobs:         <none>
"""),
    'service': (
        network.service, {"spec": {"ports": [{"port": 1}], "ipFamilies": ["IPv4", "IPv6"], "clusterIPs": ["a", "b"]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "ipMode": "VIP"}, {"ip": "1.1.1.2"}]}}}, slices({"endpoints": [{"addresses": ["10.0.0.1", "10.0.0.9"]}, {"addresses": ["fd::1"]}], "ports": [{"port": 8}]}, {"endpoints": [{"addresses": ["10.0.0.2"]}], "ports": [{"name": "x", "port": 8}]}), {}, """\
IP Families:           IPv4,IPv6
IP:
IPs:                   a,b
LoadBalancer Ingress:  1.1.1.1 (VIP), 1.1.1.2
Port:                  <unset>  1/TCP
TargetPort:            0/TCP
Endpoints:             10.0.0.1:8,[fd::1]:8
Session Affinity:
"""),
    'three endpoints': (
        network.service, {"spec": {"ports": [{"name": "x", "port": 1, "nodePort": 7, "protocol": "UDP", "targetPort": "t"}]}}, slices({"endpoints": [{"addresses": [each]} for each in "abc"]}), {}, """\
Port:              x  1/UDP
TargetPort:        t/UDP
NodePort:          x  7/UDP
Endpoints:         a,b,c
"""),
    'four endpoints': (
        network.service, {"spec": {"ports": [{"name": "x", "port": 1, "nodePort": 7, "protocol": "UDP", "targetPort": "t"}]}}, slices({"endpoints": [{"addresses": [each]} for each in "abcd"]}), {}, """\
Port:              x  1/UDP
TargetPort:        t/UDP
NodePort:          x  7/UDP
Endpoints:         a,b,c + 1 more...
"""),
    'no ready endpoints': (
        network.service, {"spec": {"ports": [{"name": "x", "port": 1, "nodePort": 7, "protocol": "UDP", "targetPort": "t"}]}}, slices({"endpoints": [{"addresses": ["a"], "conditions": {"ready": False}}]}), {}, """\
Port:              x  1/UDP
TargetPort:        t/UDP
NodePort:          x  7/UDP
Endpoints:
"""),
    'no endpoints': (
        network.service, {"spec": {"ports": [{"name": "x", "port": 1, "nodePort": 7, "protocol": "UDP", "targetPort": "t"}]}}, {}, {}, """\
Port:              x  1/UDP
TargetPort:        t/UDP
NodePort:          x  7/UDP
Endpoints:         <none>
"""),
    'forbidden endpoints': (
        network.service, {"spec": {"ports": [{"name": "x", "port": 1, "nodePort": 7, "protocol": "UDP", "targetPort": "t"}]}}, {SLICES: FORBIDDEN}, {}, """\
Port:              x  1/UDP
TargetPort:        t/UDP
NodePort:          x  7/UDP
Endpoints:         <none>
"""),
    'no ports': (
        network.service, {"spec": {}}, slices({"endpoints": [{"addresses": ["a"]}]}), {}, """\
IP Families:       <none>
IP:
IPs:               <none>
Session Affinity:
"""),
    'address': (
        network.ip_address, {"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}}, {}, {}, """\
Parent Reference:
  Group:
  Resource:   services
  Namespace:  n
  Name:       s
"""),
    'address without a parent': (
        network.ip_address, {"spec": {}}, {}, {}, """\
Annotations:  <none>
"""),
    'range': (
        network.service_cidr, {"spec": {"cidrs": ["a", "b"]}, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, {}, {}, """\
CIDRs:        a, b
Status:
Conditions:
  Type   Status  LastTransitionTime               Reason  Message
  ----   ------  ------------------               ------  -------
  Ready  True    Thu, 01 Jan 2026 00:00:00 +0000
"""),
    'range without conditions': (
        network.service_cidr, {"spec": {}}, {}, {}, """\
Annotations:  <none>
CIDRs:
"""),
    'annotations': (
        network.service_cidr, {"spec": {}}, {}, {"annotations": {"hidden": "x", "a": "x" * 137, "b": "x" * 138, "c": "l\nm", "d": "l\n"}, "labels": {"b": "1", "a": "2"}}, """\
Labels:       a=2
              b=1
Annotations:  a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              b:
                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              c:
                l
                m
              d: l
"""),
    'attributes': (
        storage.volume_attributes_class, {"driverName": "d", "parameters": {"a": "b"}}, {}, {}, """\
Name:         o
Annotations:  <none>
DriverName:   d
Parameters:   a=b
"""),
    'autoscaler': (
        policies.autoscaler, {"spec": {"scaleTargetRef": {"kind": "D", "name": "w"}, "targetCPUUtilizationPercentage": 5, "maxReplicas": 1}, "status": {"currentCPUUtilizationPercentage": 4}}, {}, {}, """\
Reference:                D/w
Target CPU utilization:   5%
Current CPU utilization:  4%
Min replicas:             <unset>
Max replicas:             1
D pods:                   0 current / 0 desired
"""),
    'unmeasured autoscaler': (
        policies.autoscaler, {"spec": {"scaleTargetRef": {"kind": "D", "name": "w"}, "targetCPUUtilizationPercentage": 5}}, {}, {}, """\
Target CPU utilization:   5%
Current CPU utilization:  <unknown>%
"""),
    'metrics': (
        policies.autoscaler, {"spec": {"scaleTargetRef": {"kind": "D", "name": "w"}, "metrics": [{"type": "Odd"}, {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": {"averageUtilization": 5}}}, {"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "1"}}}, {"type": "Resource", "resource": {"name": "cpu", "target": {}}}, {"type": "External", "external": {"metric": {"name": "q"}, "target": {}}}], "behavior": {"scaleUp": {"stabilizationWindowSeconds": 0}}}, "status": {"currentMetrics": [None]}}, {}, {}, """\
Metrics:            ( current / target )
  <unknown metric type "Odd">
  resource cpu of container "c" on pods  (as a percentage of request):  <unknown> / 5%
  resource cpu on pods:                                                 <unknown> / 1
  resource cpu on pods  (as a percentage of request):                   <unknown> / <auto>
  "q" (target value):                                                   <unknown> / <nil>
Min replicas:                                                           <unset>
Max replicas:                                                           0
Behavior:
  Scale Up:
    Stabilization Window: 0 seconds
D pods:  0 current / 0 desired
"""),
}  # fmt: skip


@pytest.mark.usefixtures("universal_time")
@pytest.mark.parametrize("case", CASES)
def test_description(case: str) -> None:
    """Part of a description, without spaces at the ends of lines."""
    section, obj, around, metadata, expected = CASES[case]
    lines = [line.rstrip() for line in described(section, obj, around, **metadata)]
    wanted = expected.splitlines()
    at = lines.index(wanted[0])
    assert lines[at : at + len(wanted)] == wanted


@pytest.mark.parametrize("around", [{}, {"replicasets.apps": FORBIDDEN}])
def test_deployments_without_sets(around: Around) -> None:
    """Neither none nor forbidden ones are mentioned."""
    assert not any("ReplicaSet" in line for line in described(workloads.deployment, DEPLOYMENT, around))


def test_what_is_not_set() -> None:
    """A template that is not there, and a volume of no known source, are lines of their own."""
    sheet = Sheet()
    templates.pod_template(sheet, None)
    volumes.source(sheet, {})
    assert sheet.text() == ["Pod Template:", "  <unset>", "  <unknown>"]


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        ({"exec": {}}, "exec [] "), ({"exec": {"command": ["a", "b"]}}, "exec [a b] "), ({"httpGet": {"port": 80}}, "http-get http://:80 "),
        ({"httpGet": {"port": "web", "path": "a", "scheme": "HTTPS", "host": "h"}}, "http-get https://h:web/a "), ({"tcpSocket": {"port": 1}}, "tcp-socket :1 "),
        ({"httpGet": {"port": 80, "path": "/a"}}, "http-get http://:80/a "), ({"grpc": {"port": 1}}, "grpc <pod>:1  "), ({}, "unknown "),
    ],
)  # fmt: skip
def test_probes(probe: Object, text: str) -> None:
    """Numbers that are not set are 0."""
    assert templates._probe(probe) == f"{text}delay=0s timeout=0s period=0s #success=0 #failure=0"
    numbers = {
        "initialDelaySeconds": 1,
        "timeoutSeconds": 2,
        "periodSeconds": 3,
        "successThreshold": 4,
        "failureThreshold": 5,
    }
    assert templates._probe({**probe, **numbers}) == f"{text}delay=1s timeout=2s period=3s #success=4 #failure=5"
