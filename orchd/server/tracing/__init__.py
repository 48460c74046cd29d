"""Traces of requests, sent to a collector with the OpenTelemetry library, an optional dependency.

Nothing else imports the library. May import the contracts of what is traced."""
