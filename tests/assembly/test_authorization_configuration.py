"""Authorizers of an AuthorizationConfiguration file, and reloads of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision
from orchd.testing.doubles.server import InProcessServer, make_server, run

NODE, RBAC, ALLOW = ({"type": sort, "name": sort.lower()} for sort in ("Node", "RBAC", "AlwaysAllow"))
MASTERS = User(name="root", groups=("system:masters",))


def text(*authorizers: Any) -> str:
    return json.dumps({
        "apiVersion": ORCH("apiserver.config.{abbr}.io/v1"),
        "kind": "AuthorizationConfiguration",
        "authorizers": authorizers,
    })  # fmt: skip


class Configured:
    def __init__(self, folder: Path, *flags: str) -> None:
        self.path = folder / "authz.json"
        self.hook = folder / "hook.conf"
        self.hook.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1/authz"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": ""}}],
        }))  # fmt: skip
        self.flags = (f"--authorization-config={self.path}", *flags)
        self.folder = folder
        self.server: InProcessServer | None = None

    def webhook(self, name: str) -> dict[str, Any]:
        connection = {"type": ORCH("{Short}ConfigFile"), ORCH("{short}ConfigFile"): str(self.hook)}
        webhook = {
            "timeout": "1s",
            "subjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny",
            "connectionInfo": connection,
        }
        return {"type": "Webhook", "name": name, "webhook": webhook}

    def start(self, *authorizers: Any) -> None:
        self.path.write_text(text(*authorizers))
        self.server = make_server(self.folder / "server", *self.flags)

    def names(self) -> list[str]:
        assert self.server is not None
        return [each.name for each in self.server.server.access.authorization.union.authorizers]

    def replace(self, contents: str) -> tuple[int, int]:
        """Numbers of reloads that succeeded and failed after the file changed."""
        assert self.server is not None
        file = self.server.server.access.authorization.file
        assert file is not None
        new = self.path.with_suffix(".new")
        new.write_text(contents)
        new.replace(self.path)
        file.check()
        return file.counts.succeeded, file.counts.failed

    def decide(self, user: User) -> Decision:
        assert self.server is not None
        action = Action(user=user, verb="get", version="v1", resource="secrets", namespace="n", name="x")
        return run(self.server.server.access.authorization.union.authorize(action)).decision


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[Configured]:
    configured = Configured(tmp_path)
    yield configured
    if configured.server is not None:
        configured.server.stop()


def test_file_order_and_reload(configured: Configured) -> None:
    """Authorizers run in the order of the file, after that of the privileged group; a reload replaces only those that
    changed."""
    configured.start(configured.webhook("a"), NODE, RBAC)
    assert configured.names() == ["privileged", "Webhook", "Node", "RBAC", "selfreviews"]
    assert configured.server is not None
    authorization = configured.server.server.access.authorization
    assert authorization.rbac is authorization.union.authorizers[3]
    assert configured.replace(text(RBAC, NODE, configured.webhook("b"), configured.webhook("a"))) == (1, 0)
    assert configured.names() == ["privileged", "RBAC", "Node", "Webhook", "Webhook", "selfreviews"]
    assert authorization.rbac is authorization.union.authorizers[1]


@pytest.mark.parametrize("contents", [
    "", text(), text(RBAC), text(NODE, RBAC, ALLOW), text(NODE, RBAC, {"type": "Webhook", "name": "x"}),
])  # fmt: skip
def test_invalid_changes_are_ignored(configured: Configured, contents: str) -> None:
    """A file that is invalid, omits an authorizer type of the start or adds one does not replace the configuration."""
    configured.start(NODE, RBAC)
    assert configured.replace(contents) == (0, 1)
    assert configured.names() == ["privileged", "Node", "RBAC", "selfreviews"]


def test_invalid_webhook_kubeconfig_is_refused(configured: Configured) -> None:
    """The webhook's kubeconfig is read at the start and before a reload takes effect."""
    configured.start(RBAC)
    configured.hook.write_text("{}")
    assert configured.replace(text(RBAC, configured.webhook("a"))) == (0, 1)
    assert configured.names() == ["privileged", "RBAC", "selfreviews"]
    other = Configured.__new__(Configured)
    other.__dict__.update(vars(configured), server=None, folder=configured.folder / "other")
    with pytest.raises(
        ValueError,
        match=r"--authorization-config: .*authz.json: authorizers\[0\].webhook.connectionInfo.orchConfigFile: ",
    ):
        other.start(configured.webhook("a"))


def test_decisions_are_counted(configured: Configured) -> None:
    """Each decision of a configured authorizer is counted by its type and name; those for system:masters are not."""
    configured.start(RBAC, ALLOW)
    assert configured.decide(User(name="somebody")) is Decision.ALLOW
    assert configured.decide(MASTERS) is Decision.ALLOW
    assert configured.server is not None
    (counter,) = configured.server.server.access.authorization.union.instruments
    decisions = counter.family()
    decisions_by_label = {tuple(sample.labels.values()): sample.value for sample in decisions.samples}
    assert decisions_by_label[("AlwaysAllow", "alwaysallow", "allowed")] == 1.0
    assert "root" not in str(decisions_by_label) and {key[0] for key in decisions_by_label} <= {"RBAC", "AlwaysAllow"}


@pytest.mark.parametrize(("flags", "authorizers", "why"), [
    ((), [{"type": "ABAC", "name": "abac"}], "an authorizer of type ABAC needs --authorization-policy-file"),
    (("--authorization-policy-file=/x",), [RBAC], "--authorization-policy-file needs an authorizer of type ABAC"),
    (("--authorization-mode=RBAC",), [RBAC], "--authorization-config: can not be specified when .*: --authorization-mode"),
    (("--authorization-webhook-version=v1",), [RBAC], "can not be specified when .*: --authorization-webhook-version"),
    (("--oidc-issuer-url=https://x", "--oidc-client-id=c", "--authentication-config=/x"), [RBAC],
     "authentication-config file and oidc-\\* flags are mutually exclusive: --oidc-client-id"),
])  # fmt: skip
def test_conflicting_flags_are_refused(
    tmp_path: Path, flags: tuple[str, ...], authorizers: list[Any], why: str
) -> None:
    """The error names the flags that exclude or require each other."""
    with pytest.raises(Exception, match=why):
        Configured(tmp_path, *flags).start(*authorizers)


def test_always_allow_turns_anonymous_requests_off(configured: Configured) -> None:
    """AlwaysAllow in the file disables anonymous requests, as --authorization-mode=AlwaysAllow does."""
    configured.start(ALLOW)
    assert configured.server is not None and configured.server.server.access.authorization.open_to_all
