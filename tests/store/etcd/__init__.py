"""Tests of ``orchd.store.etcd``."""
