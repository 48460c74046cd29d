"""Tests of ``orchd.store.grpc``."""
