"""TracingConfiguration files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.config.documents.decoding import DocumentError
from orchd.config.documents.tracing import TracingConfiguration, parse_tracing
from orchd.dialect import ORCH


def document(version: str = "v1alpha1", **members: Any) -> bytes:
    head = {"apiVersion": ORCH("apiserver.config.{abbr}.io/") + version, "kind": "TracingConfiguration"}
    return json.dumps({**head, **members}).encode()


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_defaults_and_values(version: str) -> None:
    """Without fields, only requests with a sampled parent are traced, and spans go to a collector on this machine."""
    assert parse_tracing(document(version), ORCH) == TracingConfiguration(endpoint="localhost:4317", ratio=0.0)
    given = document(version, endpoint="otel.example:4317", samplingRatePerMillion=250_000)
    assert parse_tracing(given, ORCH) == TracingConfiguration(endpoint="otel.example:4317", ratio=0.25)


@pytest.mark.parametrize("endpoint", ["[::1]:4317", "dns://x:1", "unix:///run/otel.sock", "unix-abstract://otel"])
def test_endpoint_schemes(endpoint: str) -> None:
    """The endpoint schemes are those of gRPC that the reference supports."""
    assert parse_tracing(document(endpoint=endpoint), ORCH).endpoint == endpoint


@pytest.mark.parametrize(("members", "why"), [
    ({"samplingRatePerMillion": -1}, "samplingRatePerMillion: Invalid value: -1: sampling rate must be positive"),
    ({"samplingRatePerMillion": 1_000_001},
     "samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million"),
    ({"endpoint": "https://x:4317"},
     'endpoint: Invalid value: "https://x:4317": unsupported scheme: https. Options are none, dns, unix, or unix-abstract'),
    ({"endpoint": "x:y"}, 'endpoint: Invalid value: "x:y": Port could not be cast'),
    ({"endpoint": "me:secret@x:1"}, 'endpoint: Invalid value: "dns://me:secret@x:1": no user of a URL is sent to collectors'),
    ({"endpoint": ""}, 'endpoint: Invalid value: "": must be host:port'),
    ({"endpoint": 3}, "json: cannot unmarshal number into Go struct field TracingConfiguration.endpoint of type string"),
    ({"rate": 3}, 'strict decoding error: unknown field "rate"'),
])  # fmt: skip
def test_invalid_documents(members: dict[str, Any], why: str) -> None:
    """Each error names the field."""
    with pytest.raises(DocumentError) as caught:
        parse_tracing(document(**members), ORCH)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(("more", "why"), [
    ("---\nendpoint: other:1\n", "yaml: line 3: more than one document"),
    ("...\n}\n", "yaml: line 3: did not find expected <document start>"),
])  # fmt: skip
def test_text_after_the_first_document_is_refused(more: str, why: str) -> None:
    """What would not be read is an error, also in a file whose first document is complete."""
    head = f"apiVersion: {ORCH('apiserver.config.{abbr}.io/v1beta1')}\nkind: TracingConfiguration\n"
    assert parse_tracing(head.encode(), ORCH) == parse_tracing(f"---\n{head}...\n".encode(), ORCH)
    with pytest.raises(DocumentError) as caught:
        parse_tracing((head + more).encode(), ORCH)
    assert str(caught.value) == why
