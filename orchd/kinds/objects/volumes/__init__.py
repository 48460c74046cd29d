"""Rules about persistent volumes and claims that several components share: classes, binding, topology.

Owns the matching of volumes with claims and of nodes with volumes. Pure functions over API objects. May import ir and
objects.
"""
