"""A complete drop-in admission plugin whose policy is an expression in CEL, from the plugin's configuration.

See docs/extending/policy.md.
"""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.kinds.expressions.admission import BUDGET, Compiler, Purpose
from orchd.server.admission.expressions.evaluation import Evaluator, Group
from orchd.server.admission.expressions.questions import asking
from orchd.server.admission.expressions.views import view_of
from orchd.server.admission.interfaces import (
    IAdmissionPlugin,
    IAdmissionPluginFactory,
    IValidatingPlugin,
    PluginContext,
    Review,
)
from orchd.server.admission.plugin import Plugin, refuse


@implementer(IValidatingPlugin)
class ImagePolicy(Plugin):
    """Rejects pods for which the expression is false."""

    name = "ImagePolicy"
    help = "Pods meet the expression of the configuration."
    resources = ("pods",)

    def setup(self) -> None:
        section = self.context.settings.configuration or {}
        self._message = str(section.get("message", "the policy of images is not met"))
        self._rule = Compiler(self.dialect).compile(str(section.get("expression", "true")), Purpose.CONDITION)
        if self._rule.error:
            raise ValueError(f"expression: {self._rule.error}")

    async def validate(self, review: Review) -> None:
        view = await view_of(self.context, review, review.resource, None)
        # Cheap expressions run at once, others in another thread; questions to the authorizer are asked in between.
        evaluator = Evaluator(asking(self.context.authorize, review.user), self.context.runtime.compute)
        result = await evaluator.run(lambda run: Group(run, view, BUDGET, authorizer=True).evaluate(self._rule))
        if result.error or result.value is not True:
            raise refuse(review, result.error or self._message)


@implementer(IPlugin, IAdmissionPluginFactory)
class _Factory:
    name = ImagePolicy.name
    help = ImagePolicy.help

    def make(self, context: PluginContext) -> IAdmissionPlugin:
        made: IAdmissionPlugin = ImagePolicy(context)
        return made


factory = _Factory()
