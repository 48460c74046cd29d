"""DenyEscalatingExec and DenyExecOnPrivileged."""

from __future__ import annotations

import pytest

from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CONNECT
from tests.server.admission.conftest import World


@pytest.mark.parametrize(
    ("host", "escalating", "privileged"),
    [
        ({}, "", ""),
        ({"hostNetwork": True}, "", ""),
        ({"hostPID": True}, "using host pid", ""),
        ({"hostIPC": True}, "using host ipc", ""),
        ({"containers": [{"securityContext": {"privileged": True}}]}, "privileged", "privileged"),
        ({"initContainers": [{"securityContext": {"privileged": True}}]}, "privileged", "privileged"),
        ({"containers": [{"securityContext": {"privileged": False}}]}, "", ""),
    ],
)
def test_exec_into_pods_with_access_to_the_host(
    world: type[World], host: Object, escalating: str, privileged: str
) -> None:
    """Exec and attach are rejected for the pods that each plugin names; other subresources are not reviewed."""
    for plugin, word in (("DenyEscalatingExec", escalating), ("DenyExecOnPrivileged", privileged)):
        w = world(only=[plugin])
        w.put("pods", {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{}], **host}})
        for sub in ("exec", "attach"):
            if word:
                error = w.refusal("pods", None, operation=CONNECT, sub=sub, name="p")
                assert error.code == 403 and error.message.startswith(
                    'pods "p" is forbidden: cannot exec into or attach to a '
                )
                assert word in error.message
            else:
                w.run("pods", None, operation=CONNECT, sub=sub, name="p")
        w.run("pods", None, operation=CONNECT, sub="portforward", name="p")
        assert w.refusal("pods", None, operation=CONNECT, sub="exec", name="q").code == 403
