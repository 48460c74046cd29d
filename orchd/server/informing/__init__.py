"""Informers of a server's own gates and controllers: they read the watch cache, and keep no copy of what it has.

Owns `IInformers` on caches. Must not decide who may read: whoever gets one reads as the server. May import
client.interfaces, cache.interfaces, kinds and txkit.
"""
