"""Limits the pods of a label's value: further ones wait until one of them is deleted.

A plugin with state: `holders` are the pods that count, `waiting` those that wait, both by uid and by value of the
label.
"""

from collections import defaultdict

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.scheduler.interfaces import IPermit, IPluginFactory, IReserve
from orchd.scheduler.values import ANY_EVENT, Code, Status

PODS = ResourceRef("", "v1", "pods")


@implementer(IReserve, IPermit)
class Licences:
    name = "Licences"
    events = ANY_EVENT

    def __init__(self, handle, label, seats, wait):
        self._handle = handle
        self._label = label
        self._seats = seats
        self._wait = wait
        self._holders = defaultdict(set)
        self._waiting = defaultdict(list)
        # Informers of `make` are synced before the first pod is scheduled, so pods of an earlier run are counted too.
        handle.informer(PODS).add_listener(self._pod_changed)

    def _pod_changed(self, event, old, new):
        obj = new or old
        licence = (obj["metadata"].get("labels") or {}).get(self._label)
        if licence is None:
            return
        if event == "DELETED":
            self._release(licence, obj["metadata"]["uid"])
        elif (obj.get("spec") or {}).get("nodeName"):
            self._holders[licence].add(obj["metadata"]["uid"])

    def _release(self, licence, uid):
        """Idempotent: a pod may be released by its deletion and by `unreserve`."""
        holders, waiting = self._holders[licence], self._waiting[licence]
        holders.discard(uid)
        if uid in waiting:
            waiting.remove(uid)
        while waiting and len(holders) < self._seats:
            first = waiting.pop(0)
            pod = self._handle.waiting(first)
            if pod is not None:
                holders.add(first)
                pod.allow(self.name)

    def reserve(self, state, pod, node_name):
        """Nothing to reserve: `permit` takes the seat. The interface is there for `unreserve`."""
        return None

    def unreserve(self, state, pod, node_name):
        if self._label in pod.labels:
            self._release(pod.labels[self._label], pod.uid)

    def permit(self, state, pod, node_name):
        licence = pod.labels.get(self._label)
        if licence is None:
            return None, 0.0
        if len(self._holders[licence]) < self._seats:
            self._holders[licence].add(pod.uid)
            return None, 0.0
        self._waiting[licence].append(pod.uid)
        return Status(Code.WAIT), self._wait


@implementer(IPlugin, IPluginFactory)
class Factory:
    name = "Licences"
    help = "Limits the number of running pods for each value of a label."
    points = ("reserve", "permit")

    def make(self, handle, args):
        unknown = sorted(set(args) - {"label", "seats", "waitSeconds"})
        if unknown:
            raise ValueError(f"unknown field {unknown[0]}")
        return Licences(
            handle, args.get("label", "licence"), int(args.get("seats", 1)), float(args.get("waitSeconds", 60))
        )


factory = Factory()
