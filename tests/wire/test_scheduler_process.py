"""The scheduler in processes of its own, against a real server: its work, configuration, endpoint and leader
election."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchd.dialect import DIALECTS
from orchd.kinds.release import default_release
from orchd.scheduler.config.types import VERSIONS
from orchd.testing.processes.daemon import PATIENCE, ComponentProcess, DaemonProcess
from tests.waiting import ELECTION, until

PODS = "/api/v1/namespaces/default/pods"
EXPLAIN = "/debug/scheduler/explain?namespace=default&pod="


@pytest.fixture(scope="module", params=DIALECTS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A server without a scheduler, with a node."""
    flags = (
        "--controllers=-*",
        "--scheduler=false",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    )
    folder = tmp_path_factory.mktemp("server")
    with DaemonProcess(folder, *flags, dialect=DIALECTS[request.param]) as process:
        room = {"cpu": "4", "memory": "8Gi", "pods": "100"}
        node = {"metadata": {"name": "n"}, "status": {"allocatable": room, "capacity": room}}
        assert process.request("POST", "/api/v1/nodes", node)[0] == 201
        yield process


def pod(server: DaemonProcess, name: str, scheduler: str = "") -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], **({"schedulerName": scheduler} if scheduler else {})}
    code, response = server.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    assert code == 201, response


def node_of(server: DaemonProcess, name: str) -> str:
    return str(server.request("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName", ""))


def holder(server: DaemonProcess, name: str = "{short}-scheduler") -> str:
    group, lease = server.dialect("coordination.{abbr}.io"), server.dialect(name)
    path = f"/apis/{group}/v1/namespaces/{server.dialect.system_namespace}/leases/{lease}"
    code, leases = server.request("GET", path)
    return str(leases["spec"]["holderIdentity"]) if code == 200 else ""


def test_scheduler_binds_pods_and_records_events(server: DaemonProcess, tmp_path: Path) -> None:
    """It binds pods, records events.k8s.io events, and serves explanations."""
    with ComponentProcess("scheduler", server, tmp_path) as scheduler:
        pod(server, "work")
        until(lambda: node_of(server, "work") == "n")
        group = server.dialect("events.{abbr}.io")
        path = f"/apis/{group}/v1/namespaces/default/events"
        until(lambda: any(e["reason"] == "Scheduled" for e in server.request("GET", path)[1]["items"]))
        (event,) = [e for e in server.request("GET", path)[1]["items"] if e["reason"] == "Scheduled"]
        assert (event["reportingController"], event["action"]) == ("default-scheduler", "Binding")
        assert event["note"] == "Successfully assigned default/work to n"
        name = server.dialect("{short}-scheduler")
        metrics = str(scheduler.request("GET", "/metrics")[1])
        assert f'leader_election_master_status{{name="{name}"}} 1.0' in metrics
        assert "scheduler_schedule_attempts_total" in metrics
        assert scheduler.request("GET", "/readyz") == (200, "ok")
        code, explained = scheduler.request("GET", f"{EXPLAIN}work")
        assert code == 200, explained
        shown = scheduler.request("GET", "/configz")[1]["componentconfig"]
        assert shown["profiles"][0]["schedulerName"] == "default-scheduler"
    assert scheduler.status == 0


def test_configuration_file_selects_pods_server_and_lock(server: DaemonProcess, tmp_path: Path) -> None:
    """The file of --config selects the pods, the server and the lock."""
    dialect = server.dialect
    config = {
        "apiVersion": dialect("{short}scheduler.config.{abbr}.io/") + default_release(dialect).choose(VERSIONS)[0],
        "kind": dialect("{Short}SchedulerConfiguration"),
        "clientConnection": {dialect.config_file_kind: str(server.config_file)},
        "leaderElection": {"resourceName": "other-lock", "leaseDuration": "20s"},
        "profiles": [{"schedulerName": "other"}],
        "enableProfiling": False,
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    written = tmp_path / "written.yaml"
    flags = (f"--config={path}", "--leader-elect-retry-period=1s")
    writing = ComponentProcess("scheduler", server, tmp_path, *flags, f"--write-config-to={written}")
    writing.launch()
    assert writing.wait(PATIENCE) == 0
    effective = yaml.safe_load(written.read_text())
    assert effective["leaderElection"]["leaseDuration"] == "20s"
    assert effective["leaderElection"]["retryPeriod"] == "1s"
    with ComponentProcess("scheduler", server, tmp_path, *flags) as scheduler:
        pod(server, "for-other", "other")
        pod(server, "for-default")
        until(lambda: node_of(server, "for-other") == "n")
        assert node_of(server, "for-default") == ""
        assert holder(server, "other-lock")
        assert scheduler.request("GET", "/debug/pprof/")[0] == 404
        assert "is ignored with --config" in scheduler.log


def test_second_scheduler_takes_over(server: DaemonProcess, tmp_path: Path) -> None:
    """One scheduler works; when it is killed the other takes over."""
    one = ComponentProcess("scheduler", server, tmp_path / "one", *ELECTION)
    two = ComponentProcess("scheduler", server, tmp_path / "two", *ELECTION)
    with one:
        until(lambda: holder(server) != "")
        with two:
            first = holder(server)
            pod(server, "first")
            until(lambda: node_of(server, "first") == "n")
            assert two.request("GET", f"{EXPLAIN}first")[0] == 503
            one.kill()
            pod(server, "second")
            until(lambda: node_of(server, "second") == "n")
            assert holder(server) not in ("", first)


def test_invalid_configurations_end_with_status_1(server: DaemonProcess, tmp_path: Path) -> None:
    """An invalid configuration ends the process with status 1 and one line with the reason."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: v1\nkind: Pod\n")
    for flag, text in (("--config=/no/such/file", "--config: "), (f"--config={bad}", f"--config={bad}: ")):
        scheduler = ComponentProcess("scheduler", server, tmp_path, flag)
        scheduler.launch()
        assert scheduler.wait(PATIENCE) == 1, flag
        assert text in scheduler.log, (flag, scheduler.log)
        scheduler.log_file.unlink()
