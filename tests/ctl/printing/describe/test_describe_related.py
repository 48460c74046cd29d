"""Descriptions with what belongs to an object: endpoints of services and ingresses, pods of nodes, users of claims."""

from __future__ import annotations

from tests.ctl.ctl_runner import Ctl

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: a}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: discovery.{abbr}.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {{long}.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.0.0.1]}
- {addresses: [10.0.0.2], conditions: {ready: false}}
- {addresses: [10.0.0.3]}
- {addresses: [10.0.0.4]}
- {addresses: [10.0.0.5]}
---
apiVersion: networking.{abbr}.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
  defaultBackend: {service: {name: gone, port: {number: 80}}}
"""
ADDRESSES = "10.0.0.1:8080,10.0.0.3:8080,10.0.0.4:8080 + 1 more..."
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  nodeName: n1
  containers: [{name: c, image: i, resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {cpu: "1"}}}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
"""


def _words(ctl: Ctl, *arguments: str) -> str:
    """The output of ``describe`` without its alignment."""
    return " ".join(ctl("describe", *arguments).out.split())


def test_ready_addresses_of_services_and_ingresses(cluster: Ctl) -> None:
    """Addresses of ready endpoints with the port of the service, the first three of them."""
    cluster("create", "-f", "-", send=cluster.server.dialect(SERVICE))
    assert f"Endpoints: {ADDRESSES} Session" in _words(cluster, "svc", "web")
    ingress = _words(cluster, "ing", "web")
    assert f"/ web:80 ({ADDRESSES}) " in ingress
    assert 'gone:80 (<error: services "gone" not found' in ingress


def test_requests_of_a_node_and_users_of_a_claim(cluster: Ctl) -> None:
    """What the pods of a node request, with its share of what the node has."""
    cluster("create", "-f", "-", send=CLAIM)
    patch = '{"status":{"allocatable":{"cpu":"2","memory":"4Gi"}}}'
    cluster("patch", "node", "n1", "--subresource=status", "--type=merge", "-p", patch)
    node = _words(cluster, "node", "n1")
    assert "default user 250m (12%) 1 (50%) 1Gi (25%) 0 (0%) " in node
    assert "Limits -------- -------- ------ cpu 250m (12%) 1 (50%) memory 1Gi (25%) 0 (0%) " in node
    assert "Used By: user " in _words(cluster, "pvc", "data")
