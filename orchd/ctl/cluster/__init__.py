"""The server of a command: configuration, session, discovery, requests, streams."""
