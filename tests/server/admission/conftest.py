"""Fixtures for admission plugins: informers, a client that reads and writes them, a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.config.choices import DEFAULT_ADMISSION_PLUGINS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gates import disabled
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User
from orchd.server.admission.builtin import NAMES, make_chain
from orchd.server.admission.chain import AdmissionChain
from orchd.server.admission.interfaces import (
    CREATE,
    Ask,
    PluginApi,
    PluginContext,
    PluginOutbound,
    PluginRuntime,
    PluginSettings,
    Review,
)
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of

ADMIN = User(name="admin", groups=("system:masters",))


class MemoryClient:
    """A client that reads and writes the informers' objects."""

    def __init__(self, informers: MemoryInformers) -> None:
        self.informers = informers
        self.calls: list[tuple[str, ...]] = []
        self.refuse: list[errors.ApiError] = []

    async def get(self, ref: ResourceRef, namespace: str, name: str, **more: Any) -> Object:
        self.calls.append(("get", ref.plural, namespace, name))
        obj = self.informers.informer(ref).get(namespace, name)
        if obj is None:
            raise errors.not_found(ref.group, ref.plural, name)
        return obj

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, **more: Any) -> Object:
        self.calls.append(("create", ref.plural, namespace, obj["metadata"]["name"]))
        self.informers.put(ref, obj)
        return obj

    async def update(
        self, ref: ResourceRef, namespace: str, name: str, obj: Object, *, subresource: str = "", **more: Any
    ) -> Object:
        self.calls.append(("update", ref.plural, namespace, name))
        if self.refuse:
            raise self.refuse.pop()
        version = int(obj["metadata"].get("resourceVersion") or 0) + 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        self.informers.put(ref, obj)
        return obj


def _no_reviewer(path: str, pause: float) -> Ask:
    raise ValueError("this test has no review service")


def configmap(name: str = "a") -> Object:
    return {"metadata": {"name": name}}


async def admit_review(chain: AdmissionChain, review: Review) -> None:
    """Run the mutating chain on a review."""
    await chain.phases(review.operation, review.resource, review.subresource)[0].run_again_if_asked(review)


async def validate_review(chain: AdmissionChain, review: Review) -> None:
    """Run the validating chain on a review."""
    await chain.phases(review.operation, review.resource, review.subresource)[1].run(review)


class World:
    """A namespace ``ns`` with its service account, and a chain of plugins: the default ones, or `only` some."""

    def __init__(
        self,
        *,
        enable: Iterable[str] = (),
        only: Iterable[str] = (),
        disable: Iterable[str] = (),
        configurations: Mapping[str, Mapping[str, Any]] | None = None,
        allowed: Callable[[Action], bool] = lambda action: True,
        release: Release = SPECIFICATION,
    ) -> None:
        self.catalog = builtin_catalog(ORCH, release)
        self.informers = MemoryInformers()
        self.client = MemoryClient(self.informers)
        # It implements the method that plugins call.
        client: Any = self.client
        self.warnings: list[str] = []
        self.notes: dict[str, str] = {}
        self.now = 1000.0

        async def authorize(action: Action) -> Verdict:
            return Verdict(Decision.ALLOW if allowed(action) else Decision.NO_OPINION)

        on = set(only) or (DEFAULT_ADMISSION_PLUGINS | set(enable)) - set(disable)
        self.context = PluginContext(
            settings=PluginSettings(dialect=ORCH, flags={}, release=release, disabled=disabled({}, release)),
            api=PluginApi(client=client, informers=self.informers, catalog=lambda: self.catalog),
            authorize=authorize,
            runtime=PluginRuntime(wall=lambda: self.now, reactor=None, random_suffix=lambda length: "x" * length),
            outbound=PluginOutbound(reviewer=_no_reviewer, webhooks=None),
        )
        self.chain = make_chain(self.context, [n for n in NAMES if n in on], configurations=configurations)
        self.namespace("ns")

    def namespace(
        self,
        name: str,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        phase: str = "Active",
    ) -> None:
        meta: dict[str, Any] = {"name": name}
        if labels:
            meta["labels"] = labels
        if annotations:
            meta["annotations"] = annotations
        self.put("namespaces", {"metadata": meta, "status": {"phase": phase}})
        self.put("serviceaccounts", {"metadata": {"name": "default", "namespace": name, "uid": "u"}})

    def put(self, plural: str, obj: Object, group: str = "", version: str = "v1") -> None:
        self.informers.put(ResourceRef(ORCH(group), version, plural), obj)

    def review(
        self,
        plural: str,
        obj: Object | None,
        old: Object | None = None,
        *,
        group: str = "",
        version: str = "v1",
        operation: str = CREATE,
        sub: str = "",
        namespace: str = "ns",
        **more: Any,
    ) -> Review:
        resource = self.catalog.resource(ORCH(group), version, plural)
        assert resource is not None, plural
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

    def run(self, *args: Any, **more: Any) -> Any:
        """Run both chains; returns the object that would be stored."""
        review = self.review(*args, **more)
        result_of(admit_review(self.chain, review))
        result_of(validate_review(self.chain, review))
        return review.object

    def refusal(self, *args: Any, **more: Any) -> ApiError:
        with pytest.raises(errors.ApiError) as caught:
            self.run(*args, **more)
        return caught.value


@pytest.fixture
def world() -> type[World]:
    return World


def pod(name: str = "p", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.fixture(name="pod")
def pod_fixture() -> Callable[..., Object]:
    return pod
