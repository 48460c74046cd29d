"""The watch cache: current bytes, indexes, history, bounded fan-out.

Owns the read model of every resource. Must not decide who may read. May import store.interfaces, kinds and txkit.
"""
