"""What a pod requests, as filters and scores count it."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.scheduler.pod_amounts import count_containers, count_sidecars

MI = 1024**2


def facts(
    containers: Any = (), inits: Any = (), overhead: Any = None, resources: Any = None, sidecars: Any = ()
) -> dict[str, Any]:
    """Facts of a template; sidecars run before the other init containers."""
    return {
        "containers": [{"requests": each} for each in containers],
        "inits": [
            *({"requests": each, "sidecar": True} for each in sidecars),
            *({"requests": each, "sidecar": False} for each in inits),
        ],
        "overhead": overhead or {},
        "resources": resources or {},
    }


@pytest.mark.parametrize(
    ("given", "requests", "nonzero"),
    [
        (facts(), {}, (0, 0)),
        (facts([{}]), {}, (100, 200 * MI)),
        (facts([{}, {"cpu": "1"}]), {"cpu": 1000}, (1100, 400 * MI)),
        (facts([{"cpu": "1"}, {"memory": "1Mi"}]), {"cpu": 1000, "memory": MI}, (1100, 201 * MI)),
        (facts([{"cpu": "1"}], [{"cpu": "2"}, {"memory": "300Mi"}]), {"cpu": 2000, "memory": 300 * MI},
         (2000, 300 * MI)),
        (facts([{"memory": "10Mi"}], [{}]), {"memory": 10 * MI}, (100, 200 * MI)),
        (facts([{}], overhead={"cpu": "10m", "memory": "1Mi", "x.y/z": "3"}), {"cpu": 10, "memory": MI, "x.y/z": 3},
         (110, 201 * MI)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [count_containers, count_sidecars])
def test_requests_of_containers(count: Any, given: Any, requests: dict[str, int], nonzero: tuple[int, int]) -> None:
    """The sum of the containers or the largest init container, and overhead. Scores assume 100 milli CPU and 200 MiB
    for each container that does not say."""
    counted = count(given)
    assert (dict(counted.requests), counted.nonzero) == (requests, nonzero)


@pytest.mark.parametrize(
    ("given", "requests", "nonzero"),
    [
        # A sidecar runs beside the containers, and beside the init containers after it.
        (facts([{"cpu": "1"}], sidecars=[{"cpu": "2"}]), {"cpu": 3000}, (3000, 400 * MI)),
        (facts([{"cpu": "1"}], [{"cpu": "3"}], sidecars=[{"cpu": "1"}, {"cpu": "1"}]), {"cpu": 5000}, (5000, 600 * MI)),
        # The pod's own resources replace the sum; of others than CPU, memory and huge pages they do not count.
        (facts([{"cpu": "1"}], resources={"cpu": "3", "memory": "5Mi"}), {"cpu": 3000, "memory": 5 * MI},
         (3000, 5 * MI)),
        (facts([{}], resources={"hugepages-2Mi": "4Mi", "x.y/z": "1"}), {"hugepages-2Mi": 4 * MI}, (100, 200 * MI)),
        (facts([{"cpu": "1"}], resources={"cpu": "3"}, overhead={"cpu": "1"}), {"cpu": 4000}, (4000, 200 * MI)),
    ],
)  # fmt: skip
def test_requests_with_sidecars(given: Any, requests: dict[str, int], nonzero: tuple[int, int]) -> None:
    counted = count_sidecars(given)
    assert (dict(counted.requests), counted.nonzero) == (requests, nonzero)
    assert counted.scored == counted.balanced == counted.requests and counted.scored_nonzero == counted.nonzero


def test_scores_of_the_specification_leave_overhead_out() -> None:
    """The balance counts it in whole units."""
    counted = count_containers(facts([{"cpu": "1"}], overhead={"cpu": "1500m", "memory": "1Mi"}))
    assert counted.scored == {"cpu": 1000} and counted.scored_nonzero == (1000, 200 * MI)
    assert counted.balanced == {"cpu": 1002, "memory": MI}
