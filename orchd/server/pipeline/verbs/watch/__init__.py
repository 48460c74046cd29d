"""Watches: the verb, the lifecycle of a stream, its events, and the two ways to send them.

Owns everything between a subscription to the watch cache and the sink of a response. Must not write.
"""
