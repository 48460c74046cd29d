"""Bytes to pipeline values and back: connections, TLS, streams, disconnects.

Owns the wire. Must not decide anything about objects. May import pipeline, kinds and txkit.
"""
