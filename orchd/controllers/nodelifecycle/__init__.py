"""The controller of nodes' lives: what becomes of nodes that fall silent, and of the pods on them.

Owns taints by condition and the eviction of pods by taints. May import what controllers may.
"""
