"""The node lifecycle controller: health of nodes that stop reporting, their taints, and eviction of their pods.

Owns taints by condition and the eviction of pods by taints. May import what controllers may.
"""
