"""DELETE: preconditions, finalizers, grace, propagation, collections, namespaces."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.testing.doubles.server import NOW, make_server, run

MERGE = "application/merge-patch+json"
CONFIG_MAPS = ResourceRef("", "v1", "configmaps")
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def at(seconds: float) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class TestPlain:
    def test_delete_without_finalizers_is_immediate(self, space: Any) -> None:
        """An object without finalizers is deleted at once; the response is a Status that names it, or the object."""
        uid = space.config("a")["metadata"]["uid"]
        response = space("DELETE", "configmaps/a").json
        assert response["status"] == "Success" and response["details"] == {
            "name": "a",
            "kind": "configmaps",
            "uid": uid,
        }
        assert space("GET", "configmaps/a").code == 404 and space("DELETE", "configmaps/a").code == 404
        space.make("podtemplates", {"metadata": {"name": "t"}, "template": {"spec": POD["spec"]}})
        assert space("DELETE", "podtemplates/t").json["kind"] == "PodTemplate"

    @pytest.mark.parametrize("preconditions", [{"uid": "other"}, {"resourceVersion": "1"}])
    def test_delete_preconditions(self, space: Any, preconditions: Any) -> None:
        """uid and resourceVersion of DeleteOptions must match the object's."""
        metadata = space.config("a")["metadata"]
        refused = space("DELETE", "configmaps/a", {"preconditions": preconditions})
        assert (refused.code, refused.json["reason"]) == (409, "Conflict")
        met = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        assert space("DELETE", "configmaps/a", {"preconditions": met}).code == 200

    def test_delete_options_in_the_query(self, space: Any) -> None:
        """Without a body the options come from the query, uid included."""
        uid = space.config("a")["metadata"]["uid"]
        assert space("DELETE", "configmaps/a?uid=other").code == 409
        assert space("DELETE", "configmaps/a?propagationPolicy=Never").code == 422
        assert space("DELETE", "configmaps/a?propagationPolicy=Orphan&orphanDependents=true").code == 422
        both = space("DELETE", "configmaps/a?propagationPolicy=Never&orphanDependents=true").json
        assert [cause["reason"] for cause in both["details"]["causes"]] == [
            "FieldValueInvalid",
            "FieldValueNotSupported",
        ]
        assert space("DELETE", f"configmaps/a?uid={uid}").code == 200

    def test_undecodable_entry_is_removed_at_once(self, space: Any) -> None:
        """An object whose bytes cannot be decoded is deleted like a damaged value, without its finalizers; its version
        is compared, and its uid cannot be."""
        space.config("a", finalizers=["x.test/f"])
        access, catalog = space.server.server.registry.access, space.server.server.catalog
        resource = catalog.resource("", "v1", "configmaps")
        entry = access.cache(resource).get(f"{space.name}/a")
        entry.json, entry.fresh = entry.json.replace(b'"v"', b'"\xff"'), None
        assert space("DELETE", "configmaps/a", {"preconditions": {"uid": "x"}}).code == 500
        assert space("DELETE", "configmaps/a", {"preconditions": {"resourceVersion": "1"}}).code == 409
        assert access.cache(resource).get(f"{space.name}/a") is entry
        assert space("DELETE", "configmaps/a").json["status"] == "Success"
        assert space("GET", "configmaps/a").code == 404

    @pytest.mark.parametrize("other", ["removed", "replaced", "changed"])
    def test_forced_delete_races_with_a_kubelet(self, space: Any, other: str) -> None:
        """A forced deletion succeeds even if a kubelet deletes or changes the marked object first; a new object of that
        name stays."""
        uid = space.make("pods", POD)["metadata"]["uid"]
        bound = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        assert space("POST", "pods/p/binding", bound).code == 201
        store = space.server.server.registry.access.store
        delete = store.delete
        raced: list[Any] = []

        async def slow(key: str, *, expected: int) -> int:
            if not raced:
                raced.append(key)
                if other == "changed":
                    assert space("PATCH", "pods/p/status", {"status": {"message": "m"}}, content_type=MERGE).code == 200
                else:
                    await delete(key, expected=expected)
                if other == "replaced":
                    space.make("pods", POD)
            revision: int = await delete(key, expected=expected)
            return revision

        store.delete = slow
        try:
            response = space("DELETE", "pods/p?gracePeriodSeconds=0")
        finally:
            store.delete = delete
        assert (response.code, response.json["metadata"]["uid"]) == (200, uid)
        assert space("GET", "pods/p").code == (200 if other == "replaced" else 404)

    def test_delete_retries_after_a_concurrent_write(self, space: Any) -> None:
        """A delete without preconditions deletes the object in its new version."""
        space.config("a")
        store = space.server.server.registry.access.store
        raced: list[Any] = []
        delete = store.delete

        async def slow(key: str, *, expected: int) -> int:
            if not raced:
                raced.append(key)
                space("PATCH", "configmaps/a", {"data": {"x": "y"}}, content_type=MERGE)
            revision: int = await delete(key, expected=expected)
            return revision

        store.delete = slow
        try:
            assert space("DELETE", "configmaps/a").code == 200
        finally:
            del store.delete
        assert raced and space("GET", "configmaps/a").code == 404


class TestFinalizers:
    def test_finalizers_delay_the_deletion(self, space: Any) -> None:
        """A delete sets the deletion timestamp; removing the last finalizer completes it, and new finalizers are
        rejected."""
        space.config("a", finalizers=["x.example/a", "x.example/b"])
        marked = space("DELETE", "configmaps/a")
        assert marked.code == 200 and marked.json["metadata"]["deletionTimestamp"] == at(0)
        assert marked.json["metadata"]["deletionGracePeriodSeconds"] == 0
        again = space("DELETE", "configmaps/a").json
        assert again["metadata"] == marked.json["metadata"]
        assert space("DELETE", "configmaps/a", {"orphanDependents": False}).code == 202
        more = {"metadata": {"finalizers": ["x.example/a", "x.example/c"]}}
        assert space("PATCH", "configmaps/a", more, content_type=MERGE).code == 422
        less = {"metadata": {"finalizers": ["x.example/b"]}}
        assert space("PATCH", "configmaps/a", less, content_type=MERGE).code == 200
        last = space("PATCH", "configmaps/a", {"metadata": {"finalizers": None}}, content_type=MERGE)
        assert last.code == 200 and space("GET", "configmaps/a").code == 404

    @pytest.mark.parametrize(
        ("before", "options", "after"),
        [
            ([], {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
            ([], {"propagationPolicy": "Orphan"}, ["orphan"]),
            ([], {"orphanDependents": True}, ["orphan"]),
            (["x.example/a", "orphan"], {"propagationPolicy": "Foreground"}, ["x.example/a", "foregroundDeletion"]),
            (["x.example/a", "foregroundDeletion"], {"propagationPolicy": "Background"}, ["x.example/a"]),
            (["orphan", "x.example/a"], {}, ["orphan", "x.example/a"]),
            (["foregroundDeletion"], {"propagationPolicy": "Background"}, None),
        ],
    )
    def test_propagation_policy_becomes_a_finalizer(
        self, space: Any, before: list[str], options: Any, after: list[str] | None
    ) -> None:
        """The policy sets at most one of the finalizers orphan and foregroundDeletion; others stay."""
        space.config("a", finalizers=before)
        space("DELETE", "configmaps/a", options)
        response = space("GET", "configmaps/a")
        assert response.code == 404 if after is None else response.json["metadata"]["finalizers"] == after

    def test_marking_raises_the_generation_once(self, space: Any) -> None:
        """The deletion timestamp raises the generation; a second delete does not."""
        body = {"metadata": {"name": "b", "finalizers": ["x.example/a"]}, "spec": {"podSelector": {}}}
        space.make("networkpolicies", body, group="networking.orch.io/v1")
        for _ in range(2):
            marked = space("DELETE", "networkpolicies/b", group="networking.orch.io/v1").json
            assert marked["metadata"]["generation"] == 2


class TestGrace:
    def bound(self, space: Any, **spec: Any) -> None:
        space.make("pods", {**POD, "spec": {**POD["spec"], "nodeName": "n", **spec}})

    def test_scheduled_pod_waits_for_its_grace_period(self, space: Any) -> None:
        """A bound pod gets its grace period; only a shorter one changes it, counted from the first delete."""
        self.bound(space)
        first = space("DELETE", "pods/p").json["metadata"]
        assert (first["deletionTimestamp"], first["deletionGracePeriodSeconds"]) == (at(30), 30)
        longer = space("DELETE", "pods/p", {"gracePeriodSeconds": 60}).json["metadata"]
        assert longer["resourceVersion"] == first["resourceVersion"]
        shorter = space("DELETE", "pods/p?gracePeriodSeconds=10").json["metadata"]
        assert (shorter["deletionTimestamp"], shorter["deletionGracePeriodSeconds"]) == (at(10), 10)

    def test_grace_period_zero_deletes_at_once(self, space: Any) -> None:
        """A grace period of 0 deletes the pod; watchers first see it marked, then deleted."""
        self.bound(space)
        seen: list[Any] = []
        server = space.server.server
        cache = server.registry.cache(server.catalog.resource("", "v1", "pods"))
        subscription = cache.subscribe(
            after=cache.revision, prefix=f"{space.name}/p", on_change=seen.append, on_end=seen.append
        )
        response = space("DELETE", "pods/p?gracePeriodSeconds=0").json
        subscription.cancel()
        assert [c.type.value for c in seen] == ["MODIFIED", "DELETED"]
        assert response["metadata"]["deletionGracePeriodSeconds"] == 0
        assert response["metadata"]["resourceVersion"] == str(seen[0].revision)

    def test_longer_grace_period_changes_nothing(self, space: Any) -> None:
        """A delete that does not shorten the grace period changes nothing, not even finalizers."""
        self.bound(space)
        first = space("DELETE", "pods/p").json
        again = space("DELETE", "pods/p", {"propagationPolicy": "Foreground"}).json
        assert again["metadata"] == first["metadata"]
        less = space("DELETE", "pods/p", {"gracePeriodSeconds": -5}).json["metadata"]
        assert (less["deletionTimestamp"], less["deletionGracePeriodSeconds"]) == (at(1), 1)

    def test_unscheduled_pod_is_deleted_at_once(self, space: Any) -> None:
        """A pod without a node is deleted without a grace period."""
        space.make("pods", POD)
        assert space("DELETE", "pods/p").code == 200 and space("GET", "pods/p").code == 404

    def test_finalizers_outlast_grace(self, space: Any) -> None:
        """A pod with finalizers stays after its grace period."""
        pod = {**POD, "metadata": {"name": "p", "finalizers": ["x.example/a"]}}
        space.make("pods", {**pod, "spec": {**POD["spec"], "nodeName": "n"}})
        space("DELETE", "pods/p?gracePeriodSeconds=0")
        assert space("GET", "pods/p").json["metadata"]["deletionGracePeriodSeconds"] == 0


class TestCollections:
    def test_collection_is_selected_as_a_list(self, space: Any) -> None:
        """Selectors apply; the response is the list of the deleted objects."""
        space.config("a", labels={"go": "1"})
        space.config("b")
        shown = space("DELETE", "configmaps?labelSelector=go").json
        assert shown["kind"] == "ConfigMapList" and [o["metadata"]["name"] for o in shown["items"]] == ["a"]
        assert space.names("configmaps") == ["b"]

    def test_collection_is_limited_to_a_namespace(self, space: Any) -> None:
        """Objects of other namespaces stay, and a collection across namespaces cannot be deleted."""
        space.config("a")
        elsewhere = "/api/v1/namespaces/default/configmaps"
        response = run(space.server.request("POST", elsewhere, body={"metadata": {"name": "kept-" + space.name}}))
        assert response.code == 201
        assert space("DELETE", "configmaps").code == 200
        kept = run(space.server.request("GET", f"{elsewhere}/kept-{space.name}"))
        assert kept.code == 200 and space.names("configmaps") == []
        assert run(space.server.request("DELETE", "/api/v1/configmaps")).code == 405


class TestNamespaces:
    def test_generated_name_is_in_the_namespace_label(self, space: Any) -> None:
        """The label is set once the name is generated."""
        sent = {"metadata": {"generateName": "made-"}}
        made = run(space.server.request("POST", "/api/v1/namespaces", body=sent)).json
        name = made["metadata"]["name"]
        assert name.startswith("made-") and name in made["metadata"]["labels"].values()

    def test_namespace_delete_preconditions(self, space: Any) -> None:
        """The errors have their own messages, as for definitions."""
        url = f"/api/v1/namespaces/{space.name}"
        uid = run(space.server.request("GET", url)).json["metadata"]["uid"]
        refused = run(space.server.request("DELETE", f"{url}?uid=other"))
        assert refused.code == 409 and refused.json["message"] == (
            f'Operation cannot be fulfilled on namespaces "{space.name}": Precondition failed: '
            f"UID in precondition: other, UID in object meta: {uid}"
        )

    def test_namespace_finalizers_are_removed_through_finalize(self, space: Any) -> None:
        """A namespace is Terminating until its finalizers are removed through /finalize."""
        url = f"/api/v1/namespaces/{space.name}"
        marked = run(space.server.request("DELETE", url)).json
        assert marked["status"]["phase"] == "Terminating" and marked["spec"]["finalizers"]
        refused = space("POST", "configmaps", {"metadata": {"name": "late"}})
        assert refused.code == 403
        put = run(space.server.request("PUT", url, body={**marked, "spec": {}})).json
        assert put["spec"]["finalizers"] == marked["spec"]["finalizers"]
        ended = run(space.server.request("PUT", f"{url}/finalize", body={**put, "spec": {"finalizers": []}}))
        assert ended.code == 200 and run(space.server.request("GET", url)).code == 404

    def test_namespace_without_finalizers_is_marked_first(self, space: Any) -> None:
        """A namespace without finalizers is marked as well, since its contents are deleted first. A second delete
        removes it."""
        url = f"/api/v1/namespaces/{space.name}"
        active = run(space.server.request("GET", url)).json
        assert run(space.server.request("PUT", f"{url}/finalize", body={**active, "spec": {}})).code == 200
        marked = run(space.server.request("DELETE", url)).json
        assert marked["status"]["phase"] == "Terminating" and "deletionGracePeriodSeconds" not in marked["metadata"]
        assert (
            run(space.server.request("DELETE", url)).code == 200 and run(space.server.request("GET", url)).code == 404
        )

    def test_update_of_a_missing_namespace_checks_the_uid_first(self, space: Any) -> None:
        """The uid of an update is checked before the existence of the namespace."""
        for sub in ("", "/status", "/finalize"):
            sent = {"metadata": {"name": "none", "uid": "u"}}
            assert run(space.server.request("PUT", f"/api/v1/namespaces/none{sub}", body=sent)).code == 409

    @pytest.mark.parametrize(
        ("options", "finalizers"),
        [
            ({"orphanDependents": False}, ["foregroundDeletion"]),
            ({"orphanDependents": True}, ["orphan"]),
            ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
            ({"propagationPolicy": "Background"}, None),
        ],
    )
    def test_namespace_propagation_policy(self, space: Any, options: Any, finalizers: Any) -> None:
        """Any policy but Orphan means foreground here; while contents are left, a further delete changes nothing."""
        url = f"/api/v1/namespaces/{space.name}"
        marked = run(space.server.request("DELETE", url, body=options)).json
        assert marked["metadata"].get("finalizers") == finalizers
        again = run(space.server.request("DELETE", url, body={"orphanDependents": True})).json
        assert again == marked


class TestDefinitions:
    def test_second_deletion_raises_the_generation(self, space: Any) -> None:
        """The first delete of a definition does not raise the generation; a second one of a definition with finalizers
        does."""
        names = {"plural": "foos", "kind": "Foo"}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version]}
        url = f"/apis/{space.server.dialect('apiextensions.{abbr}.io')}/v1/customresourcedefinitions"
        meta = {"name": "foos.example.com", "finalizers": ["example.com/hold"]}
        assert run(space.server.request("POST", url, body={"metadata": meta, "spec": spec})).code == 201
        first = run(space.server.request("DELETE", f"{url}/foos.example.com")).json["metadata"]
        assert first["generation"] == 1 and "deletionGracePeriodSeconds" not in first
        second = run(space.server.request("DELETE", f"{url}/foos.example.com")).json["metadata"]
        assert (second["generation"], second["deletionGracePeriodSeconds"]) == (2, 0)


class TestWarnings:
    @pytest.mark.parametrize(
        ("query", "warned"), [("", True), ("?propagationPolicy=Orphan", False), ("?orphanDependents=false", False)]
    )
    def test_deleting_jobs_without_a_policy_warns(self, space: Any, query: str, warned: bool) -> None:
        """A delete of jobs without a propagation policy has a warning, whether there are jobs or not."""
        for rest in ("jobs/none", "jobs"):
            response = space("DELETE", rest + query, group="batch/v1")
            assert ("child pods are preserved" in response.headers.get("Warning", "")) is warned
        assert "Warning" not in space("DELETE", "cronjobs", group="batch/v1").headers


class TestSystemPriorityClasses:
    ROOT = "/apis/scheduling.orch.io/v1/priorityclasses"

    @pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
    @pytest.mark.parametrize("query", ["", "?dryRun=All", "?gracePeriodSeconds=0"])
    def test_system_priority_classes_cannot_be_deleted(self, space: Any, name: str, query: str) -> None:
        """No user can delete them, individually or in a collection."""
        server = space.server
        response = run(server.request("DELETE", f"{self.ROOT}/{name}{query}"))
        why = f'priorityclasses.scheduling.orch.io "{name}" is forbidden: this is a system priority class and cannot be deleted'
        assert (response.code, response.json["message"]) == (403, why)
        assert run(server.request("DELETE", f"{self.ROOT}?fieldSelector=metadata.name%3D{name}")).code == 403
        assert run(server.request("GET", f"{self.ROOT}/{name}")).code == 200

    def test_other_priority_classes_can_be_deleted(self, space: Any) -> None:
        """A class of a user is deleted like any object."""
        response = run(space.server.request("POST", self.ROOT, body={"metadata": {"name": "mine"}, "value": 1}))
        assert response.code == 201
        assert run(space.server.request("DELETE", f"{self.ROOT}/mine")).code == 200


def test_without_garbage_collection_no_finalizers_are_set(tmp_path: Path) -> None:
    """With --enable-garbage-collector=false no policy sets a finalizer, since nothing would remove it."""
    server = make_server(tmp_path, "--enable-garbage-collector=false", "--controllers=*")
    try:
        client = server.client()
        for policy in ("Foreground", "Orphan", "Background"):
            run(client.create(CONFIG_MAPS, "default", {"metadata": {"name": "a"}}))
            run(client.delete(CONFIG_MAPS, "default", "a", options={"propagationPolicy": policy}))
            with pytest.raises(ApiError, match="not found"):
                run(client.get(CONFIG_MAPS, "default", "a"))
    finally:
        server.stop()
