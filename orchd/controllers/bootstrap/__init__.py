"""Controllers of bootstrap tokens, with which nodes join: signing of cluster-info, and removal of expired tokens.

May import what controllers may.
"""
