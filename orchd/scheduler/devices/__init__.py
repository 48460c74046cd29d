"""Devices of nodes: pools of resource slices, and the allocation of devices to claims. Pure.

Must not know plugins or the snapshot. Imports kinds only.
"""
