"""A client of the API that places pods: queue, snapshot, plugins, binding.

Owns scheduling. Must not reach into the server. May import client, kinds and txkit.
"""
