"""The taint eviction controller: a controller of its own from release 1.29 on, part of the node lifecycle controller
before."""

from __future__ import annotations

from orchd.client.disrupted_pods import DisruptedPods
from orchd.controllers.base import Controller
from orchd.controllers.interfaces import Environment
from orchd.controllers.nodelifecycle.eviction import TaintEviction
from orchd.controllers.objects import BY_NODE, NODES, PODS, pods_node

#: The first release in which it runs by itself.
APART_SINCE = "1.29"


class TaintEvictionController(Controller):
    """Evicts pods from nodes with taints of effect NoExecute."""

    name = "taint-eviction-controller"
    account = "node-controller"
    component = "taint-eviction-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        pods = self.env.informers.informer(PODS)
        pods.add_index(BY_NODE, pods_node)
        eviction = TaintEviction(self.client, self.recorder, pods, env.clock, DisruptedPods(self.client, env.wall))
        self.follow(NODES, eviction.node_changed)
        self.follow(PODS, eviction.pod_changed)
        self.loop = eviction.loop
        self.instruments = (eviction.deletions, eviction.delays)
