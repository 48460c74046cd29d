"""Controllers: clients of the API that move the cluster towards the specs of its objects; one module per controller.

Owns control loops. Must not reach into the server. May import client, kinds, pki and txkit.
"""
