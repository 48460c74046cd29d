"""The watch cache: current bytes, indexes, history, bounded fan-out.

Owns the read model of every resource. Must not authorize reads. May import store.interfaces, kinds and txkit.
"""
