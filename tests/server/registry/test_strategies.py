"""Strategies of kinds, by table; allocation ranges and stored services."""

from __future__ import annotations

import dataclasses
from functools import partial
from ipaddress import ip_network
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.kinds.objects.schema_check.limits import LongValidationError
from orchd.server.registry.ranges import (
    AddressRange,
    AllocatedError,
    ExhaustedError,
    NumberRange,
    OutOfRangeError,
    first_address,
)
from orchd.server.registry.strategies import seccomp
from orchd.txkit.compute_thread import LARGE


class TestRanges:
    def test_range_values_are_unique(self) -> None:
        """Reserved and stored values are in use; committed ones follow the store."""
        used: set[int] = {3}
        numbers = NumberRange(1, 4, lambda: used, Random(1))
        numbers.take(1)
        for value in (1, 3):
            with pytest.raises(AllocatedError):
                numbers.take(value)
        for value in (0, 5):
            with pytest.raises(OutOfRangeError):
                numbers.take(value)
        assert {numbers.take_any(), numbers.take_any()} == {2, 4}
        with pytest.raises(ExhaustedError):
            numbers.take_any()
        numbers.release(2)
        assert numbers.take_any() == 2
        single = NumberRange(1, 1, set, Random(1))
        assert single.take_any() == 1
        with pytest.raises(ExhaustedError):
            single.take_any()

    @pytest.mark.parametrize(
        ("network", "first", "size"), [("10.0.0.0/29", "10.0.0.1", 6), ("fd00::/125", "fd00::1", 7)]
    )
    def test_network_and_broadcast_addresses_are_not_allocated(self, network: str, first: str, size: int) -> None:
        """The network's own address and the IPv4 broadcast address are never allocated."""
        space = AddressRange(ip_network(network), set, Random(1))
        assert first_address(ip_network(network)) == first
        space.check(first)
        assert len({space.take_any() for _ in range(size)}) == size
        assert (space.size, space.count()) == (size, size)
        with pytest.raises(ExhaustedError):
            space.take_any()

    def test_first_part_of_a_range_is_taken_last(self) -> None:
        """Values of the static part are given when no others are free, and to requests."""
        numbers = NumberRange(1, 20, set, Random(1), static=16)
        numbers.take(3)
        assert {numbers.take_any() for _ in range(4)} == {17, 18, 19, 20}
        assert {numbers.take_any() for _ in range(15)} == {*range(1, 17)} - {3}
        with pytest.raises(ExhaustedError):
            numbers.take_any()

    def test_values_are_counted_once(self) -> None:
        """A value that is reserved and, by now, stored is one."""
        used: set[int] = {3}
        numbers = NumberRange(1, 9, lambda: used, Random(1))
        numbers.take(5)
        assert numbers.count() == 2
        used.add(5)
        assert numbers.count() == 2
        numbers.release(5)
        assert numbers.count() == 2

    @pytest.mark.parametrize(
        ("network", "most", "inside", "outside"),
        [
            ("10.0.0.0/29", 0, ("10.0.0.1", "10.0.0.6"), ("10.0.0.0", "10.0.0.7", "10.0.1.1", "fd00::1")),
            # Only ranges of the second family are cut.
            ("10.0.0.0/29", 4, ("10.0.0.1", "10.0.0.6"), ("10.0.0.0", "10.0.0.7")),
            ("fd00::/120", 0, ("fd00::1", "fd00::ff"), ("fd00::", "fd00::1:0", "10.0.0.1")),
            ("fd00::/120", 16, ("fd00::1", "fd00::f"), ("fd00::", "fd00::10")),
            ("fd00::/120", 1024, ("fd00::1", "fd00::ff"), ("fd00::", "fd00::100")),
        ],
    )
    def test_bounds_of_address_ranges(
        self, network: str, most: int, inside: tuple[str, ...], outside: tuple[str, ...]
    ) -> None:
        """An address outside of a range is refused with the range."""
        space = AddressRange(ip_network(network), set, Random(1), most=most)
        for address in inside:
            space.take(address)
        assert space.count() == 2
        for address in outside:
            assert not space.contains(address)
            why = rf"^the provided IP \({address}\) is not in the valid range. The range of valid IPs is {network}$"
            with pytest.raises(OutOfRangeError, match=why):
                space.take(address)
        for address in inside:
            with pytest.raises(AllocatedError):
                space.take(address)
            space.release(address)
        assert space.count() == 0


class TestDefinitions:
    def test_definitions_are_validated_away_from_the_reactor(self, space: Any) -> None:
        """A definition of any size may have patterns that take long to compile."""
        group = space.server.dialect("apiextensions.{abbr}.io")
        resource = space.server.server.catalog.resource(group, "v1", "customresourcedefinitions")
        strategy = space.server.server.registry.strategy(resource)
        small: Any = SimpleNamespace(size=1, subresource="")
        for validate in (partial(strategy.validate_create, small), partial(strategy.validate_update, small, {})):
            with pytest.raises(LongValidationError):
                validate({})
        large: Any = SimpleNamespace(size=LARGE + 1, subresource="")
        assert strategy.validate_create(large, {"metadata": {"name": "a"}, "spec": {}})


class TestServices:
    def service(self, name: str, **spec: Any) -> Any:
        return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}

    def test_deleted_service_frees_its_address(self, space: Any) -> None:
        """An address is free again only when its service is deleted."""
        service = space.make("services", self.service("a"))
        address = service["spec"]["clusterIP"]
        wanted = self.service("b", clusterIP=address)
        taken = space("POST", "services", wanted)
        assert taken.code == 422 and "provided IP is already allocated" in taken.json["message"]
        assert space("POST", "services?dryRun=All", wanted).code == 201
        space("DELETE", "services/a")
        assert space("POST", "services", wanted).json["spec"]["clusterIP"] == address

    def test_refused_write_frees_its_reservations(self, space: Any) -> None:
        """Values that were reserved for a rejected write are free again."""
        bad = self.service("NOT GOOD", type="NodePort", ports=[{"port": 80, "nodePort": 30999}])
        assert space("POST", "services", bad).code == 422
        good = self.service("good", type="NodePort", ports=[{"port": 80, "nodePort": 30999}])
        assert space("POST", "services", good).code == 201
        strategy = space.server.server.registry.strategy(space.server.server.catalog.resource("", "v1", "services"))
        assert not strategy.ports._reserved

    def test_update_keeps_allocated_values(self, space: Any) -> None:
        """An update that omits address and node port keeps them; another type releases the node port."""
        service = space.make("services", self.service("a", type="NodePort"))
        port = service["spec"]["ports"][0]["nodePort"]
        body = {**self.service("a", type="NodePort"), "metadata": {"name": "a"}}
        kept = space("PUT", "services/a", body).json
        assert (
            kept["spec"]["clusterIP"] == service["spec"]["clusterIP"] and kept["spec"]["ports"][0]["nodePort"] == port
        )
        plain = space("PUT", "services/a", {**kept, "spec": {**kept["spec"], "type": "ClusterIP"}}).json
        assert "nodePort" not in plain["spec"]["ports"][0]
        other = self.service("b", type="NodePort", ports=[{"port": 1, "nodePort": port}])
        assert space("POST", "services", other).code == 201

    def test_headless_and_external_services_have_no_address(self, space: Any) -> None:
        """Headless services and external names have no address of the range."""
        assert space.make("services", self.service("a", clusterIP="None"))["spec"]["clusterIPs"] == ["None"]
        named = space.make("services", self.service("b", type="ExternalName", externalName="x.example"))
        assert "clusterIP" not in named["spec"]

    def test_existing_services_are_read_once(self, space: Any) -> None:
        """Existing services are read once; afterwards the cost of a create does not depend on their number."""
        space.make("services", self.service("a"))
        resource = space.server.server.catalog.resource("", "v1", "services")
        cache = space.server.server.registry.cache(resource)
        pages: list[Any] = []
        page = cache.page

        def counted(**how: Any) -> Any:
            pages.append(how)
            return page(**how)

        cache.page = counted
        try:
            for number in range(3):
                space.make("services", self.service(f"b{number}"))
        finally:
            del cache.page
        assert pages == []


def _container(requests: Any = None, limits: Any = None) -> Any:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "quality"),
    [
        ([_container()], "BestEffort"),
        ([_container({"cpu": "0"})], "BestEffort"),
        ([_container({"ephemeral-storage": "1Gi"})], "BestEffort"),
        ([_container({"cpu": "1"})], "Burstable"),
        ([_container(FULL, FULL)], "Guaranteed"),
        ([_container({"cpu": "1000m", "memory": "1024Mi"}, FULL)], "Guaranteed"),
        ([_container({"cpu": "500m"}, FULL)], "Burstable"),
        ([_container(FULL, FULL), _container()], "Burstable"),
    ],
)
def test_qos_class_of_pods(containers: Any, quality: str) -> None:
    """Guaranteed if all containers have equal requests and limits, BestEffort if there are none of either."""
    assert qos_class({"containers": containers}) == quality


POD_KEY, CONTAINER_KEY = "seccomp.security.alpha.orch.io/pod", "container.seccomp.security.alpha.orch.io/c"


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/a/b", {"type": "Localhost", "localhostProfile": "a/b"}),
    ],
)
@pytest.mark.parametrize("key", [POD_KEY, CONTAINER_KEY])
def test_seccomp_annotation_and_field_are_synchronized(text: str, profile: Any, key: str) -> None:
    """The annotation sets the field and the field the annotation, for pods and containers."""
    bare: Any = {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}
    annotated = {**bare, "metadata": {"annotations": {key: text}}}
    context = {"securityContext": {"seccompProfile": profile}}
    spec = {**bare["spec"], **context} if key == POD_KEY else {"containers": [{"name": "c", **context}]}
    both = {"metadata": {"annotations": {key: text}}, "spec": spec}
    assert seccomp.sync_profiles(annotated, ORCH) == both
    assert seccomp.sync_profiles({**bare, "spec": spec}, ORCH) == both
    assert seccomp.sync_profiles(both, ORCH) == both


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ({"type": "Localhost"}, None),
        ({"type": "Localhost", "localhostProfile": ""}, "localhost/"),
        ({"type": "Unconfined", "localhostProfile": "x"}, "unconfined"),
        ({"type": "Other"}, None),
        ({}, None),
    ],
)
def test_seccomp_profiles_as_annotations(profile: Any, text: str | None) -> None:
    """A profile without a form as an annotation sets none."""
    pod: Any = {"metadata": {}, "spec": {"containers": [], "securityContext": {"seccompProfile": profile}}}
    assert seccomp.sync_profiles(pod, ORCH)["metadata"].get("annotations", {}).get(POD_KEY) == text


@pytest.mark.parametrize("text", ["localhost/", "else"])
def test_invalid_seccomp_annotation_is_kept(text: str) -> None:
    """An invalid annotation changes nothing; nor does a field beside a different annotation."""
    pod: Any = {"metadata": {"annotations": {POD_KEY: text}}, "spec": {"containers": []}}
    assert seccomp.sync_profiles(pod, ORCH) is pod


class TestKinds:
    def test_gated_pod_fields_are_dropped(self, space: Any) -> None:
        """Pod fields of disabled feature gates of release 1.23 are dropped."""
        context = {"securityContext": {"procMount": "Odd"}}
        pod = {
            "metadata": {"name": "p"},
            "spec": {"os": {"name": "linux"}, "containers": [{"name": "c", "image": "i", **context}]},
        }
        spec = space.make("pods", pod)["spec"]
        assert "os" not in spec and spec["containers"][0]["securityContext"] == {"procMount": "Default"}

    def test_unsupported_claim_data_sources_are_dropped(self, space: Any) -> None:
        """A claim may have another claim as its source; other sources are dropped."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for name, kind, kept in (("a", "PersistentVolumeClaim", True), ("b", "Other", False)):
            source = {"dataSource": {"kind": kind, "name": "x"}}
            persistentvolumeclaim = space.make(
                "persistentvolumeclaims", {"metadata": {"name": name}, "spec": {**spec, **source}}
            )
            assert ("dataSource" in persistentvolumeclaim["spec"]) is kept and persistentvolumeclaim["status"][
                "phase"
            ] == "Pending"

    def test_job_selector_uses_the_uid(self, space: Any) -> None:
        """A job's selector and its pods' labels have the job's uid."""
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        job = space.make("jobs", {"metadata": {"name": "j"}, "spec": {"template": template}}, group="batch/v1")
        uid = job["metadata"]["uid"]
        assert job["spec"]["selector"] == {"matchLabels": {"controller-uid": uid}}
        assert job["spec"]["template"]["metadata"]["labels"] == {"controller-uid": uid, "job-name": "j"}

    def test_job_labels_default_to_the_templates(self, space: Any) -> None:
        """A job without labels gets those of its template; existing labels stay."""
        spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        for name, given in (("none", {}), ("same", {"labels": {"a": "b"}})):
            body = {"metadata": {"name": name, **given}, "spec": {"template": template}}
            job = space.make("jobs", body, group="batch/v1")
            own = {} if given else {"controller-uid": job["metadata"]["uid"], "job-name": name}
            assert job["metadata"]["labels"] == {"a": "b", **own}

    def test_events_have_a_time_to_live(self, space: Any) -> None:
        """Events are stored with a lease of --event-ttl, which every update renews."""
        store, times = space.server.server.registry.access.store, []
        create, update = store.create, store.update

        async def creating(key: str, value: bytes, *, ttl: int | None = None) -> int:
            times.append(ttl)
            revision: int = await create(key, value, ttl=ttl)
            return revision

        async def updating(key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
            times.append(ttl)
            revision: int = await update(key, value, expected=expected, ttl=ttl)
            return revision

        store.create, store.update = creating, updating
        try:
            event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": space.name}}
            stored_event = space.make("events", event)
            assert space("PUT", "events/e", {**stored_event, "message": "again"}).code == 200
            space.config("a")
        finally:
            del store.create, store.update
        assert times == [3600, 3600, None]

    def test_one_strategy_per_resource(self, space: Any) -> None:
        """A strategy is created once per resource; a replaced resource gets a new one, and the old one is released."""
        strategies = space.server.server.registry.strategies
        resource = space.server.server.catalog.resource("", "v1", "configmaps")
        first = strategies(resource)
        assert strategies(resource) is first
        count = len(strategies._by_resource)
        assert strategies(dataclasses.replace(resource)) is not first and len(strategies._by_resource) == count
