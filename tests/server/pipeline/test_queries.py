"""Repeated parameters: authorization and the verb use the same value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.server.pipeline.query import EMPTY, Query
from orchd.testing.doubles.server import InProcessServer, make_server, run, user
from orchd.txkit.coroutines import start

HERE = "/api/v1/namespaces/a"
ALLOWED = "fieldSelector=metadata.name%3Dallowed"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    """A server with RBAC, where ``reader`` may read only the ConfigMap ``allowed``."""
    folder: Path = tmp_path_factory.mktemp("queries")
    server = make_server(folder, "--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount")
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["allowed"], "verbs": ["list", "watch"]}
    for path, obj in (
        ("/api/v1/namespaces", {"metadata": {"name": "a"}}),
        (f"{HERE}/configmaps", {"metadata": {"name": "allowed"}}),
        (f"{HERE}/configmaps", {"metadata": {"name": "other"}}),
        ("/api/v1/nodes", {"metadata": {"name": "n1"}}),
        ("/api/v1/nodes", {"metadata": {"name": "n2"}}),
        (f"{HERE}/secrets", {"metadata": {"name": "used"}}),
        (f"{HERE}/secrets", {"metadata": {"name": "other"}}),
        (f"{HERE}/pods", {"metadata": {"name": "p"}, "spec": {
            "nodeName": "n1", "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "secret": {"secretName": "used"}}],
        }}),
        ("/apis/rbac.authorization.orch.io/v1/namespaces/a/roles", {"metadata": {"name": "r"}, "rules": [rule]}),
        ("/apis/rbac.authorization.orch.io/v1/namespaces/a/rolebindings", {
            "metadata": {"name": "r"}, "subjects": [{"kind": "User", "name": "reader"}],
            "roleRef": {"apiGroup": "rbac.authorization.orch.io", "kind": "Role", "name": "r"},
        }),
    ):  # fmt: skip
        response = run(server.request("POST", path, body=obj))
        assert response.code == 201, response.body
    yield server
    server.stop()


def ask(server: InProcessServer, method: str, path: str, sender: Any) -> Any:
    """The response, which may come in a later turn."""
    answers: list[Any] = []
    start(server.request(method, path, user=sender)).addCallback(answers.append)
    for _ in range(5):
        server.clock.advance(0)
    if answers[0].response.stream is not None:
        answers[0].response.stream.stop()
    return answers[0]


READER = user("reader", "people")
NODE = user("system:node:n1", "system:nodes")
#: Selectors that a different parser might read as the name "allowed".
SPOILED = [
    f"fieldSelector=&{ALLOWED}",
    f"fieldSelector=metadata.name%3Dother&{ALLOWED}",
    f"fieldSelector=metadata.namespace%3Da&{ALLOWED}",
    r"fieldSelector=metadata.namespace%3Da%5C,metadata.name%3Dallowed",
    r"fieldSelector=metadata.namespace%21%3Da%5C,metadata.name%3Dallowed",
    f"limit=x&{ALLOWED}",
    f"labelSelector=((&{ALLOWED}",
]


@pytest.mark.parametrize("query", SPOILED)
@pytest.mark.parametrize("watch", ["", "&watch=1"])
def test_authorization_uses_the_verbs_field_selector(server: InProcessServer, query: str, watch: str) -> None:
    """A user who may list one name is rejected unless the list is of that name only."""
    assert ask(server, "GET", f"{HERE}/configmaps?{query}{watch}", READER).code == 403


@pytest.mark.parametrize(
    "query", [ALLOWED, f"{ALLOWED}&fieldSelector=", f"{ALLOWED}&fieldSelector=metadata.name%3Dother"]
)
def test_first_repeated_parameter_counts(server: InProcessServer, query: str) -> None:
    """Repetitions are ignored by authorization and by the list."""
    response = ask(server, "GET", f"{HERE}/configmaps?{query}", READER)
    assert [item["metadata"]["name"] for item in response.json["items"]] == ["allowed"]
    assert ask(server, "GET", f"{HERE}/configmaps?{query}&watch=1", READER).code == 200


def test_contradicting_terms_select_nothing(server: InProcessServer) -> None:
    """With two names in one selector, authorization checks the first, and no object matches."""
    query = "fieldSelector=metadata.name%3Dallowed,metadata.name%3Dother"
    response = ask(server, "GET", f"{HERE}/configmaps?{query}", READER)
    assert (response.code, response.json["items"]) == (200, [])


@pytest.mark.parametrize("query", ["watch=0&watch=1", "watch=1&watch=0"])
def test_first_watch_parameter_decides(server: InProcessServer, query: str) -> None:
    """The first value selects the verb for all readers of the parameter."""
    response = ask(server, "GET", f"{HERE}/configmaps?{query}", user("admin"))
    assert (response.response.stream is not None) == query.startswith("watch=1")


@pytest.mark.parametrize("watch", ["", "&watch=1"])
def test_nodes_list_only_named_secrets(server: InProcessServer, watch: str) -> None:
    """A node may list secrets of its pods by name, and no others; nodes it may list without restriction."""
    path = f"{HERE}/secrets?{{}}fieldSelector=metadata.name%3Dused{watch}"
    assert ask(server, "GET", path.format(""), NODE).code == 200
    assert ask(server, "GET", path.format("fieldSelector=&"), NODE).code == 403
    assert ask(server, "GET", path.format("fieldSelector=metadata.name%3Dother&"), NODE).code == 403


@pytest.mark.parametrize("query", [ALLOWED, f"fieldSelector=&{ALLOWED}"])
def test_delete_collection_is_authorized_without_a_name(server: InProcessServer, query: str) -> None:
    """Permission for one name does not allow deleting a collection, whatever the selector."""
    assert ask(server, "DELETE", f"{HERE}/configmaps?{query}", READER).code == 403


def test_queries_are_immutable() -> None:
    """Each parameter has one value, the first; the query cannot be modified."""
    query = Query({"a": ["1", "2"], "f": ["FALSE"], "t": [""], "n": ["7", "x"]})
    assert (query.first("a"), query.all("a"), query.first("b"), query.all("b")) == ("1", ("1", "2"), "", ())
    assert (query.flag("f"), query.flag("t"), query.flag("b")) == (False, True, None)
    assert (query.number("n"), query.number("b")) == (7, 0)
    assert Query.of(query) is query and Query.of({}) is EMPTY
    assert query.list_options() is query.list_options()


@pytest.mark.parametrize(
    ("text", "number"),
    [("0" * 5000 + "1", 1), ("-" + "0" * 5000 + "7", -7), ("+5", 5), ("9223372036854775807", 2**63 - 1)],
)
def test_numbers_have_any_length(text: str, number: int) -> None:
    """Leading zeros do not count, however many there are."""
    assert Query({"n": [text]}).number("n") == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1_0",
        "\u0661",
        "\u00b2",
        "0x1",
        "1e3",
        "--1",
        "9223372036854775808",
        "9" * 5000,
        "-" + "9" * 5000,
    ],
)
def test_other_numbers_are_400(text: str) -> None:
    """A text that is no number, or one beyond 64 bits, is 400."""
    with pytest.raises(ApiError) as caught:
        Query({"n": [text]}).number("n")
    assert caught.value.code == 400


def test_options_of_a_put_are_checked_before_its_type(space: Any) -> None:
    """A PUT with invalid options is told of these whatever the type of its body; a POST of the type."""
    for method, path, code in (("PUT", "configmaps/a?dryRun=x", 422), ("POST", "configmaps?dryRun=x", 415)):
        assert space(method, path, b"x", content_type="text/plain").code == code
