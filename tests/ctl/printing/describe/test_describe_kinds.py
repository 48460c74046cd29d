"""Descriptions by kind, laid out as stock clients lay them out."""

from __future__ import annotations

import re

import pytest

from tests.ctl.ctl_runner import Ctl

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: o, annotations: {a: b, long: LONG}}
spec:
  manualSelector: true
  selector: {matchLabels: {x: y1}}
  completions: 3
  parallelism: 2
  completionMode: Indexed
  activeDeadlineSeconds: 1000
  template:
    metadata: {labels: {x: y1}}
    spec:
      restartPolicy: Never
      tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: a, value: b}]
      containers:
      - name: c
        image: i
        command: [sh, -c, "exit 0"]
        ports: [{containerPort: 80, name: http}, {containerPort: 81, protocol: UDP}]
        resources: {limits: {memory: 1Gi}}
        env: [{name: A, value: b}, {name: B, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]
        volumeMounts: [{name: v, mountPath: /v, readOnly: true, subPath: k}]
      volumes: [{name: v, emptyDir: {}}]
"""
DESCRIBED_JOB = """\
Name:                     o
Namespace:                default
Selector:                 x=y1
Labels:                   x=y1
Annotations:              a: b
                          long:
                            LONG
Parallelism:              2
Completions:              3
Completion Mode:          Indexed
Suspend:                  false
Backoff Limit:            6
Active Deadline Seconds:  1000s
Pods Statuses:            0 Active / 0 Succeeded / 0 Failed
Completed Indexes:        <none>
Pod Template:
  Labels:  x=y1
  Containers:
   c:
    Image:       i
    Ports:       80/TCP (http), 81/UDP
    Host Ports:  0/TCP (http), 0/UDP
    Command:
      sh
      -c
      exit 0
    Limits:
      memory:  1Gi
    Environment:
      A:  b
      B:  1024 (limits.memory)
    Mounts:
      /v from v (ro,path="k")
  Volumes:
   v:
    Type:          EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:        
    SizeLimit:     <unset>
  Node-Selectors:  <none>
  Tolerations:     a=b
                   k:NoExecute op=Exists for 5s
Events:            <none>
"""  # noqa: W291
POLICY = """
apiVersion: networking.{abbr}.io/v1
kind: NetworkPolicy
metadata: {name: o}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress:
  - ports: [{port: 80, endPort: 90, protocol: UDP}]
    from: [{podSelector: {matchLabels: {c: d}}, namespaceSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
  - {}
"""
DESCRIBED_POLICY = """\
Name:         o
Namespace:    default
Created on:   TIME
Labels:       <none>
Annotations:  <none>
Spec:
  PodSelector:     <none> (Allowing the specific traffic to all pods in this namespace)
  Allowing ingress traffic:
    To Port Range: 80-90/UDP
    From:
      NamespaceSelector: <none>
      PodSelector: c=d
    From:
      IPBlock:
        CIDR: 10.0.0.0/8
        Except: 10.1.0.0/16
    ----------
    To Port: <any> (traffic allowed to all ports)
    From: <any> (traffic not restricted by source)
  Not affecting egress traffic
  Policy Types: Ingress
"""
ROLE = """
apiVersion: rbac.authorization.{abbr}.io/v1
kind: Role
metadata: {name: o}
rules:
- {apiGroups: ["", apps], resources: [deployments/scale], verbs: [get, list]}
- {apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get]}
- {apiGroups: [""], resources: [deployments/scale], verbs: [get, watch]}
"""
DESCRIBED_ROLE = """\
Name:         o
Labels:       <none>
Annotations:  <none>
PolicyRule:
  Resources               Non-Resource URLs  Resource Names  Verbs
  ---------               -----------------  --------------  -----
  deployments/scale       []                 []              [get list watch]
  deployments.apps/scale  []                 []              [get list]
  secrets                 []                 [a]             [get]
  secrets                 []                 [b]             [get]
"""
AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: o}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics:
  - {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: "1"}}}
  - {type: Object, object: {metric: {name: o}, describedObject: {kind: Service, name: s}, target: {type: Value, value: "2"}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 5, policies: [{type: Pods, value: 1, periodSeconds: 10}]}}
"""
DESCRIBED_AUTOSCALER = """\
Name:                                                  o
Namespace:                                             default
Labels:                                                <none>
Annotations:                                           <none>
CreationTimestamp:                                     TIME
Reference:                                             Deployment/web
Metrics:                                               ( current / target )
  "m" on pods:                                         <unknown> / 1
  "o" on Service/s (target value):                     <unknown> / 2
  resource cpu on pods  (as a percentage of request):  <unknown> / 50%
Min replicas:                                          1
Max replicas:                                          3
Behavior:
  Scale Up:
    Stabilization Window: 0 seconds
    Select Policy: Max
    Policies:
      - Type: Pods     Value: 4    Period: 15 seconds
      - Type: Percent  Value: 100  Period: 15 seconds
  Scale Down:
    Stabilization Window: 5 seconds
    Select Policy: Max
    Policies:
      - Type: Pods  Value: 1  Period: 10 seconds
Deployment pods:    0 current / 0 desired
Events:             <none>
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: o}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  nfs: {server: s, path: /p}
  nodeAffinity:
    required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b, c]}, {key: d, operator: Exists}]}]}
"""
DESCRIBED_VOLUME = """\
Name:              o
Labels:            <none>
Annotations:       <none>
Finalizers:        [PROTECTION]
StorageClass:      
Status:            Pending
Claim:             
Reclaim Policy:    Retain
Access Modes:      RWO,ROX
VolumeMode:        Filesystem
Capacity:          1Gi
Node Affinity:     
  Required Terms:  
    Term 0:        a in [b, c]
                   d exists
Message:           
Source:
    Type:      NFS (an NFS mount that lasts the lifetime of a pod)
    Server:    s
    Path:      /p
    ReadOnly:  false
Events:        <none>
"""  # noqa: W291
DEFINED = """
apiVersion: node.{abbr}.io/v1
kind: RuntimeClass
metadata: {name: o}
handler: h
scheduling: {nodeSelector: {aB: c}, tolerations: [{key: k}, {key: l}]}
"""
DESCRIBED_DEFINED = """\
Name:         o
Namespace:    
Labels:       <none>
Annotations:  <none>
API Version:  GROUP
Handler:      h
Kind:         RuntimeClass
Metadata:
  Creation Timestamp:  STAMP
  Resource Version:    NUMBER
  UID:                 ID
Scheduling:
  Node Selector:
    A B:  c
  Tolerations:
    Key:  k
    Key:  l
Events:   <none>
"""  # noqa: W291
CASES = {
    "job": (JOB, DESCRIBED_JOB), "netpol": (POLICY, DESCRIBED_POLICY), "role": (ROLE, DESCRIBED_ROLE),
    "hpa": (AUTOSCALER, DESCRIBED_AUTOSCALER), "pv": (VOLUME, DESCRIBED_VOLUME), "runtimeclass": (DEFINED, DESCRIBED_DEFINED),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_description(ctl: Ctl, kind: str) -> None:
    """The whole description of an object that no controller has seen."""
    manifest, expected = CASES[kind]
    long = "x" * 140
    ctl("create", "-f", "-", send=ctl.server.dialect(manifest.replace("LONG", long)))
    described = ctl("describe", kind, "o").out
    for pattern, word in (
        (r"\d{4}-\d\d-\d\d \d\d:.*|\w{3}, \d\d .*", "TIME"),
        (r"\d{4}-\S+Z", "STAMP"),
        (r"(?<=Resource Version:    )\d+", "NUMBER"),
        (r"(?<=UID:                 )\S+", "ID"),
        (r"\S+/pv-protection", "PROTECTION]"),
        (r"node\.\S+/v1", "GROUP"),
    ):
        described = re.sub(pattern, word, described)
    assert described.replace("PROTECTION]", "[PROTECTION") == expected.replace("LONG", long[:138] + "...")
