"""The write sequence: create, update, patch, dry run and status."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, run

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def revision(space: Any) -> int:
    """The store's revision, which is unchanged if nothing was written."""
    current: int = space.server.server.storage.store.revision
    return current


class TestCreate:
    def test_server_sets_system_fields(self, space: Any) -> None:
        """The server sets uid, creation time and version; deletion fields of a client are ignored."""
        config_map = space.config(
            "a", uid="mine", creationTimestamp="2000-01-01T00:00:00Z", deletionGracePeriodSeconds=3
        )
        metadata = config_map["metadata"]
        assert metadata["uid"] != "mine" and not metadata["creationTimestamp"].startswith("2000")
        assert "deletionGracePeriodSeconds" not in metadata and metadata["namespace"] == space.name

    def test_self_link_of_a_client_is_dropped(self, space: Any) -> None:
        """A selfLink is not stored, and an update of it is no change."""
        config_map = space.config("a", selfLink="/x")
        updated = space(
            "PUT", "configmaps/a", {"metadata": {"name": "a", "selfLink": "/x"}, "data": config_map.get("data")}
        )
        assert "selfLink" not in {**config_map["metadata"], **updated.json["metadata"]}
        assert updated.json["metadata"]["resourceVersion"] == config_map["metadata"]["resourceVersion"]

    def test_generate_name_adds_five_characters(self, space: Any) -> None:
        """The name is the prefix, truncated to 58 characters, and five random characters."""
        configmap = space.make("configmaps", {"metadata": {"generateName": "x" * 60}})
        assert configmap["metadata"]["name"].startswith("x" * 58) and len(configmap["metadata"]["name"]) == 63
        response = space("POST", "configmaps?dryRun=All", {"metadata": {"generateName": "p-"}})
        assert response.code == 201 and len(response.json["metadata"]["name"]) == 7

    def test_unnamed_limit_range_is_named_by_a_uuid(self, space: Any) -> None:
        """A limit range without name and generateName gets a UUID as its name; a generateName counts as for every
        kind."""
        metadata = space.make("limitranges", {"metadata": {}, "spec": {"limits": []}})["metadata"]
        assert (
            re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["name"])
            and metadata["name"] != metadata["uid"]
        )
        assert space("GET", f"limitranges/{metadata['name']}").code == 200
        prefixed = space.make("limitranges", {"metadata": {"generateName": "p-"}, "spec": {"limits": []}})
        assert len(prefixed["metadata"]["name"]) == 7
        assert space("POST", "configmaps", {"metadata": {}}).code == 422

    def test_existing_name_is_409(self, space: Any) -> None:
        """An existing name is 409; for a generated name with Retry-After. A dry run has the same response."""
        space.config("a")
        for query in ("", "?dryRun=All"):
            taken = space("POST", f"configmaps{query}", {"metadata": {"name": "a"}})
            assert (taken.code, taken.json["reason"]) == (409, "AlreadyExists")
            assert "retryAfterSeconds" not in taken.json["details"]
            both = space("POST", f"configmaps{query}", {"metadata": {"name": "a", "generateName": "a"}})
            assert both.json["details"]["retryAfterSeconds"] == 1 and both.headers["Retry-After"] == "1"

    def test_name_of_a_terminating_object_is_409(self, space: Any) -> None:
        """The name of a terminating object is 409, also in a dry run and for a generated name."""
        space.config("a", finalizers=["example.com/hold"])
        space("DELETE", "configmaps/a")
        for query in ("", "?dryRun=All"):
            for more in ({}, {"generateName": "a"}):
                taken = space("POST", f"configmaps{query}", {"metadata": {"name": "a", **more}})
                assert (taken.code, taken.json["reason"]) == (409, "AlreadyExists")
                assert taken.json["message"].startswith('object is being deleted: configmaps "a" already exists')

    @pytest.mark.parametrize(
        ("metadata", "code"),
        [
            ({"name": "a", "namespace": "other"}, 400),
            ({"name": "a", "resourceVersion": "5"}, 500),
            ({"name": "Not Good"}, 422),
            ({}, 422),
        ],
    )
    def test_refused_create_writes_nothing(self, space: Any, metadata: Any, code: int) -> None:
        """A rejected create does not change the store."""
        before = revision(space)
        assert space("POST", "configmaps", {"metadata": metadata}).code == code
        assert revision(space) == before

    @pytest.mark.parametrize("version", ["0", "00", "text", "-1", "9" * 30])
    def test_create_ignores_invalid_resource_versions(self, space: Any, version: str) -> None:
        """A resourceVersion of 0 or outside 64 bits is ignored on create."""
        config_map = space.config("a", resourceVersion=version)
        assert config_map["metadata"]["resourceVersion"] == str(revision(space))

    @pytest.mark.parametrize("version", ["5", 'v1/"x"<'])
    def test_dry_run_shows_the_sent_resource_version(self, space: Any, version: str) -> None:
        """A dry run does not reach the store and returns the resourceVersion that was sent."""
        response = space("POST", "configmaps?dryRun=All", {"metadata": {"name": "a", "resourceVersion": version}})
        assert (response.code, response.json["metadata"]["resourceVersion"]) == (201, version)

    @pytest.mark.parametrize(("version", "code"), [("0", 201), ("7", 201), ("text", 500), ("9" * 30, 500)])
    def test_creating_update_needs_a_readable_version(self, space: Any, version: str, code: int) -> None:
        """PUT and apply that create reject an invalid resourceVersion and ignore a valid one."""
        meta = {"name": "a", "resourceVersion": version}
        limits = {"spec": {"limits": [{"type": "Pod"}]}, "metadata": meta}
        assert space("PUT", "limitranges/a", limits).code == code
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        assert space("PATCH", "configmaps/a?fieldManager=m", config, content_type=APPLY).code == code

    def test_uid_of_a_missing_object_is_a_conflict(self, space: Any) -> None:
        """The uid is checked before whether PUT may create; in a dry run the key in the message has no prefix."""
        for query, root in (("", "/registry"), ("?dryRun=All", "")):
            for plural in ("configmaps", "limitranges"):
                response = space("PUT", f"{plural}/a{query}", {"metadata": {"name": "a", "uid": "u"}})
                assert (response.code, response.json["reason"]) == (409, "Conflict")
                assert f"Key: {root}/{plural}/{space.name}/a, ResourceVersion: 0" in response.json["message"]

    def test_create_in_a_missing_namespace_is_404(self, space: Any) -> None:
        """The error names the missing namespace."""
        response = run(
            space.server.request("POST", "/api/v1/namespaces/nowhere/configmaps", body={"metadata": {"name": "a"}})
        )
        assert (response.code, response.json["details"]["kind"]) == (404, "namespaces")

    def test_duplicate_owner_references_are_merged_with_a_warning(self, space: Any) -> None:
        """Equal owner references are merged with a warning that has the uid."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
        body = {"metadata": {"name": "a", "ownerReferences": [owner, owner, {**owner, "uid": "u-2"}]}}
        response = space("POST", "configmaps", body)
        assert [o["uid"] for o in response.json["metadata"]["ownerReferences"]] == ["u-1", "u-2"]
        assert "duplicate UID(s) observed: u-1" in response.headers["Warning"]


class TestUpdate:
    def test_second_write_of_a_version_is_409(self, space: Any) -> None:
        """Of two writes with the same resourceVersion the second is 409."""
        config_map = space.config("a")
        assert space("PUT", "configmaps/a", {**config_map, "data": {"k": "1"}}).code == 200
        lost = space("PUT", "configmaps/a", {**config_map, "data": {"k": "2"}})
        assert (lost.code, lost.json["reason"]) == (409, "Conflict")
        assert space("GET", "configmaps/a").json["data"] == {"k": "1"}

    def test_update_without_a_version_replaces(self, space: Any) -> None:
        """A PUT without resourceVersion replaces the object in any version, if the kind allows that."""
        space.config("a")
        assert space("PUT", "configmaps/a", {"metadata": {"name": "a"}, "data": {"n": "1"}}).json["data"] == {"n": "1"}

    def test_guarded_kinds_need_a_resource_version(self, space: Any) -> None:
        """Leases and similar kinds cannot be replaced without a resourceVersion."""
        group = "coordination.orch.io/v1"
        space.make("leases", {"metadata": {"name": "a"}, "spec": {}}, group=group)
        body = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "x"}}
        refused = space("PUT", "leases/a", body, group=group)
        assert refused.code == 422 and refused.json["details"]["causes"][0]["field"] == "metadata.resourceVersion"

    def test_unchanged_object_is_not_written(self, space: Any) -> None:
        """A PUT or PATCH without a change keeps the version and writes nothing."""
        made, before = space.config("a"), revision(space)
        assert (
            space("PUT", "configmaps/a", made).json["metadata"]["resourceVersion"]
            == made["metadata"]["resourceVersion"]
        )
        assert space("PATCH", "configmaps/a", {"data": {"k": "v"}}, content_type=MERGE).code == 200
        assert revision(space) == before

    def test_changed_times_of_managers_alone_are_not_written(self, space: Any) -> None:
        """A PUT that changes nothing but times of managedFields keeps the version and writes nothing; one that changes
        a manager is written."""
        config_map = space.config("a")
        (entry,), before = config_map["metadata"]["managedFields"], revision(space)

        def managed(**changes: str) -> Any:
            metadata = {**config_map["metadata"], "managedFields": [{**entry, **changes}]}
            return space("PUT", "configmaps/a", {**config_map, "metadata": metadata}).json

        assert managed(time="2001-01-01T00:00:00Z") == config_map and revision(space) == before
        assert managed(manager="other")["metadata"]["managedFields"][0]["manager"] == "other"
        assert revision(space) > before

    @pytest.mark.parametrize(
        ("metadata", "code"),
        [
            ({"name": "b"}, 400),
            ({"name": "a", "namespace": "other"}, 400),
            ({"name": "a", "uid": "other"}, 409),
            ({"name": "a", "resourceVersion": "1"}, 409),
            ({"name": "a", "deletionTimestamp": "2030-01-01T00:00:00Z"}, 422),
        ],
    )
    def test_refused_update_writes_nothing(self, space: Any, metadata: Any, code: int) -> None:
        """Name, namespace, uid and version in the body must equal the object's; clients cannot set deletion fields."""
        space.config("a")
        before = revision(space)
        assert space("PUT", "configmaps/a", {"metadata": metadata}).code == code
        assert revision(space) == before

    def test_update_of_a_missing_object_depends_on_the_kind(self, space: Any) -> None:
        """PUT creates a Role but not a ConfigMap; a uid is a failed precondition."""
        assert space("PUT", "configmaps/a", {"metadata": {"name": "a"}}).code == 404
        group = "rbac.authorization.orch.io/v1"
        assert space("PUT", "roles/b", {"metadata": {"name": "b", "uid": "u"}}, group=group).code == 409
        assert space("PUT", "roles/b", {"metadata": {"name": "b"}}, group=group).code == 201

    def test_put_creates_a_runtime_class(self, shared_server: InProcessServer) -> None:
        """A runtime class that does not exist is created by PUT."""
        path = "/apis/node.orch.io/v1/runtimeclasses/by-put"
        sent = {"metadata": {"name": "by-put"}, "handler": "h"}
        assert run(shared_server.request("PUT", path, body=sent)).code == 201

    @pytest.mark.parametrize("name", ["%2E%2E", "a%25b", "."])
    def test_invalid_name_in_the_path_is_400(self, space: Any, name: str) -> None:
        """A name that is invalid in a key is 400 for every verb."""
        for method in ("GET", "DELETE"):
            response = space(method, f"configmaps/{name}")
            assert response.code == 400 and "Name parameter invalid" in response.json["message"]


class TestPatch:
    def test_patch_cannot_change_name_uid_or_version(self, space: Any) -> None:
        """Changing the name is 400, the uid 422, the version 409."""
        space.config("a")
        for change, code in (({"name": "b"}, 400), ({"uid": "x"}, 422), ({"resourceVersion": "1"}, 409)):
            assert space("PATCH", "configmaps/a", {"metadata": change}, content_type=MERGE).code == code

    def test_objects_of_other_releases(self, space: Any) -> None:
        """A patch of an object that another release wrote sets the defaults and member order of this release."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        space.make("podtemplates", {"metadata": {"name": "a"}, "template": {"spec": spec}})
        store = space.server.server.storage.store
        stored = run(store.get(f"/podtemplates/{space.name}/a"))
        older = b'"spec":{"terminationGracePeriodSeconds":5,"containers":[{"image":"i","name":"c"}]}}}'
        value = re.sub(b'"spec":{.*}', older, stored.value)
        run(store.update(stored.key, value, expected=stored.revision))
        patched = space("PATCH", "podtemplates/a", {"metadata": {"labels": {"x": "y"}}}, content_type=MERGE).json[
            "template"
        ]["spec"]
        assert patched["dnsPolicy"] == "ClusterFirst" and patched["terminationGracePeriodSeconds"] == 5
        assert next(iter(patched)) == "containers" and list(patched["containers"][0])[:2] == ["name", "image"]

    def test_patch_is_reapplied_after_a_concurrent_write(self, space: Any) -> None:
        """A patch without a resourceVersion is applied again after a concurrent write."""
        space.config("a")
        registry = space.server.server.registry
        store = registry.access.store
        raced: list[Any] = []
        update = store.update

        async def slow(key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
            if not raced:
                raced.append(key)
                space("PATCH", "configmaps/a", {"data": {"first": "1"}}, content_type=MERGE)
            found: int = await update(key, value, expected=expected, ttl=ttl)
            return found

        store.update = slow
        try:
            response = space("PATCH", "configmaps/a", {"data": {"second": "2"}}, content_type=MERGE)
        finally:
            del store.update
        assert raced and response.json["data"] == {"k": "v", "first": "1", "second": "2"}

    def test_apply_that_loses_a_create_race_updates(self, space: Any) -> None:
        """An apply that loses the race to create its object is applied to the existing one."""
        store = space.server.server.registry.access.store
        raced: list[Any] = []
        create = store.create

        async def slow(key: str, value: bytes, *, ttl: int | None = None) -> int:
            if not raced:
                raced.append(key)
                space.config("a")
            found: int = await create(key, value, ttl=ttl)
            return found

        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"mine": "1"}}
        store.create = slow
        try:
            response = space("PATCH", "configmaps/a?fieldManager=me", config, content_type=APPLY)
        finally:
            del store.create
        assert raced and response.code == 200 and response.json["data"] == {"k": "v", "mine": "1"}

    def test_apply_creates_missing_objects(self, space: Any) -> None:
        """Apply creates a missing object; other patches of it are 404."""
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
        assert space("PATCH", "configmaps/a?fieldManager=me", config, content_type=APPLY).code == 201
        assert space("PATCH", "configmaps/a?fieldManager=me", config, content_type=APPLY).code == 200
        assert space("PATCH", "configmaps/b", {}, content_type=MERGE).code == 404


class TestCreationByChange:
    def test_permission_to_create_is_checked_last(self, space: Any) -> None:
        """A user who may change but not create leases learns what is wrong with a missing one, then that it is
        forbidden."""
        rbac, leases = "rbac.authorization.orch.io/v1", "coordination.orch.io/v1"
        rules = [{"apiGroups": ["coordination.orch.io"], "resources": ["leases"], "verbs": ["update", "patch"]}]
        space.make("roles", {"metadata": {"name": "r"}, "rules": rules}, group=rbac)
        subject = {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.orch.io"}
        reference = {"apiGroup": "rbac.authorization.orch.io", "kind": "Role", "name": "r"}
        space.make("rolebindings", {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]}, group=rbac)

        def code(method: str, seconds: int, **headers: str) -> int:
            lease = {
                "apiVersion": leases, "kind": "Lease", "metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": seconds}
            }  # fmt: skip
            changed = space(
                method, "leases/l?dryRun=All&fieldManager=m", lease, group=leases, impersonate_user="u", **headers
            )
            assert isinstance(changed.code, int)
            return changed.code

        for method, headers in (("PUT", {}), ("PATCH", {"content_type": APPLY})):
            assert code(method, -1, **headers) == 422
            assert code(method, 1, **headers) == 403
        rules[0]["verbs"].append("create")
        space("PUT", "roles/r", {"metadata": {"name": "r"}, "rules": rules}, group=rbac)
        for method, headers in (("PUT", {}), ("PATCH", {"content_type": APPLY})):
            assert code(method, 1, **headers) == 201


class TestDryRun:
    def test_dry_run_changes_nothing(self, space: Any) -> None:
        """A dry run responds as the write and changes neither store nor ranges."""
        space.config("a")
        before = revision(space)
        response = space("POST", "configmaps?dryRun=All", {"metadata": {"name": "b"}})
        assert (
            response.code == 201
            and response.json["metadata"]["uid"]
            and "resourceVersion" not in response.json["metadata"]
        )
        assert space("PUT", "configmaps/a?dryRun=All", {"metadata": {"name": "a"}, "data": {"z": "1"}}).json[
            "data"
        ] == {"z": "1"}
        assert (
            space("PATCH", "configmaps/a?dryRun=All", {"data": {"q": "1"}}, content_type=MERGE).json["data"]["q"] == "1"
        )
        assert space("DELETE", "configmaps/a?dryRun=All").code == 200
        assert space("DELETE", "configmaps?dryRun=All").code == 200
        service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30123}]}}
        assert space("POST", "services?dryRun=All", service).code == 201
        assert revision(space) == before and space("GET", "configmaps/a").json["data"] == {"k": "v"}
        assert space("POST", "services", service).code == 201

    def test_invalid_dry_run_value_is_refused(self, space: Any) -> None:
        """The only valid value of dryRun is All."""
        assert space("POST", "configmaps?dryRun=Some", {"metadata": {"name": "b"}}).code == 422


class TestStatusAndGeneration:
    GROUP = "apps/v1"

    def deployment(self, space: Any) -> Any:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        body = {"metadata": {"name": "d"}, "spec": spec, "status": {"replicas": 7}}
        return space.make("deployments", body, group=self.GROUP)

    def test_main_and_status_endpoints_write_separate_parts(self, space: Any) -> None:
        """The main endpoint ignores changes of the status, the status endpoint all others."""
        deployment = self.deployment(space)
        assert deployment["status"] == {} and deployment["metadata"]["generation"] == 1
        both = {**deployment, "spec": {**deployment["spec"], "replicas": 3}, "status": {"replicas": 9}}
        on_status = space("PUT", "deployments/d/status", both, group=self.GROUP).json
        assert on_status["spec"]["replicas"] == 1 and on_status["status"]["replicas"] == 9
        assert on_status["metadata"]["generation"] == 1
        both["metadata"] = on_status["metadata"]
        on_main = space("PUT", "deployments/d", {**both, "status": {}}, group=self.GROUP).json
        assert on_main["spec"]["replicas"] == 3 and on_main["status"]["replicas"] == 9
        assert on_main["metadata"]["generation"] == 2
        assert space("GET", "deployments/d/status", group=self.GROUP).json == on_main

    def test_status_writes_have_their_own_owner(self, space: Any) -> None:
        """Fields written through /status have a separate entry of the same manager."""
        deployment = self.deployment(space)
        changed = {**deployment, "status": {"replicas": 2}}
        after = space("PUT", "deployments/d/status", changed, group=self.GROUP, user_agent="me/1").json
        entries = {(e["manager"], e.get("subresource", "")) for e in after["metadata"]["managedFields"]}
        assert entries == {("test", ""), ("me", "status")}

    def test_kind_without_status_has_no_status_path(self, space: Any) -> None:
        """The status path of a kind without status is 404."""
        space.config("a")
        assert space("GET", "configmaps/a/status").code == 404


@pytest.mark.parametrize(
    ("group", "plural", "body", "named"),
    [
        ("networking.{abbr}.io/v1", "ingresses", {"spec": {}}, ("extensions", "Ingress")),
        (
            "networking.{abbr}.io/v1",
            "networkpolicies",
            {"spec": {"policyTypes": ["X"]}},
            ("extensions", "NetworkPolicy"),
        ),
        ("events.{abbr}.io/v1", "events", {"regarding": {}}, (None, "Event")),
        ("apps/v1", "deployments", {"spec": {}}, ("apps", "Deployment")),
    ],
)
def test_errors_name_the_home_group_of_a_kind(space: Any, group: str, plural: str, body: Any, named: Any) -> None:
    """Errors name a kind with the group in which the reference defines it, which may differ from the path's."""
    response = space("POST", plural, {"metadata": {"name": "a"}, **body}, group=space.server.dialect(group))
    details = response.json["details"]
    assert (response.code, details.get("group"), details["kind"]) == (422, *named)


class TestKinds:
    def test_daemon_set_template_generation(self, space: Any) -> None:
        """A daemon set may be created with a template generation; an invalid number is 400."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "updateStrategy": {"rollingUpdate": {}}}
        key = "deprecated.daemonset.template.generation"
        for given, found in (("7", "7"), ("0", "1"), ("-3", "1")):
            body = {"metadata": {"generateName": "d-", "annotations": {key: given}}, "spec": spec}
            daemonset = space.make("daemonsets", body, group="apps/v1")
            assert daemonset["metadata"]["annotations"] == {key: found}
            assert daemonset["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
        body = {"metadata": {"name": "d", "annotations": {key: "x"}}, "spec": spec}
        refused = space("POST", "daemonsets", body, group="apps/v1")
        assert refused.code == 400 and refused.json["message"].endswith('strconv.ParseInt: parsing "x": invalid syntax')

    def test_type_change_clears_the_load_balancer_status(self, space: Any) -> None:
        """A service that ceases to be a load balancer loses its load balancer status."""
        service = space.make(
            "services", {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
        )
        status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        known = space("PUT", "services/s/status", {**service, "status": status}).json
        assert known["status"] == status
        outside = {"type": "ExternalName", "externalName": "example.com"}
        changed = space("PATCH", "services/s", {"spec": outside}, content_type=MERGE)
        assert changed.code == 200 and changed.json["status"] == {"loadBalancer": {}}
