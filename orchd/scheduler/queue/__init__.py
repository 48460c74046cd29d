"""Pods that wait to be scheduled: active, backing off, or unschedulable until something changes.

Owns when a pod is tried. Must not know nodes or plugins.
"""
