"""A complete drop-in admission plugin: pods need a label `team`, and get the default from the plugin's configuration.

See docs/extending/admission-plugin.md.
"""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.kinds.fields import labels, with_metadata
from orchd.server.admission.interfaces import (
    CREATE,
    IAdmissionPlugin,
    IAdmissionPluginFactory,
    IMutatingPlugin,
    IValidatingPlugin,
    PluginContext,
    Review,
)
from orchd.server.admission.plugin import Plugin, refuse


@implementer(IMutatingPlugin, IValidatingPlugin)
class TeamLabel(Plugin):
    """Mutates first, so that the validating half sees the default."""

    name = "TeamLabel"
    help = "Pods carry the label team; a default can be configured."
    operations = (CREATE,)
    resources = ("pods",)

    def setup(self) -> None:
        section = self.context.settings.configuration or {}
        unknown = set(section) - {"default"}
        if unknown:
            raise ValueError(f"unknown field {sorted(unknown)[0]}")
        self._default = str(section.get("default", ""))

    async def admit(self, review: Review) -> None:
        """Set the default. Objects are shared: a new one is assigned, the old one is not edited."""
        if self._default and review.object is not None and "team" not in labels(review.object):
            review.object = with_metadata(review.object, labels={**labels(review.object), "team": self._default})

    async def validate(self, review: Review) -> None:
        if "team" not in labels(review.object):
            raise refuse(review, "the label team is required")


@implementer(IPlugin, IAdmissionPluginFactory)
class _Factory:
    name = TeamLabel.name
    help = TeamLabel.help

    def make(self, context: PluginContext) -> IAdmissionPlugin:
        made: IAdmissionPlugin = TeamLabel(context)
        return made


factory = _Factory()
