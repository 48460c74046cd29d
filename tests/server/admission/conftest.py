"""A small world for plugins: informers, a client that reads and writes them, a chain."""

from __future__ import annotations

from typing import Any

import pytest

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.identity import User
from orchd.server.admission.builtin import DEFAULT_ON, make_chain
from orchd.server.admission.interfaces import CREATE, PluginContext, Review
from orchd.server.authz.interfaces import Decision, Verdict
from orchd.testing.informers import MemoryInformers
from orchd.testing.results import result_of

CATALOG = builtin_catalog(ORCH)
ADMIN = User(name="admin", groups=("system:masters",))


class MemoryClient:
    """Reads and writes informers."""

    def __init__(self, informers):
        self.informers = informers
        self.calls = []
        self.refuse = []

    async def get(self, ref, namespace, name, **more):
        self.calls.append(("get", ref.plural, namespace, name))
        found = self.informers.informer(ref).get(namespace, name)
        if found is None:
            raise errors.not_found(ref.group, ref.plural, name)
        return found

    async def create(self, ref, namespace, obj, **more):
        self.calls.append(("create", ref.plural, namespace, obj["metadata"]["name"]))
        self.informers.put(ref, obj)
        return obj

    async def update(self, ref, namespace, name, obj, *, subresource="", **more):
        self.calls.append(("update", ref.plural, namespace, name))
        if self.refuse:
            raise self.refuse.pop()
        version = int(obj["metadata"].get("resourceVersion") or 0) + 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        self.informers.put(ref, obj)
        return obj


class World:
    def __init__(self, *, enable=(), only=(), disable=(), configurations=None, allowed=lambda action: True):
        self.informers = MemoryInformers()
        self.client = MemoryClient(self.informers)
        self.warnings: list[str] = []
        self.notes: dict[str, str] = {}
        self.now = 1000.0

        async def authorize(action):
            return Verdict(Decision.ALLOW if allowed(action) else Decision.NO_OPINION)

        if only:
            enable, disable = only, [n for n in DEFAULT_ON if n not in only]
        self.context = PluginContext(
            dialect=ORCH,
            client=self.client,
            informers=self.informers,
            authorize=authorize,
            flags={},
            wall=lambda: self.now,
            catalog=lambda: CATALOG,
        )
        self.chain = make_chain(self.context, enable=enable, disable=disable, configurations=configurations)
        self.namespace("ns")

    def namespace(self, name, labels=None, annotations=None, phase="Active"):
        meta: dict[str, Any] = {"name": name}
        if labels:
            meta["labels"] = labels
        if annotations:
            meta["annotations"] = annotations
        self.put("namespaces", {"metadata": meta, "status": {"phase": phase}})
        self.put("serviceaccounts", {"metadata": {"name": "default", "namespace": name, "uid": "u"}})

    def put(self, plural, obj, group="", version="v1"):
        self.informers.put(ResourceRef(ORCH(group), version, plural), obj)

    def review(self, plural, obj, old=None, *, group="", version="v1", operation=CREATE, sub="", namespace="ns", **more):
        resource = CATALOG.resource(ORCH(group), version, plural)
        meta = ((obj or old or {}).get("metadata")) or {}
        return Review(
            operation=operation,
            resource=resource,
            namespace=namespace if resource.namespaced else "",
            name=more.pop("name", meta.get("name", "")),
            user=more.pop("user", ADMIN),
            object=obj,
            old_object=old,
            subresource=sub,
            warn=self.warnings.append,
            annotate=self.notes.__setitem__,
            **more,
        )

    def run(self, *args, **more):
        """Both chains; gives back the object that would be stored."""
        review = self.review(*args, **more)
        result_of(self.chain.admit_review(review))
        result_of(self.chain.validate_review(review))
        return review.object

    def refusal(self, *args, **more):
        with pytest.raises(errors.ApiError) as caught:
            self.run(*args, **more)
        return caught.value


@pytest.fixture
def world():
    return World


def pod(name="p", **spec):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.fixture(name="pod")
def pod_fixture():
    return pod
