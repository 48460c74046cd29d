"""The output formats of `get`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from twisted.internet.defer import Deferred

from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.ctl.cluster.api import MERGE
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl

MAPS = "".join(
    f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{tier: {tier}}}}}\ndata: {{num: '{number}'}}\n"
    for name, tier, number in (("a", "one", 3), ("b", "two", 1), ("c", "one", 2))
)
CONFIG_MAPS = ResourceRef("", "v1", "configmaps")
DEPLOYMENTS = ResourceRef("apps", "v1", "deployments")


def spec(ctl: Ctl, what: str = "deploy/web") -> Any:
    obj = json.loads(ctl("get", what, "-o", "json").out)
    return obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]


def test_tables_come_from_the_server(ctl: Ctl) -> None:
    """Tables have the server's columns; wide adds those of low priority."""
    assert ctl("get", "namespaces").lines[0].split() == ["NAME", "STATUS", "AGE"]
    assert "default" in ctl("get", "ns").out
    ctl("create", "deployment", "web", "--image=nginx:1")
    assert ctl("get", "deploy").lines[0].split()[-1] == "AGE"
    assert ctl("get", "deploy", "-o", "wide").lines[0].split()[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]


def test_selectors_are_applied_by_the_server(ctl: Ctl) -> None:
    """Label and field selectors are applied by the server."""
    ctl("create", "-f", "-", send=MAPS)
    assert ctl("get", "cm", "-l", "tier=one", "-o", "name").lines == ["configmap/a", "configmap/c"]
    assert ctl("get", "cm", "--field-selector", "metadata.name=b", "-o", "name").lines == ["configmap/b"]
    assert ctl("get", "cm", "-l", "tier=three").error == "No resources found in default namespace.\n"


def test_output_forms(ctl: Ctl) -> None:
    """yaml and json print whole objects or lists; paths, names and columns print texts."""
    ctl("create", "-f", "-", send=MAPS)
    one = yaml.safe_load(ctl("get", "cm/a", "-o", "yaml").out)
    assert (one["kind"], one["data"], "managedFields" in one["metadata"]) == ("ConfigMap", {"num": "3"}, False)
    several = json.loads(ctl("get", "cm", "a", "b", "-o", "json").out)
    assert (several["kind"], [each["kind"] for each in several["items"]]) == ("List", ["ConfigMap", "ConfigMap"])
    assert ctl("get", "cm", "-o", "jsonpath={.items[*].data.num}").out == "3 1 2"
    assert ctl("get", "cm", "-o", 'jsonpath={range .items[*]}{.data.num}{"\\n"}{end}').out == "3\n1\n2\n"
    columns = ctl("get", "cm", "-o", "custom-columns=NAME:.metadata.name,N:.data.num,X:.none").lines
    assert [line.split() for line in columns[:2]] == [["NAME", "N", "X"], ["a", "3", "<none>"]]
    assert ctl("get", "cm/a", "-o", "custom-columns=A:.data.num,b:.metadata.labels", "--no-headers").lines == [
        '3   {"tier":"one"}'
    ]
    assert "write NAME:PATH,NAME:PATH" in ctl("get", "cm", "-o", "custom-columns=A", status=1).error
    assert "write NAME:PATH,NAME:PATH" in ctl("get", "cm", "-o", "custom-columns=A:", status=1).error
    assert "managedFields" in ctl("get", "cm/a", "-o", "yaml", "--show-managed-fields").out
    assert "use one of wide, yaml" in ctl("get", "cm", "-o", "yml", status=1).error


def test_templates_from_flags_and_files(ctl: Ctl, tmp_path: Path) -> None:
    """Go templates and paths come from -o, --template and files; their output is printed unchanged."""
    ctl("create", "-f", "-", send=MAPS)
    (tmp_path / "t").write_text("{{range .items}}{{.metadata.name}} {{end}}")
    (tmp_path / "p").write_text("{.data.num}")
    (tmp_path / "c").write_text("NAME   NUM\n\n.metadata.name .data.num\n")
    assert ctl("get", "cm/a", "-o", f"custom-columns-file={tmp_path / 'c'}").lines == ["NAME   NUM", "a      3"]
    assert ctl("get", "cm/a", "-o", "jsonpath=.data.num").out == "3"
    assert ctl("get", "cm", "a", "b", "-o", f"go-template-file={tmp_path / 't'}").out == "a b "
    assert ctl("get", "cm/a", "-o", "templatefile", "--template", str(tmp_path / "t")).out == ""
    assert ctl("get", "cm/a", "--template", "{{.kind}}{{.data.num}}").out == "ConfigMap3"
    assert ctl("get", "cm/a", "-o", "jsonpath", "--template", "{.data.num}").out == "3"
    assert ctl("get", "cm/a", "-o", f"jsonpath-file={tmp_path / 'p'}").out == "3"
    assert json.loads(ctl("get", "cm", "a", "b", "-o", "jsonpath-as-json={.items[*].data.num}").out) == ["3", "1"]
    assert ctl("create", "ns", "x", "--dry-run=client", "-o", "template={{.metadata.name}}").out == "x"
    assert "} is missing" in ctl("get", "cm/a", "-o", "jsonpath={.a", status=1).error
    assert "line 1: }} is missing" in ctl("get", "cm/a", "-o", "go-template={{.a", status=1).error.replace(
        "unclosed action: ", ""
    )
    assert "-o go-template needs a template" in ctl("get", "cm/a", "-o", "go-template", status=1).error
    assert f"{tmp_path}: Is a directory" in ctl("get", "cm/a", "-o", f"go-template-file={tmp_path}", status=1).error


def test_keys_that_a_template_names_may_have_to_be_there(ctl: Ctl) -> None:
    """With --allow-missing-template-keys=false a missing key is an error; an index beyond the end of a list always
    is."""
    ctl("create", "-f", "-", send=MAPS)
    strict = ("get", "cm/a", "--allow-missing-template-keys=false", "-o")
    assert "is not found" in ctl(*strict, "jsonpath={.data.no}", status=1).error
    assert "no entry for key" in ctl(*strict, "go-template={{.data.no}}", status=1).error
    assert ctl("get", "cm/a", "-o", "jsonpath={.data.no}").out == ""
    assert (
        "out of bounds: index 0, length 0"
        in ctl("get", "cm", "-l", "a=b", "-o", "jsonpath={.items[0].kind}", status=1).error
    )


def test_label_columns(ctl: Ctl) -> None:
    """-L adds a column per label, --show-labels one column for all, --no-headers omits the headings."""
    ctl("create", "-f", "-", send=MAPS)
    lines = ctl("get", "cm", "-L", "tier", "--show-labels").lines
    assert lines[0].split()[-2:] == ["TIER", "LABELS"]
    assert lines[1].split()[-2:] == ["one", "tier=one"]
    assert ctl("get", "cm", "--no-headers").lines[0].startswith("a ")


def test_sort_by_orders_rows(ctl: Ctl) -> None:
    """--sort-by orders tables by metadata and objects by any value."""
    ctl("create", "-f", "-", send=MAPS)
    assert [line.split()[0] for line in ctl("get", "cm", "--sort-by=.metadata.labels.tier").lines] == [
        "NAME",
        "a",
        "c",
        "b",
    ]
    assert ctl("get", "cm", "--sort-by=.data.num", "-o", "name").lines == ["configmap/b", "configmap/c", "configmap/a"]


def test_several_types_have_their_own_headings(ctl: Ctl) -> None:
    """Types with commas, TYPE/NAME pairs and the category all print a table per type."""
    ctl("create", "-f", "-", send=MAPS)
    ctl("create", "deployment", "web", "--image=nginx:1")
    out = ctl("get", "cm,deploy").out
    assert "configmap/a" in out
    assert "\n\nNAME" in out
    assert ctl("get", "cm/a", "deployments.apps/web", "-o", "name").lines == ["configmap/a", "deployment.apps/web"]
    assert "deployment.apps/web" in ctl("get", "all").out


def test_all_namespaces_adds_a_namespace_column(ctl: Ctl) -> None:
    """-A adds a namespace column; a name with -A is rejected."""
    ctl("create", "namespace", "other")
    ctl("-n", "other", "create", "-f", "-", send=MAPS)
    assert ctl("get", "cm", "-A").lines[0].split()[0] == "NAMESPACE"
    assert any(line.split()[:2] == ["other", "a"] for line in ctl("get", "cm", "-A").lines)
    assert "leave out -A" in ctl("get", "cm", "a", "-A", status=1).error


def test_missing_object_is_an_error_after_the_others_are_printed(ctl: Ctl) -> None:
    """A missing object is an error of one line; the existing ones are printed."""
    ctl("create", "-f", "-", send=MAPS)
    ran = ctl("get", "cm", "a", "zz", status=1)
    assert ran.error == 'orchctl: configmaps "zz" not found\n'
    assert "a " in ran.out
    assert ctl("get", "cm", "zz", "--ignore-not-found").out == ""
    assert 'no resource type "nope"' in ctl("get", "nope", status=1).error


def test_watch_prints_the_state_then_changes(ctl: Ctl) -> None:
    """-w prints the current objects, then every change, until it is interrupted."""
    ctl("create", "-f", "-", send=MAPS)

    def change(second: int) -> None:
        if second == 1:
            # Not with a second command, whose output would be mixed with the first one's.
            run(ctl.server.client().patch(CONFIG_MAPS, "default", "a", {"data": {"m": "4"}}, content_type=MERGE))

    ctl.while_waiting, ctl.patience = change, 5
    lines = ctl("get", "cm", "-w").lines
    assert [line.split()[:2] for line in lines[1:]] == [["a", "1"], ["b", "1"], ["c", "1"], ["a", "2"]]
    ctl.while_waiting = lambda second: None
    assert ctl("get", "cm", "--watch-only").out == ""


def test_get_subresource(web: Ctl) -> None:
    """get --subresource reads a subresource of one object."""
    assert web("get", "deploy/web", "--subresource=scale", "-o", "jsonpath={.kind} {.spec.replicas}").out == "Scale 1"
    assert "those that it has are scale, status" in web("get", "deploy/web", "--subresource=x", status=1).error
    assert "of one object" in web("get", "deploy", "--subresource=scale", status=1).error


def test_output_watch_events(web: Ctl) -> None:
    """--output-watch-events prefixes tables and objects with the type of the event."""

    def change(second: int) -> None:
        if second == 1:
            # Not with a second command, whose output would be mixed with the first one's.
            run(
                web.server.client().patch(DEPLOYMENTS, "default", "web", {"spec": {"paused": True}}, content_type=MERGE)
            )

    web.while_waiting, web.patience = change, 5
    lines = web("get", "deploy", "-w", "--output-watch-events").lines
    assert [line.split()[:2] for line in lines] == [["EVENT", "NAME"], ["ADDED", "web"], ["MODIFIED", "web"]]
    assert "needs -w" in web("get", "deploy", "--output-watch-events", status=1).error


class Stream:
    """Events of a watch, whose pieces are not lines; then nothing more comes, or it ends."""

    def __init__(self, *events: object, ended: bool = False) -> None:
        text = b"".join(json.dumps(each).encode() + b"\n" for each in events)
        self.pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
        self.ended = ended
        self.closed = False

    async def next(self) -> bytes | None:
        if not self.pieces and not self.ended:
            await Deferred()
        return self.pieces.pop(0) if self.pieces else None

    def close(self) -> None:
        self.closed = True


def _stream(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, *streams: Stream) -> list[Call]:
    """Let watches of later commands have these events. Returns their requests."""
    left, calls, make = list(streams), list[Call](), ctl.server.client

    def client(*user: str, **more: Any) -> Any:
        inner: Any = make(*user, **more)

        async def stream(call: Call, seconds: float) -> Any:
            calls.append(call)
            return left.pop(0)

        inner.stream = stream
        return inner

    monkeypatch.setattr(ctl.server, "client", client)
    return calls


def _map(name: str, version: str) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": version, "managedFields": []}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_watches_go_on_where_they_ended(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch begins behind the last event, bookmarks included; where its history is gone, all is printed again."""
    ctl("create", "-f", "-", send=MAPS)
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}}
    first = Stream(
        {"type": "ADDED", "object": _map("x", "70")}, {"type": "BOOKMARK", "object": _map("y", "80")}, ended=True
    )
    second = Stream({"type": "DELETED", "object": _map("z", "90")}, gone)
    calls = _stream(ctl, monkeypatch, first, second, Stream())
    ctl.patience = 3
    lines = ctl("get", "cm", "-w", "-o", "name").lines
    assert lines == [f"configmap/{name}" for name in "abcxzabc"]
    versions = [(call.query or {})["resourceVersion"] for call in calls]
    assert versions[1] == "80" and versions[0] == versions[2] != "90"
    assert first.closed and second.closed
    assert all(
        (call.query or {})["allowWatchBookmarks"] == "true" and call.path == "/api/v1/namespaces/default/configmaps"
        for call in calls
    )


def test_watched_objects(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are documents with their type; managed fields are left out unless they are wanted."""
    ctl.patience = 2
    for flags, managed in (((), False), (("--show-managed-fields",), True)):
        calls = _stream(ctl, monkeypatch, Stream({"type": "MODIFIED", "object": _map("x", "70")}))
        out = ctl("get", "cm", "x", "--watch-only", "--output-watch-events", "-o", "json", *flags, status=1)
        assert out.out == "" and "not found" in out.error and not calls
        calls = _stream(ctl, monkeypatch, Stream({"type": "MODIFIED", "object": _map("x", "70")}))
        event = json.loads(ctl("get", "cm", "-A", "--watch-only", "--output-watch-events", "-o", "json", *flags).out)
        assert event["type"] == "MODIFIED" and ("managedFields" in event["object"]["metadata"]) is managed
        assert calls[0].path == "/api/v1/configmaps"


def test_errors_of_watches(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error other than a history that is gone ends the command."""
    status = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "broken"}
    _stream(ctl, monkeypatch, Stream({"type": "ERROR", "object": status}))
    assert "broken" in ctl("get", "cm", "-w", status=1).error
