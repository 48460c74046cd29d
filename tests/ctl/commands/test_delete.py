"""``delete``."""

from __future__ import annotations

import json

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.ctl.cluster.api import MERGE
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


def test_delete_waits_for_the_object_to_be_gone(ctl: Ctl) -> None:
    """Delete waits until the object is gone; at the timeout it prints why the object still exists."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("delete", "cm", "m").lines == ['configmap "m" deleted from default namespace']
    assert "not found" in ctl("delete", "cm", "m", status=1).error
    assert ctl("delete", "cm", "m", "--ignore-not-found").status == 0
    assert "selector (-l) or --all" in ctl("delete", "cm", status=1).error
    ctl("apply", "-f", "-", send=MAP.replace("{name: m}", '{name: m, finalizers: ["a.b/c"]}'))
    error = ctl("delete", "-f", "-", "--timeout=3s", status=1, send=MAP).error
    assert "finalizers are a.b/c" in error
    assert "needs --force" in ctl("delete", "cm", "m", "--grace-period=0", status=1).error
    assert ctl("delete", "pod", "--all").lines == ["No resources found"]
    assert ctl("delete", "cm", "m", "--wait=false").status == 0 and ctl.waited == 0


def test_a_dry_run_deletes_nothing(ctl: Ctl) -> None:
    """A dry run deletes nothing, client-side or server-side, by name or by selector."""
    ctl("create", "configmap", "m")
    for words in (("cm/m",), ("cm", "--all")):
        assert ctl("delete", *words, "--dry-run=server").lines == [
            'configmap "m" deleted from default namespace (server dry run)'
        ]
        assert ctl("delete", *words, "--dry-run=client").lines == [
            'configmap "m" deleted from default namespace (dry run)'
        ]
    assert ctl("get", "cm/m", "-o", "name").out == "configmap/m\n"


def test_interactive_deletion(ctl: Ctl) -> None:
    """Nothing is deleted unless the answer is yes; -o name prints names."""
    ctl("create", "configmap", "m")
    asked = ctl("delete", "cm/m", "-i", send="n\n").lines
    assert asked[:2] == ["You are about to delete the following resource(s):", "configmap/m"]
    assert asked[-1].endswith("deletion is cancelled")
    assert ctl("get", "cm/m", "-o", "name").out == "configmap/m\n"
    assert ctl("delete", "cm/m", "-i", "-o", "name", send="y\n").lines[-1] == "configmap/m"
    assert "not both" in ctl("delete", "cm/m", "-f", "-", status=1).error


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: node, containers: [{name: c, image: i}]}\n"


@pytest.mark.parametrize(
    ("flags", "seconds"),
    [
        ([], 30),
        (["--now"], 1),
        (["--grace-period=5"], 5),
        (["--grace-period=5", "--force"], 5),
        (["--force"], None),
        (["--grace-period=0", "--force"], None),
    ],
)
def test_grace_period_of_a_pod(ctl: Ctl, flags: list[str], seconds: int | None) -> None:
    """A pod ends after its own time, a second with --now, or what --grace-period says; --force removes it at once."""
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send=POD)
    word = "deleted" if seconds else "force deleted"
    lines = ctl("delete", "pod", "p", "--wait=false", *flags).lines
    assert lines == [f'pod "p" {word} from default namespace']
    if seconds is None:
        assert "not found" in ctl("get", "pod", "p", status=1).error
    else:
        pod = json.loads(ctl("get", "pod", "p", "-o", "json").out)
        assert pod["metadata"]["deletionGracePeriodSeconds"] == seconds


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["pod", "p", "--now", "--grace-period=5"], "--now and --grace-period cannot be used together"),
        (["pod", "p", "--now", "--grace-period=0"], "--now and --grace-period cannot be used together"),
        (["pod", "--all", "-l", "a=b"], "--all and a selector cannot be used together"),
        (["pod", "--all", "--field-selector=a=b"], "--all and a selector cannot be used together"),
        (["pod", "p", "-f", "-"], "give objects by -f or by name, not both"),
        (["pod", "p", "-A"], "an object cannot be deleted by name across all namespaces"),
        (["--raw=/api", "pod"], "--raw takes a path alone"),
    ],
)
def test_flags_that_exclude_each_other(ctl: Ctl, words: list[str], problem: str) -> None:
    assert problem in ctl("delete", *words, status=1, send=POD).error


@pytest.mark.parametrize(
    ("word", "policy", "deprecated"),
    [
        ("background", "Background", False), ("foreground", "Foreground", False), ("orphan", "Orphan", False),
        ("true", "Background", True), ("false", "Orphan", True),
    ],
)  # fmt: skip
def test_dependents_of_deleted_objects(
    ctl: Ctl, monkeypatch: pytest.MonkeyPatch, word: str, policy: str, deprecated: bool
) -> None:
    """--cascade says what happens to dependents; its boolean values are deprecated."""

    async def nothing(call: Call) -> None:
        pass

    ctl("create", "configmap", "m")
    calls = precede(ctl, monkeypatch, nothing)
    ran = ctl("delete", "cm/m", "--wait=false", f"--cascade={word}")
    assert [call.body["propagationPolicy"] for call in calls if call.method == "DELETE"] == [policy]
    assert ("is deprecated: write --cascade=" in ran.error) == deprecated
    assert "one of background, foreground, orphan" in ctl("delete", "cm/m", "--cascade=x", status=1).error


def test_deletion_ends_when_the_object_is_gone(ctl: Ctl) -> None:
    """Within the timeout."""
    ctl("apply", "-f", "-", send=MAP.replace("{name: m}", '{name: m, finalizers: ["a.b/c"]}'))

    def release(second: int) -> None:
        if second == 2:
            metadata = {"metadata": {"finalizers": None}}
            run(
                ctl.server.client().patch(
                    ResourceRef("", "v1", "configmaps"), "default", "m", metadata, content_type=MERGE
                )
            )

    ctl.while_waiting = release
    assert ctl("delete", "cm/m", "--timeout=9s").lines == ['configmap "m" deleted from default namespace']
    assert 2 <= ctl.waited <= 4


def test_answers_that_are_no(ctl: Ctl) -> None:
    ctl("create", "configmap", "m")
    assert "deletion is cancelled" in ctl("delete", "cm/m", "-i", send="\n").out
    assert ctl("get", "cm/m", "-o", "name").out == "configmap/m\n"
