"""DefaultTolerationSeconds: limits the time that pods stay on not-ready or unreachable nodes."""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.kinds.fields import spec, with_spec
from orchd.server.admission.interfaces import IMutatingPlugin, Review
from orchd.server.admission.plugin import Plugin

_DEFAULT = 300


@implementer(IMutatingPlugin)
class DefaultTolerationSeconds(Plugin):
    name = "DefaultTolerationSeconds"
    help = "Adds tolerations with limited time for not-ready and unreachable nodes."
    resources = ("pods",)

    def setup(self) -> None:
        flags = self.context.settings.flags
        self._tolerations = tuple(
            {
                "key": self.dialect(template),
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": flags.get(flag, _DEFAULT),
            }
            for template, flag in (
                ("node.{long}.io/not-ready", "default-not-ready-toleration-seconds"),
                ("node.{long}.io/unreachable", "default-unreachable-toleration-seconds"),
            )
        )

    async def admit(self, review: Review) -> None:
        pod = review.written
        held = spec(pod).get("tolerations") or []
        missing = [t for t in self._tolerations if not any(_covers(h, t["key"]) for h in held)]
        if missing:
            review.object = with_spec(pod, tolerations=[*held, *missing])


def _covers(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
