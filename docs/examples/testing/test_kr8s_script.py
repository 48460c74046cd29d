"""A kr8s script, and its test: each test has a server of its own."""

import pytest

kr8s = pytest.importorskip("kr8s")
objects = pytest.importorskip("kr8s.objects")


def clean_up(api, namespace: str) -> list[str]:
    """The script under test: deletes the config maps that are labelled as temporary."""
    deleted = []
    for each in api.get("configmaps", namespace=namespace, label_selector={"temporary": "yes"}):
        each.delete()
        deleted.append(each.name)
    return deleted


def test_only_temporary_ones_are_deleted(orchd_cluster):
    api = kr8s.api(kubeconfig=orchd_cluster.config_file)
    for name, labels in (("a", {"temporary": "yes"}), ("b", {})):
        resource = {"metadata": {"name": name, "namespace": "default", "labels": labels}}
        objects.ConfigMap(resource, api=api).create()
    assert clean_up(api, "default") == ["a"]
    left = [each.name for each in api.get("configmaps", namespace="default")]
    assert "a" not in left and "b" in left
    assert [each.name for each in orchd_cluster.requests if each.verb == "delete"] == ["a"]
