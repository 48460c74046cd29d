"""The stages of a request, one module each; `orchd.server.pipeline.pipeline` lists them in running order.

Owns processing of every request before its verb. Must not depend on resources. May import kinds, txkit, and the
interfaces of authn, authz and admission.
"""
