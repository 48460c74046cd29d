"""``describe`` and ``events``."""

from __future__ import annotations

from orchd.kinds.times import timestamp
from tests.ctl.ctl_runner import Ctl

MAPS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
"""


def test_describe_shows_related_objects_and_events(cluster: Ctl) -> None:
    """Pods and nodes are described with related objects, then events."""
    pod = cluster("describe", "pod", "p1").out
    assert "Node:             n1/" in pod
    assert "    Image:        nginx\n" in pod
    assert " default p1 " in " ".join(cluster("describe", "node/n1").out.split())
    uid = cluster("get", "pod/p1", "-o", "jsonpath={.metadata.uid}").out.strip()
    last = timestamp(cluster.server.clock.seconds() - 90)
    cluster(
        "create",
        "-f",
        "-",
        send=f"""
apiVersion: v1
kind: Event
metadata: {{name: e1, namespace: default}}
involvedObject: {{kind: Pod, namespace: default, name: p1, uid: {uid}}}
type: Warning
reason: Failed
message: no image
lastTimestamp: "{last}"
""",
    )
    line = cluster("describe", "pod", "p1").lines[-1]
    assert line.split()[:3] == ["Warning", "Failed", "90s"]
    assert cluster("events", "--for", "pod/p1").lines[1].split()[1:4] == ["Warning", "Failed", "Pod/p1"]
    assert "No events" in cluster("events", "--types=Normal").error
    cluster("create", "deployment", "web", "--image=nginx:1")
    assert "1 desired | 0 updated" in cluster("describe", "deploy", "web").out
    assert "No resource quota." in cluster("describe", "ns", "default").out
    assert cluster("describe", "cm").error == "No resources found in default namespace.\n"
    cluster("create", "-f", "-", send=MAPS)
    both = cluster("describe", "-f", "-", send=MAPS).lines
    assert both[0] == "Name:         a" and both[both.index("Name:         b") - 2 :][:2] == ["", ""]


def test_describe_shows_texts_but_no_secrets(ctl: Ctl) -> None:
    """Values of config maps are printed with their line breaks; of secrets only sizes are printed."""
    ctl("create", "configmap", "m", "--from-literal=aKey=one\ntwo")
    assert "aKey:\n----\none\ntwo\n" in ctl("describe", "cm", "m").out
    ctl("create", "secret", "s", "--from-literal=password=hunter22")
    out = ctl("describe", "secret", "s").out
    assert "password:  8 bytes" in out and "aHVudGVyMjI" not in out


def test_events_have_columns_of_their_own(cluster: Ctl) -> None:
    """Their widths are not those of the object's lines; a field of the object is in front of the message."""
    last = timestamp(cluster.server.clock.seconds() - 90)
    uid = cluster("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out if cluster("create", "cm", "m") else ""
    for name, more in (("e1", ""), ("e2", ", fieldPath: data"), ("e3", "")):
        source = "source: {component: c}" if name != "e3" else "reportingComponent: r"
        about = f"involvedObject: {{kind: ConfigMap, namespace: default, name: m, uid: {uid}{more}}}"
        cluster("create", "-f", "-", send=f"""
apiVersion: v1
kind: Event
metadata: {{name: {name}}}
{about}
{source}
type: Normal
reason: R
message: " text "
lastTimestamp: "{last}"
""")  # fmt: skip
    lines = cluster("describe", "cm", "m").lines
    assert lines[lines.index("Events:") + 1 :] == [
        "  Type    Reason  Age   From  Message",
        "  ----    ------  ----  ----  -------",
        "  Normal  R       90s   c     text",
        "  Normal  R       90s   c     data: text",
        "  Normal  R       90s   r     text",
    ]
    assert "Events:" not in cluster("describe", "cm", "m", "--show-events=false").out
