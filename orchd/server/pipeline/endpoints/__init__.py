"""Non-resource endpoints: discovery, OpenAPI, health, metrics, version.

Owns non-resource paths. Must not read or write objects. May import kinds and txkit.
"""
