"""The stages of a request, one module each; `orchd.server.pipeline.pipeline` lists them in running order.

Owns what every request meets before its verb. Must not know resources. May import kinds, txkit, and the interfaces of
authn, authz and admission.
"""
