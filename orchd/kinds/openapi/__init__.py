"""Documents about the API: discovery, OpenAPI v2 and v3.

Owns how the catalog is shown to clients. Must not serve anything. May import ir and catalog.
"""
