"""Tests of ``orchd.server.admission.webhooks``."""
