"""Runs the plugins of a profile: filters and scores over columns, what-if runs over single nodes, one cycle per pod.

Owns the order of extension points. Must not know single plugins or the queue.
"""
