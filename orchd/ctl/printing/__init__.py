"""Output of commands: tables, YAML and JSON, templates, descriptions. Only `describe` asks a server."""
