"""Metrics of the store of a whole server."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from orchd.testing.processes.daemon import DaemonProcess
from tests.etcd import running_etcd

MAPS = "/api/v1/namespaces/default/configmaps"


def samples(server: DaemonProcess) -> dict[tuple[str, str], float]:
    """Values by the name of the sample and the one label that the test reads."""
    code, text = server.request("GET", "/metrics")
    assert code == 200
    values: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(text):
        if family.name.startswith(("orchd_store", "etcd_")):
            for sample in family.samples:
                key = sample.name, sample.labels.get("operation", "") + sample.labels.get("le", "")
                values[key] = values.get(key, 0.0) + sample.value
                if kind := sample.labels.get("type", sample.labels.get("endpoint")):
                    values[sample.name, kind] = values.get((sample.name, kind), 0.0) + sample.value
    return values


def work(server: DaemonProcess) -> None:
    code, created = server.request("POST", MAPS, {"metadata": {"name": "a"}})
    assert code == 201
    assert server.request("PUT", f"{MAPS}/a", {**created, "data": {"x": "1"}})[0] == 200
    assert server.request("DELETE", f"{MAPS}/a")[0] == 200


def test_embedded_store_counts_commits(tmp_path: Path) -> None:
    """Commits of the embedded store are counted in histograms of latency and of writes per commit, which agree."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        before = samples(server)
        work(server)
        after = samples(server)

        def more(name: str, label: str = "") -> float:
            return after[f"orchd_store_{name}", label] - before[f"orchd_store_{name}", label]

        assert more("writes_total") >= 3
        assert more("commits_total") == more("commit_duration_seconds_count") == more("batch_size_count") >= 3
        assert more("batch_size_sum") == more("writes_total")
        assert more("commit_duration_seconds_sum") > 0
        assert more("commit_duration_seconds_bucket", "+Inf") == more("commits_total")
        assert after["orchd_store_file_bytes", ""] >= (server.data / "store.sqlite").stat().st_size > 0
        assert after["orchd_store_failed_commits_total", ""] == 0


def test_etcd_store_counts_requests(tmp_path: Path) -> None:
    """Requests to etcd are counted by operation with their latency, under the reference's name."""
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        DaemonProcess(tmp_path, "--controllers=-*", f"--etcd-servers={etcd.url}") as server,
    ):
        work(server)
        values = samples(server)
    for operation in ("create", "update", "delete", "list", "revision", "status"):
        assert values["etcd_request_duration_seconds_count", operation] > 0
        assert values["etcd_request_duration_seconds_bucket", f"{operation}+Inf"] > 0
        assert values["etcd_request_duration_seconds_sum", operation] > 0
    assert values["orchd_store_file_bytes", ""] > 0
    assert values["etcd_request_duration_seconds_count", "configmaps"] >= 3
    assert values["etcd_db_total_size_in_bytes", etcd.url] == values["orchd_store_file_bytes", ""]
