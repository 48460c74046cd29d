"""DenyEscalatingExec and DenyExecOnPrivileged: reject exec and attach to pods with access to their host. Both are
deprecated and disabled by default."""

from __future__ import annotations

from typing import ClassVar

from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.fields import mapping, spec
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CONNECT, IValidatingPlugin, Review
from orchd.server.admission.plugin import CONTAINER_LISTS, Plugin, refuse

PODS = ResourceRef("", "v1", "pods")


class _DenyExec(Plugin):
    """`host_fields` are the fields of a pod's spec that are rejected, with the word for them."""

    operations = (CONNECT,)
    resources = ("pods/exec", "pods/attach")
    host_fields: ClassVar[tuple[tuple[str, str], ...]] = ()

    async def validate(self, review: Review) -> None:
        try:
            pod = await self.context.api.client.get(PODS, review.namespace, review.name)
        except ApiError as error:
            raise refuse(review, error.message) from error
        for field, word in self.host_fields:
            if spec(pod).get(field):
                raise refuse(review, f"cannot exec into or attach to a container using {word}")
        if _is_privileged(pod):
            raise refuse(review, "cannot exec into or attach to a privileged container")


def _is_privileged(pod: Object) -> bool:
    containers = [container for key in CONTAINER_LISTS for container in spec(pod).get(key) or ()]
    return any(mapping(container, "securityContext").get("privileged") for container in containers)


@implementer(IValidatingPlugin)
class DenyEscalatingExec(_DenyExec):
    name = "DenyEscalatingExec"
    help = "Rejects exec and attach to pods that are privileged or use the PID or IPC namespace of their host."
    host_fields = (("hostPID", "host pid"), ("hostIPC", "host ipc"))


@implementer(IValidatingPlugin)
class DenyExecOnPrivileged(_DenyExec):
    name = "DenyExecOnPrivileged"
    help = "Rejects exec and attach to privileged pods."
