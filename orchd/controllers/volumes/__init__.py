"""Controllers of persistent volumes and claims: protection, binding, ephemeral claims, expansion, attachment.

Owns the control loops of storage that need no storage backend. What a driver does outside the API is left to drivers.
May import what controllers import.
"""
