"""The cluster as columns: numpy arrays over rows of nodes, kept up to date change by change.

Owns what is where. Must not know plugins, queue or cycle.
"""
