"""Strategies of single kinds outside the core group."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import run

HPA = "autoscaling/{}"
SLICES = ORCH("discovery.{abbr}.io/") + "{}"
APPLY = "application/apply-patch+yaml"
TARGET = {"kind": "Deployment", "name": "d"}
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def post(space: Any, path: str, body: Any, group: str) -> Any:
    return space("POST", path, body, group=group)


def patch(space: Any, path: str, body: Any, group: str) -> Any:
    return space("PATCH", path, body, group=group, content_type="application/merge-patch+json")


class TestAutoscalers:
    def scaler(self, **spec: Any) -> Any:
        return {"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}}

    @pytest.mark.parametrize("version", ["v2", "v2beta2"])
    def test_invalid_metric_target_is_refused_before_v1_storage(self, space: Any, version: str) -> None:
        """An invalid target type, which v1 storage cannot represent, is rejected by validation before."""
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "x", "averageUtilization": 5}}}
        response = space("POST", "horizontalpodautoscalers", self.scaler(metrics=[metric]), group=HPA.format(version))
        assert response.code == 422
        assert [c["field"] for c in response.json["details"]["causes"]] == ["spec.metrics[0].resource.target.type"]

    @pytest.mark.parametrize("version", ["v2", "v2beta1", "v2beta2"])
    def test_managers_of_other_versions_at_creation(self, space: Any, version: str) -> None:
        """managedFields that name another version than the request are kept on a new object."""
        entry = {
            "manager": "m", "operation": "Update", "apiVersion": HPA.format(version), "time": "2020-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:x": {}}},
        }  # fmt: skip
        body = self.scaler()
        horizontalpodautoscaler = space.make(
            "horizontalpodautoscalers",
            {**body, "metadata": {"name": "a", "managedFields": [entry]}},
            group=HPA.format("v1"),
        )
        assert horizontalpodautoscaler["metadata"]["managedFields"][0] == entry

    @pytest.mark.parametrize("beside", [False, True])
    def test_applied_object_of_wrong_form_is_500(self, space: Any, beside: bool) -> None:
        """An applied time that is none is refused with the reason, also if the object is converted for another
        manager."""
        path = "horizontalpodautoscalers"
        space.make(path, self.scaler(), group=HPA.format("v1"))
        if beside:
            config = {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "a"},
                "spec": {"minReplicas": 2},
            }
            applied = space(
                "PATCH", f"{path}/a?fieldManager=p&force=true", config, group=HPA.format("v2"), content_type=APPLY
            )
            assert applied.code == 200
        config = {
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a", "creationTimestamp": "x"},
        }
        response = space("PATCH", f"{path}/a?fieldManager=q", config, group=HPA.format("v1"), content_type=APPLY)
        where = "" if beside else " (/a; autoscaling/v1, Kind=HorizontalPodAutoscaler) to proper version"
        assert (response.code, response.json["message"]) == (500, (
            f"failed to convert new object{where}: unable to convert unstructured object to autoscaling/v1, "
            'Kind=HorizontalPodAutoscaler: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
        ))  # fmt: skip

    def test_empty_policy_list_is_refused(self, space: Any) -> None:
        """A missing list has defaults; an empty one is rejected."""
        path, group = "horizontalpodautoscalers", HPA.format("v2")
        response = space("POST", path, self.scaler(behavior={"scaleUp": {"policies": []}}), group=group)
        assert "spec.behavior.scaleUp.policies: Required value" in response.json["message"]
        made = space.make(path, self.scaler(behavior={"scaleUp": {}}), group=group)
        assert len(made["spec"]["behavior"]["scaleUp"]["policies"]) == 2

    def test_container_metrics_are_gated(self, space: Any) -> None:
        """Beside another source they are dropped; alone, the source is missing."""
        target = {"type": "Utilization", "averageUtilization": 5}
        gated = {"containerResource": {"name": "cpu", "container": "c", "target": target}}
        metric = {"type": "Resource", "resource": {"name": "memory", "target": target}}
        path, group = "horizontalpodautoscalers", HPA.format("v2")
        made = space.make(path, self.scaler(metrics=[{**metric, **gated}]), group=group)
        assert made["spec"]["metrics"] == [metric]
        alone = {**self.scaler(metrics=[{"type": "ContainerResource", **gated}]), "metadata": {"name": "b"}}
        assert "only allowed when HPAContainerMetrics" in space("POST", path, alone, group=group).json["message"]

    def test_invalid_autoscaler_annotations_are_dropped(self, space: Any) -> None:
        """The annotations of v1 are regenerated: invalid values are dropped, and a status in them is ignored."""
        notes = {
            ORCH("autoscaling.alpha.{long}.io/metrics"): "{",
            ORCH("autoscaling.alpha.{long}.io/conditions"): '[{"type":"ScalingActive","status":"True"}]',
            "mine": "x",
        }
        horizontalpodautoscaler = space.make(
            "horizontalpodautoscalers",
            {**self.scaler(), "metadata": {"name": "a", "annotations": notes}},
            group=HPA.format("v1"),
        )
        assert horizontalpodautoscaler["metadata"]["annotations"] == {"mine": "x"}
        assert horizontalpodautoscaler["spec"]["targetCPUUtilizationPercentage"] == 80

    def test_autoscaler_status_survives_v1_updates(self, space: Any) -> None:
        """In v1 conditions are annotations, which only the status endpoint can change."""
        path = "horizontalpodautoscalers"
        space.make(path, self.scaler(), group=HPA.format("v2"))
        condition = {"type": "ScalingActive", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
        status = {"status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [condition]}}
        changed = patch(space, f"{path}/a/status", status, HPA.format("v2"))
        assert changed.code == 200 and changed.json["status"]["conditions"] == [condition]
        plain = self.scaler(maxReplicas=5)
        assert space("PUT", f"{path}/a", plain, group=HPA.format("v1")).code == 200
        read = space("GET", f"{path}/a", group=HPA.format("v2")).json
        assert (read["spec"]["maxReplicas"], read["status"]["conditions"]) == (5, [condition])


class TestSlices:
    def slice(self, **endpoint: Any) -> Any:
        return {
            "metadata": {"name": "s"},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], **endpoint}],
        }

    def test_only_the_first_version_writes_topology(self, space: Any) -> None:
        endpointslice = space.make(
            "endpointslices", self.slice(deprecatedTopology={"a b": "c"}), group=SLICES.format("v1")
        )
        assert "deprecatedTopology" not in endpointslice["endpoints"][0]

    def test_topology_stays_with_unchanged_endpoints(self, space: Any) -> None:
        """Topology stays while endpoints are unchanged; a changed endpoint keeps its node."""
        node = ORCH("{long}.io/hostname")
        old, new = SLICES.format("v1beta1"), SLICES.format("v1")
        space.make("endpointslices", self.slice(topology={node: "n", "x": "y"}), group=old)
        labelled = patch(space, "endpointslices/s", {"metadata": {"labels": {"l": "m"}}}, new)
        assert labelled.json["endpoints"][0]["deprecatedTopology"] == {node: "n", "x": "y"}
        endpoint = {"addresses": ["10.0.0.2"], "deprecatedTopology": {node: "n"}}
        changed = patch(space, "endpointslices/s", {"endpoints": [endpoint]}, new)
        assert changed.json["endpoints"] == [{"addresses": ["10.0.0.2"], "conditions": {}, "nodeName": "n"}]


class TestJobs:
    def test_existing_labels_are_kept(self, space: Any) -> None:
        """A selector that does not match is rejected, not corrected."""
        template = {**TEMPLATE, "metadata": {"labels": {"controller-uid": "x"}}}
        response = space("POST", "jobs", {"metadata": {"name": "j"}, "spec": {"template": template}}, group="batch/v1")
        assert response.code == 422
        assert [c["field"] for c in response.json["details"]["causes"]] == [
            "spec.template.metadata.labels[controller-uid]",
            "spec.template.metadata.labels",
        ]

    @pytest.mark.parametrize("given", [{}, {"app": "a"}])
    def test_labels_default_to_the_templates(self, space: Any, given: Any) -> None:
        """A job without labels gets those of its template, including the two that the server adds there."""
        template = {**TEMPLATE, "metadata": {"labels": given}}
        job = space.make("jobs", {"metadata": {"name": "j"}, "spec": {"template": template}}, group="batch/v1")
        own = {"controller-uid": job["metadata"]["uid"], "job-name": "j"}
        assert job["metadata"]["labels"] == {**given, **own}

    def test_job_tracking_annotation_is_dropped_on_create(self, space: Any) -> None:
        """The tracking annotation is dropped from new jobs."""
        metadata = {"name": "j", "annotations": {ORCH("batch.{long}.io/job-tracking"): ""}}
        job = space.make("jobs", {"metadata": metadata, "spec": {"template": TEMPLATE}}, group="batch/v1")
        assert "annotations" not in job["metadata"]


class TestWarnings:
    def cron(self, **spec: Any) -> Any:
        return {
            "metadata": {"name": "c"},
            "spec": {
                "schedule": "* * * * *",
                "jobTemplate": {
                    "spec": {
                        "template": {"spec": {**TEMPLATE["spec"], "nodeSelector": {ORCH("beta.{long}.io/os"): "x"}}}
                    }
                },
                **spec,
            },
        }

    def test_an_unchanged_spec_is_not_warned_about_again(self, space: Any) -> None:
        def warned(method: str, path: str, body: Any) -> int:
            send = patch if method == "PATCH" else post
            response = send(space, path, body, "batch/v1")
            assert response.code in (200, 201)
            return str(dict(response.headers)).count("deprecated since")

        assert warned("POST", "cronjobs", self.cron()) == 1
        assert warned("PATCH", "cronjobs/c", {"metadata": {"labels": {"a": "b"}}}) == 0
        assert warned("PATCH", "cronjobs/c", {"spec": {"schedule": "1 * * * *"}}) == 1


class TestStatusEndpoints:
    def test_local_api_service_is_available_at_once(self, space: Any) -> None:
        group = ORCH("apiregistration.{abbr}.io/v1")
        spec = {"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
        body = {"metadata": {"name": "v1.x.example.com"}, "spec": spec}
        response = run(space.server.request("POST", f"/apis/{group}/apiservices", body=body))
        assert response.code == 201
        (condition,) = response.json["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")


class TestRevisions:
    """Bodies of the tests have blanks, results of patches have none."""

    def test_unchanged_text_is_unchanged_data(self, space: Any) -> None:
        path, group = "controllerrevisions", "apps/v1"
        url = space.url(path, group)

        def send(method: str, where: str, text: str, kind: str = "application/json") -> Any:
            return run(space.server.request(method, where, body=text.encode(), headers={"content-type": kind}))

        text = '{"metadata": {"name": "r"}, "data": {"b": 1, "a": 2}, "revision": %d}'
        assert send("POST", url, text % 1).code == 201
        assert space("GET", f"{path}/r", group=group).json["data"] == {"a": 2, "b": 1}
        assert send("PUT", f"{url}/r", text % 2).code == 200
        assert send("PUT", f"{url}/r", (text % 3).replace("1, ", "1,")).code == 422
        patched = patch(space, f"{path}/r", {"revision": 4}, group)
        assert [c["field"] for c in patched.json["details"]["causes"]] == ["data"]
        assert send("POST", url, (text % 1).replace(" ", "").replace('"r"', '"s"')).code == 201
        assert patch(space, f"{path}/s", {"revision": 4}, group).code == 200

    def test_applied_data_is_compared_sorted(self, space: Any) -> None:
        """Applying what is stored changes nothing, whatever the order of members was; other changes compare texts."""
        path, group = "controllerrevisions", "apps/v1"
        url = space.url(path, group)
        text = (
            '{"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "%s"%s},'
            ' "data": {"b": 1.0, "a": "<"}, "revision": 1}'
        )

        def apply(name: str, labels: str = "") -> int:
            headers = {"content-type": "application/apply-patch+yaml"}
            body = (text % (name, labels)).encode()
            return int(
                run(space.server.request("PATCH", f"{url}/{name}?fieldManager=m", body=body, headers=headers)).code
            )

        labels = ', "labels": {"a": "b"}'
        assert [apply("r"), apply("r"), apply("r", labels)] == [201, 200, 200]
        headers = {"content-type": "application/json"}
        assert run(space.server.request("POST", url, body=(text % ("s", "")).encode(), headers=headers)).code == 201
        assert [apply("s"), apply("s"), apply("s", labels)] == [200, 200, 422]
        assert (
            run(space.server.request("PUT", f"{url}/s", body=(text % ("s", "")).encode(), headers=headers)).code == 200
        )

    @pytest.mark.parametrize("data", [b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"\xc3": 1}'])
    def test_data_that_is_no_unicode_breaks_no_list(self, space: Any, data: bytes) -> None:
        """Bytes that are no UTF-8 and lone surrogates become U+FFFD, so that every reader can decode the object."""
        path, group = "controllerrevisions", "apps/v1"
        body = b'{"metadata": {"name": "r"}, "revision": 1, "data": %b}' % data
        headers = {"content-type": "application/json"}
        assert run(space.server.request("POST", space.url(path, group), body=body, headers=headers)).code == 201
        assert "\ufffd" in str(space("GET", path, group=group).json["items"][0]["data"])
        assert space("GET", path, group=group, accept="application/yaml").code == 200
        assert space("DELETE", f"{path}/r", group=group).code == 200


@pytest.mark.parametrize(("given", "number"), [({"whenDeleted": "Delete"}, 1), (None, 0)])
def test_dropped_retention_policy_of_claims_gives_a_warning(space: Any, given: Any, number: int) -> None:
    """With its gate off, the policy is dropped from stateful sets that are created or replaced, and the client is
    warned."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {
        "metadata": {"name": "a"},
        "spec": {**spec, "persistentVolumeClaimRetentionPolicy": given} if given else spec,
    }
    for method, path, code in (("POST", "statefulsets", 201), ("PUT", "statefulsets/a", 200)):
        response = space(method, path, body, group="apps/v1")
        assert (response.code, "persistentVolumeClaimRetentionPolicy" in response.json["spec"]) == (code, False)
        assert response.headers.get("Warning", "").count("feature gate StatefulSetAutoDeletePVC is off") == number
