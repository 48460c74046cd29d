"""Scores nodes by a label: those whose "rack-power" is the highest are preferred."""

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.scheduler.interfaces import IPluginFactory, IScore
from orchd.scheduler.values import Action, ClusterEvent


@implementer(IScore)
class RackPower:
    name = "RackPower"
    # News after which a pod that this plugin refused is worth another attempt. A score refuses nothing.
    events = (ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),)

    def __init__(self, label):
        self.label = label

    def score(self, state, pod, node):
        value = node.labels.get(self.label, "0")
        return int(value) if value.isdecimal() else 0

    def normalize(self, state, pod, scores):
        most = max(scores, default=0)
        return [score * 100 // most if most else 0 for score in scores]


@implementer(IPlugin, IPluginFactory)
class Factory:
    name = "RackPower"
    help = "Prefers nodes with more power."
    points = ("score",)

    def make(self, handle, args):
        unknown = sorted(set(args) - {"label"})
        if unknown:
            raise ValueError(f"unknown field {unknown[0]}")
        return RackPower(args.get("label", "rack-power"))


factory = Factory()
