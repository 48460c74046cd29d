"""Three server processes on one etcd."""

from __future__ import annotations

from pathlib import Path

from orchd.testing.trio import Trio

MAPS = "/api/v1/namespaces/default/configmaps"


def test_trio(program: str, tmp_path: Path) -> None:
    """All three serve the same objects under the same versions, a killed one is not missed, and a second start goes on."""
    with Trio(tmp_path) as trio:
        one, two, three = trio.servers
        code, made = one.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        assert code == 201
        assert [server.request("GET", f"{MAPS}/a") for server in trio.servers] == [(200, made)] * 3
        code, changed = two.request("PUT", f"{MAPS}/a", {**made, "data": {"x": "2"}})
        assert code == 200
        assert three.request("GET", f"{MAPS}/a") == (200, changed)
        assert one.request("PUT", f"{MAPS}/a", {**made, "data": {"x": "3"}})[0] == 409
        one.kill()
        code, again = three.request("PUT", f"{MAPS}/a", {**changed, "data": {"x": "3"}})
        assert (code, two.request("GET", f"{MAPS}/a")) == (200, (200, again))
        one.start()
        assert one.request("GET", f"{MAPS}/a") == (200, again)
    with Trio(tmp_path) as trio:
        assert [server.request("GET", f"{MAPS}/a") for server in trio.servers] == [(200, again)] * 3
