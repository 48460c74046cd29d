"""Errors of the server that mean nothing to a command end it."""

from __future__ import annotations

import pytest

from orchd import errors
from orchd.client.requests import Call
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, labels: {a: b}}\ndata: {a: b}\n"
OTHER = MAP.replace("name: m,", "name: other,")


@pytest.mark.parametrize(
    ("words", "method", "path"),
    [
        ("--server=https://example.org cluster-info", "GET", "/services"),
        ("auth whoami", "POST", "/selfsubjectreviews"),
        ("auth reconcile -f -", "GET", "/roles/r"),
        ("get pods -w", "GET", "/pods"),
        ("explain cm", "GET", "/openapi/v3/api/v1"),
        ("explain-scheduling p1", "GET", "/explain"),
        ("rollout status deploy/web", "GET", "/pods"),
        ("apply -f -", "PATCH", "/configmaps/m"),
        ("apply -f - --prune -l a=b", "DELETE", "/configmaps/other"),
        ("apply -f - --prune -l a=b --wait", "GET", "/configmaps/other"),
        ("diff -f -", "GET", "/configmaps/m"),
        ("replace -f -", "PUT", "/configmaps/m"),
        ("replace -f - --force", "DELETE", "/configmaps/m"),
        ("replace -f - --force", "GET", "/configmaps/m"),
        ("delete cm/m --ignore-not-found", "DELETE", "/configmaps/m"),
        ("delete cm/m", "GET", "/configmaps/m"),
        ("wait cm/m --for=delete", "GET", "/configmaps/m"),
        ("wait cm/m --for=create", "GET", "/configmaps/m"),
        ("drain n1 --force", "POST", "/p1/eviction"),
        ("drain n1 --force --disable-eviction", "DELETE", "/pods/p1"),
    ],
)
def test_an_unexpected_error_ends_the_command(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, words: str, method: str, path: str
) -> None:
    """Only errors that say something about the object, such as 404, have a meaning; others are shown."""
    cluster("apply", "-f", "-", send=f"{MAP}---\n{OTHER}")
    cluster("create", "deployment", "web", "--image=nginx:1")
    sent = cluster("create", "role", "r", "--verb=get", "--resource=pods", "--dry-run=client", "-o", "yaml").out

    async def fail(call: Call) -> None:
        if call.method == method and call.path.endswith(path):
            raise errors.internal("the disk is full")

    precede(cluster, monkeypatch, fail)
    status = 2 if words.startswith("diff") else 1
    ran = cluster(*words.split(), status=status, send=sent if words.startswith("auth") else MAP)
    assert "the disk is full" in ran.error
