"""Priority and fairness: orders and limits requests under overload.

Owns classification by flow schema, the seats and queues of each priority level, and the stage that queues requests.
Must not read objects itself: assembly passes in flow schemas and priority levels when they change.
"""
