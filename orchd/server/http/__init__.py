"""HTTP: connections, TLS, streams and disconnects; converts between bytes and pipeline values.

Owns the wire protocol. Must not decide anything about objects. May import pipeline, kinds and txkit.
"""
