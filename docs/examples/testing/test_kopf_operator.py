"""A kopf operator, and its test: it keeps working when its watches are cut and the history is forgotten."""

import pytest

kopf = pytest.importorskip("kopf")
testing = pytest.importorskip("kopf.testing")

MAPS = "/api/v1/namespaces/{}/configmaps"


@kopf.on.login()
def log_in(**arguments):
    """Reads the client configuration when the operator starts, not when a library is imported."""
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.create("", "v1", "configmaps", labels={"greet": "yes"})
def greet(meta, patch, **_):
    """The operator under test: greets every config map that is labelled for it."""
    patch.metadata.annotations["greeting"] = f"hello {meta['name']}"


@pytest.fixture
def operator(orchd_server, orchd_namespace, monkeypatch):
    for name, value in orchd_server.environment().items():
        monkeypatch.setenv(name, value)
    with testing.KopfRunner(["run", "-n", orchd_namespace, "--standalone"], timeout=60) as runner:
        yield runner


def ask(orchd_server, namespace: str, name: str) -> None:
    body = {"metadata": {"name": name, "labels": {"greet": "yes"}}}
    assert orchd_server.request("POST", MAPS.format(namespace), body)[0] == 201


def greeted(found) -> bool:
    return "greeting" in found["metadata"].get("annotations", {})


def test_greets(operator, orchd_server, orchd_namespace):
    ask(orchd_server, orchd_namespace, "ada")
    found = orchd_server.wait_for_object(MAPS.format(orchd_namespace) + "/ada", greeted)
    assert found["metadata"]["annotations"]["greeting"] == "hello ada"


def test_goes_on_after_its_watches_were_cut(operator, orchd_server, orchd_namespace):
    ask(orchd_server, orchd_namespace, "ada")
    orchd_server.wait_for_object(MAPS.format(orchd_namespace) + "/ada", greeted)
    orchd_server.drop_watches()
    orchd_server.expire_history()
    ask(orchd_server, orchd_namespace, "bob")
    orchd_server.wait_for_object(MAPS.format(orchd_namespace) + "/bob", greeted)
