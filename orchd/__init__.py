"""orchd: the control plane of a cluster in one Twisted process.

The packages, in the order in which they may import each other, are listed in docs/architecture.md;
tests/test_layers.py holds them to it.
"""
