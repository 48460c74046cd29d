"""Combinations of flags and arguments that commands refuse before they change anything."""

from __future__ import annotations

import pytest

from orchd.client.requests import Call
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("patch cm/m", "give the patch with -p or --patch-file, and not with both"),
        ("patch cm/m -p {} --patch-file=f", "give the patch with -p or --patch-file, and not with both"),
        ("patch cm/m -p {", "the patch is neither JSON nor YAML: quote it as one argument"),
        ("patch cm/m -p []", "a patch of --type=strategic is a mapping"),
        ("patch cm/m --type=merge -p []", "a patch of --type=merge is a mapping"),
        ("patch cm/m --type=json -p {}", "a patch of --type=json is a list of operations"),
        ("run p --image=i --rm", "--rm needs -i or --attach"),
        ("run p --image=i -i --dry-run=client", "--dry-run makes no pod to attach to: leave out -i and --attach"),
        ("run p --image=i --attach --dry-run=server", "--dry-run makes no pod to attach to: leave out -i and --attach"),
        ("run p --image=i -t", "-t needs -i"),
        ("run p --image=i --expose", "--expose needs --port: the port of the service"),
        ("apply -f - view-last-applied cm/m", "give -f behind apply view-last-applied"),
        ("set env deploy/w", "which variables? Write KEY=VALUE, KEY-, --from=TYPE/NAME, or --list"),
        ("set env deploy/w --env=A", "--env=A: write --env=KEY=VALUE"),
        ("set env deploy/w 0A=b", "'0A' is not a name of a variable: use letters, digits, '-', '_' and '.'"),
        ("set env deploy/w A+-", "'A+' is not a name of a variable"),
    ],
)
def test_command_that_makes_no_sense(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, words: str, says: str) -> None:
    """The error says what to write instead, and nothing is asked of the server."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    assert says in ctl(*words.split(), status=1).error
    assert calls == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("get", "which objects? Write TYPE, TYPE NAME or TYPE/NAME"),
        ("get cm/m pods", "write TYPE/NAME for every object, or TYPE NAME NAME for objects of one type"),
        ("get --raw=/api pods", "--raw takes a path alone: leave out types and files"),
        ("get cm,pods -w", "-w follows one object or one type: name one"),
        ("edit cm", "name the object: configmaps NAME or configmap/NAME"),
        ("label cm/m =x", "a key is missing before ="),
        ("logs", "which pod? Give its name, TYPE/NAME, or a selector with -l"),
        ("logs p --since=1s --since-time=2026-01-01T00:00:00Z", "--since and --since-time cannot be used together"),
        ("logs p -c c --all-containers", "-c and --all-containers cannot be used together"),
        ("replace -f - --grace-period=1", "--grace-period needs --force: nothing is deleted otherwise"),
        ("set resources deploy/w", "which resources? Give --limits, --requests or both"),
        ("set selector", "which selector? Write service NAME KEY=VALUE,KEY=VALUE"),
        ("set selector service w x", "'x': a service's selector is KEY=VALUE,KEY=VALUE"),
        ("set serviceaccount deploy/w", "which service account? Write TYPE NAME SERVICEACCOUNT"),
        ("set subject rolebinding/r", "which subjects? Give --user, --group or --serviceaccount"),
        ("taint nodes n", "name a taint: KEY=VALUE:EFFECT adds it and KEY:EFFECT- removes it"),
        ("taint nodes --all -l a=b k=v:NoSchedule", "--all goes without names and -l: leave out one"),
        ("taint nodes n k=v", "'k=v': the effect is missing: write k=v:NoSchedule"),
        ("certificate approve", "name requests, or give files with -f"),
        ("create role r", "a role needs --verb and --resource"),
        ("create clusterrole r", "a cluster role needs --verb, and --resource or --non-resource-url"),
        ("create service clusterip s", "which ports? Give --tcp=PORT:TARGETPORT"),
        ("create service loadbalancer s", "which ports? Give --tcp=PORT:TARGETPORT"),
        ("create -f - configmap m", "create configmap takes no -f, --raw or --edit: leave them out"),
        ("create deployment d --image=a --image=b -- x", "a command after -- requires a single --image"),
        (
            "create secret docker-registry s --from-file=f --docker-username=u",
            "--from-file goes without --docker-username",
        ),
        ("auth can-i --list get pods", "--list takes no verb and type: leave them out"),
        ("auth can-i", "write can-i VERB TYPE, VERB TYPE NAME, VERB TYPE/NAME or VERB /PATH"),
        ("delete cm/m --cascade=x", "--cascade=x: one of background, foreground, orphan"),
        ("cluster-info dump -o name", "a dump is json or yaml"),
    ],
)
def test_command_that_lacks_something(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, words: str, says: str) -> None:
    """The error says what is missing or what goes alone; at most discovery documents and objects were read."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    assert says in ctl(*words.split(), status=1).error
    assert {call.method for call in calls} <= {"GET"}


def test_flags_that_only_just_make_sense(ctl: Ctl) -> None:
    """Neighbours of the refused combinations are accepted."""
    ctl("create", "serviceaccount", "default")
    assert ctl("run", "p", "--image=i", "--dry-run=client").lines == ["pod/p created (dry run)"]
    assert ctl("run", "q", "--image=i", "--expose", "--port=80").lines == ["service/q created", "pod/q created"]
    ctl("create", "cm", "m")
    operation = '[{"op": "add", "path": "/data", "value": {"a": "b"}}]'
    assert ctl("patch", "cm/m", "--type=json", "-p", operation).lines == ["configmap/m patched"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "b"
