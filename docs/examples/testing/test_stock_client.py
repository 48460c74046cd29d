"""A program on the `kubernetes` client, and its test: what it makes is really reconciled, and it survives a busy
server."""

import pytest

kubernetes = pytest.importorskip("kubernetes")


def deploy(api, namespace: str, name: str, image: str) -> None:
    """The program under test."""
    container = kubernetes.client.V1Container(name="main", image=image)
    labels = {"app": name}
    template = kubernetes.client.V1PodTemplateSpec(
        metadata=kubernetes.client.V1ObjectMeta(labels=labels), spec=kubernetes.client.V1PodSpec(containers=[container])
    )
    spec = kubernetes.client.V1DeploymentSpec(
        replicas=2, selector=kubernetes.client.V1LabelSelector(match_labels=labels), template=template
    )
    deployment = kubernetes.client.V1Deployment(metadata=kubernetes.client.V1ObjectMeta(name=name), spec=spec)
    kubernetes.client.AppsV1Api(api).create_namespaced_deployment(namespace, deployment)


def test_pods_are_made(orchd_server, orchd_client, orchd_namespace):
    deploy(orchd_client, orchd_namespace, "web", "nginx")
    core = kubernetes.client.CoreV1Api(orchd_client)
    pods = orchd_server.wait_for(lambda: len(core.list_namespaced_pod(orchd_namespace).items) == 2, what="two pods")
    assert pods


def test_a_full_server(orchd_server, orchd_client, orchd_namespace):
    orchd_server.clear_requests()
    orchd_server.fail(429, verb="create", resource="deployments")
    with pytest.raises(kubernetes.client.ApiException, match="429"):
        deploy(orchd_client, orchd_namespace, "web", "nginx")
    asked = [each for each in orchd_server.requests if each.resource == "deployments"]
    assert [(each.verb, each.code) for each in asked] == [("create", 429)]
