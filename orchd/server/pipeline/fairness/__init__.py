"""Priority and fairness: which requests go first when there is more to do than the server takes at a time.

Owns classification by flow schema, the seats and queues of each priority level, and the stage that makes requests wait.
Must not read objects itself: assembly hands it flow schemas and priority levels as they change.
"""
