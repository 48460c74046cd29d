"""Controllers of certificate signing requests: approval, signatures, removal of old ones.

May import what controllers may.
"""
