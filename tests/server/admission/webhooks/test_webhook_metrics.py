"""Metrics of admission webhooks."""

from __future__ import annotations

import pytest

from orchd.kinds.release import RELEASES
from orchd.server.admission.metrics import CALL_FAILED, WebhookMetrics
from orchd.txkit.metrics.instruments import Counter

FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"


@pytest.mark.parametrize(
    ("rejected", "error", "code", "counted"),
    [
        (False, CALL_FAILED, 500, {("hook", "validating"): 1}),
        (True, CALL_FAILED, 500, {}),
        (False, "no_error", 0, {}),
        (True, "no_error", 403, {}),
    ],
)
def test_failures_that_are_ignored_are_counted(
    rejected: bool, error: str, code: int, counted: dict[tuple[str, str], int]
) -> None:
    """Those whose failurePolicy is Ignore, and no others."""
    metrics = WebhookMetrics(RELEASES["1.35"])
    metrics.observe("hook", "validating", "CREATE", 0.1, rejected, error, code)
    (instrument,) = (each for each in metrics.instruments if each.name == FAIL_OPEN)
    assert isinstance(instrument, Counter)
    assert instrument.values == counted


def test_ignored_failures_are_no_metric_of_the_specification_release() -> None:
    assert FAIL_OPEN not in {each.name for each in WebhookMetrics(RELEASES["1.23"]).instruments}


@pytest.mark.parametrize(("release", "code"), [("1.23", "0"), ("1.35", "503")])
def test_calls_without_a_response_have_the_code_of_the_release(release: str, code: str) -> None:
    metrics = WebhookMetrics(RELEASES[release])
    metrics.observe("hook", "validating", "CREATE", 0.1, True, CALL_FAILED, 0)
    (rejections,) = (each for each in metrics.instruments if each.name.endswith("rejection_count"))
    assert isinstance(rejections, Counter)
    assert rejections.values == {("hook", "validating", "CREATE", CALL_FAILED, code): 1}


@pytest.mark.parametrize(("code", "counted"), [(599, "599"), (600, "600"), (700, "600")])
def test_codes_that_are_none_of_http_are_counted_together(code: int, counted: str) -> None:
    metrics = WebhookMetrics(RELEASES["1.35"])
    metrics.observe("hook", "validating", "CREATE", 0.1, True, "no_error", code)
    (rejections,) = (each for each in metrics.instruments if each.name.endswith("rejection_count"))
    assert isinstance(rejections, Counter)
    assert rejections.values == {("hook", "validating", "CREATE", "no_error", counted): 1}
