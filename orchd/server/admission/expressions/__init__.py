"""Evaluation of expressions about one request. Owns budgets, what expressions see of a request, their questions to the
authorizer, and where they run. Used by policies and by match conditions of webhooks. Must not know either."""
